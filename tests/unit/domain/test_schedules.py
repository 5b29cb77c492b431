"""The times of schedules: which comes next, which came last, around changes of the clock, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain import schedules
from hibernaut.domain.schedules import HORIZON_MS, MINUTE_MS
from hibernaut.schemas.agents.schedule import OneTimeSchedule, RateSchedule, RecurringSchedule
from hibernaut.schemas.errors import Unprocessable

OSLO = ZoneInfo("Europe/Oslo")
ZONES = ("UTC", "Europe/Oslo", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu")
NOW = 1_790_000_000_000


def ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def oslo(*parts: int, fold: int = 0) -> int:
    return ms(datetime(*parts, tzinfo=OSLO, fold=fold))  # type: ignore[arg-type,misc]


def times(expression: str, after: int, number: int, timezone: str = "Europe/Oslo") -> list[str]:
    timing, found = RecurringSchedule(cron_expression=expression, timezone=timezone), []
    for _ in range(number):
        following = schedules.next_after(timing, after, 0)
        assert following is not None
        after = following
        found.append(datetime.fromtimestamp(after / 1000, ZoneInfo(timezone)).strftime("%d %H:%M %Z"))
    return found


def test_a_time_that_is_skipped_in_spring_comes_when_the_clock_has_been_set() -> None:
    assert times("30 2 * * *", oslo(2026, 3, 28, 12), 2) == ["29 03:00 CEST", "30 02:30 CEST"]


def test_a_time_that_comes_twice_in_autumn_occurs_the_first_time() -> None:
    assert times("30 2 * * *", oslo(2026, 10, 24, 12), 2) == ["25 02:30 CEST", "26 02:30 CET"]
    assert times("30 2 * * *", oslo(2026, 10, 25, 2, 10, fold=1), 1) == ["26 02:30 CET"]


def test_every_hour_means_every_hour_of_real_time() -> None:
    assert times("30 * * * *", oslo(2026, 3, 29, 1), 2) == ["29 01:30 CET", "29 03:30 CEST"]
    assert times("30 * * * *", oslo(2026, 10, 25, 2), 3) == ["25 02:30 CEST", "25 02:30 CET", "25 03:30 CET"]


def test_the_newest_missed_time_is_found_around_a_change_of_the_clock() -> None:
    daily = RecurringSchedule(cron_expression="45 2 * * *", timezone="Europe/Oslo")
    first = oslo(2026, 10, 20, 2, 45)
    assert schedules.newest_until(daily, first, oslo(2026, 10, 25, 2, 30, fold=1), 0) == oslo(2026, 10, 25, 2, 45)
    assert schedules.newest_until(daily, first, oslo(2026, 3, 29, 3), 0) == first
    assert schedules.newest_until(daily, oslo(2026, 3, 1, 2, 45), oslo(2026, 3, 29, 3), 0) == oslo(2026, 3, 29, 3)


@given(
    expression=st.sampled_from(
        ("30 2 * * *", "*/7 * * * *", "0 1-4 * * *", "15,45 * * * 0", "5 0 1 * *", "0 12 L * *", "59 23 29 2 *")
    ),
    timezone=st.sampled_from(ZONES),
    start=st.integers(ms(datetime(2025, 1, 1, tzinfo=UTC)), ms(datetime(2028, 1, 1, tzinfo=UTC))),
)
def test_times_go_forward_and_the_newest_one_is_the_last_before_now(expression: str, timezone: str, start: int) -> None:
    timing, found = RecurringSchedule(cron_expression=expression, timezone=timezone), [start]
    for _ in range(4):
        following = schedules.next_after(timing, found[-1], 0)
        assert following is not None
        found.append(following)
    assert all(earlier < later for earlier, later in pairwise(found))
    for earlier, later in pairwise(found[1:]):
        assert schedules.newest_until(timing, found[1], later - 1, 0) == earlier
        assert schedules.newest_until(timing, found[1], later, 0) == later


@given(minutes=st.integers(1, 10_000), anchor=st.integers(0, NOW), passed=st.integers(0, 10**10))
def test_a_rate_counts_from_its_anchor(minutes: int, anchor: int, passed: int) -> None:
    rate, now = RateSchedule(rate_expression=f"{minutes} minutes"), anchor + passed
    following = schedules.next_after(rate, now, anchor)
    assert following is not None
    assert 0 < following - now <= minutes * MINUTE_MS
    assert (following - anchor) % (minutes * MINUTE_MS) == 0
    if passed >= minutes * MINUTE_MS:
        assert schedules.newest_until(rate, anchor + minutes * MINUTE_MS, now, anchor) == following - minutes * MINUTE_MS


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("0 0 31 2 *", "never comes"),
        ("0 0 */40 * 1#5", "never comes"),
        ("* * * * * *", "Seconds cannot be given"),
        ("@daily", "five fields"),
        ("99 * * * *", "minute"),
        ("* * * * MOX", "day-of-week"),
        ("*/0 * * * *", "minute"),
    ],
)
def test_a_cron_expression_that_cannot_work_is_refused(expression: str, told: str) -> None:
    with pytest.raises(Unprocessable, match=told) as refused:
        schedules.check(RecurringSchedule(cron_expression=expression), NOW)
    assert expression in refused.value.detail


@given(st.text(max_size=40) | st.lists(st.sampled_from("0123456789*/,-#LW "), max_size=30).map("".join))
def test_any_text_is_a_cron_expression_or_is_refused(expression: str) -> None:
    try:
        assert schedules.check(RecurringSchedule.model_construct(cron_expression=expression, timezone="UTC"), NOW) > NOW
    except Unprocessable:
        return


@pytest.mark.parametrize("timezone", ["Mars/Olympus", "../etc/passwd", "", "Europe", "UTC\0"])
def test_an_unknown_time_zone_is_refused(timezone: str) -> None:
    with pytest.raises(Unprocessable, match="time zone"):
        schedules.check(RecurringSchedule(cron_expression="0 9 * * *", timezone=timezone), NOW)


@pytest.mark.parametrize(
    ("rate", "told"),
    [
        ("30 seconds", "one minute"),
        ("0 minutes", "one minute"),
        ("5 weeks", "of the form"),
        ("367 days", "366"),
        ("-1 days", "form"),
    ],
)
def test_a_rate_that_is_too_short_or_malformed_is_refused(rate: str, told: str) -> None:
    with pytest.raises(Unprocessable, match=told):
        schedules.check(RateSchedule(rate_expression=rate), NOW)


def test_one_time_is_in_the_future_and_before_the_horizon() -> None:
    assert schedules.check(OneTimeSchedule(scheduled_at=NOW + 0.5), NOW) == NOW + 1
    for at, told in ((NOW, "past"), (-1.0, "past"), (-1e300, "past"), (HORIZON_MS, "2100"), (1e300, "2100")):
        with pytest.raises(Unprocessable, match=told):
            schedules.check(OneTimeSchedule(scheduled_at=at), NOW)
    with pytest.raises(Unprocessable, match="looks like seconds"):
        schedules.check(
            OneTimeSchedule(scheduled_at=(datetime.fromtimestamp(NOW / 1000, UTC) + timedelta(days=1)).timestamp()), NOW
        )
