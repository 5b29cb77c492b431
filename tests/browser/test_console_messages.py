"""The console's messages and what begins them, in a real browser: images, calls of the client's tools, interruptions, templates,
and Home with many agents.
"""

from __future__ import annotations

import base64
import json
import re
import struct
import subprocess
import zlib
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, FilePayload, Locator, Page, expect

from hibernaut.schemas.models.model_call import ModelReply, ModelRequest, ModelToolCall
from tests.browser.chromium import PATIENCE
from tests.browser.console import Held, Served, Visit, picture, serving, text_of, visiting
from tests.support.scripted_model import USAGE, calls, says

LAMP = {
    "name": "lamp",
    "description": "Switches the lamp in the hall.",
    "parameters": {"type": "object", "properties": {"on": {"type": "boolean"}}},
}
COUNTING = '''def count_birds(place: str) -> str:
    """
    Count the birds.

    Args:
        place: Where they are.
    """
    print("looking at the " + place)
    return "three"
'''
MANY = 50
HOUR = 3600
BRING = """([kind, files]) => {
  const moved = new DataTransfer();
  for (const [name, type, text] of files) moved.items.add(new File([Uint8Array.from(atob(text), (one) => one.charCodeAt(0))], name, {type}));
  const area = document.querySelector(".composer textarea");
  if (kind === "paste") area.dispatchEvent(new ClipboardEvent("paste", {clipboardData: moved, bubbles: true, cancelable: true}));
  else for (const type of ["dragover", "drop"]) area.dispatchEvent(new DragEvent(type, {dataTransfer: moved, bubbles: true, cancelable: true}));
}"""


def png(colour: tuple[int, int, int], *, width: int = 160, height: int = 96) -> bytes:
    """An image of one colour."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = (b"\0" + bytes(colour) * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


GREEN, BLUE, RED = png((58, 125, 88)), png((52, 91, 140)), png((168, 51, 43))


def encoded(image: bytes) -> str:
    return base64.b64encode(image).decode()


def log_of(page: Page) -> Locator:
    return page.get_by_role("log")


def ended(page: Page, reply: str) -> None:
    """Wait until the run that says this has ended: its text is shown before the step that wrote it is stored."""
    expect(log_of(page).get_by_text(reply)).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)


def choose(page: Page, *files: tuple[str, str, bytes]) -> None:
    """Attach files by the button."""
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Attach images").click()
    chooser.value.set_files([FilePayload(name=name, mimeType=kind, buffer=body) for name, kind, body in files])


def seen(request: ModelRequest) -> ModelReply:
    """Say what images the newest message has."""
    parts = request.messages[-1].content
    images = [part.source.data for part in parts if part.type == "image"]  # type: ignore[union-attr]
    names = {encoded(GREEN): "green", encoded(BLUE): "blue", encoded(RED): "red"}
    return says(f"I see {', '.join(names[str(one)] for one in images) or 'nothing'}.")


def test_images_are_attached_pasted_and_dropped_and_shown_in_the_log(visit: Visit, served: Served) -> None:
    served.director.when("Look", seen)
    agent = served.agent("Painter")
    page = visit.chat(agent)
    choose(page, ("green.png", "image/png", GREEN))
    attached = page.get_by_role("list", name="Attached images")
    expect(attached.get_by_role("img")).to_have_count(1)
    page.evaluate(BRING, ["paste", [["blue.png", "image/png", encoded(BLUE)]]])
    expect(attached.get_by_role("img")).to_have_count(2)
    page.evaluate(BRING, ["drop", [["red.png", "image/png", encoded(RED)]]])
    expect(attached.get_by_role("img")).to_have_count(3)
    attached.get_by_role("button", name="Take image 2 off").click()
    expect(attached.get_by_role("img")).to_have_count(2)
    found = visit.violations()
    visit.send("Look at these two colours.")
    expect(attached).to_have_count(0)
    ended(page, "I see green, red.")
    mine = log_of(page).get_by_role("article", name="You: Look at these two colours. · 2 images")
    expect(mine.get_by_role("img", name="Image of the message")).to_have_count(2)
    picture(page, "images", height=640)
    page.reload()
    expect(mine.get_by_role("img", name="Image of the message")).to_have_count(2)
    shown = mine.get_by_role("img", name="Image of the message").first
    assert shown.evaluate("(image) => [image.naturalWidth, image.naturalHeight]") == [160, 96]
    assert found + visit.violations() == []


def test_an_image_alone_is_a_message(visit: Visit, served: Served) -> None:
    agent = served.agent()
    page = visit.chat(agent)
    page.evaluate(BRING, ["paste", [["blue.png", "image/png", encoded(BLUE)]]])
    page.get_by_role("button", name="Send").click()
    expect(log_of(page).get_by_role("article", name="You: an image")).to_be_visible()
    ended(page, "Heard:")
    [said] = [one for one in served.get(f"agents/{agent}/messages") if one["message_type"] == "user_message"]
    assert [part["type"] for part in said["content"]] == ["image"]


def test_what_cannot_be_attached_is_told_before_anything_is_sent(visit: Visit, served: Served) -> None:
    page = visit.chat(served.agent())
    choose(page, ("notes.txt", "text/plain", b"not a picture"))
    expect(page.get_by_role("alert")).to_contain_text(
        "“notes.txt” cannot be attached: a message takes images alone (PNG, JPEG, GIF or WebP"
    )
    choose(page, ("big.png", "image/png", bytes(3_000_000)))
    expect(page.get_by_role("list", name="Attached images").get_by_role("img")).to_have_count(1)
    expect(page.get_by_role("alert")).to_have_count(0)
    choose(page, ("other.png", "image/png", bytes(2_000_000)))
    expect(page.get_by_role("alert")).to_contain_text("These images have 5.0 MB; a message takes 4.0 MB in all.")
    expect(page.get_by_role("list", name="Attached images").get_by_role("img")).to_have_count(1)
    assert [one for one in visit.addresses if "/messages" in one and "/conversations/" not in one] == []


def test_an_image_at_an_address_is_a_link_and_nothing_is_loaded(visit: Visit, served: Served) -> None:
    agent = served.agent()
    parts = [{"type": "text", "text": "here"}, {"type": "image", "source": {"type": "url", "url": "http://evil.test/pixel.png"}}]
    served.post(f"agents/{agent}/messages", {"messages": [{"role": "user", "content": parts}]})
    page = visit.chat(agent)
    link = log_of(page).get_by_role("link", name="Image at evil.test")
    expect(link).to_have_attribute("href", "http://evil.test/pixel.png")
    expect(log_of(page).get_by_role("img")).to_have_count(0)


def test_a_queued_and_a_refused_message_give_their_images_back(visit: Visit, served: Served) -> None:
    held = Held(("Still ", "busy."), stop=2)
    served.director.when("hold", held)
    served.director.when("Look", seen)
    agent = served.agent()
    page = visit.chat(agent)
    visit.send("hold on")
    expect(log_of(page).get_by_text("Still", exact=True)).to_be_visible()
    page.evaluate(BRING, ["paste", [["blue.png", "image/png", encoded(BLUE)]]])
    attached = page.get_by_role("list", name="Attached images").get_by_role("img")
    expect(attached).to_have_count(1)
    visit.send("Look here")
    waiting = page.get_by_role("list", name="Queue").get_by_role("listitem")
    expect(waiting).to_contain_text("Look here · an image")
    expect(attached).to_have_count(0)
    waiting.get_by_role("button", name="Edit").click()
    box = page.get_by_role("textbox", name="Message to")
    expect(box).to_have_value("Look here")
    expect(attached).to_have_count(1)
    expect(waiting).to_have_count(0)
    held.go.set()
    ended(page, "Still busy.")
    served.post(f"agents/{agent}/pause", {"reason": "under review"})
    box.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("under review")
    expect(box).to_have_value("Look here")
    expect(attached).to_have_count(1)


def test_a_message_with_an_image_is_copied_as_curl_and_as_code_that_work(visit: Visit, served: Served, tmp_path: Path) -> None:
    served.director.when("Look", seen)
    agent = served.agent()
    page = visit.chat(agent)
    page.evaluate(BRING, ["paste", [["blue.png", "image/png", encoded(BLUE)]]])
    expect(page.get_by_role("list", name="Attached images").get_by_role("img")).to_have_count(1)
    page.get_by_role("textbox", name="Message to").fill("Look it's here")
    page.get_by_role("button", name="This message as curl or code").click()
    curl = page.get_by_role("region", name="curl").inner_text()
    page.get_by_role("button", name="Python").click()
    python = page.get_by_role("region", name="Python").inner_text()
    assert encoded(BLUE) not in curl + python
    compile(python, "snippet", "exec")
    assert 'Path("image-1.png").read_bytes()' in python
    (tmp_path / "image-1.png").write_bytes(BLUE)
    done = subprocess.run(["bash", "-c", curl], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert "[DONE]" in done.stdout
    rows = served.get(f"agents/{agent}/messages")
    assert [one["content"] for one in rows if one["message_type"] == "assistant_message"] == ["I see blue."]
    [said] = [one for one in rows if one["message_type"] == "user_message"]
    assert said["content"][0]["text"] == "Look it's here"


def switching(request: ModelRequest) -> ModelReply:
    """Switch the client's lamp on and off, then say what it returned."""
    returns = [text_of(one) for one in request.messages if one.role == "tool"]
    if len(returns) == 2:
        return says(f"Back came: {' | '.join(returns)}")
    assert "lamp" in [tool.name for tool in request.tools]
    call = ModelToolCall(f"call-{request.messages[-1].id}", "lamp", json.dumps({"on": not returns}))
    return ModelReply(tool_calls=(call,), finish_reason="tool_calls", usage=USAGE)


def with_lamp(served: Served, agent: str, said: str, **more: Any) -> Any:
    body = {"messages": [{"role": "user", "content": said}], "client_tools": [LAMP], **more}
    return served.post(f"agents/{agent}/messages", body)


def test_a_person_answers_in_the_place_of_the_clients_tool(visit: Visit, served: Served) -> None:
    served.director.when("switch", switching)
    agent = served.agent("Caretaker")
    with_lamp(served, agent, "switch the lamp", approval_deadline=HOUR)
    page = visit.chat(agent)
    asked = page.get_by_role("group", name="Return of lamp")
    expect(asked).to_contain_text("Switches the lamp in the hall.")
    expect(asked).to_contain_text(re.compile(r"denied in (59|60) min|denied in 1 hr"))
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    found = visit.violations()
    expect(asked.get_by_role("button", name="Send the return")).to_be_in_viewport()
    answer = asked.get_by_role("textbox", name="What it returns")
    answer.fill("The lamp is on.")
    picture(page, "client-tool", height=560)
    asked.get_by_role("button", name="Send the return").click()
    expect(log_of(page).get_by_text("done", exact=True).first).to_be_visible()
    expect(answer).to_have_value("")
    expect(asked.get_by_role("button", name="Send it as an error")).to_be_disabled()
    answer.fill("The bulb broke.")
    asked.get_by_role("button", name="Send it as an error").click()
    ended(page, "Back came:")
    expect(log_of(page).get_by_text("failed", exact=True)).to_be_visible()
    expect(asked).to_have_count(0)
    rows = served.get(f"agents/{agent}/messages")
    returns = [one for row in rows if row["message_type"] == "tool_return_message" for one in row["tool_returns"]]
    assert sorted((one["tool_return"], one["status"]) for one in returns) == [
        ("The bulb broke.", "error"),
        ("The lamp is on.", "success"),
    ]
    assert found == []


def test_calls_of_both_kinds_are_answered_together_and_the_deadline_is_the_requests(visit: Visit, served: Served) -> None:
    def both(request: ModelRequest) -> ModelReply:
        if request.messages[-1].role == "user":
            return calls(("memory_insert", {"label": "human", "new_string": "Likes light."}), ("lamp", {"on": True}))
        return says("Both are done.")

    served.director.when("both", both)
    agent = served.agent(approval_deadline=5 * HOUR)
    changed = served.http.patch(f"/v1/agents/{agent}/tools/approval/memory_insert", json={"requires_approval": True})
    assert changed.is_success
    with_lamp(served, agent, "both please", approval_deadline=None)
    page = visit.chat(agent)
    insert, lamp = page.get_by_role("group", name="Approval of memory_insert"), page.get_by_role("group", name="Return of lamp")
    expect(lamp).to_be_visible()
    expect(insert).not_to_contain_text("Without an answer")
    insert.get_by_role("button", name="Approve").click()
    expect(insert.get_by_role("button", name="Approve")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text("The agent goes on when all 2 calls are answered.")).to_be_visible()
    lamp.get_by_role("button", name="Send the return").click()
    ended(page, "Both are done.")
    assert "Likes light." in served.block(agent)["value"]


def test_a_message_interrupts_the_run_that_goes_on(visit: Visit, served: Served) -> None:
    held = Held(("Never ", "finished."), stop=2)
    served.director.when("dream", held)
    agent = served.agent()
    page = visit.chat(agent)
    visit.send("dream on")
    expect(log_of(page).get_by_text("Never", exact=True)).to_be_visible()
    page.get_by_role("combobox", name="If busy").select_option("interrupt")
    with page.expect_response(lambda answer: answer.url.endswith("/messages/stream") and answer.ok):
        visit.send("wake up")
    held.go.set()
    ended(page, "Heard: wake up")
    said = [one["content"] for one in served.get(f"agents/{agent}/messages") if one["message_type"] == "assistant_message"]
    assert said == ["Heard: wake up"]


def test_a_call_shows_what_it_printed_and_how_long_it_took(visit: Visit, served: Served) -> None:
    def counting(request: ModelRequest) -> ModelReply:
        note = ("memory_insert", {"label": "human", "new_string": "Counts birds."})
        return (
            calls(("count_birds", {"place": "lake"}), note) if request.messages[-1].role == "user" else says("There are three.")
        )

    served.director.when("count", counting)
    tool = served.post("tools/", {"source_code": COUNTING})["id"]
    agent = served.agent("Birder", tool_ids=[tool])
    served.say(agent, "count the birds")
    page = visit.chat(agent)
    log_of(page).get_by_text("count_birds").click()
    expect(page.get_by_role("region", name="Output")).to_contain_text("looking at the lake")
    expect(page.get_by_role("region", name="Result")).to_contain_text("three")
    took = page.get_by_text(re.compile(r"^This call took [\d.]+ m?s\.$"))
    expect(took).to_be_visible()
    log_of(page).get_by_text("memory_insert").click()
    expect(took).to_have_count(2)
    counted, noted = (float(text.split()[3]) * (1 if text.endswith(" ms.") else 1000) for text in took.all_inner_texts())
    assert counted != noted


def test_an_agent_is_made_a_template_and_new_agents_come_from_it(visit: Visit, served: Served) -> None:
    blocks = [{"label": "human", "value": "My friend is {{friend}}, who lives in {{town}}."}]
    source = served.agent("Companion", memory_blocks=blocks)
    page = visit.open()
    page.get_by_role("button", name="From a template").click()
    expect(page.get_by_role("dialog")).to_contain_text("There is no template yet.")
    page.keyboard.press("Escape")
    visit.chat(source)
    page.get_by_role("button", name="Make a template of this agent").click()
    page.get_by_role("textbox", name="Name of the template").fill("companion")
    page.get_by_role("button", name="Make", exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    served.post("templates", {"type": "agent", "agent_id": served.agent("Plain"), "name": "a-plain-one"})
    visit.open()
    page.get_by_role("button", name="From a template").click()
    page.get_by_role("combobox", name="Template").select_option("companion")
    page.get_by_role("textbox", name="friend").fill("Ann")
    page.get_by_role("textbox", name="town").fill("Oslo")
    page.get_by_role("textbox", name="Name", exact=True).fill("Ann's companion")
    page.get_by_role("textbox", name="Tags").fill("family, friends")
    found = visit.violations()
    picture(page, "template", height=660)
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="Ann's companion")).to_be_visible()
    expect(page.get_by_role("textbox", name="Message to Ann's companion")).to_be_visible()
    [made] = served.get("agents/?name=Ann's companion&include=agent.tags")
    assert (made["id"] in page.url, sorted(made["tags"])) == (True, ["family", "friends"])
    assert served.block(made["id"])["value"] == "My friend is Ann, who lives in Oslo."
    assert found == []


def test_home_shows_further_agents_and_what_waits_whatever_is_searched(chromium: Browser, tmp_path: Path) -> None:
    with serving(tmp_path / "data", scripted=True) as served, visiting(chromium, served.url) as visit:
        served.director.when("switch", switching)
        waiting = served.agent("Zed")
        with_lamp(served, waiting, "switch the lamp")
        for number in range(MANY):
            served.agent(f"One of many {number}")
        elsewhere = served.agent("Traveller")
        conversation = served.post(f"conversations/?agent_id={elsewhere}", {})["id"]
        body = {"messages": [{"role": "user", "content": "switch it there"}], "client_tools": [LAMP], "streaming": False}
        served.post(f"conversations/{conversation}/messages", body)
        served.say(elsewhere, "hello")
        page = visit.open()
        cards = page.get_by_role("region", name="All agents").get_by_role("listitem")
        expect(cards).to_have_count(48)
        page.get_by_role("button", name="More agents").click()
        expect(cards).to_have_count(MANY + 2)
        expect(page.get_by_role("button", name="More agents")).to_have_count(0)
        expect(cards.filter(has_text="Zed")).to_contain_text("waits for an answer")
        expect(cards.filter(has_text="Traveller")).to_contain_text("waits for an answer")
        with page.expect_response(lambda answer: "query_text=many" in answer.url):
            page.get_by_role("searchbox", name="Search agents by name").fill("many")
        expect(cards).to_have_count(MANY)
        expect(page.get_by_role("region", name="All agents")).not_to_contain_text("Traveller")
        now = page.get_by_role("region", name="Now")
        expect(now.get_by_role("listitem").filter(has_text="Zed")).to_contain_text("asks for lamp")
        now.get_by_role("link", name="Traveller").click()
        expect(page).to_have_url(re.compile(f"conversation={conversation}$"))
        expect(page.get_by_role("group", name="Return of lamp")).to_be_visible()
