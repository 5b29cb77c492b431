"""The console through the gateway of the deployed stack, with a key: a newcomer's story, streams, reloads, approvals, and what a
key may not do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from itertools import count

import pytest
from playwright.sync_api import APIResponse, Browser, Page, Route, expect

from hibernaut.schemas.models.model_call import ModelReply, ModelRequest, ModelToolCall
from tests.browser.console import Held, Visit, text_of, visiting
from tests.browser.gateway import Gateway, deployed
from tests.support.scripted_model import USAGE, says

INSERT = {"label": "human", "new_string": "Has a dog called Rex."}
IDS = count(1)


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    with deployed() as running:
        yield running


@pytest.fixture
def visit(chromium: Browser, gateway: Gateway) -> Iterator[Visit]:
    with visiting(chromium, gateway.url) as page:
        yield page


def enter(page: Page, key: str) -> None:
    """Give the key that the console asks for."""
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_label("API key")).to_have_count(0)


def inserting(request: ModelRequest) -> ModelReply:
    """Call a tool, then say what it returned."""
    last = request.messages[-1]
    if last.role in ("tool", "approval"):
        return says(f"It says: {text_of(last)}")
    made = ModelToolCall(f"call-{next(IDS)}", "memory_insert", json.dumps(INSERT))
    return ModelReply(tool_calls=(made,), finish_reason="tool_calls", usage=USAGE)


def knowing(request: ModelRequest) -> ModelReply:
    """Say whether the memory in the request has the dog."""
    return says("You have a dog called Rex." if "called Rex" in text_of(request.messages[0]) else "I know nothing.")


def test_a_newcomer_with_a_key_finds_the_agent_again_the_next_day(chromium: Browser, gateway: Gateway) -> None:
    gateway.director.when("Remember", inserting)
    gateway.director.when("What", knowing)
    secret = gateway.key("write")
    with visiting(chromium, gateway.url) as visit:
        page = visit.page
        page.goto(gateway.url)
        expect(page).to_have_url(f"{gateway.url}/console/")
        enter(page, secret)
        page.get_by_role("button", name="New agent").first.click()
        page.get_by_role("textbox", name="Name").fill("Garden guide")
        page.get_by_role("textbox", name="Who is it?").fill("I am a patient guide to gardens.")
        page.get_by_role("button", name="Create").click()
        visit.send("Remember my dog is called Rex.")
        log = page.get_by_role("log")
        expect(log.get_by_text("memory_insert")).to_be_visible()
        expect(log.get_by_role("article", name=re.compile("^Agent: It says"))).to_be_visible()
        expect(page.get_by_role("button", name="Stop")).to_have_count(0)
        page.get_by_role("link", name="Memory").click()
        expect(page.get_by_role("article", name="Block human").get_by_text("called Rex")).to_be_visible()
        assert page.evaluate("[localStorage.length, document.cookie]") == [0, ""]
        assert [address for address in visit.addresses if secret in address] == []
    gateway.clock.ahead += timedelta(days=1)
    with visiting(chromium, gateway.url) as visit:
        visit.page.clock.set_system_time(gateway.clock.now())
        page = visit.open()
        enter(page, secret)
        expect(page.get_by_role("region", name="Now")).to_contain_text("0 tokens in 0 steps since midnight UTC")
        page.get_by_role("link", name="Garden guide").click()
        log = page.get_by_role("log")
        expect(log.get_by_text("Remember my dog is called Rex.")).to_be_visible()
        visit.send("What do you know about me?")
        expect(log.get_by_role("article", name=re.compile("^Agent:")).last).to_contain_text("You have a dog called Rex.")
        expect(page.get_by_role("button", name="Stop")).to_have_count(0)
        page.get_by_role("link", name="Hibernaut").click()
        expect(page.get_by_role("region", name="Now")).to_contain_text(
            re.compile(r"\$0\.0000\d+.*15 tokens in 1 steps since midnight UTC")
        )
        visit.open("#/settings/usage")
        days = page.get_by_role("region", name="By day").get_by_role("row")
        for place, tokens in ((1, "15"), (2, "30")):
            expect(days.nth(place)).to_contain_text(re.compile(rf"{tokens}.*\$0\.0000\d+"))


def test_a_late_refusal_of_the_time_before_the_key_changes_nothing(visit: Visit, gateway: Gateway) -> None:
    held = list[tuple[Route, APIResponse]]()
    page = visit.page
    page.route("**/v1/usage?**", lambda route: held.append((route, route.fetch())), times=1)
    visit.open()
    enter(page, gateway.key("write"))
    page.get_by_role("button", name="New agent").first.click()
    name = page.get_by_role("textbox", name="Name")
    name.fill("Garden guide")
    [(route, refusal)] = held
    assert refusal.status == 401
    with page.expect_response("**/v1/usage?**") as answered:
        route.fulfill(response=refusal)
    answered.value.finished()
    expect(page.get_by_role("region", name="Now")).to_contain_text("since midnight UTC")
    expect(page.get_by_label("API key")).to_have_count(0)
    expect(name).to_have_value("Garden guide")


def test_a_reload_in_the_middle_of_a_stream_shows_all_of_it_once(visit: Visit, gateway: Gateway) -> None:
    held = Held(("One, ", "two, ", "three."), stop=3)
    gateway.director.when("count", held)
    with gateway.client() as api:
        agent = api.agent()
    page = visit.open(f"#/agents/{agent}/chat")
    enter(page, gateway.key())
    log = page.get_by_role("log")
    visit.send("count to three")
    expect(log.get_by_text("One, two,")).to_be_visible()
    page.reload()
    expect(log.get_by_text("One, two,")).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    held.go.set()
    expect(log.get_by_text("One, two, three.")).to_have_count(1)
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    expect(log.get_by_text("count to three")).to_have_count(1)


def test_a_call_is_approved_and_another_one_denied(visit: Visit, gateway: Gateway) -> None:
    gateway.director.when("Remember", inserting)
    with gateway.client() as api:
        agent = api.agent("Ada")
        api.ask("PATCH", f"agents/{agent}/tools/approval/memory_insert", {"requires_approval": True})
        page = visit.open(f"#/agents/{agent}/chat")
        enter(page, gateway.key())
        log = page.get_by_role("log")
        asked = page.get_by_role("group", name="Approval of memory_insert")
        visit.send("Remember my dog")
        asked.get_by_role("textbox", name="Reason, if you deny it").fill("not that one")
        asked.get_by_role("button", name="Deny").click()
        expect(log.get_by_role("article", name=re.compile("^Agent: It says"))).to_have_count(1)
        expect(log.get_by_text("not that one").first).to_be_visible()
        expect(page.get_by_role("button", name="Stop")).to_have_count(0)
        assert "Rex" not in api.ask("GET", f"agents/{agent}/core-memory/blocks/human")["value"]
        visit.send("Remember my dog, please")
        expect(asked).to_be_visible()
        page.reload()
        asked.get_by_role("button", name="Approve").click()
        expect(log.get_by_role("article", name=re.compile("^Agent: It says"))).to_have_count(2)
        assert "Rex" in api.ask("GET", f"agents/{agent}/core-memory/blocks/human")["value"]


def test_a_reading_key_is_told_what_it_may_not_do(visit: Visit, gateway: Gateway) -> None:
    with gateway.client() as api:
        agent = api.agent("Museum guide")
        page = visit.open()
        enter(page, gateway.key("read"))
        page.get_by_role("button", name="New agent").first.click()
        page.get_by_role("textbox", name="Name").fill("Never")
        page.get_by_role("button", name="Create").click()
        refused = page.get_by_role("dialog").get_by_role("alert")
        expect(refused).to_contain_text("needs an API key of the scope write; this key has the scope read")
        expect(refused).to_contain_text("POST /v1/agents/ · status 403")
        expect(refused).to_contain_text("Use a key with a wider scope")
        page.keyboard.press("Escape")
        visit.open(f"#/agents/{agent}/chat")
        visit.send("hello")
        expect(page.get_by_role("alert")).to_contain_text("needs an API key of the scope write; this key has the scope read")
        expect(page.get_by_role("textbox", name="Message to")).to_have_value("hello")
        assert not [one for one in api.ask("GET", f"agents/{agent}/messages") if one["message_type"] == "user_message"]


def test_a_writing_key_talks_and_is_told_that_others_manage_keys(visit: Visit, gateway: Gateway) -> None:
    with gateway.client() as api:
        agent = api.agent("Porter")
    page = visit.open("#/settings/keys")
    enter(page, gateway.key("write"))
    for part, route in (("keys", "api-keys"), ("budgets", "budgets"), ("policies", "tool-policies")):
        visit.open(f"#/settings/{part}")
        refused = page.get_by_role("alert").first
        expect(refused).to_contain_text("needs an API key of the scope admin; this key has the scope write")
        expect(refused).to_contain_text(f"GET /v1/{route} · status 403")
        expect(refused).to_contain_text("Use a key with a wider scope")
    visit.open(f"#/agents/{agent}/chat")
    visit.send("hello")
    expect(page.get_by_role("log").get_by_text("Heard: hello")).to_be_visible()


def test_a_key_of_one_agent_talks_to_it_and_reaches_no_other(visit: Visit, gateway: Gateway) -> None:
    gateway.director.when("Remember", inserting)
    with gateway.client() as api:
        own, other = api.agent("Concierge"), api.agent("Treasurer")
    page = visit.open()
    enter(page, gateway.key("write", agent_ids=[own]))
    expect(page.get_by_text("This key reaches some agents only.")).to_be_visible()
    page.get_by_role("textbox", name="Id of an agent").fill(own)
    page.get_by_role("button", name="Open").click()
    expect(page.get_by_role("heading", name="Concierge")).to_be_visible()
    visit.send("Remember my dog")
    log = page.get_by_role("log")
    expect(log.get_by_role("article", name=re.compile("^Agent: It says"))).to_have_count(1)
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    expect(page.get_by_role("alert")).to_have_count(0)
    page.reload()
    expect(log.get_by_role("article", name=re.compile("^Agent: It says"))).to_have_count(1)
    page.get_by_role("link", name="Memory").click()
    expect(page.get_by_role("region", name="Value of human")).to_contain_text("Rex")
    expect(page.get_by_text("Your key reaches no history of blocks")).to_have_count(2)
    expect(page.get_by_role("alert")).to_have_text(
        [re.compile("This API key is restricted to some agents, and POST /v1/passages/search")]
    )
    page.get_by_role("link", name="Runs").click()
    page.get_by_role("button", name=re.compile("^completed")).click()
    expect(page.get_by_role("list", name="Timeline")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_text([])
    page.get_by_role("link", name="Context").click()
    expect(page.get_by_role("row").filter(has_text="Blocks")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_text([])
    visit.open(f"#/agents/{other}/chat")
    expect(page.get_by_role("alert")).to_contain_text("This API key is restricted to some agents")
    expect(page.get_by_role("alert")).to_contain_text("status 403")
