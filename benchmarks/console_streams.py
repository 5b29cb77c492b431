"""What the console's page costs the browser: `python -m benchmarks.console_streams`.

A chat follows a reply that the model writes at 200 tokens a second, and a conversation of 10,000 messages is scrolled from its
end to its beginning. CPU time is that of the page's main thread (Chromium's thread ticks), so that other work on the machine does
not count; long tasks and late frames do suffer from it.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.console import MILLISECONDS, chromium, program
from benchmarks.measures import Client
from benchmarks.processes import Server, running_server, scripted_model

if TYPE_CHECKING:
    from playwright.sync_api import Browser, CDPSession, Page

RATE, TOKENS, PARTS = 200, 4000, 4
"""Tokens a second, tokens of the reply, and parts of it that are compared."""
MESSAGES, PAGE = 10_000, 60
"""Messages of the long conversation, and those that the console reads at once."""
OBSERVE = """() => {
  window.tasks = [];
  new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map((one) => one.duration))).observe({type: "longtask"});
  window.late = [0, 0];
  let before = performance.now();
  const frame = (now) => {
    window.late[0] += 1;
    window.late[1] += now - before > 50 ? 1 : 0;
    before = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}"""


@dataclass(frozen=True)
class Cost:
    """What the page's main thread has used: milliseconds of all tasks, of scripts, and of style and layout; and the nodes of the
    document.
    """

    tasks: float
    scripts: float
    layout: float
    nodes: int

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.tasks - other.tasks, self.scripts - other.scripts, self.layout - other.layout, self.nodes)

    def line(self, name: str, count: int, of: str) -> str:
        each = [f"{value / max(count, 1):.2f}" for value in (self.tasks, self.scripts, self.layout)]
        return f"  {name:34} {each[0]} ms of CPU for {of} (scripts {each[1]}, style and layout {each[2]}), {self.nodes} nodes"


def cost(page: Page, session: CDPSession) -> Cost:
    found = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    drawn = found["LayoutDuration"] + found["RecalcStyleDuration"]
    nodes = page.evaluate("document.querySelectorAll('*').length")
    tasks, scripts = found["TaskDuration"] * MILLISECONDS, found["ScriptDuration"] * MILLISECONDS
    return Cost(tasks, scripts, drawn * MILLISECONDS, nodes)


def opened(browser: Browser, server: Server, agent: str) -> tuple[Page, CDPSession]:
    """A chat whose main thread is counted by its CPU time."""
    page = browser.new_page(viewport={"width": 1100, "height": 760})
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(f"{server.url}/console/#/agents/{agent}/chat")
    page.get_by_role("log").wait_for()
    page.evaluate(OBSERVE)
    return page, session


def send(page: Page, text: str) -> None:
    box = page.get_by_role("textbox", name="Message to")
    box.fill(text)
    box.press("Enter")


def streamed(page: Page, session: CDPSession, tokens: int, parts: int, name: str) -> list[str]:
    """Follow a reply. The cost of a token in each part of it."""
    idle = cost(page, session)
    send(page, f"words={tokens} rate={RATE}")
    lines, done, before = list[str](), 0, idle
    for part in range(1, parts + 1):
        page.get_by_role("log").get_by_text(f"word {tokens * part // parts - 1}", exact=False).wait_for(
            timeout=600 * MILLISECONDS
        )
        now, here = cost(page, session), tokens * part // parts
        lines.append((now - before).line(f"{name}, tokens {done} to {here}", here - done, "a token"))
        before, done = now, here
    return lines


def smoothness(page: Page) -> str:
    """Long tasks and late frames since the page was opened: these suffer from other work on the machine."""
    tasks, (frames, late) = page.evaluate("window.tasks"), page.evaluate("window.late")
    return f"  {len(tasks)} tasks over 50 ms (longest {max(tasks, default=0):.0f}); {late} of {frames} frames came more than 50 ms after the one before"


def long_agent(client: Client) -> str:
    """An agent with many messages, from an agent file."""
    agent = client.agent()
    document = client.http.get(f"/v1/agents/{agent}/export").json()
    row = document["agents"][0]["messages"][0] | {"role": "user", "id": None}
    document["agents"][0]["messages"] += [
        row | {"id": f"message-{MESSAGES + place}", "content": [{"type": "text", "text": f"line {place}"}]}
        for place in range(MESSAGES)
    ]
    made = client.http.post("/v1/agents/import", files={"file": ("long.af", json.dumps(document))})
    made.raise_for_status()
    return str(made.json()["agent_ids"][0])


def scrolled(page: Page, session: CDPSession) -> list[str]:
    """Scroll to the beginning. The cost of a page of messages in each quarter of the way."""
    lines, before, pages, since = list[str](), cost(page, session), 0, 0
    whole = MESSAGES // PAGE
    while page.get_by_text("The beginning of the conversation.").count() == 0:
        page.evaluate("document.querySelector('[role=log]').scrollTop = 1")
        page.wait_for_function(
            "() => document.querySelector('[role=log]').scrollTop > 1000 || document.querySelector('.log-inner > .note')"
        )
        pages, since = pages + 1, since + 1
        if since > whole // 4:
            now = cost(page, session)
            lines.append((now - before).line(f"scrolling, pages {pages - since} to {pages}", since, "a page of 60"))
            before, since = now, 0
    return lines


def table(tokens: int = TOKENS) -> list[str]:
    """The lines that the benchmark prints."""
    path = program()
    if path is None:
        return ["The console's streams are not measured: they need Chromium (apt-get install chromium) and `make dev`"]
    with scripted_model() as model, running_server(model) as server, chromium(path) as browser:
        client = Client(server)
        page, session = opened(browser, server, client.agent())
        lines = [f"A reply at {RATE} tokens a second", *streamed(page, session, tokens, PARTS, "one message"), smoothness(page)]
        page.close()
        page, session = opened(browser, server, long_agent(client))
        lines += [f"A conversation of {MESSAGES} messages", *scrolled(page, session), smoothness(page)]
        page.evaluate("window.tasks = []; window.late = [0, 0]; document.querySelector('[role=log]').scrollTop = 1e9")
        lines += [*streamed(page, session, tokens // PARTS, 1, "below the whole conversation"), smoothness(page)]
    return lines


if __name__ == "__main__":
    print("\n".join(table(*(int(text) for text in sys.argv[1:]))))
