"""The first view, and what comes late: what it does not wait for, and what it must not lose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from playwright.sync_api import Route, expect

from tests.browser.console import Held, Served, Visit, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("data"), scripted=True) as server:
        server.agent("guide")
        yield server


def requests(visit: Visit) -> Counter[str]:
    """The requests of the API by their address."""
    return Counter(one for one in visit.addresses if "/v1/" in one)


def test_the_bar_is_drawn_and_the_data_is_asked_for_while_modules_are_still_loaded(visit: Visit) -> None:
    held = list[Route]()
    visit.page.route("**/app/shell.js", lambda route: held.append(route))
    with visit.page.expect_response("**/v1/agents/?*last_run_completion*"):
        visit.page.goto(f"{visit.url}/console/", wait_until="commit")
    expect(visit.page.get_by_text("Hibernaut")).to_be_visible()
    asked = requests(visit)
    assert len(asked) == 5
    assert held, "the module came before the data"
    held[0].continue_()
    expect(visit.page.get_by_role("link", name="guide")).to_be_visible()
    expect(visit.page.get_by_text("since midnight UTC")).to_be_visible()
    assert requests(visit) == Counter(dict.fromkeys(asked, 1))


def test_another_place_than_home_asks_nothing_for_home(visit: Visit, served: Served) -> None:
    visit.chat(served.agent("other"))
    assert [one for one in requests(visit) if "last_run_completion" in one or "/usage" in one] == []


def test_a_refusal_stays_when_the_log_comes_after_it(visit: Visit, served: Served) -> None:
    agent = served.agent()
    served.post(f"agents/{agent}/pause", {"reason": "under review"})
    held = list[Route]()
    visit.page.route(f"**/conversations/{agent}/messages?**", lambda route: held.append(route), times=1)
    page = visit.chat(agent)
    visit.send("are you there?")
    expect(page.get_by_role("alert")).to_contain_text("under review")
    expect(page.get_by_text("Loading the conversation")).to_have_count(0)
    assert held, "the log came before the refusal"
    held[0].continue_()
    expect(page.get_by_text("Say something.")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("under review")


def test_a_run_that_is_listed_before_its_stream_names_it_is_followed_once(visit: Visit, served: Served) -> None:
    held = Held(("One, ", "two, ", "three."))
    served.director.when("count", held)
    agent, page, log = served.agent(), visit.page, visit.page.get_by_role("log")
    listing, sending, streams = list[Route](), list[Route](), list[str]()
    page.on("request", lambda request: streams.append(request.url) if request.url.endswith("/stream") else None)
    page.route("**/v1/runs/?*", lambda route: route.continue_() if listing else listing.append(route))
    page.route("**/messages/stream", lambda route: sending.append(route))
    visit.open(f"#/agents/{agent}/chat")
    with page.expect_request("**/messages/stream") as sent:
        visit.send("count to three")
    with served.http.stream("POST", sent.value.url, content=sent.value.post_data or "", headers=sent.value.headers) as begun:
        assert next(begun.iter_lines()).startswith("data:"), "the server has accepted the message, and its answer is on its way"
    with page.expect_response("**/v1/runs/?*") as runs:
        listing[0].continue_()
    assert len(runs.value.json()) == 1
    sending[0].continue_()
    expect(log.get_by_text("One,")).to_have_count(1)
    held.go.set()
    expect(log.get_by_text("One, two, three.")).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    assert [url.rpartition("/v1/")[2] for url in streams] == [f"agents/{agent}/messages/stream"]
