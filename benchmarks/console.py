"""What an open console costs the server: `python -m benchmarks.console`.

64 streams of 64 agents are open all the time, and a real Chromium shows Home, which lists 50 agents. Periods with and without the page
alternate. Before, it measures the first view. CPU time is that of the server's process alone, because browser, model and clients share the two cores with it.

Playwright drives Debian's Chromium; without them the benchmark says so.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from benchmarks.measures import Client
from benchmarks.processes import Server, running_server, scripted_model
from benchmarks.streams import Stream

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request, Response

STREAMS, LATENCY = 64, 1.0
"""How many streams are open, and the seconds that the model thinks before it answers one."""
ROUNDS, SECONDS = 4, 30.0
"""Periods of each kind, and the length of one: three refreshes of Home."""
VISITS = 9
MILLISECONDS = 1000


@dataclass(frozen=True)
class Period:
    """What one period took. `cpu`: the server's CPU milliseconds; `messages`: how many streams ended."""

    cpu: float
    messages: int
    seconds: float

    @property
    def each(self) -> float:
        return self.cpu / max(self.messages, 1)


class Load:
    """Clients that each keep one stream open, one message after the other."""

    def __init__(self, server: Server, agents: list[str]) -> None:
        self._server = server
        self._over = threading.Event()
        self._lock = threading.Lock()
        self.done = 0
        self._threads = [threading.Thread(target=self._talk, args=(agent,), daemon=True) for agent in agents]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _talk(self, agent: str) -> None:
        stream = Stream(self._server)
        while not self._over.is_set():
            for _ in stream.post(f"/v1/agents/{agent}/messages/stream", {"input": "hello", "stream_tokens": True}):
                pass
            with self._lock:
                self.done += 1

    def period(self, page: Page, seconds: float) -> Period:
        """Let the load go on for so long."""
        cpu, done, start = self._server.cpu_ms(), self.done, time.perf_counter()
        page.wait_for_timeout(seconds * MILLISECONDS)
        return Period(self._server.cpu_ms() - cpu, self.done - done, time.perf_counter() - start)


def program() -> str | None:
    """Chromium's path; None where it or Playwright is missing."""
    return (shutil.which("chromium") or shutil.which("google-chrome")) if find_spec("playwright") else None


@contextmanager
def chromium(path: str) -> Iterator[Browser]:
    """A running Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield browser
        finally:
            browser.close()


def shown(page: Page, server: Server) -> None:
    """Home with its list of agents."""
    page.goto(f"{server.url}/console/")
    page.get_by_role("region", name="All agents").get_by_role("listitem").first.wait_for()


def first_view(browser: Browser, server: Server) -> str:
    """The time from the address to the drawn list in a browser that was never here, and what it loaded for it."""
    times, sizes = list[float](), list[int]()
    for _ in range(VISITS):
        context = browser.new_context()
        page = context.new_page()
        answers: list[Response] = []
        page.on("response", lambda one, found=answers: found.append(one))
        shown(page, server)
        times.append(float(page.evaluate("performance.now()")))
        sizes.append(sum(len(one.body()) for one in answers if "/console/" in one.url and one.ok))
        context.close()
    return f"  first view in a new profile: {statistics.median(times):.0f} ms (fastest {min(times):.0f}), {statistics.median(sizes) / 1000:.0f} KB of files, uncompressed"


def away(page: Page) -> None:
    page.goto("about:blank")


def alone(page: Page, server: Server, seconds: float) -> tuple[float, float, Counter[str]]:
    """The server's CPU milliseconds for a second of an open page, and of no page, while nothing runs; and what the page asks by itself."""
    away(page)
    cpu = server.cpu_ms()
    page.wait_for_timeout(seconds * MILLISECONDS)
    idle = (server.cpu_ms() - cpu) / seconds
    shown(page, server)
    asked: Counter[str] = Counter()

    def count(request: Request) -> None:
        asked[urlsplit(request.url).path] += 1

    page.on("request", count)
    cpu = server.cpu_ms()
    page.wait_for_timeout(seconds * MILLISECONDS)
    page.remove_listener("request", count)
    return (server.cpu_ms() - cpu) / seconds, idle, asked


def table(rounds: int = ROUNDS, seconds: float = SECONDS) -> list[str]:
    """The lines that the benchmark prints."""
    path = program()
    if path is None:
        return ["The console is not measured: it needs Chromium (apt-get install chromium) and `make dev`"]
    with scripted_model(LATENCY) as model, running_server(model) as server, chromium(path) as browser:
        client, page = Client(server), browser.new_page()
        agents = [client.agent(name=f"agent {place}") for place in range(STREAMS)]
        view = first_view(browser, server)
        open_page, idle, asked = alone(page, server, seconds)
        without, beside = list[Period](), list[Period]()
        with Load(server, agents) as load:
            shown(page, server)
            load.period(page, seconds / 2)
            for _ in range(rounds):
                away(page)
                without.append(load.period(page, seconds))
                shown(page, server)
                beside.append(load.period(page, seconds))
            away(page)
            without.append(load.period(page, seconds))
        steps = client.http.get("/v1/usage").json()["total"]["steps"]
    return [
        f"The console's Home beside {STREAMS} streams of {STREAMS} agents, {rounds} periods of {seconds:.0f} s ({steps} steps at the end)",
        *(_line(name, periods) for name, periods in (("without the console", without), ("with the console", beside))),
        f"  the server's CPU for a message, in pairs:  {slowdown(without, beside):+.1f} %   (aim: ≤ 5 %)",
        f"  the open page before that, nothing running: {open_page - idle:.1f} ms of CPU for a second; asks {json.dumps(dict(asked))} in {seconds:.0f} s",
        view,
    ]


def slowdown(without: list[Period], beside: list[Period]) -> float:
    """Percent: each period with the page against the mean of the periods before and after it; the median of the pairs."""
    pairs = zip(beside, without, without[1:], strict=False)
    return statistics.median((one.each / ((before.each + after.each) / 2) - 1) * 100 for one, before, after in pairs)


def _line(name: str, periods: list[Period]) -> str:
    each = ", ".join(f"{one.each:.2f}" for one in periods)
    rate = statistics.median(one.messages / one.seconds for one in periods)
    return f"  {name:22} {statistics.median(one.each for one in periods):7.2f} ms of the server's CPU for a message ({each}), {rate:.1f} messages/s"


if __name__ == "__main__":
    print("\n".join(table(*(kind(text) for kind, text in zip((int, float), sys.argv[1:], strict=False)))))
