"""MCP servers that ask for authorization (API 3; RT 10.8), against an authorization server that keeps to the
standards.
"""

from __future__ import annotations

import base64
import json
import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from letta_client import Letta

from tests.compat.conftest import Make, Said, Served, calls
from tests.compat.replies import returns
from tests.support.oauth_server import OAuthDouble
from tests.support.tables import all_items

CALLBACK = "/v1/tools/mcp/oauth/callback"


@pytest.fixture
def double() -> Iterator[OAuthDouble]:
    with OAuthDouble() as servers:
        yield servers


@pytest.fixture
def server(client: Letta, double: OAuthDouble) -> Iterator[str]:
    config: Any = {"mcp_server_type": "streamable_http", "server_url": double.url}
    made = client.mcp_servers.create(server_name="words", config=config)
    yield str(made.id)
    client.mcp_servers.delete(str(made.id))


@contextmanager
def connecting(http: httpx.Client, method: str, path: str, **more: Any) -> Iterator[Iterator[dict[str, Any]]]:
    with http.stream(method, path, timeout=60, **more) as response:
        assert response.status_code == 200, response.read()
        yield (json.loads(line[5:]) for line in response.iter_lines() if line.startswith("data:"))


def names(events: list[dict[str, Any]]) -> list[str]:
    return [event["event"] for event in events]


def browse(address: str) -> httpx.Response:
    """What a browser does: without a key of ours, it follows the authorization server, which is another site, to our callback."""
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    with httpx.Client(follow_redirects=True, timeout=30, headers=headers) as browser:
        return browser.get(address)


def connect(http: httpx.Client, server: str) -> tuple[list[dict[str, Any]], httpx.Response | None]:
    """The events of an attempt, in which the user opens the address at once; and the page that the user sees."""
    found, page = list[dict[str, Any]](), None
    with connecting(http, "GET", f"/v1/mcp-servers/connect/{server}") as events:
        for event in events:
            found.append(event)
            if event["event"] == "authorization_url":
                page = browse(event["url"])
    return found, page


ASKED = ["connection_attempt", "oauth_required", "authorization_url", "waiting_for_auth"]


@pytest.mark.manifest("mcp.connect", "mcp.oauth")
@pytest.mark.deployed
def test_a_server_is_authorized_by_its_user_and_its_tools_are_called(
    http: httpx.Client, client: Letta, double: OAuthDouble, server: str, new_agent: Make, said: Said, served: Served
) -> None:
    events, page = connect(http, server)
    assert names(events) == [*ASKED, "success"]
    assert page is not None
    assert (page.status_code, "may close this window" in page.text) == (200, True)
    assert [tool["name"] for tool in events[-1]["tools"]] == ["secret_word"]
    (tool,) = client.mcp_servers.tools.list(server)
    agent = new_agent(tool_ids=[tool.id])
    said.next(calls(("secret_word", {})), {"content": "It is parrot."})
    reply = client.agents.messages.create(agent.id, input="Which word?")
    assert returns(reply) == [("success", "parrot")]
    assert names(connect(http, server)[0]) == ["connection_attempt", "success"], "authorized already"
    shown = http.get(f"/v1/mcp-servers/{server}").text
    stored = repr(grants(served))
    for secret in (*double.access, *double.refresh):
        assert secret not in shown
        assert secret not in stored
    assert "token_endpoint" in stored


@pytest.mark.parametrize("path", ["/v1/mcp-servers/connect/{server}", "/v1/tools/mcp/servers/{name}/tools"])
@pytest.mark.parametrize(
    "headers", [{"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}, {"origin": "https://evil.example"}]
)
def test_a_page_of_another_site_begins_no_authorization_and_reaches_no_server(
    http: httpx.Client, double: OAuthDouble, server: str, served: Served, headers: dict[str, str], path: str
) -> None:
    name = http.get(f"/v1/mcp-servers/{server}").json()["server_name"]
    double.resource.asked.clear()
    refused = http.get(path.format(server=server, name=name), headers=headers)
    assert (refused.status_code, refused.json()["detail"].partition(":")[0]) == (403, "FOREIGN_ORIGIN")
    assert (double.resource.asked, double.clients, grants(served)) == ([], {}, [])


@pytest.mark.parametrize("confidential", [False, True])
@pytest.mark.deployed
def test_no_log_line_and_no_row_has_a_secret_of_the_flow(
    http: httpx.Client,
    client: Letta,
    double: OAuthDouble,
    server: str,
    new_agent: Make,
    said: Said,
    served: Served,
    caplog: pytest.LogCaptureFixture,
    confidential: bool,
) -> None:
    """Everything that the server's threads log and store, over discovery, registration, the answer, a call, a renewal and a
    refusal.
    """
    double.confidential, double.life = confidential, 1
    with caplog.at_level(logging.INFO), caplog.at_level(logging.DEBUG, "hibernaut"):
        assert names(connect(http, server)[0])[-1] == "success"
        (tool,) = client.mcp_servers.tools.list(server)
        agent = new_agent(tool_ids=[tool.id])
        said.next(calls(("secret_word", {})), {"content": "It is parrot."})
        reply = client.agents.messages.create(agent.id, input="Which word?")
        assert returns(reply) == [("success", "parrot")]
        planted = double.planted()
        double.faults.add("rubbish")
        double.access.clear()
        assert http.patch(f"/v1/mcp-servers/{server}/refresh").status_code == 404
    kinds = {kind for kind, _ in planted}
    assert kinds >= {"access token", "refresh token", "code", "verifier", "state"}
    assert ("client secret" in kinds) is confidential
    # The test's own clients log as well, and pytest listens to uvicorn's log of requests, which the server has silenced.
    ours = [one for one in caplog.records if one.thread != threading.get_ident() and one.name != "uvicorn.access"]
    logged = "\n".join(str(vars(record)) for record in ours)
    flows = [*served.table.query(f"{served.tenant}#OAUTHFLOWS")]
    stored = repr([all_items(served.table), flows, grants(served)])
    shown = http.get(f"/v1/mcp-servers/{server}").text + http.get(f"/v1/steps/{reply.messages[0].step_id}/trace").text
    assert (CALLBACK in logged, "token_endpoint" in repr(flows), "token_endpoint" in stored) == (True, True, True)
    sealed = [base64.b64decode(found) for found in re.findall(r"sealed\W+([A-Za-z0-9+/]{40,}=*)", stored)]
    assert sealed
    for place, text in (("log", logged), ("table", stored), ("seals", repr(sealed)), ("API", shown)):
        assert [kind for kind, secret in planted if secret in text] == [], place


def grants(served: Served) -> list[Any]:
    """What is stored of authorizations."""
    return [*served.table.query(f"{served.tenant}#OAUTHGRANTS")]


@pytest.mark.manifest("mcp.by_name.connect")
@pytest.mark.deployed
def test_a_server_that_is_not_stored_is_authorized_for_when_it_is(http: httpx.Client, client: Letta, double: OAuthDouble) -> None:
    body = {"server_name": "later", "type": "streamable_http", "server_url": double.url}
    found = list[dict[str, Any]]()
    with connecting(http, "POST", "/v1/tools/mcp/servers/connect", json=body) as events:
        for event in events:
            found.append(event)
            if event["event"] == "authorization_url":
                browse(event["url"])
    assert names(found) == [*ASKED, "success"]
    made: Any = client.mcp_servers.create(
        server_name="later", config={"mcp_server_type": "streamable_http", "server_url": double.url}
    )
    assert [tool.name for tool in client.mcp_servers.tools.list(made.id)] == ["secret_word"]
    client.mcp_servers.delete(made.id)
    assert list(connect_names(http, client, double)) == ASKED, "the tokens are deleted with the last server"


def connect_names(http: httpx.Client, client: Letta, double: OAuthDouble) -> Iterator[str]:
    made: Any = client.mcp_servers.create(
        server_name="anew", config={"mcp_server_type": "streamable_http", "server_url": double.url}
    )
    with connecting(http, "GET", f"/v1/mcp-servers/connect/{made.id}") as events:
        for event in events:
            yield event["event"]
            if event["event"] == "waiting_for_auth":
                break
    client.mcp_servers.delete(made.id)


AT_ONCE = {
    "no registration": "registers no clients by itself",
    "no pkce": "does not support PKCE by S256",
    "other issuer": "says that it is another one",
    "other resource": "are those of another resource",
}
AFTERWARDS = {
    "denied": "access_denied",
    "wrong iss": "comes from another authorization server",
    "expired code": "invalid_grant",
    "rubbish": "is no JSON object",
}


@pytest.mark.parametrize("fault", [*AT_ONCE, *AFTERWARDS])
def test_what_goes_wrong_is_told_and_leaves_nothing(
    http: httpx.Client, double: OAuthDouble, server: str, fault: str, served: Served
) -> None:
    double.faults.add(fault)
    events, page = connect(http, server)
    expected = AT_ONCE.get(fault) or AFTERWARDS[fault]
    assert events[-1]["event"] == "error"
    assert expected in events[-1]["message"]
    if fault in AFTERWARDS:
        assert page is not None
        assert (page.status_code, expected in page.text, "<b>" in page.text) == (400, True, False)
    assert grants(served) == []
    double.faults.clear()
    assert names(connect(http, server)[0])[-1] == "success"


@pytest.mark.deployed
def test_an_answer_counts_once_and_for_its_own_tenant(
    http: httpx.Client, double: OAuthDouble, server: str, served: Served
) -> None:
    with connecting(http, "GET", f"/v1/mcp-servers/connect/{server}") as events:
        address = next(event["url"] for event in events if event["event"] == "authorization_url")
        place = httpx.get(address).headers["location"]
        assert place.startswith(served.url)
        state = parse_qs(urlsplit(place).query)["state"][0]
        for wrong in (
            state[:-1] + ("a" if state[-1] != "a" else "b"),
            f"other{state[state.index('.') :]}",
            "",
            "x" * 1000,
            f"A/B#{state[state.index('.') :]}",
        ):
            mixed = browse(str(httpx.URL(place).copy_set_param("state", wrong)))
            assert mixed.status_code == 400, mixed.text
            assert "authorization is unknown" in mixed.text
        assert browse(place).status_code == 200
        again = browse(place)
        assert (again.status_code, "answered before" in again.text) == (400, True)
        assert next(event for event in events if event["event"] in ("success", "error"))["event"] == "success"
    assert double.issued["authorization_code"] == 1


def test_a_token_that_expires_is_replaced(http: httpx.Client, client: Letta, double: OAuthDouble, server: str) -> None:
    double.life = 1
    assert names(connect(http, server)[0])[-1] == "success"
    client.mcp_servers.refresh(server)
    assert double.issued["refresh_token"] >= 1
    double.refresh = dict.fromkeys(double.refresh, False)
    double.access.clear()
    events, _ = connect(http, server)
    assert names(events) == [*ASKED, "success"], "connecting again is what helps where the authorization has ended"
