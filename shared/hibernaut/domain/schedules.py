"""The times of schedules: which occurrence comes next, and which is the newest that has come. Pure functions; times are
milliseconds since 1970.

Daylight saving time, for cron expressions with a fixed minute and hour, follows Debian's cron: a local time that is skipped
occurs when the clock has been set forward, and a local time that comes twice occurs the first time. Expressions whose minute or
hour begins with `*` follow the real time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from math import ceil, isfinite
from typing import assert_never
from zoneinfo import ZoneInfo

from hibernaut.schemas.agents.schedule import AnyTiming, OneTimeSchedule, RateSchedule, RecurringSchedule
from hibernaut.schemas.errors import Unprocessable

HORIZON_MS = 4_102_444_800_000
"""The year 2100, before which every occurrence must lie."""
MINUTE_MS = 60_000
_UNITS = {"minute": 1, "hour": 60, "day": 1440}
_RATE = re.compile(r"([0-9]{1,6}) (minute|hour|day)s?")
_SECONDS = re.compile(r"[0-9.]+ seconds?")
LONGEST_RATE = 366 * 1440
"""The longest rate in minutes."""
FIELDS = 5


def check(timing: AnyTiming, now_ms: int) -> int:
    """The first occurrence after `now_ms`. Raises: Unprocessable if the timing is malformed, lies in the past, or never comes."""
    match timing:
        case OneTimeSchedule():
            return _one_time(timing, now_ms)
        case RateSchedule():
            return now_ms + rate_minutes(timing) * MINUTE_MS
        case RecurringSchedule():
            first = next_after(timing, now_ms, now_ms)
            if first is None:
                raise Unprocessable(
                    f"The cron expression '{timing.cron_expression}' never comes: no date before the year 2100 matches its day and month."
                )
            return first
        case never:
            assert_never(never)


def next_after(timing: AnyTiming, after_ms: int, anchor_ms: int) -> int | None:
    """The first occurrence after a time; None: there is none before `HORIZON_MS`. `anchor_ms`: the moment from which a rate
    counts. Raises: Unprocessable if the timing is malformed.
    """
    match timing:
        case OneTimeSchedule():
            found = ceil(timing.scheduled_at) if ceil(timing.scheduled_at) > after_ms else None
        case RateSchedule():
            period = rate_minutes(timing) * MINUTE_MS
            found = anchor_ms + max(1, (after_ms - anchor_ms) // period + 1) * period
        case RecurringSchedule():
            found = next((each for each in _walk(timing, after_ms) if each > after_ms), None)
        case never:
            assert_never(never)
    return found if found is not None and found < HORIZON_MS else None


def newest_until(timing: AnyTiming, first_ms: int, now_ms: int, anchor_ms: int) -> int:
    """The newest occurrence up to now. `first_ms`: one that is known to have come."""
    match timing:
        case OneTimeSchedule():
            return first_ms
        case RateSchedule():
            period = rate_minutes(timing) * MINUTE_MS
            return max(first_ms, anchor_ms + (now_ms - anchor_ms) // period * period)
        case RecurringSchedule():
            found = next((each for each in _walk(timing, now_ms + 1000, back=True) if each <= now_ms), first_ms)
            return max(first_ms, found)
        case never:
            assert_never(never)


def rate_minutes(rate: RateSchedule) -> int:
    """The minutes between two occurrences. Raises: Unprocessable."""
    match = _RATE.fullmatch(rate.rate_expression.strip().lower())
    if match is None:
        shortest = " The shortest rate is one minute." if _SECONDS.fullmatch(rate.rate_expression.strip().lower()) else ""
        raise Unprocessable(
            f"The rate expression '{rate.rate_expression}' is not of the form '5 minutes', '2 hours' or '1 day'.{shortest}"
        )
    minutes = int(match[1]) * _UNITS[match[2]]
    if not 1 <= minutes <= LONGEST_RATE:
        raise Unprocessable(f"The rate '{rate.rate_expression}' is not between one minute and 366 days.")
    return minutes


def zone(name: str) -> ZoneInfo:
    """The time zone with this IANA name. Raises: Unprocessable."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # an unknown name; a malformed name; the name of a folder of the time zone database
        raise Unprocessable(f"'{name}' is not the name of a time zone, such as Europe/Oslo or UTC.") from None


def _one_time(timing: OneTimeSchedule, now_ms: int) -> int:
    at = timing.scheduled_at
    if not isfinite(at) or at >= HORIZON_MS:
        raise Unprocessable("scheduled_at must be before the year 2100, in milliseconds since 1970.")
    if ceil(at) <= now_ms:
        hint = " It looks like seconds; milliseconds are expected." if at * 100 < now_ms < at * 1000 else ""
        raise Unprocessable(f"scheduled_at is in the past: {_shown(at)}.{hint}")
    return ceil(at)


def _shown(at_ms: float) -> str:
    try:
        return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return f"{at_ms:g}"


def _walk(timing: RecurringSchedule, from_ms: int, *, back: bool = False) -> Iterator[int]:
    """The occurrences around a time, forwards or backwards. Around a change of the clock the first ones may lie on the wrong side
    of it: callers skip them.

    Raises: Unprocessable if the expression is malformed.
    """
    from cronsim import CronSim, CronSimError  # at the first cron expression of a process

    expression = timing.cron_expression
    if len(expression.split()) != FIELDS:
        raise Unprocessable(
            f"The cron expression '{expression}' does not have the five fields minute, hour, day, month and weekday. Seconds cannot be given."
        )
    start = datetime.fromtimestamp(from_ms / 1000, UTC).astimezone(zone(timing.timezone))
    # The walk begins an hour or two away, because a local time does not determine the side of a change of the clock.
    margin = timedelta(hours=3) if timing.timezone != "UTC" else timedelta()
    start = (start.astimezone(UTC) + (margin if back else -margin)).astimezone(start.tzinfo)
    try:
        found = CronSim(expression, start, reverse=back)
    except CronSimError as error:
        raise Unprocessable(f"The cron expression '{expression}' cannot be read or never comes: {error}.") from None
    return (int(moment.timestamp() * 1000) for moment in found)
