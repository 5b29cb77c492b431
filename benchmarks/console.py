"""What an open console costs the server: `python -m benchmarks.console`.

A real Chromium shows Home, which lists 50 agents, and what it asks by itself is recorded: while nothing runs, and beside 64
streams of 64 agents that are open all the time. These requests are then repeated, many times as often, and the CPU time of the
server's process for one of them is measured: while nothing runs, and beside the same streams, in periods that alternate with
periods without them. So neither the few requests of one page nor other work on the machine hide in the noise of the streams.

Playwright drives Debian's Chromium; without them the benchmark says so.
"""

from __future__ import annotations

import http.client
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

from benchmarks.measures import HEADERS, Client
from benchmarks.processes import Server, running_server, scripted_model
from benchmarks.streams import Stream

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request, Response

STREAMS, LATENCY = 64, 1.0
"""How many streams are open, and the seconds that the model thinks before it answers one."""
ROUNDS, SECONDS = 4, 30.0
"""Periods of each kind, and the length of one."""
WATCHED = 70.0
"""Seconds for which a page is watched: six refreshes of Home while nothing runs, of which one reads everything."""
TIMES = 20
"""How many times as often as the page its requests are repeated."""
VISITS, SETTLES = 15, 1.5
"""First views, and the seconds after which one is looked at."""
MILLISECONDS = 1000
DRAWN = """
const watch = new MutationObserver(() => {
  if (!document.querySelector('[aria-label="All agents"] li')) return;
  watch.disconnect();
  requestAnimationFrame(() => setTimeout(() => (window.drawn = performance.now())));
});
watch.observe(document, {childList: true, subtree: true});
"""
"""Sets `window.drawn` after the frame that shows the list of agents first."""


@dataclass(frozen=True)
class Period:
    """What one period took. `cpu`: the server's CPU milliseconds; `messages`: how many streams ended; `repeated`: how many
    requests of the page were.
    """

    cpu: float
    messages: int
    seconds: float
    repeated: int = 0

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

    def period(self, seconds: float, repeated: list[str] | None = None) -> Period:
        """Let the load go on for so long. `repeated`: what a page asked in `WATCHED` seconds, which is asked `TIMES` times as
        often.
        """
        cpu, done, start = self._server.cpu_ms(), self.done, time.perf_counter()
        if repeated:
            asked = repeat(self._server, repeated, round(len(repeated) * TIMES * seconds / WATCHED), until=start + seconds)
        else:
            asked = 0
            time.sleep(seconds)
        return Period(self._server.cpu_ms() - cpu, self.done - done, time.perf_counter() - start, asked)


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


def first_view(browser: Browser, server: Server) -> list[str]:
    """The time from the address to the first paint and to the drawn list in a browser that was never here, by the page's own
    clock, beside that of a page without anything: what a browser needs for itself.
    """
    bars, lists, empty, sizes = list[float](), list[float](), list[float](), list[int]()
    for _ in range(VISITS):
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{server.url}/v1/health/")
        empty.append(first_paint(page))
        context.close()
        context = browser.new_context()
        page = context.new_page()
        page.add_init_script(DRAWN)
        answers: list[Response] = []
        page.on("response", lambda one, found=answers: found.append(one))
        page.goto(f"{server.url}/console/", wait_until="commit")
        time.sleep(SETTLES)  # What a driver evaluates in the page meanwhile would count as the page's.
        lists.append(float(page.evaluate("window.drawn")))
        bars.append(first_paint(page))
        sizes.append(sum(len(one.body()) for one in answers if "/console/" in one.url and one.ok))
        context.close()
    return [
        f"  first view in a new profile: the bar after {_times(bars)}, the agents after {_times(lists)}   (aim: ≤ 300)",
        f"    an answer of 60 bytes without a page: {_times(empty)}; the console's files: {statistics.median(sizes) / 1000:.0f} KB, uncompressed",
    ]


def first_paint(page: Page) -> float:
    """Milliseconds after the beginning of the navigation."""
    return float(page.wait_for_function("performance.getEntriesByName('first-contentful-paint')[0]?.startTime").json_value())


def _times(milliseconds: list[float]) -> str:
    return f"{statistics.median(milliseconds):.0f} ms (fastest {min(milliseconds):.0f})"


def away(page: Page) -> None:
    page.goto("about:blank")


def repeat(server: Server, addresses: list[str], count: int, until: float = 0.0) -> int:
    """Ask for addresses one after the other, `count` times in all, evenly until a moment of the clock or as fast as they are
    answered. How many were asked.
    """
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=120)
    begun = time.perf_counter()
    for number in range(count):
        if until and (early := begun + (until - begun) * number / count - time.perf_counter()) > 0:
            time.sleep(early)
        if until and time.perf_counter() > until:
            return number
        connection.request("GET", addresses[number % len(addresses)], headers=HEADERS)
        answer = connection.getresponse()
        if not answer.read() or answer.status != 200:
            raise SystemExit(f"a request of the page was answered {answer.status}")
    return count


def watched(page: Page, server: Server, seconds: float) -> list[str]:
    """What Home asks by itself in so long, after its first view."""
    shown(page, server)
    page.wait_for_timeout(seconds * MILLISECONDS / 6)
    asked = list[str]()

    def note(request: Request) -> None:
        asked.append(request.url.removeprefix(server.url))

    page.on("request", note)
    page.wait_for_timeout(seconds * MILLISECONDS)
    page.remove_listener("request", note)
    away(page)
    return asked


def table(rounds: int = ROUNDS, seconds: float = SECONDS) -> list[str]:
    """The lines that the benchmark prints."""
    path = program()
    if path is None:
        return ["The console is not measured: it needs Chromium (apt-get install chromium) and `make dev`"]
    with scripted_model(LATENCY) as model, running_server(model) as server, chromium(path) as browser:
        client, page = Client(server), browser.new_page()
        agents = [client.agent(name=f"agent {place}") for place in range(STREAMS)]
        client.send(agents[0], "hello")
        view = first_view(browser, server)
        quiet = watched(page, server, WATCHED)
        repeat(server, quiet, len(quiet))
        cpu = server.cpu_ms()
        repeat(server, quiet, len(quiet) * TIMES)
        alone = (server.cpu_ms() - cpu) / TIMES / WATCHED
        without, beside = list[Period](), list[Period]()
        with Load(server, agents) as load:
            busy = watched(page, server, WATCHED)
            for _ in range(rounds):
                without.append(load.period(seconds))
                beside.append(load.period(seconds, busy))
            without.append(load.period(seconds))
        steps = client.http.get("/v1/usage").json()["total"]["steps"]
    each, share = cost_of_page(without, beside, len(busy))
    return [
        f"An open Home of the console, {STREAMS} agents; {steps} steps at the end",
        f"  while nothing runs: {len(quiet)} requests in {WATCHED:.0f} s {_counted(quiet)}, {alone:.2f} ms of the server's CPU for a second",
        f"  beside {STREAMS} streams: {len(busy)} requests in {WATCHED:.0f} s {_counted(busy)}, {each:.1f} ms of CPU for one of them,",
        f"    {each * len(busy) / WATCHED:.2f} ms for a second, which is {share:.2f} % of what the streams take   (aim: ≤ 5 %)",
        *(_line(name, periods) for name, periods in (("streams alone", without), (f"the page {TIMES} times", beside))),
        *view,
    ]


def cost_of_page(without: list[Period], beside: list[Period], requests: int) -> tuple[float, float]:
    """The server's CPU milliseconds for one request of the page, and the percentage of the streams' CPU that the page takes:
    medians of the pairs of each period with repeated requests and the two around it. `requests`: how many the page makes in
    `WATCHED` seconds.
    """
    each, shares = list[float](), list[float]()
    for one, before, after in zip(beside, without, without[1:], strict=False):
        message = (before.each + after.each) / 2
        each.append((one.cpu - one.messages * message) / max(one.repeated, 1))
        streams = (before.cpu + after.cpu) / (before.seconds + after.seconds)
        shares.append(each[-1] * requests / WATCHED / streams * 100)
    return statistics.median(each), statistics.median(shares)


def _counted(addresses: list[str]) -> str:
    return json.dumps(dict(Counter(urlsplit(one).path for one in addresses)))


def _line(name: str, periods: list[Period]) -> str:
    each = ", ".join(f"{one.each:.2f}" for one in periods)
    rate = statistics.median(one.messages / one.seconds for one in periods)
    return f"  {name:22} {statistics.median(one.each for one in periods):7.2f} ms of the server's CPU for a message ({each}), {rate:.1f} messages/s"


if __name__ == "__main__":
    print("\n".join(table(*(kind(text) for kind, text in zip((int, float), sys.argv[1:], strict=False)))))
