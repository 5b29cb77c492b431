"""Sets of packages go when no tool uses them, and not before."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.schemas.tools.package_set import PackageSet
from hibernaut.schemas.tools.tool import StoredTool
from hibernaut.store.blob_collector import ROUND
from hibernaut.store.package_blobs import ANSWERED, RETENTION
from hibernaut.store.stores import Stores
from hibernaut.store.table.blob_keys import package_blob
from tests.support.blobs import MemoryBlobs
from tests.support.clocks import ManualClock

USED, UNUSED = "a" * 64, "b" * 64
LATE = max(RETENTION, ROUND) + timedelta(hours=1)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def blobs(clock: ManualClock) -> MemoryBlobs:
    return MemoryBlobs(clock)


@pytest.fixture
def stores(tmp_path: Path, blobs: MemoryBlobs, clock: ManualClock) -> Iterator[Stores]:
    table = SqliteTable(tmp_path / "table.db")
    yield Stores(table, blobs, clock)
    table.close()


def store(blobs: MemoryBlobs, tenant: str, digest: str) -> None:
    for kind in ("zip", "json"):
        blobs.put(package_blob(tenant, f"{digest}.{kind}"), b"{}")


def save(stores: Stores, tenant: str, digest: str) -> None:
    packages = PackageSet(digest=digest, target="here", size=1, pins=[], archive="c" * 64)
    tool = StoredTool(id="tool-00000000-0000-4000-8000-000000000000", name="t", source_code="x" * 100_000, packages=packages)
    own = stores.of(tenant)
    own.writer.write(*own.tools.create(tool, "t"))


def left(blobs: MemoryBlobs) -> set[str]:
    return {key for key in blobs.kept if key.startswith("tool_packages/")}


def test_a_set_that_no_tool_of_its_tenant_uses_goes(stores: Stores, blobs: MemoryBlobs, clock: ManualClock) -> None:
    for tenant in ("one", "two"):
        store(blobs, tenant, USED)
    store(blobs, "one", UNUSED)
    save(stores, "one", USED)
    clock.time += LATE
    assert stores.blob_collector.collect() == 4
    assert left(blobs) == {package_blob("one", f"{USED}.{kind}") for kind in ("zip", "json")}


def test_a_set_that_was_handed_out_lately_stays(stores: Stores, blobs: MemoryBlobs, clock: ManualClock) -> None:
    store(blobs, "one", UNUSED)
    clock.time += LATE
    blobs.put(package_blob("one", f"{UNUSED}.json"), b"{}")
    clock.time += ROUND
    assert stores.blob_collector.collect() == 0
    assert len(left(blobs)) == 2


def test_a_zip_file_without_a_record_and_an_old_answer_go(stores: Stores, blobs: MemoryBlobs, clock: ManualClock) -> None:
    blobs.put(package_blob("one", f"{UNUSED}.zip"), b"cut short")
    blobs.put(package_blob("one", "asked-0"), b"{}")
    clock.time += ANSWERED + timedelta(hours=1)
    assert stores.blob_collector.collect() == 1
    assert left(blobs) == {package_blob("one", f"{UNUSED}.zip")}
    clock.time += LATE
    assert stores.blob_collector.collect() == 1
    assert left(blobs) == set()
