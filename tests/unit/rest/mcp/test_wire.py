"""The wire of the MCP endpoint: what is a message, in which revision, and what each hostile message is told."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from hibernaut.rest.app import create_app
from hibernaut.rest.mcp.wire import HANDSHAKE, LARGEST, LONGEST_ID, STATELESS, Notice, ProtocolError, RpcRequest, message_of
from hibernaut.schemas.base import Json, JsonObject
from tests.support.faces import no_services

NEWEST = STATELESS[-1]
TYPES = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
ENVELOPE = {"io.modelcontextprotocol/protocolVersion": NEWEST, "io.modelcontextprotocol/clientCapabilities": {}}
PARSE, INVALID, UNKNOWN, PARAMS, MISMATCH, UNSUPPORTED = -32700, -32600, -32601, -32602, -32020, -32022


def request(method: Any = "ping", params: Any = None, **more: Any) -> JsonObject:
    return {"jsonrpc": "2.0", "id": 1, "method": method} | ({} if params is None else {"params": params}) | more


def modern(method: str, params: JsonObject | None = None, meta: JsonObject | None = None) -> JsonObject:
    return request(method, {**(params or {}), "_meta": ENVELOPE if meta is None else meta})


def named(method: str, name: str | None = None, revision: str = NEWEST) -> dict[str, str]:
    return {"mcp-protocol-version": revision, "mcp-method": method} | ({"mcp-name": name} if name else {})


@pytest.fixture(scope="module")
def http() -> Iterator[TestClient]:
    with TestClient(create_app(no_services()), base_url="http://127.0.0.1:80") as client:
        yield client


CALLED = {"name": "list_agents", "arguments": {}}
HOSTILE: dict[str, tuple[bytes | Json, dict[str, str], int, int]] = {
    # what: body, headers, HTTP status, code of the error
    "no JSON": (b"{", {}, 400, PARSE),
    "nothing": (b"", {}, 400, PARSE),
    "half a surrogate": (b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}', {}, 400, PARSE),
    "a number without end": (b'{"jsonrpc": "2.0", "method": "ping", "id": ' + b"9" * 5000 + b"}", {}, 400, PARSE),
    "deep nesting": (b"[" * 100_000, {}, 400, PARSE),
    "megabytes": (request(params={"x": "x" * LARGEST}), {}, 413, INVALID),
    "a batch": ([request(), request()], {}, 400, INVALID),
    "a text": ("ping", {}, 400, INVALID),
    "another JSON-RPC": (request(jsonrpc="1.0"), {}, 400, INVALID),
    "no method": ({"jsonrpc": "2.0", "id": 1}, {}, 400, INVALID),
    "a method that is a list": (request(["ping"]), {}, 400, INVALID),
    "a null id": (request(id=None), {}, 400, INVALID),
    "a true id": (request(id=True), {}, 400, INVALID),
    "a fractional id": (request(id=1.5), {}, 400, INVALID),
    "a huge id": (request(id="x" * (LONGEST_ID + 1)), {}, 400, INVALID),
    "params that are a list": (request(params=[]), {}, 400, PARAMS),
    "a form": (request(), {"content-type": "application/x-www-form-urlencoded"}, 415, INVALID),
    "a client that wants events only": (request(), {"accept": "text/event-stream"}, 406, INVALID),
    "a session with blanks": (request(), {"mcp-session-id": "a b"}, 400, INVALID),
    "a long session": (request(), {"mcp-session-id": "a" * 129}, 400, INVALID),
    "an unknown revision": (request(), {"mcp-protocol-version": "1999-01-01"}, 400, UNSUPPORTED),
    "an unknown revision of a notice": (
        {"jsonrpc": "2.0", "method": "notifications/x"},
        {"mcp-protocol-version": "2999-01-01"},
        400,
        UNSUPPORTED,
    ),
    "an unknown method, before": (request("resources/list"), {}, 200, UNKNOWN),
    "an unknown method, now": (modern("resources/list"), named("resources/list"), 404, UNKNOWN),
    "a ping, now": (modern("ping"), named("ping"), 404, UNKNOWN),
    "a beginning, now": (modern("initialize"), named("initialize"), 404, UNKNOWN),
    "a beginning without a revision": (request("initialize", {}), {}, 200, PARAMS),
    "a second page of tools": (request("tools/list", {"cursor": "x"}), {}, 200, PARAMS),
    "an unknown tool": (request("tools/call", {"name": "rm"}), {}, 200, PARAMS),
    "an unknown tool, now": (modern("tools/call", {"name": "rm"}), named("tools/call", "rm"), 400, PARAMS),
    "a tool that is a list": (request("tools/call", {"name": ["send_message"]}), {}, 200, PARAMS),
    "no envelope": (request("tools/list"), named("tools/list"), 400, PARAMS),
    "an envelope that is a list": (request("tools/list", {"_meta": []}), named("tools/list"), 400, PARAMS),
    "no header": (modern("tools/list"), {}, 400, MISMATCH),
    "another revision": (modern("tools/list"), named("tools/list", revision="2999-01-01"), 400, MISMATCH),
    "another method": (modern("tools/list"), named("tools/call"), 400, MISMATCH),
    "another name": (modern("tools/call", CALLED), named("tools/call", "send_message"), 400, MISMATCH),
    "no name": (modern("tools/call", CALLED), named("tools/call"), 400, MISMATCH),
    "a name in broken Base64": (modern("tools/call", CALLED), named("tools/call", "=?base64?%%%?="), 400, MISMATCH),
    "a reply, now": ({"jsonrpc": "2.0", "id": 1, "result": {}, "params": {"_meta": ENVELOPE}}, named(""), 400, INVALID),
    "a revision of the future": (
        modern("tools/list", meta={**ENVELOPE, "io.modelcontextprotocol/protocolVersion": "2999-01-01"}),
        named("tools/list", revision="2999-01-01"),
        400,
        UNSUPPORTED,
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_message_that_breaks_the_protocol_is_told_how(http: TestClient, what: str) -> None:
    body, headers, status, code = HOSTILE[what]
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    answered = http.post("/mcp", content=content, headers=TYPES | headers)
    assert (answered.status_code, answered.json()["error"]["code"]) == (status, code), answered.text
    assert len(answered.text) < 1000
    assert answered.json()["jsonrpc"] == "2.0"
    sent = body.get("id") if isinstance(body, dict) else None
    is_id = isinstance(sent, str | int) and not isinstance(sent, bool) and len(str(sent)) <= LONGEST_ID and status < 405
    assert answered.json()["id"] == (sent if is_id else None)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH"])
def test_there_is_no_stream_of_the_server_and_no_session_to_delete(http: TestClient, method: str) -> None:
    answered = http.request(method, "/mcp", headers={"accept": "text/event-stream", "mcp-session-id": "hib-1"})
    assert (answered.status_code, answered.headers["allow"]) == (405, "POST")


def test_a_header_that_comes_twice_is_refused() -> None:
    for header in ("mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id"):
        twice = [(name.encode(), value.encode()) for name, value in (*TYPES.items(), (header, "2025-06-18"), (header, "x"))]
        with pytest.raises(ProtocolError):
            message_of(json.dumps(request()).encode(), Headers(raw=twice))


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_a_client_gets_the_revision_that_it_asks_for(http: TestClient, revision: str) -> None:
    answered = http.post("/mcp", json=request("initialize", {"protocolVersion": revision}), headers=TYPES)
    assert answered.json()["result"]["protocolVersion"] == revision
    told = {"mcp-protocol-version": revision, "mcp-session-id": answered.headers["mcp-session-id"]}
    assert http.post("/mcp", json=request(), headers=TYPES | told).json() == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_a_client_of_an_unknown_revision_is_offered_the_newest_that_begins_as_it_does(http: TestClient) -> None:
    for wanted in ("2999-01-01", NEWEST):
        answered = http.post("/mcp", json=request("initialize", {"protocolVersion": wanted}), headers=TYPES)
        assert answered.json()["result"]["protocolVersion"] == HANDSHAKE[-1]


def test_sessions_are_never_the_same(http: TestClient) -> None:
    begin = request("initialize", {"protocolVersion": HANDSHAKE[-1]})
    assert len({http.post("/mcp", json=begin, headers=TYPES).headers["mcp-session-id"] for _ in range(3)}) == 3


def test_a_request_of_the_newest_revision_stands_alone(http: TestClient) -> None:
    answered = http.post("/mcp", json=modern("server/discover"), headers=TYPES | named("server/discover"))
    assert "mcp-session-id" not in answered.headers
    found = answered.json()["result"]
    assert (found["resultType"], found["supportedVersions"][0]) == ("complete", NEWEST)
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "hibernaut"
    listed = http.post("/mcp", json=modern("tools/list"), headers=TYPES | named("tools/list")).json()["result"]
    assert (listed["cacheScope"], listed["resultType"]) == ("private", "complete")


def test_notices_are_accepted_and_not_answered(http: TestClient) -> None:
    for body in (
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": ["x"]}},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
    ):
        answered = http.post("/mcp", json=body, headers=TYPES | {"mcp-session-id": "hib-1"})
        assert (answered.status_code, answered.content) == (202, b"")


def test_a_name_may_be_encoded() -> None:
    encoded = f"=?base64?{base64.b64encode(b'list_agents').decode()}?="
    headers = Headers(TYPES | named("tools/call", encoded))
    found = message_of(json.dumps(modern("tools/call", CALLED)).encode(), headers)
    assert isinstance(found, RpcRequest)
    assert (found.params["name"], found.is_stateless) == ("list_agents", True)


def test_wrong_arguments_are_told_to_the_model(http: TestClient) -> None:
    wrong = {"agent_id": "x", "message": "", "wait_seconds": 10**9, "more": 1}
    answered = http.post("/mcp", json=request("tools/call", {"name": "send_message", "arguments": wrong}), headers=TYPES)
    result = answered.json()["result"]
    assert result["isError"]
    for argument in wrong:
        assert f"{argument}: " in result["content"][0]["text"]
    for arguments in ([], "x", 1):
        body = request("tools/call", {"name": "send_message", "arguments": arguments})
        assert http.post("/mcp", json=body, headers=TYPES).json()["result"]["isError"]


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSONS,
        "id": JSONS,
        "method": st.sampled_from(["ping", "initialize", "tools/call"]) | JSONS,
        "params": st.fixed_dictionaries({}, optional={"_meta": st.just(ENVELOPE) | JSONS, "name": JSONS}) | JSONS,
        "result": JSONS,
    },
)
VALUES = st.sampled_from(["", "x", NEWEST, *HANDSHAKE, "application/json", "ping", "=?base64?x?="])


@given(
    body=(BODIES | JSONS).map(lambda value: json.dumps(value).encode()) | st.binary(max_size=20),
    headers=st.dictionaries(
        st.sampled_from(["mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id", "accept"]), VALUES
    ),
)
def test_whatever_comes_is_a_message_or_an_error_of_the_protocol(body: bytes, headers: dict[str, str]) -> None:
    found: RpcRequest | Notice | ProtocolError
    try:
        found = message_of(body, Headers({"content-type": "application/json", **headers}))
    except ProtocolError as error:
        found = error
    if isinstance(found, ProtocolError):
        assert 400 <= found.status < 500
        json.dumps(found.body())
