"""Times as the model reads them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hibernaut.domain.times import model_time, moment_of

MORNING = datetime(2026, 3, 1, 9, 15, tzinfo=UTC)


def test_a_time_is_written_in_the_agents_zone() -> None:
    assert model_time(MORNING, "UTC") == "2026-03-01 09:15:00 AM UTC+0000"
    assert model_time(MORNING, "Europe/Oslo") == "2026-03-01 10:15:00 AM CET+0100"
    assert model_time(MORNING, "America/New_York") == "2026-03-01 04:15:00 AM EST-0500"
    assert model_time(MORNING.replace(hour=18), "UTC") == "2026-03-01 06:15:00 PM UTC+0000"


@pytest.mark.parametrize(
    ("moment", "zone"),
    [(datetime(1, 1, 1, tzinfo=UTC), "America/New_York"), (datetime(9999, 12, 31, 23, tzinfo=UTC), "Asia/Tokyo")],
)
def test_at_the_calendars_ends_a_time_is_written_as_it_is(moment: datetime, zone: str) -> None:
    assert model_time(moment, zone) == model_time(moment, "UTC")


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "America", "../etc/passwd", "/etc/localtime", "a\x00b"])
def test_an_unknown_zone_is_taken_for_utc(zone: str) -> None:
    assert model_time(MORNING, zone) == "2026-03-01 09:15:00 AM UTC+0000"


@pytest.mark.parametrize(
    ("text", "end", "moment"),
    [
        ("2026-03-01", False, "2026-03-01T00:00:00+01:00"),
        ("2026-03-01", True, "2026-03-01T23:59:59.999999+01:00"),
        ("2026-03-01T14:30", True, "2026-03-01T14:30:00+01:00"),
        ("2026-07-01 14:30", False, "2026-07-01T14:30:00+02:00"),
        ("2026-03-01T14:30:00Z", False, "2026-03-01T14:30:00+00:00"),
        ("2026-03-01T00:00:00-05:00", True, "2026-03-01T00:00:00-05:00"),
    ],
)
def test_a_date_or_time_is_a_moment_in_the_agents_zone(text: str, end: bool, moment: str) -> None:
    assert moment_of(text, "Europe/Oslo", end=end) == datetime.fromisoformat(moment)


@pytest.mark.parametrize(
    "text", ["soon", "2026-13-01", "2026-03-01T25:00", "1", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"]
)
def test_what_is_no_moment_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        moment_of(text, "UTC")
