"""Lists of runs read only as far as they must, however many runs there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hibernaut.adapters.clock import TimeOrderedIds
from hibernaut.domain.wire.listing import Page
from hibernaut.ports.storage.table import Index, Item, Key
from hibernaut.schemas.agents.conversation_record import CreateConversation
from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.runs.run import RunOptions, StoredRun
from hibernaut.schemas.stop import RunStatus
from hibernaut.services.runs import cancellation, runs
from hibernaut.services.runs.runs import RunQuery
from hibernaut.store.runs.runs import CHUNK, RunState, running
from tests.support.clocks import ManualClock
from tests.support.house import House, house_in
from tests.support.tables import PassesOn

ONE, OTHER = (f"agent-00000000-0000-4000-8000-00000000000{number}" for number in (1, 2))
CONVERSATION = "conv-00000000-0000-4000-8000-000000000001"


class Reading(PassesOn):
    """A table that counts the list rows of runs that it answers."""

    rows = 0

    def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        found = super().get_many(keys)
        self.rows += sum(key.sk.startswith("RUN#") for key in found)
        return found

    def query(
        self,
        pk: str,
        *,
        index: Index | None = None,
        after: str | None = None,
        before: str | None = None,
        prefix: str = "",
        limit: int | None = None,
        descending: bool = False,
        names: Sequence[str] = (),
    ) -> list[Item]:
        found = super().query(
            pk, index=index, after=after, before=before, prefix=prefix, limit=limit, descending=descending, names=names
        )
        self.rows += len(found) if prefix == "RUN#" and index is None else 0
        return found


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with house_in(tmp_path, Reading) as one:
        yield one


def written(house: House, agents: Sequence[str], count: int, *, open_ones: Sequence[int] = ()) -> list[str]:
    """The ids of so many runs, oldest first, of each agent in turn. They have ended, but the ones at these places."""
    clock = ManualClock()
    ids, made = TimeOrderedIds(clock), list[str]()
    for number in range(count):
        run = StoredRun(
            id=ids.new("run"),
            agent_id=agents[number % len(agents)],
            status=RunStatus.RUNNING if number in open_ones else RunStatus.COMPLETED,
            background=number % 10 == 3,
            conversation_id=CONVERSATION,
            created_at=clock.now(),
            options=RunOptions(max_steps=1),
        )
        house.stores.writer.write(*house.stores.runs.create(RunState(run), None))
        made.append(run.id)
    return made


def read(house: House) -> int:
    """How many rows were read until now."""
    assert isinstance(house.table, Reading)
    return house.table.rows


@pytest.mark.parametrize("agents", [(), (ONE,), (ONE, OTHER)])
def test_a_page_of_many_runs_reads_only_what_it_may_need(house: House, agents: tuple[str, ...]) -> None:
    made = written(house, agents or (ONE, OTHER), 5 * CHUNK)
    for descending in (True, False):
        before = read(house)
        page = house.services.runs.page(RunQuery(page=Page(limit=5, descending=descending), agent_ids=agents))
        assert [run.id for run in page.rows] == (made[:-6:-1] if descending else made[:5])
        assert page.rest is None
        assert read(house) - before <= 6 * max(1, len(agents))


@pytest.mark.parametrize("agents", [(), (ONE,), (ONE, OTHER)])
@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("backwards", [True, False])
def test_a_filter_looks_at_so_many_rows_and_says_where_it_goes_on(
    house: House, monkeypatch: pytest.MonkeyPatch, agents: tuple[str, ...], descending: bool, backwards: bool
) -> None:
    monkeypatch.setattr(runs, "MOST_READ", 7)
    made = written(house, agents or (ONE, OTHER), 40)
    ordered = made[::-1] if descending else made
    wanted = [run_id for run_id in ordered if made.index(run_id) % 10 == 3]
    # The cursors lie outside of what is looked for: the last run of all, or the first one.
    cursor, start, met = ("before", ordered[-1], list[str]()) if backwards else ("after", ordered[0], list[str]())
    for _ in range(6):
        asked = Page(limit=2, descending=descending, **{cursor: start})  # type: ignore[arg-type]
        page = house.services.runs.page(RunQuery(page=asked, agent_ids=agents, background=True))
        found = [run.id for run in page.rows]
        met = found + met if backwards else met + found
        if page.rest is None:
            break
        assert page.rest[0] == cursor
        start = page.rest[1]
    assert met == wanted


def test_a_page_between_two_cursors_is_the_first_one_after_the_first(house: House) -> None:
    made = written(house, (ONE,), 6)

    def found(after: str, before: str, limit: int = 10) -> list[str]:
        page = house.services.runs.page(RunQuery(page=Page(limit=limit, after=after, before=before)))
        return [run.id for run in page.rows]

    assert found(made[0], made[4]) == made[1:4]
    assert found(made[0], made[4], limit=2) == made[1:3]
    assert found(made[4], made[0]) == found(made[1], made[2]) == found(made[1], made[1]) == []
    for cursor in ("", "nonsense", "run-" + "x" * 2000, "run-00000000-0000-4000-8000-000000000000"):
        with pytest.raises(NotFound):
            found(cursor, made[4])


def test_a_conversations_runs_are_looked_for_among_those_of_its_agent(house: House) -> None:
    agent = house.agent()
    conversation = house.services.conversations.openings.create(agent.id, CreateConversation())
    before = read(house)
    written(house, (OTHER,), CHUNK)
    query = RunQuery(page=Page(limit=5), conversation_id=conversation.id)
    assert house.services.runs.page(query).rows == []
    assert read(house) == before


def test_open_runs_are_looked_for_among_the_newest(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = house.agent()
    made = written(house, (agent.id,), 20, open_ones=(3, 14, 16))
    monkeypatch.setattr(cancellation, "CHUNK", 8)
    monkeypatch.setattr(cancellation, "MOST_READ", 8)
    before = read(house)
    told = house.services.cancelling.agent(agent.id)
    assert list(told) == [made[16], made[14]]
    assert read(house) - before == 8


@pytest.mark.parametrize("descending", [True, False])
def test_open_runs_are_listed_without_reading_those_that_have_ended(house: House, descending: bool) -> None:
    made = written(house, (ONE, OTHER), 40, open_ones=(3, 6, 13, 33))
    ordered = [made[place] for place in ((33, 13, 6, 3) if descending else (3, 6, 13, 33))]

    def found(agents: Sequence[str] = (), *, background: bool | None = None, **asked: object) -> list[str]:
        page = Page(descending=descending, **asked)  # type: ignore[arg-type]
        query = RunQuery(page=page, agent_ids=agents, background=background, active=True)
        return [run.id for run in house.services.runs.page(query).rows]

    before = read(house)
    assert found() == ordered
    assert found(limit=2) == ordered[:2]
    assert found(limit=2, after=ordered[1]) == ordered[2:]
    assert found(limit=2, before=ordered[3]) == ordered[1:3]
    assert found((OTHER,)) == [run_id for run_id in ordered if made.index(run_id) % 2]
    assert found(background=True) == [run_id for run_id in ordered if made.index(run_id) % 10 == 3]
    assert read(house) == before
    state = house.stores.runs.get(ordered[0])
    assert state is not None
    ended = replace(state, run=state.run.model_copy(update={"status": RunStatus.COMPLETED}))
    house.stores.writer.write(house.stores.runs.change(ended, running(state.attempt), None))
    assert found() == ordered[1:]
