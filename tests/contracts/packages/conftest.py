"""An index, a clock that stands, and an empty folder of packages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hibernaut.adapters.packages.package_folders import PackageFolders
from tests.contracts.packages.installing import folders_of
from tests.support.clocks import ManualClock
from tests.support.package_index import PackageIndexServer, serving_index


@pytest.fixture
def index() -> Iterator[PackageIndexServer]:
    with serving_index() as served:
        yield served


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def folders(index: PackageIndexServer, tmp_path: Path, clock: ManualClock) -> PackageFolders:
    return folders_of(index, tmp_path / "packages", clock)
