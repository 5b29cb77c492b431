"""Reading steps and messages over a real table: what only shows in long lists and in rows that the loop seldom writes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from hibernaut.adapters.blobs.disk import DiskBlobs
from hibernaut.adapters.clock import TimeOrderedIds
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.ports.table import Put
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.message import Message
from hibernaut.schemas.step import StoredStep
from hibernaut.services.messages import MessageQuery, Messages
from hibernaut.services.steps import CHUNK, StepQuery, Steps
from hibernaut.store import keys
from hibernaut.store.codec import Codec
from hibernaut.store.stores import Stores, stores_over
from tests.support.clocks import ManualClock

TENANT = "default"
RUN = "run-00000000-0000-4000-8000-000000000000"


@pytest.fixture
def table(tmp_path: Path) -> Iterator[SqliteTable]:
    engine = SqliteTable(tmp_path / "table.db")
    yield engine
    engine.close()


@pytest.fixture
def blobs(tmp_path: Path) -> DiskBlobs:
    return DiskBlobs(tmp_path / "blobs")


@pytest.fixture
def stores(table: SqliteTable, blobs: DiskBlobs) -> Stores:
    return stores_over(table, blobs, ManualClock())


def reading(stores: Stores) -> tuple[Messages, Steps]:
    messages = Messages(
        agents=stores.agents, conversations=stores.conversations, agent_logs=stores.agent_logs, log=stores.messages
    )
    return messages, Steps(steps=stores.steps, messages=messages, writer=stores.writer)


def steps_written(table: SqliteTable, blobs: DiskBlobs, count: int, tenant: str = TENANT) -> list[StoredStep]:
    """One a second; every third is of the agent `rare`."""
    clock, codec = ManualClock(), Codec(blobs)
    ids = TimeOrderedIds(clock)
    made = []
    for number in range(count):
        agent = "rare" if number % 3 == 0 else "common"
        step = StoredStep(id=ids.new("step"), run_id=RUN, agent_id=agent, created_at=clock.now())
        key = keys.step(tenant, RUN, step.id)
        table.write(Put(codec.item(key, step, **keys.listed(tenant, "STEPS", step.id))))
        made.append(step)
        clock.sleep(1)
    return made


@pytest.mark.parametrize("descending", [True, False])
def test_a_filter_looks_beyond_the_first_chunk(table: SqliteTable, blobs: DiskBlobs, stores: Stores, descending: bool) -> None:
    made = steps_written(table, blobs, 2 * CHUNK + 50)
    rare = [step.id for step in made if step.agent_id == "rare"]
    wanted = rare[::-1] if descending else rare
    _, steps = reading(stores)
    asked = StepQuery(limit=len(made), agent_id="rare", descending=descending)
    assert [step.id for step in steps.page(TENANT, asked)] == wanted
    before = StepQuery(limit=2, agent_id="rare", descending=descending, before=wanted[-1])
    assert [step.id for step in steps.page(TENANT, before)] == wanted[-3:-1]


def test_dates_hold_what_was_made_within_them(table: SqliteTable, blobs: DiskBlobs, stores: Stores) -> None:
    made = steps_written(table, blobs, 5)
    _, steps = reading(stores)

    def found(**by: object) -> list[str]:
        return [step.id for step in steps.page(TENANT, StepQuery(descending=False, **by))]  # type: ignore[arg-type]

    second, fourth = made[1].created_at, made[3].created_at
    assert found(start=second, end=fourth) == [step.id for step in made[1:4]]
    assert found(start=second + timedelta(milliseconds=1)) == [step.id for step in made[2:]]
    assert found(start=second, after=made[2].id) == [step.id for step in made[3:]]
    assert found(end=fourth, before=made[1].id) == [made[0].id]


def test_no_tenant_sees_another_ones(table: SqliteTable, blobs: DiskBlobs, stores: Stores) -> None:
    (step,) = steps_written(table, blobs, 1, tenant="other")
    _, steps = reading(stores)
    assert steps.page(TENANT, StepQuery()) == []
    assert stores.steps.get(TENANT, step.id) is None
    assert stores.steps.get("other", step.id) == step


def test_an_id_is_found_whole_or_not_at_all(table: SqliteTable, blobs: DiskBlobs, stores: Stores) -> None:
    (step,) = steps_written(table, blobs, 1)
    assert stores.steps.get(TENANT, step.id[:-1]) is None
    assert all(stores.steps.get(TENANT, step.id[:length]) is None for length in range(1, len(step.id)))


def test_rows_of_errors_are_shown_when_asked_for(stores: Stores) -> None:
    clock = ManualClock()
    ids = TimeOrderedIds(clock)
    messages, _ = reading(stores)
    for text, failed in (("fine", None), ("failed", True)):
        row = Message(
            id=ids.new("message"),
            role="user",
            content=[TextContent(text=text)],
            agent_id="a",
            is_err=failed,
            created_at=clock.now(),
        )
        stores.writer.write(stores.conversations.put_message(TENANT, "a", row))
    assert [one.otid is not None for one in messages.page_of_all(TENANT, MessageQuery())] == [True]
    assert len(messages.page_of_all(TENANT, MessageQuery(include_err=True))) == 2
