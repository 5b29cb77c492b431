"""How much an open console asks of the server by itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.browser.console import browser, serving, visiting

REFRESH = 10_000
"""Milliseconds between two refreshes of Home."""
SLOW = 600
"""Milliseconds of the page's clock in which the server adds up a day with many steps."""
REST, MOST = 100, 1000
"""How many times as long as an answer took the page does not ask again, and a number of refreshes that would be never."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


def test_home_asks_for_a_sum_that_takes_long_seldom(chromium: Browser, tmp_path: Path) -> None:
    with serving(tmp_path / "data") as served, visiting(chromium, served.url) as visit:
        served.say(served.agent(), "hello")
        page, asked = visit.page, list[str]()
        page.clock.install()

        def slow(route: Route) -> None:
            asked.append(route.request.url)
            answer = route.fetch()
            page.clock.run_for(SLOW)
            route.fulfill(response=answer)

        page.route("**/v1/usage**", slow)
        visit.open()
        expect(page.get_by_text("since midnight UTC")).to_be_visible()
        page.get_by_role("link", name="guide").wait_for()
        refreshes = 0
        while len(asked) < 2:  # Real time passes too, so that the answer took at least `SLOW`.
            with page.expect_response("**/v1/tags/**"):
                page.clock.run_for(REFRESH)
            refreshes += 1
            assert refreshes < MOST
        assert refreshes >= SLOW * REST // REFRESH - 1
