"""The console in a real Chromium: one browser and one server for the tests of a module, a page of its own for each test."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from hibernaut.schemas.models.model_call import Delta, ModelReply, ModelRequest
from hibernaut.wiring.embedded import Embedded, EmbeddedOverrides
from hibernaut.wiring.settings import EmbeddedSettings
from tests.browser.chromium import FLAGS, PATIENCE, program
from tests.support.scripted_model import ScriptedModels, Streamed, says
from tests.support.web_sockets import served_on_loopback
from tools.engines import CONSOLE_CHECKS

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, ConsoleMessage

    from hibernaut.ports.memory.embedder import Embedders

MILLISECONDS = 1000
PICTURES = Path(__file__).parents[2] / "docs" / "console"
PICTURED = 700
"""The width of a picture in pixels."""
WANTED = "CONSOLE_PICTURES"
"""The variable that asks for pictures (`make pictures`)."""
STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
"""The tags of axe's rules."""
BROKEN = """
() => [...document.querySelectorAll("h1, h2")].flatMap((heading) => {
  const broken = [];
  const texts = document.createTreeWalker(heading, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    for (const word of text.data.matchAll(/[A-Za-z]{2,14}/g)) {
      const range = document.createRange();
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      if (range.getClientRects().length > 1) broken.push(`${word[0]} in the heading ${heading.textContent}`);
    }
  }
  return broken;
})
"""
"""Short words of headings that stand on two lines: a heading that has too little space."""
LOOKS = ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"]
"""The rules of axe that look at colours and sizes (the documentation of its rules)."""
expect.set_options(timeout=PATIENCE / 4 * MILLISECONDS)


@contextmanager
def browser() -> Iterator[Browser]:
    """Debian's Chromium, driven by Playwright, which downloads none."""
    flags = [flag for flag in FLAGS if not flag.startswith(("--headless", "--remote-debugging-port"))]
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=program(), args=flags, chromium_sandbox=False)
        try:
            yield made
        finally:
            made.close()


class Director:
    """What the scripted model says to the newest text of a user, by its first word; everything else is answered by `Heard: …`."""

    def __init__(self) -> None:
        self._scenes: dict[str, Callable[[ModelRequest], ModelReply | Streamed]] = {}

    def when(self, word: str, reply: Callable[[ModelRequest], ModelReply | Streamed]) -> None:
        """Answer a text that begins with the word in this way."""
        self._scenes[word] = reply

    def __call__(self, request: ModelRequest, _number: int) -> ModelReply | Streamed:
        said = next((text_of(one) for one in reversed(request.messages) if one.role == "user"), "")
        scene = self._scenes.get(said.split(" ", 1)[0])
        return scene(request) if scene else says(f"Heard: {said}")


def text_of(message: Any) -> str:
    """The text of a row of the log."""
    return "".join(getattr(part, "text", "") for part in message.content)


@dataclass
class Held:
    """A streamed reply that stops before one of its pieces until the test lets it go on."""

    pieces: tuple[str, ...]
    stop: int = 2
    arrived: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)

    def __call__(self, _: ModelRequest) -> Streamed:
        def before(number: int) -> None:
            if number == self.stop:
                self.arrived.set()
                assert self.go.wait(PATIENCE)

        return Streamed([Delta("text", piece) for piece in self.pieces], says("".join(self.pieces)), before)


@dataclass(frozen=True)
class Served:
    """The server of a module. `http`: a client of its API."""

    url: str
    http: httpx.Client
    director: Director
    house: Embedded

    def agent(self, name: str = "guide", **fields: Any) -> str:
        """A new agent with two blocks; its id."""
        blocks = [{"label": "persona", "value": "I am a guide."}, {"label": "human", "value": "Nothing is known."}]
        return str(self.post("agents/", {"name": name, "memory_blocks": blocks, **fields})["id"])

    def post(self, path: str, body: Any) -> Any:
        """The JSON of an answer that succeeded."""
        answer = self.http.post(f"/v1/{path}", json=body)
        assert answer.is_success, answer.text
        return answer.json()

    def get(self, path: str) -> Any:
        """The JSON of an answer that succeeded."""
        answer = self.http.get(f"/v1/{path}")
        assert answer.is_success, answer.text
        return answer.json()

    def say(self, agent_id: str, text: str) -> Any:
        """Send a message, and wait for its end."""
        return self.post(f"agents/{agent_id}/messages", {"input": text})

    def block(self, agent_id: str, label: str = "human") -> Any:
        """A block of the agent."""
        return self.get(f"agents/{agent_id}/core-memory/blocks/{label}")


@contextmanager
def serving(folder: Path, *, scripted: bool = False, embedders: Embedders | None = None, **options: Any) -> Iterator[Served]:
    """A server with the demo model, or with a scripted one. `embedders`: instead of the server's own."""
    director = Director()
    overrides = EmbeddedOverrides(models=ScriptedModels(director) if scripted else None, embedders=embedders)
    with (
        Embedded(EmbeddedSettings(folder), overrides) as house,
        served_on_loopback(house, **options) as url,
        httpx.Client(base_url=url, timeout=PATIENCE) as http,
    ):
        yield Served(url, http, director, house)


class Visit:
    """A page of the console. At its end nothing may have been refused by the page's policy, and no script may have failed."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.url = url
        self.page: Page = context.new_page()
        self.page.set_default_timeout(PATIENCE / 4 * MILLISECONDS)
        self.faults: list[str] = []
        self.addresses: list[str] = []
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", self._told)
        self.page.on("request", lambda request: self.addresses.append(request.url))

    def _told(self, message: ConsoleMessage) -> None:
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.faults.append(message.text)

    def open(self, place: str = "#/home") -> Page:
        """Load the console at a place."""
        self.page.goto(f"{self.url}/console/{place}")
        return self.page

    def chat(self, agent_id: str) -> Page:
        """Load the chat of an agent."""
        page = self.open(f"#/agents/{agent_id}/chat")
        expect(page.get_by_role("log")).to_be_visible()
        return page

    def send(self, text: str) -> None:
        """Write and send a message."""
        box = self.page.get_by_role("textbox", name="Message to")
        box.fill(text)
        box.press("Enter")

    def violations(self, *, by_looks: bool = False) -> list[str]:
        """What axe finds against WCAG 2.2 AA, each with the elements concerned, and headings that are broken within a word.

        `by_looks`: only by the rules whose outcome depends on colours and sizes, for a page whose structure was checked in
        another look.
        """
        if not CONSOLE_CHECKS.is_installed():
            pytest.skip("axe needs Node and npm") if CONSOLE_CHECKS.missing_programs() else pytest.fail(
                "run `make engines`: there is no axe"
            )
        if not self.page.evaluate("'axe' in window"):
            source = (CONSOLE_CHECKS.folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
            self.page.evaluate(f"() => {{ {source} }}")
        only = {"type": "rule", "values": LOOKS} if by_looks else {"type": "tag", "values": STANDARDS}
        found = self.page.evaluate("(only) => axe.run({runOnly: only, resultTypes: ['violations']})", only)
        broken = [f"broken: {one}" for one in self.page.evaluate(BROKEN)]
        return broken + [
            f"{one['id']}: {node['html'][:160]} {json.dumps(node['any'][:1])[:300]}"
            for one in found["violations"]
            for node in one["nodes"]
        ]


@contextmanager
def visiting(opened: Browser, url: str, **options: Any) -> Iterator[Visit]:
    """A page in a profile of its own. `options`: of the profile, such as its colours and its size."""
    context = opened.new_context(
        **{"viewport": {"width": 1100, "height": 760}, "locale": "en-US", "reduced_motion": "reduce", **options}
    )
    try:
        visit = Visit(context, url)
        yield visit
        assert visit.faults == []
        assert [one for one in visit.addresses if not one.startswith((url, "data:"))] == []
    finally:
        with suppress(Exception):
            context.close()


def picture(page: Page, name: str, *, height: int = 500, of: Locator | None = None) -> None:
    """Keep a picture of the page, or of a part of it, for the docs, where `make pictures` asks for it."""
    if os.environ.get(WANTED):
        PICTURES.mkdir(exist_ok=True)
        usual = page.viewport_size
        page.set_viewport_size({"width": PICTURED, "height": height})
        if of:
            of.scroll_into_view_if_needed()
        (of or page).screenshot(path=PICTURES / f"{name}.png", animations="disabled", caret="hide")
        if usual:
            page.set_viewport_size(usual)
