"""The tools that reach beyond the server, run by hand: pages become text, and what cannot be read says why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hibernaut.domain.agents.agent_calls import AGENT_CALLS
from hibernaut.domain.tools.builtin_online_schemas import NOT_CONFIGURED, ONLINE_DEFINITIONS
from hibernaut.domain.turn.actor import Call, CallResult
from hibernaut.ports.web import WebFailure, WebPage
from hibernaut.schemas.base import JsonObject
from hibernaut.services.tool_calls.online_tools import MOST_BYTES, OnlineTools
from hibernaut.wiring.embedded import Embedded
from hibernaut.wiring.settings import EmbeddedSettings

HTML = (
    b"<html><head><title>Birds</title><script>var x</script></head><body><h1>Parrots</h1><p>Green &amp; blue.</p></body></html>"
)


class Shelf:
    """A web of one page; it has its port's walls and no others."""

    def __init__(self, page: WebPage | WebFailure) -> None:
        self.asked: list[tuple[str, int]] = []
        self._page = page

    def post(self, url: str, body: JsonObject, *, seconds: float) -> int:  # noqa: ARG002 - the port names them
        raise AssertionError

    def page(self, url: str, *, seconds: float, most: int) -> WebPage:  # noqa: ARG002
        self.asked.append((url, most))
        if isinstance(self._page, WebFailure):
            raise self._page
        return self._page


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Embedded]:
    with Embedded(EmbeddedSettings(data=tmp_path)) as made:
        yield made


def call(house: Embedded, page: WebPage | WebFailure, name: str = "fetch_webpage", **args: object) -> CallResult:
    return OnlineTools(replace(house.host, web=Shelf(page))).call(Call(id="call", name=name, args=dict(args)))


def page(data: bytes, content_type: str, status: int = 200) -> WebPage:
    return WebPage(status, content_type, data, "https://birds.example/")


@pytest.mark.parametrize(
    ("data", "content_type", "text"),
    [
        (HTML, "text/html; charset=utf-8", "Birds\n\n# Parrots\n\nGreen & blue."),
        (HTML, "", "Birds\n\n# Parrots\n\nGreen & blue."),
        (b'{"a": 1}', "application/json", '{"a": 1}'),
        ("naïve".encode(), "text/plain", "naïve"),
    ],
)
def test_a_page_is_returned_as_its_text(house: Embedded, data: bytes, content_type: str, text: str) -> None:
    result = call(house, page(data, content_type), url="https://birds.example/")
    assert (result.status, result.message) == ("success", text)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (page(b"x", "text/html", 404), "answered 404"),
        (page(b"\x89PNG", "image/png"), "image/png"),
        (page(b" ", "text/plain"), "holds no text"),
        (page(b"no pdf", "application/pdf"), "no PDF"),
        (WebFailure("the address is not one of the public internet"), "public internet"),
    ],
)
def test_a_page_that_cannot_be_read_says_why(house: Embedded, found: WebPage | WebFailure, why: str) -> None:
    result = call(house, found, url="https://birds.example/")
    assert (result.status, why in str(result.message)) == ("error", True)


@pytest.mark.parametrize("args", [{}, {"url": 7}, {"url": " "}])
def test_an_address_is_needed(house: Embedded, args: JsonObject) -> None:
    assert call(house, page(b"", ""), **args).status == "error"


def test_only_so_much_of_a_page_is_asked_for(house: Embedded) -> None:
    shelf = Shelf(page(b"x", "text/plain"))
    OnlineTools(replace(house.host, web=shelf)).call(
        Call(id="call", name="fetch_webpage", args={"url": " https://birds.example/ "})
    )
    assert shelf.asked == [("https://birds.example/", MOST_BYTES)]


def test_every_other_tool_says_what_is_missing(house: Embedded) -> None:
    names = {definition.name for definition in ONLINE_DEFINITIONS} - {"fetch_webpage", *AGENT_CALLS}
    assert names == set(NOT_CONFIGURED)
    for name in names:
        result = call(house, page(b"", ""), name)
        assert (result.status, result.message) == ("error", NOT_CONFIGURED[name])
