"""The scheduling of the tests names places that exist."""

from __future__ import annotations

from pathlib import Path

from tests.scheduling import ENGINES, LONG

ROOT = Path(__file__).parents[2]


def test_every_place_that_the_scheduling_names_is_there() -> None:
    named = [*LONG, *(place for places in ENGINES.values() for place in places)]
    assert [place for place in named if not (ROOT / place).exists()] == []
    assert len(set(named)) == len(named)
