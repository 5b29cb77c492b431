"""The console in a real browser, by a scripted model: streams, reloads, approvals, queues, hostile texts, files, a proxy."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from hibernaut.rest.access.origin_policy import OriginPolicy
from hibernaut.schemas.models.model_call import ModelReply, ModelRequest
from tests.browser.console import Held, Served, Visit, picture, serving, text_of, visiting
from tests.browser.wire import Wire
from tests.support.scripted_model import calls, says

INSERT = ("memory_insert", {"label": "human", "new_string": "Has a dog called Rex."})
HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
MESSAGES = 10_000
RIGHT_TO_LEFT = "שלום עולם"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("data"), scripted=True, policy=OriginPolicy(hosts=("127.0.0.1",))) as house:
        yield house


def log_of(page: Page) -> Locator:
    return page.get_by_role("log")


def ended(page: Page, reply: str) -> None:
    """Wait until the run that says this has ended: its text is shown before the step that wrote it is stored."""
    expect(log_of(page).get_by_text(reply)).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)


def inserting(request: ModelRequest) -> ModelReply:
    """Call a tool, then say what it returned."""
    last = request.messages[-1]
    return says(f"It says: {text_of(last)}") if last.role in ("tool", "approval") else calls(INSERT)


def asking(served: Served, name: str = "Ada") -> str:
    """An agent whose tool needs an approval."""
    agent = served.agent(name)
    changed = served.http.patch(f"/v1/agents/{agent}/tools/approval/memory_insert", json={"requires_approval": True})
    assert changed.is_success
    return agent


def test_a_reply_is_shown_as_it_is_written(visit: Visit, served: Served) -> None:
    held = Held(("The kettle ", "sings **loudly** ", "at dawn."), stop=3)
    served.director.when("tell", held)
    served.director.when("I", lambda asked: calls(INSERT) if asked.messages[-1].role == "user" else says("Rex is a *good* name."))
    agent = served.agent("Storyteller")
    served.say(agent, "I have a dog called Rex.")
    page = visit.chat(agent)
    visit.send("tell me about the kettle")
    expect(log_of(page).get_by_text("The kettle sings loudly")).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    picture(page, "chat", height=600)
    held.go.set()
    expect(log_of(page).get_by_text("The kettle sings loudly at dawn.")).to_be_visible()
    expect(log_of(page).locator("strong", has_text="loudly")).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    expect(log_of(page).get_by_text("tell me about the kettle")).to_have_count(1)
    expect(page.get_by_role("status").filter(has_text="The agent has answered: The kettle")).to_have_count(1)


def test_a_reload_in_the_middle_of_a_stream_shows_all_of_it_once(visit: Visit, served: Served) -> None:
    held = Held(("One, ", "two, ", "three."), stop=3)
    served.director.when("count", held)
    page = visit.chat(served.agent())
    visit.send("count to three")
    expect(log_of(page).get_by_text("One, two,")).to_be_visible()
    page.reload()
    expect(log_of(page).get_by_text("One, two,")).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    held.go.set()
    expect(log_of(page).get_by_text("One, two, three.")).to_have_count(1)
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    expect(log_of(page).get_by_text("count to three")).to_have_count(1)


def test_a_stream_goes_on_after_a_lost_network(chromium: Browser, served: Served) -> None:
    held = Held(("Before, ", "after."), stop=2)
    served.director.when("wait", held)
    with closing(Wire(served.url)) as wire, visiting(chromium, wire.url) as visit:
        page = visit.chat(served.agent())
        visit.send("wait for it")
        expect(log_of(page).get_by_text("Before,")).to_be_visible()
        wire.cut()
        expect(page.get_by_text("The server cannot be reached.")).to_be_visible()
        held.go.set()
        wire.mend()
        expect(log_of(page).get_by_text("Before, after.")).to_have_count(1)
        expect(page.get_by_text("The server cannot be reached.")).to_have_count(0)
    resumed = [one for one in visit.addresses if one.endswith("/stream") and "/v1/runs/" in one]
    assert resumed


def test_a_message_whose_answer_was_lost_is_sent_once(visit: Visit, served: Served) -> None:
    agent = served.agent()
    page = visit.chat(agent)
    tried = []

    def lose_the_first_answer(route: Route) -> None:
        tried.append(route.request.post_data)
        if len(tried) == 1:
            route.fetch()
            route.abort("connectionreset")
        else:
            route.continue_()

    page.route("**/messages/stream", lose_the_first_answer)
    visit.send("hello once")
    ended(page, "Heard: hello once")
    assert len(tried) == 2
    assert tried[0] == tried[1]
    said = [one for one in served.get(f"agents/{agent}/messages") if one["message_type"] == "user_message"]
    assert [one["content"] for one in said] == ["hello once"]


def test_a_refused_message_stays_in_the_composer_and_the_refusal_says_why(visit: Visit, served: Served) -> None:
    agent = served.agent()
    page = visit.chat(agent)
    served.post(f"agents/{agent}/pause", {"reason": "under review"})
    visit.send("are you there?")
    refusal = page.get_by_role("alert")
    expect(refusal).to_contain_text(f"POST /v1/agents/{agent}/messages/stream · status 409")
    expect(refusal).to_contain_text("under review")
    expect(page.get_by_role("textbox", name="Message to")).to_have_value("are you there?")
    expect(log_of(page).get_by_role("article", name="You:")).to_have_count(0)


def test_a_call_is_approved_in_its_place(visit: Visit, served: Served) -> None:
    served.director.when("Remember", inserting)
    agent = asking(served)
    page = visit.chat(agent)
    visit.send("Remember my dog")
    asked = page.get_by_role("group", name="Approval of memory_insert")
    expect(asked).to_be_visible()
    picture(page, "approval", height=620)
    page.reload()
    asked.get_by_role("button", name="Approve").click()
    expect(log_of(page).get_by_text("done")).to_be_visible()
    ended(page, "It says:")
    expect(asked).to_have_count(0)
    assert "Rex" in served.block(agent)["value"]


def test_a_denied_call_does_not_run_and_the_agent_reads_the_reason(visit: Visit, served: Served) -> None:
    served.director.when("Remember", inserting)
    agent = asking(served)
    page = visit.chat(agent)
    visit.send("Remember my dog")
    asked = page.get_by_role("group", name="Approval of memory_insert")
    asked.get_by_role("textbox", name="Reason, if you deny it").fill("not that one")
    asked.get_by_role("button", name="Deny").click()
    ended(page, "It says:")
    expect(log_of(page).get_by_text("not that one").first).to_be_visible()
    assert "Rex" not in served.block(agent)["value"]


def test_calls_with_an_id_that_the_model_has_used_before_have_cards_of_their_own(visit: Visit, served: Served) -> None:
    def noting(request: ModelRequest) -> ModelReply:
        last = text_of(request.messages[-1])
        return (
            calls(("memory_insert", {"label": "human", "new_string": last}))
            if request.messages[-1].role == "user"
            else says("Noted.")
        )

    served.director.when("note", noting)
    agent = served.agent("Repeating")
    served.say(agent, "note the first thing")
    page = visit.chat(agent)
    visit.send("note the second thing")
    said = log_of(page).get_by_text("Noted.")
    cards = log_of(page).locator("summary").filter(has_text="memory_insert")
    for _ in range(2):
        expect(said).to_have_count(2)
        expect(page.get_by_role("button", name="Stop")).to_have_count(0)
        expect(cards).to_have_count(2)
        expect(cards.filter(has_text="done")).to_have_count(2)
        for place, word in enumerate(("first", "second")):
            cards.nth(place).click()
            expect(page.get_by_role("region", name="Arguments").nth(place)).to_contain_text(f"note the {word} thing")
        page.reload()
    ids = [
        one["tool_call"]["tool_call_id"]
        for one in served.get(f"agents/{agent}/messages")
        if one["message_type"] == "tool_call_message"
    ]
    assert (len(ids), len(set(ids))) == (2, 1)


def test_home_shows_what_runs_and_what_waits_for_a_person(visit: Visit, served: Served) -> None:
    held = Held(("Still ", "writing."), stop=2)
    served.director.when("write", held)
    served.director.when("Remember", inserting)
    waiting, running = asking(served, "Alma"), served.agent("Night writer", tags=["prose", "work"])
    served.http.patch(f"/v1/agents/{waiting}", json={"tags": ["family"]})
    served.say(waiting, "Remember my dog")
    page = visit.chat(running)
    visit.send("write a novel")
    expect(log_of(page).get_by_text("Still")).to_be_visible()
    page.get_by_role("link", name="Hibernaut").click()
    now = page.get_by_role("region", name="Now")
    expect(now.get_by_role("listitem").filter(has_text="Alma")).to_contain_text("asks for memory_insert")
    expect(now.get_by_role("listitem").filter(has_text="Night writer")).to_be_visible()
    cards = page.get_by_role("region", name="All agents").get_by_role("listitem")
    expect(cards.filter(has_text="Alma")).to_contain_text("waits for an answer")
    expect(cards.filter(has_text="Night writer")).to_contain_text("running")
    picture(page, "home")
    page.get_by_role("searchbox", name="Search agents by name").fill("alma")
    expect(cards).to_have_count(1)
    expect(cards).to_contain_text("Alma")
    page.get_by_role("searchbox", name="Search agents by name").fill("")
    page.get_by_role("combobox", name="Tag").select_option("prose")
    expect(cards.filter(has_text="Alma")).to_have_count(0)
    expect(cards).to_contain_text("Night writer")
    held.go.set()


def test_messages_wait_in_a_queue_and_a_run_is_stopped(visit: Visit, served: Served) -> None:
    held = Held(("Never ", "said."), stop=2)
    served.director.when("hold", held)
    agent = served.agent()
    page = visit.chat(agent)
    visit.send("hold on")
    expect(log_of(page).get_by_text("Never", exact=True)).to_be_visible()
    visit.send("later")
    visit.send("not at all")
    queue = page.get_by_role("list", name="Queue")
    expect(queue.get_by_role("listitem")).to_have_count(2)
    queue.get_by_role("listitem").filter(has_text="not at all").get_by_role("button", name="Take").click()
    expect(queue.get_by_role("listitem")).to_have_count(1)
    queue.get_by_role("button", name="Edit").click()
    box = page.get_by_role("textbox", name="Message to")
    expect(box).to_have_value("later")
    expect(box).to_be_focused()
    expect(queue).to_have_count(0)
    visit.send(RIGHT_TO_LEFT)
    expect(queue.get_by_role("listitem")).to_have_count(1)
    with page.expect_response(lambda answer: answer.url.endswith("/messages/cancel")):
        page.get_by_role("button", name="Stop").click()
    held.go.set()
    expect(log_of(page).get_by_text(f"Heard: {RIGHT_TO_LEFT}")).to_be_visible()
    expect(queue).to_have_count(0)
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    expect(log_of(page).get_by_text(RIGHT_TO_LEFT, exact=True)).to_have_css("direction", "rtl")
    expect(log_of(page).get_by_text(f"Heard: {RIGHT_TO_LEFT}")).to_have_css("direction", "ltr")
    said = [one["content"] for one in served.get(f"agents/{agent}/messages") if one["message_type"] == "assistant_message"]
    assert said == [f"Heard: {RIGHT_TO_LEFT}"]


def test_what_a_model_a_tool_and_a_person_write_is_text(visit: Visit, served: Served) -> None:
    def hostile(request: ModelRequest) -> ModelReply:
        if request.messages[-1].role == "user":
            return calls((HOSTILE[:60], {"html": HOSTILE}))
        return says(f"{HOSTILE}\n\n[go](javascript:window.hacked=1) ![see](http://evil.test/pixel.png)\n\n`{HOSTILE}`")

    served.director.when(HOSTILE.partition(" ")[0], hostile)
    agent = served.agent(description=HOSTILE, tags=[HOSTILE])
    changed = served.http.patch(f"/v1/agents/{agent}/core-memory/blocks/human", json={"value": HOSTILE, "description": HOSTILE})
    assert changed.is_success
    page = visit.chat(agent)
    visit.send(HOSTILE)
    expect(log_of(page).get_by_text("go](javascript:window.hacked=1)")).to_be_visible()
    expect(log_of(page).get_by_role("article", name="You:")).to_contain_text(HOSTILE)
    away = log_of(page).get_by_role("link", name="Image: see")
    assert away.get_attribute("rel") == "noopener noreferrer"
    visit.open(f"#/agents/{agent}/memory")
    expect(page.get_by_role("region", name="Value of human")).to_have_text(HOSTILE)
    visit.open()
    expect(page.locator(".tag", has_text="onerror")).to_have_text(HOSTILE)
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img, main script, main iframe").count() == 0


def test_what_another_tab_said_is_seen(visit: Visit, chromium: Browser, served: Served) -> None:
    agent = served.agent()
    page = visit.chat(agent)
    expect(log_of(page).get_by_text("Say something.")).to_be_visible()
    with visiting(chromium, served.url) as other:
        other.chat(agent)
        other.send("from the other tab")
        ended(other.page, "Heard: from the other tab")
    page.evaluate("dispatchEvent(new Event('focus'))")
    expect(log_of(page).get_by_text("Heard: from the other tab")).to_be_visible()


def test_a_scroll_event_that_comes_after_the_chat_was_left_does_no_harm(visit: Visit, served: Served) -> None:
    """A browser sends the events of scrolling with the next frame, when the log may have left the page."""
    page = visit.chat(served.agent())
    log = page.get_by_role("log").element_handle()
    visit.open("#/home")
    expect(page.get_by_role("log")).to_have_count(0)
    log.evaluate("(log) => log.dispatchEvent(new Event('scroll'))")
    expect(page.get_by_role("heading", name="Agents", exact=True)).to_be_visible()


def test_conversations_are_begun_forked_and_searched(visit: Visit, served: Served) -> None:
    agent = served.agent()
    served.say(agent, "the harbour is closed")
    page = visit.chat(agent)
    page.get_by_role("button", name="Fork this conversation").click()
    conversation = page.get_by_role("combobox", name="Conversation")
    expect(conversation).not_to_have_value("default")  # The log of the fork looks the same.
    expect(log_of(page).get_by_text("Heard: the harbour is closed")).to_be_visible()
    visit.send("only here")
    ended(page, "Heard: only here")
    conversation.select_option("Main conversation")
    expect(log_of(page).get_by_text("Heard: the harbour is closed")).to_be_visible()
    expect(log_of(page).get_by_text("only here")).to_have_count(0)
    page.get_by_role("button", name="Search this agent's messages").click()
    page.get_by_role("searchbox", name="What was said").fill("only")
    page.keyboard.press("Enter")
    page.get_by_role("button").filter(has_text="Heard: only here").click()
    expect(log_of(page).get_by_text("Heard: only here")).to_be_in_viewport()


def test_a_message_is_copied_as_curl_and_as_code(visit: Visit, served: Served) -> None:
    agent = served.agent()
    page = visit.chat(agent)
    page.get_by_role("textbox", name="Message to").fill("it's me")
    page.get_by_role("button", name="This message as curl or code").click()
    shown = page.get_by_role("region", name="curl")
    expect(shown).to_contain_text(f"{served.url}/v1/agents/{agent}/messages/stream")
    expect(shown).to_contain_text("it'\\''s me")
    page.get_by_role("button", name="Python").click()
    compile(page.get_by_role("region", name="Python").inner_text(), "snippet", "exec")


def test_of_ten_thousand_messages_few_are_drawn(visit: Visit, served: Served) -> None:
    agent = served.agent()
    document = served.get(f"agents/{agent}/export")
    row = document["agents"][0]["messages"][0] | {"role": "user", "id": None}
    document["agents"][0]["messages"] += [
        row | {"id": f"message-{MESSAGES + place}", "content": [{"type": "text", "text": f"line {place}"}]}
        for place in range(MESSAGES)
    ]
    made = served.http.post("/v1/agents/import", files={"file": ("long.af", json.dumps(document))})
    assert made.is_success, made.text
    page = visit.chat(made.json()["agent_ids"][0])
    expect(log_of(page).get_by_text(f"line {MESSAGES - 1}", exact=True)).to_be_in_viewport()
    for _ in range(6):
        log_of(page).evaluate("(log) => { log.scrollTop = 1; }")
        page.wait_for_function("() => document.querySelector('[role=log]').scrollTop > 1000")
    drawn = page.locator("article.entry").count()
    assert 10 < drawn < 200


def test_the_console_works_below_a_path_of_a_proxy(chromium: Browser, served: Served) -> None:
    agent = served.agent("Below")

    def stripped(route: Route) -> None:
        route.continue_(url=route.request.url.replace("/deep/down/", "/"))

    with visiting(chromium, f"{served.url}/deep/down") as visit:
        visit.page.route("**/deep/down/**", stripped)
        page = visit.open()
        page.get_by_role("link", name="Below").click()
        visit.send("hello")
        expect(page.get_by_role("log").get_by_role("article", name=re.compile("^Agent:"))).to_be_visible()
    assert served.get(f"agents/{agent}/messages")


def test_an_agent_file_that_is_dropped_becomes_an_agent(visit: Visit, served: Served) -> None:
    exported = served.http.get(f"/v1/agents/{served.agent('Traveller')}/export").text
    page = visit.open()
    expect(page.get_by_role("link", name="Traveller")).to_have_count(1)
    drop = """([text]) => {
      const moved = new DataTransfer();
      moved.items.add(new File([text], "traveller.af", {type: "application/json"}));
      for (const type of ["dragover", "drop"]) document.querySelector("main").dispatchEvent(new DragEvent(type, {dataTransfer: moved, bubbles: true}));
    }"""
    page.evaluate(drop, [exported])
    expect(page.get_by_role("dialog", name="Imported")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Traveller")).to_have_count(2)
    page.evaluate(drop, ["no file of an agent"])
    expect(page.get_by_role("alert")).to_contain_text("POST /v1/agents/import")
