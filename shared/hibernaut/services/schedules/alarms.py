"""The alarms by which a scheduler outside the process has schedules fired."""

from __future__ import annotations

from typing import assert_never

from hibernaut.domain.schedules import rate_minutes
from hibernaut.ports.runs.schedules import Alarm
from hibernaut.schemas.agents.schedule import OneTimeSchedule, RateSchedule, RecurringSchedule, StoredSchedule


def alarm_of(record: StoredSchedule, next_ms: int) -> Alarm:
    """The alarm of a schedule whose next nominal time is `next_ms`."""
    match record.schedule:
        case OneTimeSchedule():
            return Alarm(record.id, at_ms=next_ms)
        case RecurringSchedule(cron_expression=cron, timezone=timezone):
            return Alarm(record.id, cron=cron, timezone=timezone)
        case RateSchedule() as rate:
            return Alarm(record.id, every_minutes=rate_minutes(rate), from_ms=next_ms)
        case never:
            assert_never(never)
