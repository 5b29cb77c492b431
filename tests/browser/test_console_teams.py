"""Teams and time in a real browser: groups as a graph with their messages, what a sleep-time agent changed, and schedules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from hibernaut.schemas.models.model_call import ModelReply, ModelRequest
from hibernaut.schemas.usage import Usage
from tests.browser.console import Held, Served, Visit, picture, serving, visiting
from tests.support.scripted_model import calls, says

HOSTILE = '<img src=x onerror="window.hacked=1">'
RIGHT_TO_LEFT = "שלום עולם"
WIDTHS = {"wide": 1440, "tablet": 768, "phone": 360}
PRICED = Usage(prompt_tokens=900, completion_tokens=40, total_tokens=940, cost=0.0125, price_list_date="2026-11-01")
REPORT = "This"
"""The first word of what a sleep-time agent is told."""
BEFORE, AFTER = "Lives in Oslo.\nHas a dog.", "Lives in Rome since March.\nHas a dog."


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("data"), scripted=True) as house:
        house.director.when(REPORT, rethinking)
        yield house


def rethinking(request: ModelRequest) -> ModelReply:
    """A sleep-time agent that writes the block anew, and ends."""
    done = any(one.role == "tool" for one in request.messages)
    call = ("memory_finish_edits", {}) if done else ("memory_rethink", {"label": "human", "new_memory": AFTER})
    return replace(calls(call), usage=PRICED)


def group_of(served: Served, *names: str, **fields: Any) -> tuple[str, list[str]]:
    """A new group of new agents with these names, and their ids."""
    ids = [served.agent(name) for name in names]
    made = served.post("groups/", {"agent_ids": ids, "description": "writes and reviews", **fields})
    return str(made["id"]), ids


def managed(served: Served, kind: str, name: str) -> dict[str, str]:
    """The settings of a group with a new agent as its manager."""
    return {"manager_type": kind, "manager_agent_id": served.agent(name)}


def slept(served: Served, name: str) -> tuple[str, str]:
    """The id of an agent whose partner has changed its block, and that of their group."""
    blocks = [{"label": "persona", "value": "I am a guide."}, {"label": "human", "value": BEFORE}]
    agent = str(served.post("agents/", {"name": name, "memory_blocks": blocks, "enable_sleeptime": True})["id"])
    [run_id] = served.say(agent, "I moved to Rome in March.")["usage"]["run_ids"]
    ended(served, run_id)
    assert served.block(agent)["value"] == AFTER
    return agent, str(served.get(f"agents/{agent}?include=agent.managed_group")["managed_group"]["id"])


def ended(served: Served, run_id: str) -> None:
    """Read the stream of a run in the background until it ends."""
    assert served.http.post(f"/v1/runs/{run_id}/stream", json={}).is_success
    assert served.get(f"runs/{run_id}")["status"] == "completed"


def dialog_button(page: Page, name: str) -> Locator:
    return page.get_by_role("dialog").get_by_role("button", name=name, exact=True)


def add_agent(page: Page, legend: str, name: str) -> None:
    """Find an agent by its name in a form, and choose it."""
    group = page.get_by_role("group", name=legend)
    group.get_by_role("searchbox").fill(name)
    group.get_by_role("button", name=f"Add {name}", exact=True).click()


def test_a_group_is_made_and_drawn_and_its_agents_answer(visit: Visit, served: Served) -> None:
    author, critic = served.agent("Author of tales"), served.agent("Critic of tales")
    page = visit.open("#/teams")
    page.get_by_role("link", name="New group").click()
    page.get_by_role("textbox", name="Description").fill("Tales")
    dialog_button(page, "Make").click()
    expect(page.get_by_role("alert")).to_contain_text("A group has one agent at least")
    for name in ("Critic of tales", "Author of tales"):
        add_agent(page, "Agents, in their order", name)
    page.get_by_role("button", name="Put Author of tales first").click()
    dialog_button(page, "Make").click()
    expect(page.get_by_role("heading", name="Tales", level=1)).to_be_visible()
    [group] = [one for one in served.get("groups/") if one["description"] == "Tales"]
    assert (group["manager_type"], group["agent_ids"]) == ("round_robin", [author, critic])
    drawing = page.get_by_role("img", name="In turn: Author of tales, Critic of tales, and from the first one again.")
    expect(drawing.locator("text")).to_have_text(["1. Author of tales", "2. Critic of tales"])
    expect(page.get_by_role("list", name="Agents of this group").get_by_role("link")).to_have_text(
        ["Author of tales", "Critic of tales"]
    )
    expect(page.get_by_text("Nothing was said yet.")).to_be_visible()
    held = Held(("A whale ", "sings."), stop=2)
    served.director.when("Whales", held)
    box = page.get_by_role("textbox", name="Message to the group")
    box.fill("Whales please")
    box.press("Enter")
    expect(drawing.get_by_text("speaks now")).to_have_count(1)
    expect(page.get_by_role("listitem").filter(has_text="speaks now")).to_contain_text("Author of tales")
    held.go.set()
    log = page.get_by_role("log")
    expect(log.get_by_role("article")).to_have_count(3)
    expect(log.get_by_role("article").nth(0)).to_contain_text("Whales please")
    for place, name in ((1, "Author of tales"), (2, "Critic of tales")):
        expect(log.get_by_role("article", name=f"{name}: A whale sings.")).to_have_count(1)
        expect(log.get_by_role("article").nth(place)).to_contain_text(name)
    expect(page.get_by_text("The group answers")).to_have_count(0)
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    expect(page.locator(".toast.hidden")).to_have_count(1)
    page.evaluate("scrollTo(0, 0)")
    picture(page, "teams", height=720)


def test_a_group_that_answers_is_stopped(visit: Visit, served: Served) -> None:
    group, _ = group_of(served, "Slow", "Slower")
    held = Held(("Not ", "said."), stop=2)
    served.director.when("Slowly", held)
    page = visit.open(f"#/teams/{group}")
    page.get_by_role("textbox", name="Message to the group").fill("Slowly")
    page.get_by_role("button", name="Send").click()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("The group answers")).to_have_count(0)
    held.go.set()
    [run] = served.get(f"runs/?agent_id={group}")
    assert run["status"] == "cancelled"


def test_the_settings_of_a_group_are_changed_and_the_group_deleted(visit: Visit, served: Served) -> None:
    manager = managed(served, "dynamic", "Chair of two")
    group, ids = group_of(served, "First of two", "Second of two", manager_config=manager)
    page = visit.open(f"#/teams/{group}")
    expect(page.get_by_role("img", name="Chair of two chooses among First of two, Second of two.")).to_be_visible()
    expect(page.get_by_text("as many as it has agents (2)")).to_be_visible()
    page.get_by_role("button", name="Change", exact=True).click()
    page.get_by_role("spinbutton", name="Turns for one message, at most").fill("7")
    page.get_by_role("textbox", name="The manager's word for the end").fill("STOP")
    page.get_by_role("button", name="Take First of two out").click()
    dialog_button(page, "Save").click()
    expect(page.get_by_text("at most 7")).to_be_visible()
    expect(page.get_by_role("list", name="Agents of this group").get_by_role("link")).to_have_text(["Second of two"])
    after = served.get(f"groups/{group}")
    assert (after["max_turns"], after["termination_token"], after["agent_ids"]) == (7, "STOP", ids[1:])
    page.get_by_role("button", name="Delete this group").click()
    dialog_button(page, "Cancel").click()
    assert served.get(f"groups/{group}") == after
    page.get_by_role("button", name="Delete this group").click()
    dialog_button(page, "Delete").click()
    expect(page.get_by_role("heading", name="Groups")).to_be_visible()
    assert served.http.get(f"/v1/groups/{group}").status_code == 404
    visit.open(f"#/teams/{group}")
    expect(page.get_by_role("alert")).to_contain_text(f"GET /v1/groups/{group} · status 404")


def test_texts_are_text_in_either_direction_and_a_deleted_agent_is_told(visit: Visit, served: Served) -> None:
    head = managed(served, "supervisor", "Head")
    group, ids = group_of(served, RIGHT_TO_LEFT, "Gone", "Rest", manager_config=head, description=HOSTILE)
    served.director.when("Markup", lambda _: says(HOSTILE))
    served.post(f"groups/{group}/messages", {"messages": [{"role": "user", "content": f"Markup {HOSTILE}"}]})
    assert served.http.delete(f"/v1/agents/{ids[1]}").is_success
    page = visit.open(f"#/teams/{group}")
    expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE)
    drawing = page.get_by_role("img", name=f"Head asks {RIGHT_TO_LEFT}, deleted agent, Rest, and they answer.")
    expect(drawing.get_by_text(RIGHT_TO_LEFT)).to_be_visible()
    members = page.get_by_role("list", name="Agents of this group")
    expect(members.get_by_role("link", name=RIGHT_TO_LEFT)).to_have_attribute("dir", "auto")
    expect(members).to_contain_text(f"deleted agent {ids[1]}")
    expect(page.get_by_role("log").get_by_role("article")).to_have_text([re.compile(HOSTILE), re.compile(f"^Head.*{HOSTILE}")])
    assert page.evaluate("window.hacked") is None


def test_boxes_of_a_graph_lie_apart_and_inside(visit: Visit) -> None:
    page = visit.open("#/teams")
    page.evaluate(
        "async (files) => { window.layout = (await import(`${files}app/teams/graph_layout.js`)).layoutOf; }",
        page.locator("script[src$='app/main.js']").evaluate("(one) => one.src.replace('app/main.js', '')"),
    )
    for count, hub, width in product((1, 2, 3, 5, 8, 9, 30), ("boss", None), (320, 599, 600, 1100)):
        asked = [[f"agent {place}" for place in range(count)], hub, width]
        drawn = page.evaluate("(asked) => window.layout(...asked)", asked)
        wide, high = drawn["box"]
        boxes = [(one["x"] - wide / 2, one["y"] - high / 2) for one in drawn["nodes"]]
        assert (drawn["left"], len(boxes)) == (max(0, count - 24), min(count, 24) + bool(hub)), asked
        for place, (x, y) in enumerate(boxes):
            assert (x >= 0, y >= 0, x + wide <= width, y + high <= drawn["height"]) == (True,) * 4, asked
            assert [one for one in boxes[place + 1 :] if abs(one[0] - x) < wide + 8 and abs(one[1] - y) < high + 8] == [], asked


def test_what_a_sleep_time_agent_changed_is_shown_with_reason_difference_and_cost(visit: Visit, served: Served) -> None:
    _, group = slept(served, "Guide of Oslo")
    page = visit.open("#/teams/sleep")
    pair = page.get_by_role("article", name="Sleep time of Guide of Oslo")
    expect(pair.get_by_role("link", name="Guide of Oslo-sleeptime")).to_be_visible()
    expect(pair).to_contain_text("Works after the first turn and every 5 turns from there.")
    pair.get_by_role("button", name="Change").click()
    page.get_by_role("spinbutton", name="After how many turns").fill("0")
    page.get_by_role("spinbutton", name="After how many minutes").fill("20")
    dialog_button(page, "Save").click()
    expect(pair).to_contain_text("Works when nobody has talked for 20 minutes.")
    changed = served.get(f"groups/{group}")
    assert (changed["sleeptime_agent_frequency"], changed["sleeptime_idle_seconds"]) == (0, 1200)
    pair.get_by_role("link", name="Open").click()
    expect(page.get_by_role("img", name="Guide of Oslo-sleeptime works on the memory of Guide of Oslo.")).to_be_visible()
    expect(page.get_by_text(re.compile(r"In the last 24 hours: one run for \$0\.03, changed human\."))).to_be_visible()
    run = page.get_by_role("article", name=re.compile("^Run of"))
    expect(run).to_contain_text("turn 1 of Guide of Oslo has ended")
    expect(run).to_contain_text("completed")
    expect(run).to_contain_text("$0.03")
    diff = run.get_by_role("region", name="Differences in value")
    expect(diff.locator(".gone")).to_have_text("-Lives in Oslo.")
    expect(diff.locator(".add")).to_have_text("+Lives in Rome since March.")
    visit.open("#/teams/sleep")
    pair.get_by_role("button", name="Show what it did").click()
    expect(pair.get_by_role("region", name="Differences in value")).to_be_visible()
    expect(page.locator(".toast.hidden")).to_have_count(1)
    picture(page, "sleep", height=535)


def test_an_agent_is_given_a_partner(visit: Visit, served: Served) -> None:
    slept(served, "Companion")
    agent = served.agent("Lonely")
    page = visit.open("#/teams/sleep")
    page.get_by_role("link", name="Give an agent a partner").click()
    add_agent(page, "Agent", "Lonely")
    dialog_button(page, "Give").click()
    pair = page.get_by_role("article", name="Sleep time of Lonely")
    pair.get_by_role("button", name="Show what it did").click()
    expect(pair.get_by_text("It has not worked yet.")).to_be_visible()
    assert served.get(f"agents/{agent}")["enable_sleeptime"] is True


def test_what_fails_names_its_route_and_an_empty_server_says_what_to_do(chromium: Browser, tmp_path: Path) -> None:
    with serving(tmp_path / "data") as empty, visiting(chromium, empty.url) as visit:
        page = visit.open("#/teams")
        expect(page.get_by_text("There is no group yet.")).to_be_visible()
        page.get_by_role("link", name="Sleep time").click()
        expect(page.get_by_text("No agent has a sleep-time partner yet.")).to_be_visible()
        page.get_by_role("link", name="Schedules").click()
        expect(page.get_by_text("There is no schedule yet.")).to_be_visible()
        page.route("**/v1/schedules*", lambda route: route.fulfill(status=503, json={"detail": "The table does not answer."}))
        page.reload()
        expect(page.get_by_role("alert")).to_contain_text("The table does not answer.")
        expect(page.get_by_role("alert")).to_contain_text("GET /v1/schedules · status 503")
        page.unroute("**/v1/schedules*")
        page.get_by_role("button", name="Try again").click()
        expect(page.get_by_text("There is no schedule yet.")).to_be_visible()


@pytest.mark.parametrize(("theme", "width"), [("light", "wide"), ("dark", "tablet"), ("light", "phone"), ("dark", "phone")])
def test_teams_are_accessible(chromium: Browser, served: Served, theme: str, width: str) -> None:
    name = f"{theme} {width}"
    ring, ids = group_of(served, f"Author {name}", f"Critic {name}", f"Editor {name} {RIGHT_TO_LEFT}")
    led, _ = group_of(served, f"One {name}", f"Two {name}", manager_config=managed(served, "supervisor", f"Head {name}"))
    served.post(f"groups/{ring}/messages", {"messages": [{"role": "user", "content": "A tale of whales"}]})
    _, pair = slept(served, f"Sleeper {name}")
    timing = {"type": "recurring", "cron_expression": "0 9 * * *", "timezone": "Asia/Tokyo"}
    made = served.post(f"agents/{ids[0]}/schedule", {"messages": [{"role": "user", "content": "Wake up"}], "schedule": timing})
    served.post(f"agents/{ids[0]}/schedule/{made['id']}/run", {})
    found: list[str] = []
    with visiting(chromium, served.url, color_scheme=theme, viewport={"width": WIDTHS[width], "height": 800}) as visit:
        page = visit.page
        for place, sign in (
            ("groups", page.get_by_text(f"Author {name}").first),
            (ring, page.get_by_role("log").get_by_role("article").nth(3)),
            (led, page.get_by_role("img", name=f"Head {name} asks")),
            (pair, page.get_by_role("region", name="Differences in value")),
            ("sleep", page.get_by_role("article", name=f"Sleep time of Sleeper {name}")),
            ("schedules", page.get_by_role("link", name=f"Author {name}")),
            ("groups?new=1", page.get_by_role("button", name="Add Critic").first),
            ("schedules?new=1", page.get_by_role("button", name="Add Critic").first),
        ):
            visit.open(f"#/teams/{place}")
            sign.wait_for()
            if place == "schedules":
                page.get_by_role("button", name="Show outcomes").first.click()
                page.get_by_role("region", name="The last ten outcomes").or_(page.get_by_text("It has not fired yet.")).wait_for()
            found += [f"{place}: {one}" for one in visit.violations()]
            if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
                found.append(f"{place} is too wide")
    assert found == []
