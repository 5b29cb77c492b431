"""Schedules in the console, in a real browser: made, run, paused, changed and deleted, each kind of time, sleep-time work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import APIResponse, Browser, Route, expect

from tests.browser.console import Served, Visit, picture, serving, visiting
from tests.browser.test_console_teams import REPORT, add_agent, dialog_button, rethinking, slept


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("data"), scripted=True) as house:
        house.director.when(REPORT, rethinking)
        yield house


def test_a_schedule_is_made_run_paused_and_deleted(chromium: Browser, served: Served) -> None:
    agent = served.agent("Early bird")
    with visiting(chromium, served.url, timezone_id="America/New_York") as visit:
        page = visit.open("#/teams/schedules")
        page.get_by_role("link", name="New schedule").click()
        add_agent(page, "Agent", "Early bird")
        page.get_by_role("textbox", name="Message").fill("What is still open?")
        page.get_by_role("combobox", name="When").select_option("workdays")
        page.get_by_label("At", exact=True).fill("07:30")
        zone = page.get_by_role("combobox", name="Time zone")
        expect(zone).to_have_value("America/New_York")
        zone.fill("Nowhere/Town")
        dialog_button(page, "Make").click()
        expect(page.get_by_role("alert")).to_contain_text(f"POST /v1/agents/{agent}/schedule · status 422")
        zone.fill("Europe/Oslo")
        dialog_button(page, "Make").click()
        card = page.get_by_role("article", name="Schedule: What is still open?")
        expect(card).to_contain_text("by 30 7 * * 1-5 in Europe/Oslo")
        expect(card).to_contain_text(re.compile(r"Next: .* [12]:30 AM, (tomorrow|in .+) \(.*7:30 AM in Europe/Oslo\)"))
        [made] = served.get(f"agents/{agent}/schedule")["scheduled_messages"]
        assert made["message"]["messages"][0]["content"] == "What is still open?"
        card.get_by_role("button", name="Show outcomes").click()
        expect(card.get_by_text("It has not fired yet.")).to_be_visible()
        card.get_by_role("button", name="Run now").click()
        row = card.get_by_role("region", name="The last ten outcomes").get_by_role("row").nth(1)
        expect(row).to_contain_text("run now")
        expect(row).to_contain_text("completed")
        assert [run["status"] for run in served.get(f"runs/?agent_id={agent}")] == ["completed"]
        served.post(f"agents/{agent}/pause", {})
        card.get_by_role("button", name="Run now").click()
        expect(card.get_by_role("alert")).to_contain_text(f"POST /v1/agents/{agent}/schedule/{made['id']}/run · status 409")
        card.get_by_role("button", name="Pause").click()
        expect(card).to_contain_text("paused")
        assert served.get(f"agents/{agent}/schedule/{made['id']}")["paused"] is True
        card.get_by_role("button", name="Resume").click()
        expect(card).to_contain_text("Next:")
        expect(page.locator(".toast.hidden")).to_have_count(1)
        picture(page, "schedules", height=540)
        card.get_by_role("button", name="Delete this schedule").click()
        dialog_button(page, "Delete").click()
        expect(card).to_have_count(0)
        assert served.get(f"agents/{agent}/schedule")["scheduled_messages"] == []


TIMES: tuple[tuple[str, dict[str, str], dict[str, Any]], ...] = (
    ("once", {"Day and time, in your time zone": "2031-05-06T07:08"}, {"scheduled_at": 1935785280000}),
    ("daily", {"At": "06:05"}, {"cron_expression": "5 6 * * *", "timezone": "Asia/Tokyo"}),
    ("weekly", {"At": "06:05"}, {"cron_expression": "5 6 * * 1", "timezone": "Asia/Tokyo"}),
    ("rate", {"After": "3"}, {"rate_expression": "3 hours"}),
    ("cron", {"Minute, hour, day, month, weekday": "0 0 L * *"}, {"cron_expression": "0 0 L * *", "timezone": "Asia/Tokyo"}),
    ("workdays", {"At": "23:59"}, {"cron_expression": "59 23 * * 1-5", "timezone": "Asia/Tokyo"}),
)
"""Kinds of time in the form, what is written there, and the time of the schedule."""


def test_each_kind_of_time_is_what_the_form_says_and_becomes_each_other_kind(chromium: Browser, served: Served) -> None:
    """The first one is made, and changed into all others; each time the form begins with what the schedule has."""
    agent = served.agent("Timed")
    with visiting(chromium, served.url, timezone_id="Asia/Tokyo") as visit:
        page = visit.open("#/teams/schedules?new=1")
        add_agent(page, "Agent", "Timed")
        page.get_by_role("combobox", name="It", exact=True).select_option("compaction")
        card = page.get_by_role("article", name="Schedule: Compaction of the conversation")
        for place, (when, fields, timing) in enumerate(TIMES):
            if place:
                card.get_by_role("button", name="Change").click()
                before, shown, _ = TIMES[place - 1]
                expect(page.get_by_role("combobox", name="When")).to_have_value(before)
                for label, value in shown.items():
                    expect(page.get_by_label(label, exact=True)).to_have_value(value)
            page.get_by_role("combobox", name="When").select_option(when)
            for label, value in fields.items():
                page.get_by_label(label, exact=True).fill(value)
            dialog_button(page, "Save" if place else "Make").click()
            expect(page.get_by_role("dialog")).to_have_count(0)
            [made] = served.get(f"agents/{agent}/schedule")["scheduled_messages"]
            assert made["action"] == "compaction"
            assert made["schedule"] == made["schedule"] | timing


def test_a_form_closes_when_the_page_shows_what_it_has_changed(chromium: Browser, served: Served) -> None:
    """A form that begins with what was there before would undo the change when it is saved."""
    agent = served.agent("Slow list")
    time = {"type": "recurring", "cron_expression": "5 6 * * 1", "timezone": "Asia/Tokyo"}
    made = served.post(f"agents/{agent}/schedule", {"schedule": time, "action": "compaction"})
    with visiting(chromium, served.url, timezone_id="Asia/Tokyo") as visit:
        page = visit.open("#/teams/schedules")
        card = page.get_by_role("article").filter(has_text="Slow list")
        card.get_by_role("button", name="Change").click()
        page.get_by_role("combobox", name="When").select_option("workdays")
        page.route("**/v1/schedules*", lambda _held: None)
        with page.expect_request("**/v1/schedules*"):
            dialog_button(page, "Save").click()
        expect(page.get_by_role("dialog").get_by_role("button", name="Save …")).to_be_disabled()
        changed = served.get(f"agents/{agent}/schedule/{made['id']}")["schedule"]["cron_expression"]
        assert changed == "5 6 * * 1-5"
        page.unroute("**/v1/schedules*")  # lets go what is held
        expect(page.get_by_role("dialog")).to_have_count(0)
        card.get_by_role("button", name="Change").click()
        expect(page.get_by_role("combobox", name="When")).to_have_value("workdays")


def test_an_answer_to_what_was_asked_before_a_change_closes_no_form(chromium: Browser, served: Served) -> None:
    """The page asks by itself every five seconds. Its question may be under way when something is saved."""
    agent = served.agent("Old news")
    time = {"type": "recurring", "cron_expression": "5 6 * * 1", "timezone": "Asia/Tokyo"}
    served.post(f"agents/{agent}/schedule", {"schedule": time, "action": "compaction"})
    with visiting(chromium, served.url, timezone_id="Asia/Tokyo") as visit:
        visit.page.clock.install()
        page = visit.open("#/teams/schedules")
        card = page.get_by_role("article").filter(has_text="Old news")
        card.get_by_role("button", name="Change").click()
        page.get_by_role("combobox", name="When").select_option("workdays")
        old: list[tuple[Route, APIResponse]] = []
        page.route("**/v1/schedules*", lambda route: old.append((route, route.fetch())))
        with page.expect_request("**/v1/schedules*"):
            page.clock.run_for(6_000)
        page.clock.pause_at(
            datetime.now(UTC) + timedelta(minutes=1)
        )  # from here on nothing is drawn by frames: the page has yet to ask anew
        with page.expect_response(f"**/v1/agents/{agent}/schedule/*"):
            dialog_button(page, "Save").click()
        [(route, answer)] = old
        with page.expect_response("**/v1/schedules*"):
            route.fulfill(response=answer)
        expect(page.get_by_role("dialog").get_by_role("button", name="Save …")).to_be_disabled()
        page.unroute("**/v1/schedules*")
        page.clock.resume()
        expect(page.get_by_role("dialog")).to_have_count(0)
        card.get_by_role("button", name="Change").click()
        expect(page.get_by_role("combobox", name="When")).to_have_value("workdays")


NOW = "2026-11-28T01:30:39-05:00"
"""A Saturday in New York."""
SPANS = {
    "2026-11-28T01:30:39-05:00": ("now", "just now"),
    "2026-11-28T01:31:00-05:00": ("in less than a minute", "just now"),
    "2026-11-28T02:30:38-05:00": ("in 59 min.", "in 59 min."),
    "2026-11-29T01:30:38-05:00": ("in 23 hr.", "in 23 hr."),
    "2026-11-29T01:30:39-05:00": ("tomorrow", "tomorrow"),
    "2026-11-29T23:59:59-05:00": ("tomorrow", "tomorrow"),
    "2026-11-30T00:00:00-05:00": ("in 2 days", "in 2 days"),
    "2026-11-30T01:30:00-05:00": ("in 2 days", "in 2 days"),
    "2027-03-15T00:30:00-04:00": ("in 107 days", "in 107 days"),
    "2026-11-28T01:29:40-05:00": ("now", "just now"),
    "2026-11-28T00:00:00-05:00": ("now", "1 hr. ago"),
    "2026-11-27T01:30:40-05:00": ("now", "23 hr. ago"),
    "2026-11-27T00:00:00-05:00": ("now", "yesterday"),
    "2026-11-26T23:59:59-05:00": ("now", "2 days ago"),
    "2026-11-01T00:30:00-04:00": ("now", "27 days ago"),
}
"""Moments, and how a page says them at `NOW`: as what comes, and as what was. The clocks changed on the first of November and on
the fourteenth of March."""


def test_a_span_of_days_is_one_of_the_calendar(chromium: Browser, served: Served) -> None:
    with visiting(chromium, served.url, timezone_id="America/New_York") as visit:
        said = visit.open().evaluate(
            """async ([address, now, moments]) => {
                const { ago, soon } = await import(address);
                return moments.map((at) => [soon(at, new Date(now)), ago(at, new Date(now))]);
            }""",
            [next(address for address in visit.addresses if address.endswith("/app/format.js")), NOW, list(SPANS)],
        )
    assert dict(zip(SPANS, map(tuple, said), strict=True)) == SPANS


def test_a_change_sends_what_was_changed_alone(visit: Visit, served: Served) -> None:
    agent = served.agent("Rated")
    rate = {"type": "rate", "rate_expression": "2 hours"}
    body = {"messages": [{"role": "system", "content": "Look around."}], "schedule": rate, "max_steps": 3}
    made = served.post(f"agents/{agent}/schedule", body)
    two = [{"role": "user", "content": text} for text in ("One.", "Two.")]
    served.post(f"agents/{agent}/schedule", {"messages": two, "schedule": rate})
    page = visit.open("#/teams/schedules")
    page.get_by_role("article", name="Schedule: Look around.").get_by_role("button", name="Change").click()
    expect(page.get_by_role("combobox", name="As")).to_have_value("system")
    page.get_by_role("textbox", name="Message").fill("Look twice.")
    with page.expect_request(lambda request: request.method == "PATCH") as sent:
        dialog_button(page, "Save").click()
    assert set(sent.value.post_data_json) == {"messages"}
    card = page.get_by_role("article", name="Schedule: Look twice.")
    expect(card).to_contain_text("every 2 hours")
    now = served.get(f"agents/{agent}/schedule/{made['id']}")
    assert (now["message"]["messages"][0]["role"], now["message"]["max_steps"]) == ("system", 3)
    card.get_by_role("button", name="Change").click()
    page.get_by_label("After", exact=True).fill("3")
    with page.expect_request(lambda request: request.method == "PATCH") as sent:
        dialog_button(page, "Save").click()
    assert sent.value.post_data_json == {"schedule": {"type": "rate", "rate_expression": "3 hours"}}
    expect(card).to_contain_text("every 3 hours")
    page.get_by_role("article", name="Schedule: One.").get_by_role("button", name="Change").click()
    expect(page.get_by_role("dialog")).to_contain_text("Several messages are changed by the API alone.")
    expect(page.get_by_role("textbox", name="Message")).to_have_count(0)
    page.get_by_label("After", exact=True).fill("0")
    dialog_button(page, "Save").click()
    expect(page.get_by_role("dialog")).to_be_visible()


def test_sleep_time_work_is_scheduled_for_an_agent_that_has_a_partner(visit: Visit, served: Served) -> None:
    served.agent("Without a partner")
    agent, group = slept(served, "With a partner")
    page = visit.open("#/home")
    page.get_by_role("link", name="Teams").click()
    page.get_by_role("heading", name="Groups").wait_for()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Command or agent").fill("new sched")
    page.keyboard.press("Enter")
    add_agent(page, "Agent", "Without a partner")
    page.get_by_role("combobox", name="It", exact=True).select_option("sleeptime")
    dialog_button(page, "Make").click()
    expect(page.get_by_role("alert")).to_contain_text("Without a partner has no sleep-time partner.")
    add_agent(page, "Agent", "With a partner")
    dialog_button(page, "Make").click()
    card = page.get_by_role("article", name="Schedule: Sleep-time work")
    card.get_by_role("button", name="Run now").click()
    expect(card).to_contain_text("last: done")
    [made] = served.get(f"agents/{agent}/schedule")["scheduled_messages"]
    assert (made["action"], made["group_id"]) == ("sleeptime", group)
