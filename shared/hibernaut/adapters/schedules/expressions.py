"""Alarms in the expressions of EventBridge Scheduler: `at(…)`, `rate(…)`, `cron(…)` (user guide of EventBridge Scheduler,
"Schedule types").

A cron expression of EventBridge has six fields, counts weekdays from 1 (Sunday), and has either the day or the weekday. The sweep
fires schedules that it cannot express.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from math import ceil

from hibernaut.ports.runs.schedules import Alarm

LONGEST = 256
"""Characters of an expression."""
DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


def expression_of(alarm: Alarm) -> str | None:
    """The expression of an alarm; None: EventBridge has none."""
    if alarm.at_ms is not None:
        # Rounded up to whole seconds: an invocation before its time finds nothing to do.
        moment = datetime.fromtimestamp(ceil(alarm.at_ms / 1000), UTC)
        return f"at({moment:%Y-%m-%dT%H:%M:%S})"
    if alarm.every_minutes is not None:
        return f"rate({alarm.every_minutes} minute{'s' if alarm.every_minutes > 1 else ''})"
    return _cron(alarm.cron or "")


def _cron(expression: str) -> str | None:
    from cronsim import CronSim, CronSimError

    try:
        read = CronSim(expression, datetime(2000, 1, 1, tzinfo=UTC))
    except CronSimError:
        return None
    minutes = _numbers(read.minutes, range(60))
    hours = _numbers(read.hours, range(24))
    months = _numbers(read.months, range(1, 13))
    days, weekdays = _days(read.days), _weekdays(read.weekdays)
    if days is None or weekdays is None:
        return None
    if days != "*" and weekdays != "*":
        return None  # V1's cron expressions mean one of them; EventBridge takes only one
    either = f"{days} {months} ?" if weekdays == "*" else f"? {months} {weekdays}"
    found = f"cron({minutes} {hours} {either} *)"
    return found if len(found) <= LONGEST else None


def _numbers(values: Collection[int], whole: range) -> str:
    return "*" if set(values) >= set(whole) else ",".join(map(str, sorted(values)))


def _days(values: Collection[int]) -> str | None:
    from cronsim import CronSim

    if set(values) == {CronSim.LAST}:
        return "L"
    return None if min(values) < 1 else _numbers(values, range(1, 32))


def _weekdays(values: Collection[object]) -> str | None:
    plain = {value % 7 for value in values if isinstance(value, int)}
    numbered = [value for value in values if isinstance(value, tuple)]
    if numbered:
        return _numbered(numbered[0]) if len(values) == 1 else None
    return "*" if len(plain) == len(DAYS) else ",".join(DAYS[day] for day in sorted(plain))


def _numbered(value: tuple[int, int]) -> str | None:
    """Such as 2#1, the first Monday. The sweep fires schedules for the last weekday of the month."""
    day, number = value
    return f"{day % 7 + 1}#{number}" if number > 0 else None
