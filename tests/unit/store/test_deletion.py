"""A run goes as a whole, its parts before itself: whoever dies over it leaves a run that can be deleted again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hibernaut.adapters.blobs.disk import DiskBlobs
from hibernaut.adapters.clock import TimeOrderedIds
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.ports.storage.table import MAX_CHANGES, Key, Put
from hibernaut.schemas.runs.events import DoneEvent
from hibernaut.schemas.runs.run import RunOptions, StoredRun
from hibernaut.schemas.runs.step import StoredStep
from hibernaut.schemas.stop import RunStatus
from hibernaut.store.deletion import Deletion
from hibernaut.store.runs.runs import RunState
from hibernaut.store.stores import Stores, TenantStores
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec
from hibernaut.store.table.lists.logs import IdRange
from hibernaut.store.table.retries import RetryPolicy
from hibernaut.store.table.tenant_table import TenantBlobs, TenantTable
from hibernaut.store.table.writer import Writer
from tests.support.clocks import ManualClock
from tests.support.tables import CountingTable

TENANT = "default"
AGENT = "agent-00000000-0000-4000-8000-000000000000"


class Died(BaseException):
    """The worker is gone."""


@pytest.fixture
def table(tmp_path: Path) -> Iterator[SqliteTable]:
    engine = SqliteTable(tmp_path / "table.db")
    yield engine
    engine.close()


@pytest.fixture
def blobs(tmp_path: Path) -> DiskBlobs:
    return DiskBlobs(tmp_path / "blobs")


def run_with(stores: TenantStores, blobs: DiskBlobs, table: SqliteTable, *, batches: int) -> StoredRun:
    """A run that has ended, with a large step and so many batches of events."""
    clock, codec = ManualClock(), Codec(blobs)
    ids = TimeOrderedIds(clock)
    run = StoredRun(
        id=ids.new("run"),
        agent_id=AGENT,
        status=RunStatus.COMPLETED,
        created_at=clock.now(),
        options=RunOptions(max_steps=1),
        metadata={"long": "x" * 100_000},
    )
    stores.writer.write(*stores.runs.create(RunState(run), None))
    step = StoredStep(id=ids.new("step"), run_id=run.id, created_at=clock.now(), error_data={"long": "x" * 100_000})
    table.write(Put(codec.item(keys.step(TENANT, run.id, step.id), step, **keys.listed(TENANT, "STEPS", step.id))))
    for number in range(1, batches + 1):
        stores.writer.write(stores.runs.put_events(run.id, number, [DoneEvent()], datetime.now(UTC)))
    return run


def files(folder: Path) -> set[Path]:
    return {path for path in (folder / "blobs").rglob("*") if path.is_file()}


@pytest.mark.parametrize("batches", [3, MAX_CHANGES - 2, MAX_CHANGES - 1, 2 * MAX_CHANGES + 30])
def test_nothing_of_a_run_is_left(table: SqliteTable, blobs: DiskBlobs, tmp_path: Path, batches: int) -> None:
    stores = Stores(table, blobs, ManualClock()).of(TENANT)
    run, other = (run_with(stores, blobs, table, batches=batches) for _ in range(2))
    before = files(tmp_path)
    stores.deletion.run(run)
    assert table.query(keys.run(TENANT, run.id).pk) == []
    assert [row["sk"] for row in stores.runs.walk([AGENT])] == [f"RUN#{other.id}"]
    assert [step.run_id for step in stores.steps.walk(IdRange(), first=10)] == [other.id]
    assert len(before - files(tmp_path)) == len(files(tmp_path)) == 2
    assert len(table.query(keys.run(TENANT, other.id).pk)) == batches + 2
    stores.deletion.run(run)


def test_a_run_that_is_half_deleted_is_still_shown_and_can_be_deleted_again(table: SqliteTable, blobs: DiskBlobs) -> None:
    clock = ManualClock()
    stores = Stores(table, blobs, clock).of(TENANT)
    run = run_with(stores, blobs, table, batches=2 * MAX_CHANGES)
    writes = 0

    def die(_: int, kind: str) -> None:
        nonlocal writes
        writes += kind == "before write"
        if kind == "before write" and writes == 2:
            raise Died

    dying, own = TenantTable(CountingTable(table, die), TENANT), TenantBlobs(blobs, TENANT)
    with pytest.raises(Died):
        Deletion(
            dying,
            own,
            Writer(dying, RetryPolicy(clock)),
            stores.search_outbox,
            stores.conversations.logs,
            stores.request_rates,
        ).run(run)
    shown = stores.runs.get(run.id)
    assert shown is not None
    assert shown.run.id == run.id
    assert table.get(Key(*keys.run_row(TENANT, AGENT, run.id))) is not None
    stores.deletion.run(run)
    assert table.query(keys.run(TENANT, run.id).pk) == []
    assert list(stores.runs.walk([AGENT])) == []


def test_a_deleted_agent_leaves_no_limit_on_requests(table: SqliteTable, blobs: DiskBlobs) -> None:
    stores = Stores(table, blobs, ManualClock())
    other = AGENT.replace("4000", "4001")
    for tenant, agent_id in ((TENANT, AGENT), (TENANT, other), ("acme", AGENT)):
        stores.of(tenant).request_rates.limit(agent_id, 3)
    stores.of(TENANT).deletion.agent(AGENT)
    assert stores.rates.read()[0] == {f"{TENANT}#{other}": 3, f"acme#{AGENT}": 3}
