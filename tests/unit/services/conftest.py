"""A house for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.house import House, Overtaken, house_in


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with house_in(tmp_path) as opened:
        yield opened


@pytest.fixture
def contested(tmp_path: Path) -> Iterator[House]:
    """A house whose table can be overtaken."""
    with house_in(tmp_path, Overtaken) as opened:
        yield opened
