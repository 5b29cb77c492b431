"""A server that hangs, floods or sends rubbish costs one session. Each row is one such server."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from hibernaut.adapters.addresses import THIS_MACHINE
from hibernaut.adapters.door import Door
from hibernaut.adapters.mcp.client import MOST_PAGES, McpClient
from hibernaut.adapters.mcp.contents import LONGEST_TYPE, MOST_PARTS
from hibernaut.adapters.mcp.listings import MOST_LISTED
from hibernaut.domain.tools.mcp.mcp_results import shown
from hibernaut.ports.tools.mcp import HttpMcpTarget, McpCall, McpFailure
from tests.support.raw_mcp import RawExchange, RawMcp

MOST = 200_000
"""Bytes that a session of these tests reads."""


@dataclass(frozen=True)
class Row:
    """What a server does when it is asked for its tools or for a call, and the problem that is told."""

    why: str
    script: Callable[[RawExchange], None]
    problem: str
    told: str
    seconds: float = 20.0


def hang(exchange: RawExchange) -> None:
    exchange.server.over.wait()


def hang_inside(exchange: RawExchange) -> None:
    exchange.begin("application/json")
    exchange.wfile.write(b'{"jsonrpc"')
    exchange.wfile.flush()
    exchange.server.over.wait()


def flood(exchange: RawExchange) -> None:
    exchange.begin("application/json")
    for _ in range(10_000):
        exchange.wfile.write(b" " * 10_000)


def flood_of_events(exchange: RawExchange) -> None:
    exchange.begin("text/event-stream")
    note = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}
    for _ in range(100_000):
        exchange.wfile.write(f"event: message\ndata: {json.dumps(note)}\n\n".encode())


def endless_event(exchange: RawExchange) -> None:
    exchange.begin("text/event-stream")
    exchange.wfile.write(b"data: ")
    for _ in range(10_000):
        exchange.wfile.write(b"x" * 10_000)


def bomb(exchange: RawExchange) -> None:
    exchange.answer(gzip.compress(b" " * 10_000_000), content_encoding="gzip")


def leads(to: str, status: int = 307) -> Callable[[RawExchange], None]:
    return lambda exchange: exchange.answer(b"", status=status, location=to)


def sends(body: bytes, kind: str = "application/json", status: int = 200) -> Callable[[RawExchange], None]:
    return lambda exchange: exchange.answer(body, kind, status=status)


def with_id(result: Any) -> Callable[[RawExchange], None]:
    return lambda exchange: exchange.result(result)


ROWS = (
    Row("hangs", hang, "timeout", "did not answer within", 0.8),
    Row("hangs inside its answer", hang_inside, "timeout", "did not answer within", 0.8),
    Row("floods", flood, "limit", "more than 200,000 bytes"),
    Row("floods with events", flood_of_events, "limit", "more than 200,000 bytes"),
    Row("an event without an end", endless_event, "limit", "more than 200,000 bytes"),
    Row("packs a bomb", bomb, "limit", "compresses its answers by gzip"),
    Row("leads to a metadata service", leads("http://169.254.169.254/latest/"), "protocol", "redirects are not followed"),
    Row("leads there by a GET", leads("http://169.254.169.254/latest/", 302), "protocol", "redirects are not followed"),
    Row("binary rubbish", sends(b"\x00\xff\xfe" * 500), "protocol", "answered with an error"),
    Row("rubbish of no type", sends(b"\x00\xff", "application/octet-stream"), "protocol", "answered with an error"),
    Row("a web page", sends(b"<html>Hello</html>", "text/html; charset=utf-8"), "protocol", "a web page"),
    Row("a web page as an error", sends(b"<html>Gone</html>", "text/html", 502), "protocol", "a web page"),
    Row("brackets without an end", sends(b"[" * 100_000), "protocol", "answered with an error"),
    Row("another request's answer", sends(b'{"jsonrpc":"2.0","id":"x","result":{}}'), "timeout", "did not answer within", 0.8),
    Row("a result of no form", with_id({"tools": 5, "content": 5}), "protocol", "is not valid"),
    Row(
        "an error",
        sends(b'{"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"\\u0007no"}}', status=500),
        "protocol",
        "HTTP 500",
    ),
)


def client() -> McpClient:
    return McpClient(Door(THIS_MACHINE), most=MOST)


@pytest.fixture(scope="module", autouse=True)
def first_session() -> None:
    """The first session of a process takes longer, and some rows wait for a short time."""
    with RawMcp(with_id({"tools": []})) as server:
        assert client().tools(HttpMcpTarget(server.url), seconds=60).tools == ()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.why)
def test_a_hostile_server_costs_one_listing(row: Row) -> None:
    with RawMcp(row.script) as server, pytest.raises(McpFailure, match=row.told) as failed:
        client().tools(HttpMcpTarget(server.url), seconds=row.seconds)
    assert failed.value.problem == row.problem
    assert server.asked.count("tools/list") == 1


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.why)
def test_a_hostile_server_costs_one_call_which_is_made_once(row: Row) -> None:
    with RawMcp(row.script) as server, pytest.raises(McpFailure, match=row.told) as failed:
        client().call(HttpMcpTarget(server.url), McpCall("x", {}), seconds=row.seconds)
    assert failed.value.problem == row.problem
    assert server.asked.count("tools/call") == 1


def leads_messages(to: str) -> Callable[[RawExchange], None]:
    """The stream of the older transport whose first event says where messages are sent."""

    def stream(exchange: RawExchange) -> None:
        exchange.begin("text/event-stream")
        exchange.wfile.write(f"event: endpoint\ndata: {to}\n\n".encode())
        exchange.wfile.flush()
        exchange.server.over.wait()

    return stream


OLDER = (
    Row("hangs", hang, "timeout", "did not answer within", 0.8),
    Row("names no place for messages", flood_of_events, "timeout", "did not answer within", 0.8),
    Row("an event without an end", endless_event, "limit", "more than 200,000 bytes"),
    Row("packs a bomb", bomb, "limit", "compresses its answers by gzip"),
    Row("leads to a metadata service", leads("http://169.254.169.254/latest/"), "protocol", "redirects to another one"),
    Row("a web page", sends(b"<html>Hello</html>", "text/html; charset=utf-8"), "protocol", "a web page"),
    Row("binary rubbish", sends(b"\x00\xff\xfe" * 500), "protocol", "violates the Model Context Protocol"),
    Row(
        "has messages sent to a metadata service",
        leads_messages("http://169.254.169.254/latest/"),
        "timeout",
        "did not answer within",
        0.8,
    ),
    Row(
        "has messages sent to another port",
        leads_messages("http://127.0.0.1:65500/messages"),
        "timeout",
        "did not answer within",
        0.8,
    ),
)
"""The older transport: a GET opens the stream of answers, and messages are sent to the address that its first event names."""


@pytest.mark.parametrize("row", OLDER, ids=lambda row: row.why)
def test_a_hostile_server_of_the_older_transport_costs_one_session(row: Row) -> None:
    with RawMcp(hang, listens=row.script) as server, pytest.raises(McpFailure, match=row.told) as failed:
        client().tools(HttpMcpTarget(server.url, "sse"), seconds=row.seconds)
    assert (failed.value.problem, server.asked) == (row.problem, [])


def test_of_a_hundred_thousand_tools_some_are_read() -> None:
    tools = [{"name": f"t{number}", "inputSchema": {}} for number in range(100_000)]

    with RawMcp(lambda exchange: exchange.result({"tools": tools})) as server:
        listing = McpClient(Door(THIS_MACHINE)).tools(HttpMcpTarget(server.url), seconds=60)
    assert (len(listing.tools), listing.more) == (MOST_LISTED, True)


def test_pages_without_an_end_are_read_for_a_while() -> None:
    def page(exchange: RawExchange) -> None:
        exchange.result({"tools": [{"name": f"t{len(exchange.server.asked)}", "inputSchema": {}}], "nextCursor": "more"})

    with RawMcp(page) as server:
        listing = client().tools(HttpMcpTarget(server.url), seconds=60)
    assert (len(listing.tools), listing.more) == (MOST_PAGES, True)


def test_one_tool_of_no_form_costs_no_other_tool() -> None:
    tools = [{"name": "good", "description": "Yes.", "inputSchema": {"type": "object"}}, {"name": "bare"}, {"name": 5}, "x"]
    tools += [{"name": "odd", "inputSchema": {"type": "string"}, "outputSchema": 5, "annotations": "x", "description": 5}]
    with RawMcp(lambda exchange: exchange.result({"tools": tools})) as server:
        listing = client().tools(HttpMcpTarget(server.url), seconds=20)
    assert [(tool.name, tool.description, tool.schema) for tool in listing.tools] == [
        ("good", "Yes.", {"type": "object"}),
        ("bare", "", None),
        ("odd", "", {"type": "string"}),
    ]


def called(content: list[Any]) -> list[str]:
    """The lines that a model reads of a result with this content."""
    with RawMcp(lambda exchange: exchange.result({"content": content})) as server:
        return shown(client().call(HttpMcpTarget(server.url), McpCall("x", {}), seconds=20)).text.splitlines()


def test_one_part_of_an_unknown_type_costs_no_other_part() -> None:
    parts: list[Any] = [{"type": "text", "text": "a"}, {"type": "hologram", "data": "x" * 1000}, {"type": "image"}, {}, 5]
    parts += [{"type": "odd\n" * 100}, {"type": "text", "text": "b", "annotations": 5}]
    assert called(parts) == [
        "a",
        "[content of the type hologram, which cannot be read]",
        "[content of the type image, which cannot be read]",
        "[content of the type unknown, which cannot be read]",
        "[content of the type unknown, which cannot be read]",
        f"[content of the type {('odd ' * 20)[:LONGEST_TYPE]}, which cannot be read]",
        "b",
    ]


def test_of_many_parts_some_are_read() -> None:
    lines = called([{"type": "text", "text": "x"}] * (MOST_PARTS + 7))
    assert (lines.count("x"), lines[-1]) == (MOST_PARTS, "[7 further parts were left out]")


@pytest.mark.parametrize("transport", ["streamable_http", "sse"])
def test_a_port_without_a_server_is_told(transport: Any) -> None:
    with RawMcp(hang) as server:
        url = server.url
    with pytest.raises(McpFailure, match="no connection") as failed:
        client().tools(HttpMcpTarget(url, transport), seconds=20)
    assert failed.value.problem == "unreachable"
