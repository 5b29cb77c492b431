"""Hands that are faster than the network: double clicks, stops, and further words while an answer is on its way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from playwright.sync_api import Request, Route, expect

from tests.browser.console import Held, Served, Visit

SLOW, LONGEST = 1_000, 5_000
"""Milliseconds that a list of runs takes on a slow network, and of the longest pause between two lists while a run goes on."""


@contextmanager
def held(visit: Visit, method: str, end: str) -> Iterator[list[str]]:
    """The addresses of the requests with this method and end of the path. They wait until the block has ended and one is sent."""
    sent, waiting, ended = list[str](), list[Route](), list[bool]()

    def fits(request: Request) -> bool:
        return request.method == method and urlsplit(request.url).path.endswith(end)

    def route(one: Route) -> None:
        if ended or not fits(one.request):
            one.fallback()
        else:
            waiting.append(one)

    visit.page.route("**/v1/**", route)
    visit.page.on("request", lambda request: sent.append(request.url) if fits(request) else None)
    with visit.page.expect_request(fits):
        yield sent
    ended.append(True)
    for one in waiting:
        one.continue_()


def answer_of(visit: Visit, method: str, end: str) -> Callable[[], None]:
    """Holds back the server's answer to the next request with this method and end of the path; called, the page gets it."""
    taken, kept = list[Route](), list[Callable[[], None]]()

    def route(one: Route) -> None:
        if taken or one.request.method != method or not urlsplit(one.request.url).path.endswith(end):
            return one.fallback()
        taken.append(one)
        answer = one.fetch()
        return kept.append(lambda: one.fulfill(response=answer))

    visit.page.route("**/v1/**", route)
    return lambda: kept[0]()


def test_a_run_is_stopped_before_its_id_is_known(visit: Visit, served: Served) -> None:
    one = Held(("One, ", "two, ", "three."))
    served.director.when("count", one)
    agent = served.agent()
    page = visit.chat(agent)
    with held(visit, "POST", "/messages/stream") as sent:
        visit.send("count to three")
        page.get_by_role("button", name="Stop").click()
        expect(page.get_by_role("button", name="Stopping")).to_be_disabled()
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    assert len(sent) == 1
    one.go.set()
    [run] = served.get(f"runs/?agent_id={agent}")
    assert run["status"] == "cancelled"


def test_an_answer_of_before_a_message_does_not_hide_it(visit: Visit, served: Served) -> None:
    agent, page = served.agent(), visit.page
    page.route("**/messages?limit=1", lambda route: route.fulfill(json=[]))
    arrive = answer_of(visit, "GET", f"/conversations/{agent}/messages")
    visit.open(f"#/agents/{agent}/chat")
    visit.send("hello")
    log = page.get_by_role("log")
    expect(log.get_by_text("Heard: hello")).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    arrive()
    expect(page.get_by_text("Loading the conversation")).to_have_count(0)
    expect(log.get_by_text("Heard: hello")).to_be_visible()


def test_a_double_click_begins_one_conversation(visit: Visit, served: Served) -> None:
    agent = served.agent()
    page = visit.chat(agent)
    for name, end in (("New conversation", "/conversations/"), ("Fork this conversation", "/fork")):
        with held(visit, "POST", end) as sent:
            page.get_by_role("button", name=name).dblclick(force=True)
            expect(page.get_by_role("button", name=name)).to_be_disabled()
        expect(page.get_by_role("button", name=name)).to_be_enabled()
        assert len(sent) == 1
    assert len(served.get(f"conversations/?agent_id={agent}")) == 2


def test_a_double_click_adds_one_block_and_one_passage(visit: Visit, served: Served) -> None:
    agent = served.agent()
    page = visit.open(f"#/agents/{agent}/memory")
    page.get_by_role("button", name="New block").click()
    page.get_by_role("textbox", name="Label").fill("garden")
    with held(visit, "POST", "/blocks/") as sent:
        page.get_by_role("button", name="Add").dblclick(force=True)
    expect(page.get_by_role("article", name="Block garden")).to_have_count(1)
    assert len(sent) == 1
    page.get_by_role("button", name="New passage").click()
    page.get_by_role("textbox", name="Text").fill("Roses need water.")
    with held(visit, "POST", "/archival-memory") as sent:
        page.get_by_role("button", name="Add").dblclick(force=True)
    expect(page.get_by_text("Roses need water.")).to_have_count(1)
    assert len(sent) == 1
    with held(visit, "DELETE", served.get(f"agents/{agent}/archival-memory")[0]["id"]) as sent:
        page.get_by_role("button", name="Delete this passage").dblclick(force=True)
    expect(page.get_by_text("The archive is empty.")).to_be_visible()
    assert len(sent) == 1
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_block_that_cannot_be_attached_is_not_left_behind(visit: Visit, served: Served) -> None:
    agent = served.agent()
    page = visit.open(f"#/agents/{agent}/memory")
    page.get_by_role("button", name="New block").click()
    page.get_by_role("textbox", name="Label").fill("human")
    page.get_by_role("textbox", name="Value").fill("left behind")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("alert")).to_contain_text("human")
    assert [one for one in served.get("blocks/?limit=500") if one["value"] == "left behind"] == []


def test_a_block_whose_attachment_got_no_answer_is_attached_by_the_next_try(visit: Visit, served: Served) -> None:
    agent = served.agent()
    page = visit.open(f"#/agents/{agent}/memory")
    page.get_by_role("button", name="New block").click()
    page.get_by_role("textbox", name="Label").fill("orchard")
    page.get_by_role("textbox", name="Value").fill("apples")

    def lost(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route("**/attach/*", lost, times=1)
    page.route("**/v1/blocks/*", lambda route: route.abort() if route.request.method == "DELETE" else route.continue_())
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("alert")).to_contain_text("No answer came")
    page.get_by_role("textbox", name="Value").fill("apples and pears")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("article", name="Block orchard")).to_contain_text("apples and pears")
    assert [one["value"] for one in served.get("blocks/?limit=500") if one["label"] == "orchard"] == ["apples and pears"]


def test_a_double_click_saves_an_edit_once_and_finds_no_stranger(visit: Visit, served: Served) -> None:
    agent = served.agent()
    page = visit.open(f"#/agents/{agent}/memory")
    human = page.get_by_role("article", name="Block human")
    human.get_by_role("button", name="Edit").click()
    human.get_by_role("textbox").fill("Has a dog.")
    with held(visit, "PATCH", served.block(agent)["id"]) as sent:
        human.get_by_role("button", name="Save").dblclick(force=True)
    expect(human.get_by_text("Has a dog.")).to_be_visible()
    assert len(sent) == 1
    expect(page.get_by_role("alert")).to_have_count(0)
    human.get_by_role("button", name="History").click()
    human.get_by_role("button", name="Created").click()
    with held(visit, "POST", "/rollback") as sent:
        human.get_by_role("button", name="Bring version").dblclick(force=True)
    expect(human.get_by_text("Nothing is known.").first).to_be_visible()
    assert len(sent) == 1
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_double_click_deletes_once(visit: Visit, served: Served) -> None:
    agent = served.agent("short lived")
    page = visit.chat(agent)
    page.get_by_role("button", name="Delete this agent").click()
    with held(visit, "DELETE", agent) as sent:
        page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).dblclick(force=True)
    expect(page.get_by_role("heading", name="Agents")).to_be_visible()
    assert len(sent) == 1
    expect(page.get_by_role("alert")).to_have_count(0)


def test_the_hits_are_those_of_the_newest_search(visit: Visit, served: Served) -> None:
    agent = served.agent()
    for word in ("roses", "tulips"):
        served.say(agent, f"{word} are red")
    page = visit.chat(agent)
    page.get_by_role("button", name="Search this agent's messages").click()
    dialog = page.get_by_role("dialog")
    box = dialog.get_by_role("searchbox")
    arrive = answer_of(visit, "POST", "/messages/search")
    box.fill("roses")
    box.press("Enter")
    expect(dialog.get_by_text("Searching")).to_be_visible()
    box.fill("tulips")
    box.press("Enter")
    first = dialog.get_by_role("listitem").first
    expect(first).to_contain_text("tulips")
    arrive()
    expect(dialog.get_by_text("Searching")).to_have_count(0)
    expect(first).to_contain_text("tulips")


def test_what_is_written_while_a_group_is_told_something_stays(visit: Visit, served: Served) -> None:
    group = served.post("groups/", {"agent_ids": [served.agent("writer")], "description": "writes"})["id"]
    page = visit.open(f"#/teams/{group}")
    box = page.get_by_role("textbox", name="Message to the group")
    with held(visit, "POST", "/messages/async") as sent:
        box.fill("First.")
        box.press("Enter")
        expect(box).to_have_value("")
        box.fill("Second, not yet sent.")
    expect(page.get_by_role("log").get_by_text("First.", exact=True)).to_be_visible()
    assert len(sent) == 1
    expect(box).to_have_value("Second, not yet sent.")


def test_a_message_to_a_group_whose_answer_was_lost_is_told_once(visit: Visit, served: Served) -> None:
    group = served.post("groups/", {"agent_ids": [served.agent("writer")], "description": "writes"})["id"]
    page = visit.open(f"#/teams/{group}")

    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route("**/messages/async", lose, times=1)
    box = page.get_by_role("textbox", name="Message to the group")
    box.fill("Only once.")
    box.press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(box).to_have_value("Only once.")
    box.press("Enter")
    expect(box).to_have_value("")
    expect(page.get_by_role("log").get_by_text("Heard: Only once.")).to_have_count(1)
    expect(page.get_by_text("The group answers")).to_have_count(0)
    assert [one["content"] for one in served.get(f"groups/{group}/messages") if one["message_type"] == "user_message"] == [
        "Only once."
    ]


def test_the_end_of_a_group_s_answer_is_seen_within_seconds_on_a_slow_network(visit: Visit, served: Served) -> None:
    one = Held(("Slow ", "whales."), stop=1)
    served.director.when("Whales", one)
    group = served.post("groups/", {"agent_ids": [served.agent("writer")], "description": "writes"})["id"]
    run = served.post(f"groups/{group}/messages/async", {"messages": [{"role": "user", "content": "Whales"}]})["id"]
    page = visit.page
    page.clock.install()
    visit.open(f"#/teams/{group}")
    expect(page.get_by_text("The group answers")).to_be_visible()
    with held(visit, "GET", "/runs/"):
        page.clock.run_for(2_100)
        page.clock.run_for(SLOW)
    one.go.set()
    served.http.post(f"/v1/runs/{run}/stream", json={}).raise_for_status()
    with page.expect_response("**/v1/runs/?**"):
        page.clock.run_for(LONGEST)
    expect(page.get_by_text("The group answers")).to_have_count(0)
