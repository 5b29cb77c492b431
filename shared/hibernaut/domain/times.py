"""How a moment is written for the model. Knows time zones by their IANA names; does not know what time it is."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, tzinfo
from zoneinfo import ZoneInfo

_A_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
LAST_MOMENT = time(23, 59, 59, 999_999)


def zone_of(timezone: str) -> tzinfo:
    """The zone of an IANA name; UTC where no such zone is known, so that a wrong setting never stops a run."""
    try:
        return ZoneInfo(timezone)
    except (KeyError, ValueError, OSError):  # unknown; malformed; the name of a folder of the zone database
        return UTC


def local_time(moment: datetime, timezone: str) -> datetime:
    """The moment in the zone of an IANA name; as it is at the calendar's ends, where a zone may have no time for it."""
    try:
        return moment.astimezone(zone_of(timezone))
    except OverflowError:
        return moment


def model_time(moment: datetime, timezone: str) -> str:
    """Such as `2026-03-01 09:15:00 AM UTC+0000` (run-time digest 14.2)."""
    return local_time(moment, timezone).strftime("%Y-%m-%d %I:%M:%S %p %Z%z")


def moment_of(text: str, timezone: str, *, end: bool = False) -> datetime:
    """The moment that an ISO 8601 date or time means; without an offset it is in that zone. The `end` of a span that is a date alone
    is that day's last moment, its beginning the first. Raises: ValueError.
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
