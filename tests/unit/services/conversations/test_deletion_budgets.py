"""A deletion ends however few operations each attempt survives: what is deleted is not read again, and every attempt makes
progress.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hibernaut.ports.storage.table import Item, Key, Table
from hibernaut.schemas.memory.passage import CreateArchive
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded, EmbeddedOverrides
from hibernaut.wiring.settings import EmbeddedSettings
from tests.support.deletions import TENANT, House, house_in
from tests.support.tables import PassesOn

ENOUGH = 52
"""Calls of the table that one attempt needs before anything is deleted for good, at most, besides those of `House.sweep`."""
FIXED = 22
"""Calls of an attempt that delete nothing, at most."""
FEW = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    monkeypatch.setattr("hibernaut.store.deletion.MAX_CHANGES", 7)
    with house_in(tmp_path) as made:
        yield made


def stands(house: House, *identifiers: str) -> dict[tuple[str, str], str]:
    """The items that bear one of the ids, but the pointers for the index, as they stand."""
    return {at: text for at, text in house.there().items() if any(one in text for one in identifiers)}


def attempts_until_done(house: House, act: Callable[[], None], budget: int, *identifiers: str) -> int:
    """How many attempts it takes, each of which survives so many calls of the table."""
    attempts, before = 1, stands(house, *identifiers)
    while house.broken(act, budget=budget):
        after = stands(house, *identifiers)
        assert after != before, "an attempt made no progress"
        attempts, before = attempts + 1, after
    return attempts


@FEW
@example(runs=150, large=20, threads=1, budget=ENOUGH)
@given(runs=st.integers(0, 120), large=st.integers(0, 20), threads=st.integers(0, 3), budget=st.integers(ENOUGH, 242))
def test_an_agent_goes_in_attempts_that_grow_with_its_size(
    house: House, runs: int, large: int, threads: int, budget: int
) -> None:
    agent = house.agent()
    house.runs(agent, [large] + [number % 3 for number in range(runs)])
    conversations = [house.conversation(agent) for _ in range(threads)]
    conversations += [house.fork(agent, one) for one in conversations]

    def delete() -> None:
        if house.stores.agents.get(agent) is not None:
            house.services.agents.delete(agent)
        else:
            house.sweep()

    size = len(stands(house, agent, *conversations))
    attempts = attempts_until_done(house, delete, budget, agent, *conversations)
    assert attempts <= 2 + 3 * size // (budget - FIXED)
    house.sweep()
    assert not stands(house, agent, *conversations)


@FEW
@example(said=60, more=30, budget=32)
@given(said=st.integers(1, 60), more=st.integers(0, 30), budget=st.integers(32, 112))
def test_a_log_of_which_a_fork_keeps_most_is_read_once(house: House, said: int, more: int, budget: int) -> None:
    agent = house.agent()
    source = house.conversation(agent)
    for _ in range(said):
        house.say(agent, source)
    fork = house.fork(agent, source)
    for _ in range(more):
        house.say(agent, source)
    conversations = house.services.conversations
    kept = conversations_shown(house, fork)

    def delete(conversation: str) -> Callable[[], None]:
        def act() -> None:
            if house.stores.conversation_records.get(conversation) is not None:
                conversations.delete(conversation)
            else:
                house.sweep()

        return act

    size = len(stands(house, source))
    assert attempts_until_done(house, delete(source), budget, source) <= 2 + 2 * size // (budget - FIXED)
    assert conversations_shown(house, fork) == kept
    attempts_until_done(house, delete(fork), budget, source, fork)
    assert not stands(house, source, fork)


def conversations_shown(house: House, conversation: str) -> list[str]:
    return [row.id for row in house.stores.conversations.page(conversation)]


def test_the_work_of_a_deletion_grows_with_the_number_of_runs(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hibernaut.store.deletion.MAX_CHANGES", 100)
    calls: list[int] = []
    for number in (50, 500):
        agent = house.agent()
        house.runs(agent, [2] * number)
        assert not house.broken(lambda agent=agent: house.services.agents.delete(agent))  # type: ignore[misc]
        calls.append(house.calls)
    assert calls[1] - calls[0] <= 1.2 * 450


class CountedItems(PassesOn):
    """Counts the items that are read."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.items = 0

    def get_many(self, item_keys: Sequence[Key]) -> dict[Key, Item]:
        self.items += len(item_keys)
        return super().get_many(item_keys)

    def query(self, pk: str, **kwargs: Any) -> list[Item]:
        found = super().query(pk, **kwargs)
        self.items += len(found)
        return found


@contextmanager
def counted(folder: Path) -> Iterator[tuple[House, CountedItems]]:
    """A house without threads, which read too, and its table."""
    tables: list[CountedItems] = []

    def wrapped(table: Table) -> Table:
        tables.append(CountedItems(table))
        return tables[0]

    settings = EmbeddedSettings(data=folder, default_embedding="none")
    with closing(Embedded(settings, EmbeddedOverrides(table=wrapped))) as embedded:
        yield House(embedded, services_of(embedded.stores, embedded.host, embedded.engines).of(TENANT)), tables[0]


@pytest.mark.parametrize("of_default", [False, True])
def test_what_a_deletion_reads_grows_with_the_number_of_forks(tmp_path: Path, of_default: bool) -> None:
    items: list[int] = []
    for number in (10, 40):
        with counted(tmp_path / str(number)) as (house, table):
            agent = house.agent()
            source = agent if of_default else house.conversation(agent)
            for _ in range(number):
                house.fork(agent, source)
            table.items = 0
            house.services.agents.delete(agent)
            items.append(table.items)
            assert not stands(house, agent, source)
    assert items[1] <= 4.5 * items[0]


@pytest.mark.parametrize("place", [0, 1, -1])
def test_the_deletion_of_one_fork_reads_no_row_that_another_fork_shares(tmp_path: Path, place: int) -> None:
    items: list[int] = []
    for number, said in ((3, 2), (30, 20)):
        with counted(tmp_path / str(number)) as (house, table):
            agent = house.agent()
            source = house.conversation(agent)
            for _ in range(said):
                house.say(agent, source)
            forks = [house.fork(agent, source) for _ in range(number)]
            house.services.conversations.delete(source)
            deleted = forks.pop(place)
            kept = {fork: conversations_shown(house, fork) for fork in forks}
            table.items = 0
            house.services.conversations.delete(deleted)
            items.append(table.items)
            assert {fork: conversations_shown(house, fork) for fork in forks} == kept
            for fork in forks:
                house.services.conversations.delete(fork)
            assert not stands(house, source, deleted, *forks)
    assert items[0] == items[1] <= 12


def test_rows_that_one_fork_alone_shares_go_with_it(tmp_path: Path) -> None:
    with counted(tmp_path) as (house, _):
        agent = house.agent()
        source = house.conversation(agent)
        forks = []
        for _ in range(3):
            house.say(agent, source)
            forks.append(house.fork(agent, source))
        house.services.conversations.delete(source)
        kept = conversations_shown(house, forks[0])
        for fork in (forks[1], forks[2]):
            alone = set(conversations_shown(house, fork)) - set(kept)
            house.services.conversations.delete(fork)
            assert conversations_shown(house, forks[0]) == kept
            assert bool(stands(house, *alone)) is (fork is forks[1]), "the third fork shares what the second one did"


def test_an_archive_without_passages_loses_its_links_in_as_many_attempts_as_it_takes(house: House) -> None:
    archives, agents = house.services.archives, [house.agent() for _ in range(3)]
    archive = archives.create(CreateArchive(name="a")).id
    for agent in agents:
        archives.attach(agent, archive)
    assert house.broken(lambda: archives.delete(archive), 2)
    archives.delete(archive)
    assert [house.stores.archives.of_agent(agent) for agent in agents] == [[], [], []]
