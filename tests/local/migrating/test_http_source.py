"""A migration from a server with the V1 API."""

from __future__ import annotations

import io
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from httpx2 import BaseTransport, Client, HTTPTransport, MockTransport, Request, Response

from hibernaut.local.migrating.dry_run import DryRun
from hibernaut.local.migrating.report import MigrationReport
from hibernaut.local.migrating.sources.mcp_records import server_from_api
from hibernaut.local.profiles import CannotServe
from hibernaut.local.progress import ProgressLines
from hibernaut.schemas.mcp.server import MASK
from tests.support.mcp_service import McpService
from tests.support.migrations import check_target, counts, moved, source_of, target_at
from tests.support.v1_server import OPENED, V1Server


class Died(BaseException):
    """The process."""


class Fatal(BaseTransport):
    """A connection to a server whose user dies at one request, which the server has answered."""

    def __init__(self, at: int) -> None:
        self._inner = HTTPTransport()
        self._left = at

    def handle_request(self, request: Request) -> Response:
        reply = self._inner.handle_request(request)
        self._left -= 1
        if self._left == 0:
            reply.read()
            raise Died
        return reply

    def close(self) -> None:
        self._inner.close()


def test_everything_is_moved_and_compared(new_server: Client, tmp_path: Path) -> None:
    server = V1Server(1)
    done = moved(source_of(server), target_at(str(new_server.base_url)), tmp_path / "state")
    assert not done.failed, done.differences
    check_target(new_server, server.names)
    assert done.report.counts["agents"] == (3, 3)
    assert done.report.counts["passages"] == (3, 3)
    assert done.report.counts["messages"] == (31, 31)
    assert done.report.counts["conversations"] == (1, 1)
    assert done.report.counts["MCP servers"] == (1, 1)
    assert {why.partition(":")[0] for why in done.why("left_out")} >= {
        "The target has the MCP server and cannot read its tools now",
        "The tool quantum_recall is built into Letta and not into this server. It was left out.",
        "The source gives no text of the file, so there is nothing to move.",
        "The passages of an archive that is attached to no agent are not listed by the API. Attach it, and run again.",
    }
    assert "Calls without a return were closed with an error." in done.why("repaired")
    assert {method for method, _ in server.asked} == {"GET"}


def test_a_dry_run_says_what_would_differ_and_writes_nothing(new_server: Client) -> None:
    server, report = V1Server(20), MigrationReport(lambda _note: None)
    before, source, target = counts(new_server), source_of(server), target_at(str(new_server.base_url))
    with closing(source), closing(target):
        DryRun(source, target, report, ProgressLines(io.StringIO())).run()
    assert counts(new_server) == before
    assert (report.counts["agents"], report.counts["messages"], report.counts["blocks"]) == ((3, 0), (31, 0), (4, 0))
    assert report.counts["MCP servers"] == (1, 0)
    why = {one["why"] for one in report.checked}
    assert not any("weather20" in one for one in why)
    assert why >= {
        "The model openai/gpt-4o-mini is not served on the target; the agent would get the default one.",
        "The tool quantum_recall is built into Letta and not into the target.",
        "Secrets without a value are empty: SEALED.",
        "Calls without a return were closed with an error.",
        "The source gives no text of the file, so there is nothing to move.",
    }


def test_a_second_migration_adds_nothing_with_its_state_or_without(new_server: Client, tmp_path: Path) -> None:
    server, url = V1Server(2), str(new_server.base_url)
    first = moved(source_of(server), target_at(url), tmp_path / "state")
    before = counts(new_server)
    for state in ("state", "other state"):
        again = moved(source_of(server), target_at(url), tmp_path / state)
        assert not again.failed, again.differences
        assert again.report.counts == first.report.counts
        assert counts(new_server) == before
    check_target(new_server, server.names)


@pytest.mark.parametrize(("seed", "kept"), [(31, False), (32, True)])
def test_a_migration_that_dies_at_each_request_moves_everything_once(
    seed: int, kept: bool, new_server: Client, tmp_path: Path
) -> None:
    """It dies when its first request is answered, the next one at its second, and so on: to die before a request is to die after
    the one before it.
    `kept`: there is a state file.
    """
    server = V1Server(seed)
    before, at, url = counts(new_server), 0, str(new_server.base_url)
    while True:
        at += 1
        with Client(base_url=url, transport=Fatal(at)) as client:
            try:
                done = moved(source_of(server), target_at(url, client), tmp_path / ("state" if kept else f"state {at}"))
            except Died:
                continue
        break
    assert at > (15 if kept else 30)
    assert not done.failed, done.differences
    check_target(new_server, server.names)
    after = counts(new_server)
    assert {noun: after[noun] - before[noun] for noun in after} == {
        "agents": 2, "blocks": 4, "tools": 3, "folders": 1, "groups": 1, "identities": 1,  # the hidden agent is not counted
    }  # fmt: skip


def test_an_mcp_server_is_moved_with_its_secrets_and_its_tools_keep_their_ids(new_server: Client, tmp_path: Path) -> None:
    def forecast(door: str) -> str:
        """What the weather is outside."""
        return f"It rains at the {door} door."

    server, url = V1Server(70), str(new_server.base_url)
    with McpService() as weather:
        weather.tool(forecast, name="weather70")
        server.rows["mcp_server"][0]["server_url"] = weather.url
        for state in ("state", "another state"):
            done = moved(source_of(server), target_at(url), tmp_path / state)
            assert not done.failed, done.differences
            assert not any("MCP server" in why for kind in ("left_out", "repaired") for why in done.why(kind)), done.differences
        (there,) = [one for one in new_server.get("/v1/mcp-servers/").json() if one["server_name"] == "weather70"]
        (tool,) = new_server.get(f"/v1/mcp-servers/{there['id']}/tools").json()
        assert tool["id"] == server.names.id("tool", 3)
        assert tool["id"] in {one["id"] for one in new_server.get(f"/v1/agents/{server.names.ada}/tools").json()}
        ran = new_server.post(f"/v1/mcp-servers/{there['id']}/tools/{tool['id']}/run", json={"args": {"door": "front"}}).json()
        assert ran["func_return"] == "It rains at the front door."
        sent = weather.seen[-1]
    assert (sent["authorization"], sent["x-team"]) == (f"Bearer {OPENED}", "blue")


def test_an_mcp_server_of_the_same_name_stays_as_it_is_and_is_told(new_server: Client, tmp_path: Path) -> None:
    server, url = V1Server(71), str(new_server.base_url)
    config = {"mcp_server_type": "sse", "server_url": "http://127.0.0.1:65501/sse"}
    new_server.post("/v1/mcp-servers/", json={"server_name": "weather71", "config": config}).raise_for_status()
    told = "The target has another MCP server with the name weather71, which stays as it is."

    report = MigrationReport(lambda _note: None)
    source, target = source_of(server), target_at(url)
    with closing(source), closing(target):
        DryRun(source, target, report, ProgressLines(io.StringIO())).run()
    assert told in {one["why"] for one in report.checked}
    done = moved(source_of(server), target_at(url), tmp_path / "state")
    assert done.why("differs") == {told}
    (there,) = [one for one in new_server.get("/v1/mcp-servers/").json() if one["server_name"] == "weather71"]
    assert there["server_url"] == config["server_url"]


def test_masked_secrets_of_a_server_of_this_project_are_named() -> None:
    shown = {"id": "mcp_server-1", "server_name": "birds", "mcp_server_type": "sse", "server_url": "https://birds.example/sse"}
    secret = {"auth_header": "X-Token", "auth_token": MASK, "custom_headers": {"X-Team": MASK, "X-Plain": "{{ TEAM }}"}}
    server = server_from_api({**shown, **secret}, [])
    assert server.config["custom_headers"] == {"X-Plain": "{{ TEAM }}"}
    assert "auth_token" not in server.config
    assert server.unreadable == ["auth_token", "custom_headers.X-Team"]
    program = {"mcp_server_type": "stdio", "command": "npx", "args": ["birds"], "env": {"KEY": MASK}}
    server = server_from_api({"id": "mcp_server-2", "server_name": "x", **program}, [])
    assert (server.config, server.unreadable) == ({**program, "env": {}}, ["env.KEY"])


def test_a_source_that_dies_leaves_what_can_be_continued(new_server: Client, tmp_path: Path) -> None:
    server, url = V1Server(40), str(new_server.base_url)
    healthy, dead = server._answer, []

    def dying(path: str, query: Any) -> Any:
        if len(server.asked) > 12:
            dead.append(path)
            return Response(503, json={"detail": "going down"})
        return healthy(path, query)

    server._answer = dying  # type: ignore[method-assign]
    with pytest.raises(
        CannotServe,
        match=r"the old server http://old answers 503: going down\. What was moved stays\. Run the same command again",
    ):
        moved(source_of(server), target_at(url), tmp_path / "state")
    assert dead
    server._answer = healthy  # type: ignore[method-assign]
    done = moved(source_of(server), target_at(url), tmp_path / "state")
    assert not done.failed, done.differences
    check_target(new_server, server.names)


def test_a_target_that_does_not_keep_ids_gets_nothing(tmp_path: Path) -> None:
    """A server of Letta refuses a file without agents."""
    asked: list[str] = []

    def letta(request: Request) -> Response:
        asked.append(request.url.path)
        return Response(400, json={"detail": "Corrupted agent file format."})

    server = V1Server(50)
    client = Client(base_url="http://new", transport=MockTransport(letta))
    with client, pytest.raises(CannotServe, match="is no server that agents can be moved to"):
        moved(source_of(server), target_at("http://new", client), tmp_path / "state")
    assert asked == ["/v1/agents/import"]
    assert server.asked == []
