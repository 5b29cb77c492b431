"""Sessions with servers of the official package, by every transport of HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from mcp.server.mcpserver import Context
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from pydantic import BaseModel

from hibernaut.adapters.addresses import PUBLIC, THIS_MACHINE
from hibernaut.adapters.door import Door
from hibernaut.adapters.mcp.client import McpClient
from hibernaut.domain.tools.mcp.mcp_results import shown
from hibernaut.domain.tools.mcp.mcp_schemas import fingerprint
from hibernaut.ports.tools.mcp import HttpMcpTarget, McpCall, McpFailure, StdioMcpTarget
from hibernaut.schemas.content import Base64Image
from tests.support.mcp_service import McpService
from tests.support.pictures import encoded, png

TRANSPORTS = ("streamable_http", "sse")
PIXEL, BYTES = encoded(png(1, 1)), encoded(b"1234")


class Answer(BaseModel):
    yes: bool


class Birds:
    """The tools of a server, and what became of a call that waits."""

    def __init__(self) -> None:
        self.waiting = threading.Event()
        self.cancelled = threading.Event()

    async def wait(self) -> str:
        self.waiting.set()
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            self.cancelled.set()
            raise
        return "never"


def pictures() -> list[Any]:
    return [
        TextContent(type="text", text="Here:"),
        ImageContent(type="image", data=PIXEL, mime_type="image/png"),
        AudioContent(type="audio", data=BYTES, mime_type="audio/wav"),
        EmbeddedResource(type="resource", resource=TextResourceContents(uri="file:///a.txt", text="The text of a.")),
        EmbeddedResource(type="resource", resource=BlobResourceContents(uri="file:///b.bin", blob=BYTES)),
        ResourceLink(type="resource_link", uri="file:///c", name="c", description="Another one."),
    ]


async def steps(ctx: Context) -> str:  # type: ignore[type-arg]
    await ctx.report_progress(1, 2)
    return "done"


async def asks(ctx: Context) -> str:  # type: ignore[type-arg]
    got = await ctx.elicit("May I?", Answer)
    return f"{got.action}"


def nothing() -> None:
    return None


def fails() -> str:
    raise ValueError("the nest is empty")


@pytest.fixture(scope="module")
def birds() -> Birds:
    return Birds()


@pytest.fixture(scope="module", params=TRANSPORTS)
def service(request: pytest.FixtureRequest, birds: Birds) -> Iterator[tuple[McpService, HttpMcpTarget]]:
    with McpService(request.param) as running:
        for tool in (pictures, steps, asks, nothing, fails, birds.wait):
            running.tool(tool)
        yield running, HttpMcpTarget(running.url, request.param, {"x-room": "7"})


@pytest.fixture
def target(service: tuple[McpService, HttpMcpTarget]) -> HttpMcpTarget:
    return service[1]


def client() -> McpClient:
    return McpClient(Door(THIS_MACHINE), look=0.01)


def test_a_server_is_listed_with_its_headers(service: tuple[McpService, HttpMcpTarget]) -> None:
    running, target = service
    listing = client().tools(target, seconds=20)
    assert [tool.name for tool in listing.tools] == ["pictures", "steps", "asks", "nothing", "fails", "wait"]
    assert not listing.more
    assert {seen["x-room"] for seen in running.seen} == {"7"}


def test_a_result_becomes_what_a_model_can_read(target: HttpMcpTarget) -> None:
    read = shown(client().call(target, McpCall("pictures", {}), seconds=20))
    assert [image.source for image in read.images] == [Base64Image(media_type="image/png", data=PIXEL)]
    assert read.text.splitlines() == [
        "Here:",
        f"[image 1: image of the type image/png, 1 by 1 pixels, {len(png(1, 1))} bytes]",
        "[sound of the type audio/wav, 4 bytes, which cannot be shown]",
        "The text of a.",
        "[resource file:///b.bin of the type unknown, 4 bytes, which cannot be shown]",
        "[c](file:///c): Another one.",
    ]


def test_progress_does_not_disturb(target: HttpMcpTarget) -> None:
    assert shown(client().call(target, McpCall("steps", {}), seconds=20)).text == "done"


def test_a_question_to_the_user_is_refused_and_the_tool_hears_it(target: HttpMcpTarget) -> None:
    with pytest.raises(McpFailure, match="elicitation"):
        client().call(target, McpCall("asks", {}), seconds=20)


def test_a_failure_of_a_tool_is_its_result(target: HttpMcpTarget) -> None:
    result = client().call(target, McpCall("fails", {}), seconds=20)
    assert (result.failed, "fails" in shown(result).text) == (True, True)
    assert client().call(target, McpCall("unknown", {}), seconds=20).failed


def test_nothing_is_told_as_nothing(target: HttpMcpTarget) -> None:
    assert shown(client().call(target, McpCall("nothing", {}), seconds=20)).text in (
        "The tool returned nothing.",
        '{"result": null}',
    )


def test_a_call_that_nobody_wants_any_more_is_cancelled_on_its_server(target: HttpMcpTarget, birds: Birds) -> None:
    birds.waiting.clear()
    birds.cancelled.clear()
    with pytest.raises(McpFailure, match="cancelled") as failed:
        client().call(target, McpCall("wait", {}, wanted=lambda: not birds.waiting.is_set()), seconds=20)
    assert failed.value.problem == "cancelled"
    assert birds.cancelled.wait(10)


@pytest.mark.parametrize(("name", "mark", "problem"), [("wait", "0123", "changed"), ("gone", "", "missing")])
def test_a_tool_that_is_not_as_it_was_is_not_called(
    target: HttpMcpTarget, birds: Birds, name: str, mark: str, problem: str
) -> None:
    birds.waiting.clear()
    with pytest.raises(McpFailure) as failed:
        client().call(target, McpCall(name, {}, mark), seconds=20)
    assert (failed.value.problem, birds.waiting.is_set()) == (problem, False)


def test_a_tool_that_is_as_it_was_is_called(target: HttpMcpTarget) -> None:
    listing = client().tools(target, seconds=20)
    mark = next(fingerprint(tool.schema) for tool in listing.tools if tool.name == "steps")
    assert shown(client().call(target, McpCall("steps", {}, mark), seconds=20)).text == "done"


def test_a_refusal_of_credentials_is_told_with_its_challenge(service: tuple[McpService, HttpMcpTarget]) -> None:
    running, target = service
    running.refuses = 401
    try:
        with pytest.raises(McpFailure, match="refused the credentials") as failed:
            client().tools(target, seconds=20)
    finally:
        running.refuses = 0
    assert (failed.value.problem, failed.value.challenge) == ("unauthorized", 'Bearer error="invalid_token"')


def test_the_door_is_closed_to_private_addresses(target: HttpMcpTarget) -> None:
    with pytest.raises(McpFailure, match="no connection"):
        McpClient(Door(PUBLIC)).tools(target, seconds=20)


def test_a_program_is_not_started_where_none_may_be() -> None:
    with pytest.raises(McpFailure, match="starts none") as failed:
        client().tools(StdioMcpTarget("touch", ("x",)), seconds=20)
    assert failed.value.problem == "off"
