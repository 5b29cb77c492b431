"""How a moment is written for the model. Knows time zones by their IANA names; does not know what time it is."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo


def zone_of(timezone: str) -> tzinfo:
    """The zone of an IANA name; UTC where no such zone is known, so that a wrong setting never stops a run."""
    try:
        return ZoneInfo(timezone)
    except (KeyError, ValueError, OSError):  # unknown; malformed; the name of a folder of the zone database
        return UTC


def model_time(moment: datetime, timezone: str) -> str:
    """Such as `2026-03-01 09:15:00 AM UTC+0000` (run-time digest 14.2)."""
    return moment.astimezone(zone_of(timezone)).strftime("%Y-%m-%d %I:%M:%S %p %Z%z")
