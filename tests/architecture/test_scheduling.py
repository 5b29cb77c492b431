"""The scheduling of the tests names places that exist."""

from __future__ import annotations

from pathlib import Path

from tests.scheduling import ENGINES, LONG

ROOT = Path(__file__).parents[2]
PACKAGE = 'scope="package"'


def test_every_place_that_the_scheduling_names_is_there() -> None:
    files = [unit for unit in LONG if unit not in ENGINES]
    named = [*files, *(place for places in ENGINES.values() for place in places)]
    assert [place for place in named if not (ROOT / place).exists()] == []
    assert len(set(named)) == len(named)


def test_a_folder_whose_tests_share_a_fixture_of_the_package_is_one_unit_of_work() -> None:
    """Such a fixture ends where a worker goes on with another folder: with a unit for each file, it would start for each file."""
    sharing = [
        file.parent.relative_to(ROOT) for file in (ROOT / "tests").rglob("conftest.py") if PACKAGE in file.read_text("utf-8")
    ]
    units = {place for places in ENGINES.values() for place in places}
    assert sharing
    assert [folder for folder in sharing if f"{folder}/" not in units] == []
