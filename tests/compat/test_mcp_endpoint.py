"""`/mcp`: agents as tools of the Model Context Protocol, through its official client, in the revisions before and since
2026-07-28.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from letta_client import Letta

from tests.compat.conftest import DEMO, Indexed, Keyed, Make, Said, Served, calls
from tests.compat.holding import PATIENCE, holding
from tests.compat.test_approvals import INSERT, held, says
from tests.support.mcp_client import AUTOMATIC, HANDSHAKE, STATELESS, McpClient

PAGE = Path(__file__).resolve().parents[2] / "docs" / "mcp.md"
READING = {"list_agents", "read_blocks", "search_memory", "get_run"}
TALKING = {"send_message", "cancel_run", "write_passage"}
ABSENT = "agent-00000000-0000-4000-8000-000000000000"
Post = Callable[..., dict[str, Any]]


@pytest.fixture(params=[HANDSHAKE, STATELESS])
def mcp(served: Served, request: pytest.FixtureRequest) -> McpClient:
    return McpClient(served.url, served.key, str(request.param))


@pytest.fixture
def newest(served: Served) -> McpClient:
    return McpClient(served.url, served.key, AUTOMATIC)


@pytest.fixture
def post(http: httpx.Client) -> Post:
    """The result of a call of a tool by bare HTTP, as a client of an older revision sends it."""

    def posted(tool: str, request_id: int | str = 1, session: str | None = None, **arguments: Any) -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        answered = http.post("/mcp", json=body, headers={"mcp-session-id": session} if session else {})
        assert answered.status_code == 200, answered.text
        found: dict[str, Any] = answered.json()["result"]
        return found

    return posted


@pytest.mark.manifest("mcp_endpoint.tools")
@pytest.mark.deployed
def test_a_client_lists_the_tools_and_talks_to_an_agent(mcp: McpClient, new_agent: Make, said: Said) -> None:
    agent = new_agent(name="Guide", description="Knows the way.", tags=["travel"])
    listed = mcp.tools()
    assert {*listed} == READING | TALKING
    assert {name for name, tool in listed.items() if tool.annotations.read_only_hint} == READING
    found = mcp.call("list_agents", name_contains="guid")["agents"]
    assert {"id": agent.id, "name": "Guide", "description": "Knows the way.", "model": agent.model, "tags": ["travel"]} in found
    said.next({"content": "To the left."})
    report = mcp.call("send_message", agent_id=agent.id, message="Where to?")
    assert (report["status"], report["stop_reason"], report["reply"]) == ("completed", "end_turn", "To the left.")
    assert mcp.call("get_run", run_id=report["run_id"]) == report
    said.next({"status": 400})
    assert "failed" in mcp.refusal("send_message", agent_id=agent.id, message="And now?")


@pytest.mark.manifest("mcp_endpoint.tools")
@pytest.mark.deployed
def test_memory_is_read_searched_and_written(newest: McpClient, new_agent: Make, client: Letta, indexed: Indexed) -> None:
    agent = new_agent(
        memory_blocks=[{"label": "human", "value": "Ann"}, {"label": "long", "value": "x" * 30_000, "limit": 40_000}]
    )
    blocks = {block["label"]: block["value"] for block in newest.call("read_blocks", agent_id=agent.id)["blocks"]}
    assert blocks["human"] == "Ann"
    assert blocks["long"].endswith("… [cut: 30000 characters in all]")
    (one,) = newest.call("read_blocks", agent_id=agent.id, label="human")["blocks"]
    assert (one["value"], one["read_only"]) == ("Ann", False)
    first = newest.call("read_blocks", agent_id=agent.id, limit=1)
    rest = newest.call("read_blocks", agent_id=agent.id, limit=1, cursor=first["next_cursor"])
    assert {first["blocks"][0]["label"], rest["blocks"][0]["label"]} == {"human", "long"}
    assert rest["next_cursor"] is None
    newest.call("send_message", agent_id=agent.id, message="The parrot is called Polly.")
    written = newest.call("write_passage", agent_id=agent.id, text="Parrots eat sunflower seeds.", tags=["birds"])
    assert [passage.id for passage in client.agents.passages.list(agent.id)] == [written["id"]]
    indexed()
    hits = newest.call("search_memory", agent_id=agent.id, query="parrot")
    assert [(hit["text"], hit["tags"]) for hit in hits["passages"]] == [("Parrots eat sunflower seeds.", ["birds"])]
    assert "The parrot is called Polly." in [hit["text"] for hit in hits["messages"]]
    only = newest.call("search_memory", agent_id=agent.id, query="parrot", sources=["messages"], limit=1)
    assert (only["passages"], len(only["messages"])) == ([], 1)


def test_agents_are_listed_page_by_page(newest: McpClient, new_agent: Make) -> None:
    made = [new_agent(name=f"Page {number}").id for number in range(3)]
    found, cursor = [], None
    while True:
        page = newest.call("list_agents", name_contains="Page ", limit=2, **({"cursor": cursor} if cursor else {}))
        found += [agent["id"] for agent in page["agents"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == made[::-1]


@pytest.mark.manifest("mcp_endpoint.waiting")
def test_a_run_that_asks_for_an_approval_says_so_and_is_asked_again(
    newest: McpClient, client: Letta, new_agent: Make, said: Said
) -> None:
    agent = new_agent(tool_rules=held("memory_insert"))
    said.next(calls(INSERT, content="May I?"), {"content": "Thank you."})
    report = newest.call("send_message", agent_id=agent.id, message="I like tea")
    assert (report["status"], report["reply"]) == ("requires_approval", "May I?")
    assert [call["name"] for call in report["waiting_calls"]] == ["memory_insert"]
    assert report["run_id"] in report["next"]
    assert "approv" in newest.refusal("send_message", agent_id=agent.id, message="Hello?")
    client.agents.messages.create(agent.id, messages=[{"type": "approval", "approvals": [says("call_1", approve=True)]}])
    answered = newest.call("get_run", run_id=report["run_id"])
    assert (answered["status"], answered["reply"], answered["next"]) == ("completed", "Thank you.", None)
    assert answered["continued_by"] not in (None, report["run_id"])


@pytest.mark.manifest("mcp_endpoint.progress")
@pytest.mark.deployed
def test_a_client_that_asks_for_it_hears_of_progress(mcp: McpClient, new_agent: Make, said: Said) -> None:
    agent, asked, known, told = new_agent(), list[int](), threading.Event(), list[tuple[float, str]]()

    def say(*_: Any) -> dict[str, Any]:
        asked.append(1)
        if len(asked) == 1:
            return calls(INSERT)
        assert known.wait(PATIENCE)
        return {"content": "Noted."}

    async def hear(progress: float, _total: float | None, line: str | None) -> None:
        told.append((progress, str(line)))
        if "memory_insert" in str(line):
            known.set()

    said.server.script = say
    report = mcp.heard("send_message", hear, agent_id=agent.id, message="I like tea").structured_content
    assert (report["status"], report["reply"]) == ("completed", "Noted.")
    assert [progress for progress, _ in told] == [*range(1, len(told) + 1)]
    assert told[0][1] == f"The agent has the message (run_id {report['run_id']})."
    assert "The agent calls memory_insert." in {line for _, line in told}
    told.clear()
    assert mcp.heard("get_run", hear, run_id=report["run_id"]).structured_content == report
    refused = mcp.heard("send_message", hear, agent_id=ABSENT, message="Hello?")
    assert (refused.is_error, told) == (True, [])


@pytest.mark.deployed
def test_a_client_that_takes_no_events_gets_one_reply(http: httpx.Client, new_agent: Make, said: Said) -> None:
    said.next({"content": "Hello."})
    params = {"name": "send_message", "arguments": {"agent_id": new_agent().id, "message": "Hi"}, "_meta": {"progressToken": "p"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    plain = http.post("/mcp", json=body, headers={"accept": "application/json"})
    assert plain.json()["result"]["structuredContent"]["reply"] == "Hello."
    events = http.post("/mcp", json=body, headers={"accept": "application/json, text/event-stream"})
    assert events.headers["content-type"].startswith("text/event-stream")
    *progress, last = [json.loads(line.removeprefix("data: ")) for line in events.text.splitlines() if line.startswith("data: ")]
    assert {one["params"]["progressToken"] for one in progress} == {"p"}
    assert (last["id"], last["result"]["structuredContent"]["reply"]) == (1, "Hello.")


@pytest.mark.deployed
def test_a_run_that_lasts_longer_is_waited_for_again_or_cancelled(newest: McpClient, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    with holding(said):
        report = newest.call("send_message", agent_id=agent.id, message="Think.", wait_seconds=0)
        assert (report["status"], report["reply"]) == ("running", "")
        assert report["run_id"] in report["next"]
        assert newest.call("get_run", run_id=report["run_id"], wait_seconds=0)["status"] == "running"
    assert newest.call("get_run", run_id=report["run_id"])["reply"] == "At last."
    with holding(said):
        begun = newest.call("send_message", agent_id=agent.id, message="Think again.", wait_seconds=0)
        assert newest.call("cancel_run", run_id=begun["run_id"])["status"] == "cancelled"


def test_a_cancellation_ends_the_wait_and_not_the_run(
    profile: str, post: Post, http: httpx.Client, new_agent: Make, said: Said
) -> None:
    if profile != "embedded":
        pytest.skip("another process may serve the notification; the wait ends by its limit")
    agent, found = new_agent(), list[dict[str, Any]]()
    with holding(said) as asked:
        sent = {"agent_id": agent.id, "message": "Think.", "wait_seconds": 240}
        thread = threading.Thread(target=lambda: found.append(post("send_message", 7, "session-a", **sent)))
        thread.start()
        assert asked.wait(PATIENCE)
        for session, request_id in (("session-b", 7), ("session-a", "7"), ("session-a", 8), ("session-a", 7)):
            assert thread.is_alive()
            notice = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}}
            assert http.post("/mcp", json=notice, headers={"mcp-session-id": session}).status_code == 202
        thread.join(PATIENCE)
        report = found[0]["structuredContent"]
        assert report["status"] == "running"
    assert post("get_run", run_id=report["run_id"])["structuredContent"]["reply"] == "At last."


@pytest.mark.manifest("mcp_endpoint.waiting")
def test_a_repeated_call_sends_its_message_once(post: Post, client: Letta, new_agent: Make) -> None:
    agent = new_agent()

    def run_of(text: str, request_id: int | str, session: str | None = None, **more: str) -> str:
        result = post("send_message", request_id, session, agent_id=agent.id, message=text, **more)
        return str(result["structuredContent"]["run_id"])

    first = run_of("Hi", 1, "session-1")
    unique = "0a9c1f5e-6f0d-4a6e-b0ce-3f5f0f6d2f11"
    same = [run_of("Hi", 1, "session-1"), first, run_of("Hi", unique), run_of("Hi", unique)]
    assert same[0] == same[1]
    assert same[2] == same[3]
    others = [
        run_of("Hi", "1", "session-1"),
        run_of("Hi", 2, "session-1"),
        run_of("Hi", 1, "session-2"),
        run_of("Ho", 1, "session-1"),
    ]
    unnamed = [run_of("Hi", 1), run_of("Hi", 1)]
    assert len({first, same[2], *others, *unnamed}) == 8
    named = [run_of("Hi", request_id, otid="mine") for request_id in (1, 2)]
    assert named[0] == named[1]
    texts = [
        message.content for message in client.agents.messages.list(agent.id, limit=100) if message.message_type == "user_message"
    ]
    assert len([text for text in texts if text in ("Hi", "Ho")]) == 9


def test_a_conversation_is_named_and_must_be_the_agents(newest: McpClient, client: Letta, new_agent: Make) -> None:
    agent, other = new_agent(), new_agent()
    talk = client.conversations.create(agent_id=agent.id)
    report = newest.call("send_message", agent_id=agent.id, conversation_id=talk.id, message="Hi")
    assert report["conversation_id"] == talk.id
    assert "is no conversation of" in newest.refusal("send_message", agent_id=other.id, conversation_id=talk.id, message="Hi")
    for tool in ("send_message", "read_blocks", "search_memory", "write_passage"):
        more = {"message": "Hi"} if tool == "send_message" else {"query": "x"} if tool == "search_memory" else {}
        more |= {"text": "x"} if tool == "write_passage" else {}
        assert ABSENT in newest.refusal(tool, agent_id=ABSENT, **more)


class Parts:
    """A server that needs keys, with two agents of its tenant, and one of another tenant."""

    def __init__(self, keyed: Keyed) -> None:
        self.keyed = keyed
        self.admin = keyed.sdk(keyed.key())
        self.mine, self.other = (self.made(self.admin, tags=[tag]) for tag in ("mine", "other"))
        self.foreign = self.made(keyed.sdk(keyed.key("neighbour")))

    def made(self, sdk: Letta, **fields: Any) -> str:
        return sdk.agents.create(model=DEMO, memory_blocks=[{"label": "human", "value": "Ann"}], **fields).id

    def with_key(self, **fields: Any) -> McpClient:
        return McpClient(self.keyed.url, self.keyed.key(**fields))


@pytest.fixture(scope="module")
def parts(keyed: Keyed) -> Parts:
    return Parts(keyed)


def seen(mcp: McpClient, **arguments: Any) -> list[str]:
    return [agent["id"] for agent in mcp.call("list_agents", **arguments)["agents"]]


def test_a_key_that_reads_is_offered_what_reads(parts: Parts) -> None:
    reader = parts.with_key(scope="read")
    assert {*reader.tools()} == READING
    assert {*seen(reader)} == {parts.mine, parts.other}
    assert "needs an API key of the scope write" in reader.refusal("send_message", agent_id=parts.mine, message="Hi")
    assert reader.call("read_blocks", agent_id=parts.mine)["blocks"][0]["value"] == "Ann"


@pytest.mark.manifest("mcp_endpoint.permissions")
def test_a_restricted_key_sees_its_agents_and_no_other(parts: Parts) -> None:
    for restricted in (
        {"agent_ids": [parts.mine]},
        {"agent_tags": ["mine"]},
        {"agent_ids": [parts.mine], "agent_tags": ["mine"]},
    ):
        mcp = parts.with_key(scope="write", **restricted)
        assert {*mcp.tools()} == READING | TALKING
        assert seen(mcp) == [parts.mine]
        sent = mcp.call("send_message", agent_id=parts.mine, message="Hi")
        assert mcp.call("get_run", run_id=sent["run_id"])["status"] == "completed"
        alien = parts.with_key(scope="write").call("send_message", agent_id=parts.other, message="Hi")["run_id"]
        for tool, arguments in (
            ("send_message", {"agent_id": parts.other, "message": "Hi"}),
            ("read_blocks", {"agent_id": parts.other}),
            ("search_memory", {"agent_id": parts.other, "query": "x"}),
            ("write_passage", {"agent_id": parts.other, "text": "x"}),
            ("get_run", {"run_id": alien}),
            ("cancel_run", {"run_id": alien}),
        ):
            assert "restricted to some agents" in mcp.refusal(tool, **arguments)
    both = parts.with_key(scope="read", agent_ids=[parts.mine], agent_tags=["other"])
    pages = [both.call("list_agents", limit=1)]
    while (cursor := pages[-1]["next_cursor"]) is not None:
        pages.append(both.call("list_agents", limit=1, cursor=cursor))
    assert [agent["id"] for page in pages for agent in page["agents"]] == [parts.mine, parts.other]


@pytest.mark.manifest("mcp_endpoint.permissions")
@pytest.mark.deployed
def test_another_tenants_agents_do_not_exist(parts: Parts) -> None:
    mcp = parts.with_key(scope="admin")
    theirs = McpClient(parts.keyed.url, parts.keyed.key("neighbour"))
    run = theirs.call("send_message", agent_id=parts.foreign, message="Hi", otid="one")["run_id"]
    assert parts.foreign not in seen(mcp)
    for tool, arguments in (
        ("send_message", {"agent_id": parts.foreign, "message": "Hi", "otid": "one"}),
        ("read_blocks", {"agent_id": parts.foreign}),
        ("search_memory", {"agent_id": parts.foreign, "query": "x"}),
        ("write_passage", {"agent_id": parts.foreign, "text": "x"}),
        ("get_run", {"run_id": run}),
        ("cancel_run", {"run_id": run}),
    ):
        assert "not found" in mcp.refusal(tool, **arguments)


@pytest.mark.manifest("mcp_endpoint.permissions")
def test_a_token_for_pages_has_the_rights_of_its_policy(parts: Parts) -> None:
    def page(*rights: str) -> McpClient:
        policy: Any = [{"type": "agent", "id": parts.mine, "access": list(rights)}]
        token = parts.admin.access_tokens.create(hostname=parts.keyed.url, policy=policy).token
        return McpClient(parts.keyed.url, token, headers={"origin": parts.keyed.url})

    reads, writes, knows = page("read_messages"), page("write_messages"), page("read_agent")
    assert {*reads.tools()} == {"search_memory", "get_run"}
    assert {*writes.tools()} == {"send_message", "cancel_run"}
    assert {*knows.tools()} == {"list_agents", "read_blocks"}
    assert seen(knows) == [parts.mine]
    run = writes.call("send_message", agent_id=parts.mine, message="Hi")["run_id"]
    assert reads.call("get_run", run_id=run)["status"] == "completed"
    assert "may not call" in reads.refusal("search_memory", agent_id=parts.mine, query="x")
    reads.call("search_memory", agent_id=parts.mine, query="x", sources=["messages"])
    assert "restricted to some agents" in writes.refusal("send_message", agent_id=parts.other, message="Hi")


@pytest.mark.deployed
def test_without_a_key_and_from_a_foreign_page_nothing_is_served(parts: Parts) -> None:
    url, body = f"{parts.keyed.url}/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert httpx.post(url, json=body).status_code == 401
    bearer = {"authorization": f"Bearer {parts.keyed.key(scope='read')}"}
    assert httpx.post(url, json=body, headers={**bearer, "origin": "https://evil.example"}).status_code == 403
    assert httpx.post(url, json=body, headers=bearer).json()["result"] == {}


def test_a_budget_refuses_a_message_as_it_does_elsewhere(parts: Parts) -> None:
    agent, mcp = parts.made(parts.admin), parts.with_key(scope="write")
    admin = {"authorization": f"Bearer {parts.keyed.key()}"}
    httpx.put(f"{parts.keyed.url}/v1/budgets/{agent}", json={"steps_per_day": 1}, headers=admin).raise_for_status()
    assert mcp.call("send_message", agent_id=agent, message="Hi")["status"] == "completed"
    assert "BUDGET_EXCEEDED" in mcp.refusal("send_message", agent_id=agent, message="Hi")


def test_the_page_is_right(served: Served) -> None:
    command = re.search(r"<!-- run by tests/compat/test_mcp_endpoint.py -->\n```sh\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert command is not None
    words = shlex.split(
        command[1].replace("\\\n", " ").replace("http://127.0.0.1:8283", served.url).replace("$HIBERNAUT_API_KEY", served.key)
    )
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    assert '"name":"send_message"' in done.stdout
