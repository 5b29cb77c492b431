"""Reading steps and messages over a real table: what only shows in long lists and in rows that the loop seldom writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from hibernaut.adapters.blobs.disk import DiskBlobs
from hibernaut.adapters.clock import TimeOrderedIds
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.domain.wire.listing import FilteredPage
from hibernaut.domain.wire.run_trace import trace_id
from hibernaut.ports.storage.table import Item, Key, Put
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.step import StoredStep
from hibernaut.services.logs.messages import MessageLists, MessageQuery
from hibernaut.services.runs.steps import CHUNK, StepQuery, Steps
from hibernaut.store.stores import Stores, TenantStores
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec
from tests.support.clocks import ManualClock

TENANT = "default"
RUN = "run-00000000-0000-4000-8000-000000000000"


class Forgetful:
    """A table in which one item is gone, while its index still names it."""

    def __init__(self, table: SqliteTable, gone: str) -> None:
        self._table = table
        self._gone = gone

    def __getattr__(self, name: str) -> object:
        return getattr(self._table, name)

    def get_many(self, wanted: Sequence[Key]) -> dict[Key, Item]:
        return self._table.get_many([key for key in wanted if keys.last_part(key.sk) != self._gone])


@pytest.fixture
def table(tmp_path: Path) -> Iterator[SqliteTable]:
    engine = SqliteTable(tmp_path / "table.db")
    yield engine
    engine.close()


@pytest.fixture
def blobs(tmp_path: Path) -> DiskBlobs:
    return DiskBlobs(tmp_path / "blobs")


@pytest.fixture
def stores(table: SqliteTable, blobs: DiskBlobs) -> TenantStores:
    return Stores(table, blobs, ManualClock()).of(TENANT)


def reading(stores: TenantStores) -> tuple[MessageLists, Steps]:
    messages = MessageLists(
        agents=stores.agents, conversations=stores.conversations, agent_logs=stores.agent_logs, log=stores.messages
    )
    return messages, Steps(steps=stores.steps, messages=messages, writer=stores.writer, traces=stores.traces)


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
def test_a_filter_looks_beyond_the_first_chunk(
    table: SqliteTable, blobs: DiskBlobs, stores: TenantStores, descending: bool
) -> None:
    made = steps_written(table, blobs, 2 * CHUNK + 50)
    rare = [step.id for step in made if step.agent_id == "rare"]
    wanted = rare[::-1] if descending else rare
    _, steps = reading(stores)
    asked = StepQuery(limit=len(made), agent_id="rare", descending=descending)
    assert [step.id for step in steps.page(asked).rows] == wanted
    before = StepQuery(limit=2, agent_id="rare", descending=descending, before=wanted[-1])
    assert [step.id for step in steps.page(before).rows] == wanted[-3:-1]


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("backwards", [True, False])
def test_a_page_that_has_looked_at_enough_says_from_where_the_list_goes_on(
    table: SqliteTable, blobs: DiskBlobs, stores: TenantStores, monkeypatch: pytest.MonkeyPatch, descending: bool, backwards: bool
) -> None:
    monkeypatch.setattr("hibernaut.services.runs.steps.MOST_READ", 2)
    made = steps_written(table, blobs, 30)
    _, steps = reading(stores)
    order = [step.id for step in (made[::-1] if descending else made)]
    wanted = [step_id for step_id in order if step_id in {step.id for step in made if step.agent_id == "rare"}]
    asked = StepQuery(limit=2, agent_id="rare", descending=descending, before=order[-1] if backwards else None)
    found, pages = list[str](), 0
    while True:
        page, pages = steps.page(asked), pages + 1
        ids = [step.id for step in page.rows]
        found = [*ids, *found] if backwards else [*found, *ids]
        if page.rest is None and len(ids) < 2:
            break
        cursor, place = page.rest or (("before", found[0]) if backwards else ("after", found[-1]))
        asked = replace(asked, **{cursor: place})
    assert found == [step_id for step_id in wanted if not (backwards and step_id == order[-1])]
    assert pages >= 15, "some of them empty"


def test_what_is_gone_and_still_in_the_index_ends_no_list(table: SqliteTable, blobs: DiskBlobs) -> None:
    made = steps_written(table, blobs, CHUNK + 10)
    _, steps = reading(Stores(Forgetful(table, made[3].id), blobs, ManualClock()).of(TENANT))  # type: ignore[arg-type]
    found = steps.page(StepQuery(limit=len(made), descending=False)).rows
    assert [step.id for step in found] == [step.id for step in made if step is not made[3]]


def test_dates_hold_what_was_made_within_them(table: SqliteTable, blobs: DiskBlobs, stores: TenantStores) -> None:
    made = steps_written(table, blobs, 5)
    _, steps = reading(stores)

    def found(**by: object) -> list[str]:
        return [step.id for step in steps.page(StepQuery(descending=False, **by)).rows]  # type: ignore[arg-type]

    second, fourth = made[1].created_at, made[3].created_at
    assert found(start=second, end=fourth) == [step.id for step in made[1:4]]
    assert found(start=second + timedelta(milliseconds=1)) == [step.id for step in made[2:]]
    assert found(start=second, after=made[2].id) == [step.id for step in made[3:]]
    assert found(end=fourth, before=made[1].id) == [made[0].id]


def test_no_tenant_sees_another_ones(table: SqliteTable, blobs: DiskBlobs, stores: TenantStores) -> None:
    (step,) = steps_written(table, blobs, 1, tenant="other")
    _, steps = reading(stores)
    assert steps.page(StepQuery()) == FilteredPage([])
    assert stores.steps.get(step.id) is None
    told = step.model_copy(update={"trace_id": trace_id(step.run_id or "")})  # which its key says
    assert Stores(table, blobs, ManualClock()).of("other").steps.get(step.id) == told


def test_an_id_is_found_whole_or_not_at_all(table: SqliteTable, blobs: DiskBlobs, stores: TenantStores) -> None:
    (step,) = steps_written(table, blobs, 1)
    assert stores.steps.get(step.id[:-1]) is None
    assert all(stores.steps.get(step.id[:length]) is None for length in range(1, len(step.id)))


def test_rows_of_errors_are_shown_when_asked_for(stores: TenantStores) -> None:
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
        stores.writer.write(stores.conversations.put_message("a", row))
    assert [one.otid is not None for one in messages.page_of_all(MessageQuery())] == [True]
    assert len(messages.page_of_all(MessageQuery(include_err=True))) == 2
