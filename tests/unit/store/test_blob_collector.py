"""Whoever replaces or deletes a record deletes its blob, and the collector finds what a crash left, in bounded passes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from hibernaut.adapters.blobs.disk import DiskBlobs
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.ports.storage.table import Put
from hibernaut.schemas.memory.block import StoredBlock
from hibernaut.schemas.runs.events import DoneEvent
from hibernaut.schemas.tools.tool import StoredTool
from hibernaut.store import blob_collector
from hibernaut.store.blob_collector import GRACE, ROUND
from hibernaut.store.runs.runs import EVENT_LIFE, WORK_LIFE
from hibernaut.store.stores import Stores
from hibernaut.store.table import blob_keys, keys
from tests.support.blobs import MemoryBlobs
from tests.support.clocks import ManualClock
from tests.support.tables import CountingTable

TENANT = "default"
AGENT = "agent-00000000-0000-4000-8000-000000000000"


def files_in(folder: Path) -> int:
    return sum(path.is_file() for path in folder.rglob("*"))


@pytest.fixture
def table(tmp_path: Path) -> Iterator[SqliteTable]:
    made = SqliteTable(tmp_path / "table.db")
    yield made
    made.close()


def test_five_updates_of_a_large_tool_leave_one_blob_and_its_deletion_none(table: SqliteTable, tmp_path: Path) -> None:
    stores = Stores(table, DiskBlobs(tmp_path / "blobs"), ManualClock()).of(TENANT)
    tool = StoredTool(id="tool-00000000-0000-4000-8000-000000000000", name="t", source_code="x" * 100_000)
    stores.writer.write(*stores.tools.create(tool, "t"))
    for number in range(5):
        before = stores.tools.get(tool.id)
        assert before is not None
        after = before.model_copy(update={"source_code": f"{number}" * 100_000})
        stores.writer.write(*stores.tools.change(before, after, "t"))
        assert files_in(tmp_path / "blobs") == 1
    last = stores.tools.get(tool.id)
    assert last is not None
    assert last.source_code == "4" * 100_000
    stores.writer.write(*stores.tools.delete(last))
    assert files_in(tmp_path / "blobs") == 0


def test_a_large_body_that_shrinks_leaves_no_blob(table: SqliteTable, tmp_path: Path) -> None:
    stores = Stores(table, DiskBlobs(tmp_path / "blobs"), ManualClock()).of(TENANT)
    tool = StoredTool(id="tool-00000000-0000-4000-8000-000000000000", name="t", source_code="x" * 100_000)
    stores.writer.write(*stores.tools.create(tool, "t"))
    before = stores.tools.get(tool.id)
    assert before is not None
    small = before.model_copy(update={"source_code": "x"})
    stores.writer.write(*stores.tools.change(before, small, "t"))
    assert files_in(tmp_path / "blobs") == 0


def test_a_copy_of_a_record_does_not_free_the_blob_of_its_original(table: SqliteTable, tmp_path: Path) -> None:
    stores = Stores(table, DiskBlobs(tmp_path / "blobs"), ManualClock()).of(TENANT)
    now = ManualClock().now()
    block = StoredBlock(id="block-1", label="l", value="x" * 100_000, limit=200_000, created_at=now, updated_at=now)
    stores.writer.write(*stores.blocks.create(block, "t"))
    original = stores.blocks.get("block-1")
    assert original is not None
    copied = original.model_copy(update={"id": "block-2"})
    stores.writer.write(*stores.blocks.create(copied, "t"))
    stores.writer.write(*stores.blocks.change(copied, copied.model_copy(update={"value": "y"}), "t"))
    changed = stores.blocks.get("block-2")
    assert changed is not None
    stores.writer.write(*stores.blocks.delete(changed, now, "t"))
    left = stores.blocks.get("block-1")
    assert left is not None
    assert left.value == block.value


def test_a_change_reads_nothing_to_know_which_blob_it_replaces(table: SqliteTable, tmp_path: Path) -> None:
    calls: list[str] = []
    counting = CountingTable(table, lambda _, kind: calls.append(kind) if kind.startswith("before") else None)
    stores = Stores(counting, DiskBlobs(tmp_path / "blobs"), ManualClock()).of(TENANT)
    tool = StoredTool(id="tool-00000000-0000-4000-8000-000000000000", name="t", source_code="x" * 100_000)
    stores.writer.write(*stores.tools.create(tool, "t"))
    before = stores.tools.get(tool.id)
    assert before is not None
    calls.clear()
    stores.writer.write(*stores.tools.change(before, before.model_copy(update={"tags": ["a"]}), "t"))
    assert calls == ["before write"]


def test_bodies_that_expire_lie_under_their_own_prefix_and_outlive_their_items(table: SqliteTable) -> None:
    clock = ManualClock()
    blobs = MemoryBlobs(clock)
    stores = Stores(table, blobs, clock).of(TENANT)
    stores.writer.write(stores.runs.put_events("run-1", 1, [DoneEvent()] * 9_000, clock.now()))
    (entry,) = blobs.list(limit=10)
    assert entry.key.startswith(blob_keys.EPHEMERAL)
    assert blob_keys.blob_owner(entry.key) == keys.events(TENANT, "run-1", 1)
    assert max(WORK_LIFE, EVENT_LIFE) < timedelta(days=blob_keys.EPHEMERAL_DAYS)


def test_blobs_of_former_names_are_read_and_collected_when_nothing_names_them() -> None:
    owner = keys.tool(TENANT, "tool-1")
    assert blob_keys.blob_owner(f"{owner.pk}/{owner.sk}/0123".replace("#", "/")) == owner
    message = keys.message(TENANT, AGENT, "message-1")
    assert blob_keys.blob_owner(f"{message.pk}/{message.sk}/0123".replace("#", "/")) == message
    assert blob_keys.blob_owner(blob_keys.body_blob(message, "n")) == message
    assert blob_keys.blob_owner(blob_keys.upload_blob(TENANT, "file-1")) == keys.file(TENANT, "file-1")
    assert blob_keys.blob_owner("somebody's notes.txt") is None


def test_a_pass_is_bounded_and_a_round_begins_once_a_day(table: SqliteTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blob_collector, "PAGE", 4)
    clock = ManualClock()
    blobs = MemoryBlobs(clock)
    calls: list[str] = []
    counting = CountingTable(table, lambda _, kind: calls.append(kind) if kind.startswith("before") else None)
    stores = Stores(counting, blobs, clock)
    for number in range(10):
        blobs.put(blob_keys.body_blob(keys.tool(TENANT, f"tool-{number}"), "n"), b"x")
    clock.time += GRACE + timedelta(hours=1)
    assert [stores.blob_collector.collect() for _ in range(4)] == [4, 4, 2, 0]
    assert len(calls) == 3 * 3 + 1
    clock.time += ROUND
    blobs.put(blob_keys.body_blob(keys.tool(TENANT, "tool-1"), "young"), b"x")
    assert stores.blob_collector.collect() == 0
    assert len(blobs.list(limit=10)) == 1


def test_a_body_of_an_item_without_a_version_is_not_collected(table: SqliteTable) -> None:
    clock = ManualClock()
    blobs = MemoryBlobs(clock)
    pack = keys.message(TENANT, AGENT, "message-1")
    named, left = (blob_keys.body_blob(pack, name) for name in ("named", "left"))
    table.write(Put({"pk": pack.pk, "sk": pack.sk, "body": "", "blob": named}))
    for blob in (named, left):
        blobs.put(blob, b"x")
    clock.time += GRACE + timedelta(hours=1)
    assert Stores(table, blobs, clock).blob_collector.collect() == 1
    assert list(blobs.kept) == [named]
