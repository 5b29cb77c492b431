"""Times as the model reads them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hibernaut.domain.times import model_time

MORNING = datetime(2026, 3, 1, 9, 15, tzinfo=UTC)


def test_a_time_is_written_in_the_agents_zone() -> None:
    assert model_time(MORNING, "UTC") == "2026-03-01 09:15:00 AM UTC+0000"
    assert model_time(MORNING, "Europe/Oslo") == "2026-03-01 10:15:00 AM CET+0100"
    assert model_time(MORNING, "America/New_York") == "2026-03-01 04:15:00 AM EST-0500"
    assert model_time(MORNING.replace(hour=18), "UTC") == "2026-03-01 06:15:00 PM UTC+0000"


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "America", "../etc/passwd", "/etc/localtime", "a\x00b"])
def test_an_unknown_zone_is_taken_for_utc(zone: str) -> None:
    assert model_time(MORNING, zone) == "2026-03-01 09:15:00 AM UTC+0000"
