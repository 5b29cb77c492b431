"""Formats and parses points in time for the model. Knows time zones by their IANA names; does not read a clock."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, tzinfo
from zoneinfo import ZoneInfo

_A_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
LAST_MOMENT = time(23, 59, 59, 999_999)


def zone_of(timezone: str) -> tzinfo:
    """The time zone with this IANA name; UTC if there is none, so that a wrong setting never stops a run."""
    try:
        return ZoneInfo(timezone)
    except (KeyError, ValueError, OSError):  # an unknown name; a malformed name; the name of a folder of the time zone database
        return UTC


def local_time(moment: datetime, timezone: str) -> datetime:
    """The moment in the named time zone; unchanged near the limits of the calendar, where the zone's local time may not exist."""
    try:
        return moment.astimezone(zone_of(timezone))
    except OverflowError:
        return moment


def model_time(moment: datetime, timezone: str) -> str:
    """A local time such as `2026-03-01 09:15:00 AM UTC+0000` (RT 14.2)."""
    return local_time(moment, timezone).strftime("%Y-%m-%d %I:%M:%S %p %Z%z")


def moment_of(text: str, timezone: str, *, end: bool = False) -> datetime:
    """The moment of an ISO 8601 date or time; a text without an offset is in the named time zone. A date alone means its first
    moment, or with `end` its last moment. Raises: ValueError.
    """
    moment = datetime.fromisoformat(text)
    if end and _A_DATE.fullmatch(text):
        moment = datetime.combine(moment, LAST_MOMENT)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=zone_of(timezone))
    try:
        moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("before the year 1 or behind the year 9999 of UTC") from None
    return moment
