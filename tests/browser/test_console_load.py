"""How much an open console asks of the server by itself.

The page's clock goes on by itself too, so intervals are compared with what that clock says when the server is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.console import Served, Visit, serving

REFRESH, LONGEST_REST = 10_000, 60_000
"""Milliseconds between two refreshes of Home, at least, and those that it rests at most."""
LOOKS = 5
"""How many refreshes look for new runs alone."""
SLOW = 600
"""Milliseconds of the page's clock that an answer takes."""
REST_OF_SUM = 400
"""How many times as long as the sum of the day took the page does not ask for it again."""
MOST = 2000
"""A number of turns of the clock that would be never."""
MARK, AGENTS, OPEN, SUM = "/v1/runs/?limit=1", "/v1/agents/", "/v1/runs/?active", "/v1/usage"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("data")) as server:
        server.say(server.agent("first"), "hello")
        server.say(server.agent("second"), "hello")
        yield server


def shown(visit: Visit) -> Page:
    """Home, complete."""
    page = visit.open()
    expect(page.get_by_text("since midnight UTC")).to_be_visible()
    page.get_by_role("link", name="first").wait_for()
    return page


def asked(visit: Visit, place: str) -> int:
    """How often the page has asked for a place."""
    return sum(place in one for one in visit.addresses)


def until(page: Page, reached: Callable[[], bool]) -> None:
    """Let the page's clock run until something is reached."""
    for _ in range(MOST):
        if reached():
            return
        page.clock.run_for(REFRESH / 2)
    pytest.fail("it was never reached")


def now(page: Page) -> float:
    return float(page.evaluate("performance.now()"))


def slowed(page: Page, place: str) -> list[float]:
    """Make answers take long by the page's clock. The times at which the answers had come, as they grow."""
    ends = list[float]()

    def slow(route: Route) -> None:
        answer = route.fetch()
        page.clock.run_for(SLOW)
        ends.append(now(page))
        route.fulfill(response=answer)

    page.route(place, slow)
    return ends


def test_while_nothing_runs_home_asks_for_the_newest_run_alone(visit: Visit) -> None:
    visit.page.clock.install()
    page = shown(visit)
    until(page, lambda: asked(visit, AGENTS) == 3)  # The first view, what waits beside it, and the first refresh.
    marks = asked(visit, MARK)
    until(page, lambda: asked(visit, MARK) == marks + LOOKS)
    assert (asked(visit, AGENTS), asked(visit, OPEN)) == (3, 2)
    assert asked(visit, SUM) <= 3
    until(page, lambda: asked(visit, AGENTS) == 4)  # An agent may have got another name.
    assert asked(visit, MARK) == marks + LOOKS + 1


def test_home_shows_what_ran_elsewhere(visit: Visit, served: Served) -> None:
    visit.page.clock.install()
    page = shown(visit)
    until(page, lambda: asked(visit, MARK) >= 2)
    third = served.agent("third")
    served.say(third, "hello")
    marks = asked(visit, MARK)
    until(page, page.get_by_role("region", name="All agents").get_by_role("link", name="third").is_visible)
    assert asked(visit, MARK) <= marks + 2


def test_a_page_that_nobody_sees_asks_nothing_until_it_is_seen(visit: Visit) -> None:
    visit.page.clock.install()
    visit.page.add_init_script(
        "Object.defineProperty(document, 'visibilityState', {get: () => window.covered ? 'hidden' : 'visible'})"
    )
    page = shown(visit)
    until(page, lambda: asked(visit, MARK) >= 2)
    page.evaluate("window.covered = true")
    before = asked(visit, MARK)
    for _ in range(10):  # A refresh that had begun ends in between.
        page.clock.run_for(LONGEST_REST)
        page.wait_for_function("() => document.title")
    assert asked(visit, MARK) == before
    with page.expect_request("**/v1/runs/?limit=1"):
        page.evaluate("window.covered = false; document.dispatchEvent(new Event('visibilitychange'))")


def test_home_rests_for_a_hundred_times_as_long_as_the_server_took(visit: Visit) -> None:
    visit.page.clock.install()
    page = shown(visit)
    until(page, lambda: asked(visit, MARK) >= 2)
    ends = slowed(page, "**/v1/runs/?limit=1")
    until(page, lambda: len(ends) >= 2)
    assert ends[1] - ends[0] >= LONGEST_REST


def test_home_asks_for_a_sum_that_takes_long_seldom(visit: Visit, served: Served) -> None:
    visit.page.clock.install()
    ends = slowed(visit.page, "**/v1/usage**")
    page = shown(visit)
    served.say(served.agent("busy"), "hello")
    until(page, lambda: len(ends) >= 2)
    assert ends[1] - ends[0] >= SLOW * REST_OF_SUM


@pytest.mark.parametrize("place", ["/v1/usage", "/v1/runs/approvals"])
def test_home_does_not_ask_again_while_an_answer_is_under_way(visit: Visit, place: str) -> None:
    """The server would do the work once more, and what it had half made would be given up."""
    visit.page.clock.install()
    held = list[Route]()
    visit.page.route(f"**{place}**", lambda route: held.append(route))
    page = visit.open()
    until(page, lambda: len(held) > 0)
    for _ in range(5):
        page.clock.run_for(REFRESH)
        page.wait_for_function("() => document.title")
    assert len(held) == 1
    held[0].continue_()
    expect(page.get_by_text("since midnight UTC")).to_be_visible()
    page.get_by_role("link", name="first").wait_for()


def test_a_sum_that_was_asked_for_early_took_as_long_as_the_server_did(visit: Visit, served: Served) -> None:
    """The question is sent while the page's modules are still on their way."""
    visit.page.clock.install()
    held = list[Route]()
    visit.page.route("**/app/shell.js", lambda route: held.append(route))
    ends = slowed(visit.page, "**/v1/usage**")
    with visit.page.expect_response("**/v1/usage**"):
        visit.page.goto(f"{visit.url}/console/", wait_until="commit")
    assert held, "the modules came before the sum"
    held[0].continue_()
    expect(visit.page.get_by_text("since midnight UTC")).to_be_visible()
    served.say(served.agent("busy"), "hello")
    until(visit.page, lambda: len(ends) >= 2)
    assert ends[1] - ends[0] >= SLOW * REST_OF_SUM
