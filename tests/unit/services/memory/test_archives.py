"""Archives under others' hands: deleting, inserting and attaching at the same time, and what is left when it breaks off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hibernaut.domain.search.passage_texts import MOST_TAGS
from hibernaut.domain.wire.listing import Page
from hibernaut.ports.storage.table import Change, Put, Table
from hibernaut.schemas.errors import InvalidArgument, NotFound
from hibernaut.schemas.memory.passage import CreateArchive, CreatePassage, Passage, UpdateArchive, default_archive_id
from hibernaut.schemas.memory.searches import PassageSearch
from hibernaut.services.memory.archives import DELETED_AT_ONCE, MOST_ATTACHED
from hibernaut.services.memory.passages import PassageList
from hibernaut.store.memory.archives import ArchiveTotals
from hibernaut.store.memory.search_outbox import Pointer
from tests.support.house import House, house_in
from tests.support.scripted_model import calls, in_turn, says
from tests.support.settled import check_settled
from tests.support.tables import LosesResponses, PassesOn
from tests.support.world import World, data_in


class Died(Exception):
    """The process is gone."""


class Dying(PassesOn):
    """Dies at the write that makes `left` zero; never while `left` is negative."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.left = -1

    def write(self, *changes: Change) -> None:
        self.left -= 1
        if self.left == 0:
            raise Died
        super().write(*changes)


@pytest.fixture
def dying(tmp_path: Path) -> Iterator[House]:
    with house_in(tmp_path, Dying) as opened:
        yield opened


def archive(house: House, name: str = "shelf") -> str:
    return house.services.archives.create(CreateArchive(name=name)).id


def put(house: House, archive_id: str, *texts: str) -> list[Passage]:
    return house.services.passages.create(archive_id, [CreatePassage(text=text) for text in texts])


def texts(house: House, agent_id: str) -> list[str]:
    return [one.text for one in house.services.passages.list(agent_id, PassageList()).rows]


def pointers(house: House, archive_id: str) -> list[Pointer]:
    found = house.stores.search_outbox.everywhere(1000)
    return [pointer for pointer in found if pointer.place == archive_id]


def test_every_insert_and_deletion_leaves_a_pointer_for_the_index(house: House) -> None:
    shelf, agent = archive(house), house.agent()
    passages = put(house, shelf, *(f"fact {number}" for number in range(100)))
    assert sorted(name for pointer in pointers(house, shelf) for name in pointer.ids) == [one.id for one in passages]
    house.services.passages.delete(shelf, passages[0].id)
    assert [pointer.ids for pointer in pointers(house, shelf) if pointer.state == "GONE"] == [(passages[0].id,)]
    (own,) = house.services.passages.create_for(agent.id, CreatePassage(text="mine"))
    assert [pointer.ids for pointer in pointers(house, own.archive_id or "")] == [(own.id,)]
    house.services.archives.delete(shelf)
    gone = {name for pointer in pointers(house, shelf) if pointer.state == "GONE" for name in pointer.ids}
    assert gone == {one.id for one in passages}


def test_a_deletion_that_broke_off_shows_nothing_and_goes_on_when_it_is_asked_for_again(dying: House) -> None:
    shelf, agent = archive(dying), dying.agent()
    dying.services.archives.attach(agent.id, shelf)
    count = 2 * DELETED_AT_ONCE
    put(dying, shelf, *(f"needle {number}" for number in range(count)))
    assert isinstance(dying.table, Dying)
    dying.table.left = 4  # closed, detached, one page erased
    with pytest.raises(Died):
        dying.services.archives.delete(shelf)
    assert len(dying.stores.passages.ids(shelf)) == count - DELETED_AT_ONCE
    found, _ = dying.services.searches.passages(PassageSearch(query="needle"))
    newest, _ = dying.services.searches.passages(PassageSearch())
    assert (found, newest, texts(dying, agent.id)) == ([], [], [])
    with pytest.raises(NotFound):
        dying.services.archives.retrieve(shelf)
    with pytest.raises(NotFound):
        put(dying, shelf, "too late")
    dying.services.archives.delete(shelf)
    assert dying.stores.passages.ids(shelf) == []
    with pytest.raises(NotFound):
        dying.services.archives.delete(shelf)


def test_the_texts_of_a_deleted_archive_leave_the_disk(tmp_path: Path) -> None:
    with house_in(tmp_path) as house:
        shelf = archive(house)
        long = CreatePassage(text="word " * 2_000, metadata={"long": "y" * 60_000})
        house.services.passages.create(shelf, [long, long])
        stored = [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]
        assert len(stored) == 2
        house.services.passages.delete(shelf, house.stores.passages.ids(shelf)[0])
        assert len([path for path in stored if path.exists()]) == 1
        house.services.archives.delete(shelf)
        assert not [path for path in stored if path.exists()]


def test_two_first_passages_at_the_same_time_lie_in_one_archive(contested: House) -> None:
    agent, passages = contested.agent(), contested.services.passages
    contested.table.by = lambda: passages.create_for(agent.id, CreatePassage(text="first"))
    (second,) = passages.create_for(agent.id, CreatePassage(text="second"))
    assert sorted(texts(contested, agent.id)) == ["first", "second"]
    assert second.archive_id == default_archive_id(agent.id)
    assert contested.stores.archives.of_agent(agent.id) == [second.archive_id]


def test_a_passage_whose_archive_is_deleted_meanwhile_goes_into_the_next(contested: House) -> None:
    agent, one, two = contested.agent(), archive(contested, "one"), archive(contested, "two")
    for shelf in (one, two):
        contested.services.archives.attach(agent.id, shelf)
    contested.table.by = lambda: contested.services.archives.delete(one)
    (passage,) = contested.services.passages.create_for(agent.id, CreatePassage(text="kept"))
    assert passage.archive_id == two
    contested.table.by = lambda: contested.services.archives.delete(two)
    with pytest.raises(NotFound):
        put(contested, two, "lost")
    assert contested.stores.passages.ids(two) == []


def test_an_archive_that_is_deleted_while_it_is_attached_is_not_attached(contested: House) -> None:
    agent, shelf = contested.agent(), archive(contested)
    contested.table.by = lambda: contested.services.archives.delete(shelf)
    with pytest.raises(NotFound):
        contested.services.archives.attach(agent.id, shelf)
    assert contested.stores.archives.of_agent(agent.id) == []


def test_a_change_that_was_overtaken_by_another_keeps_both(contested: House) -> None:
    shelf, archives = archive(contested), contested.services.archives
    contested.table.by = lambda: archives.update(shelf, UpdateArchive(description="d"))
    archives.update(shelf, UpdateArchive(name="n"))
    after = archives.retrieve(shelf)
    assert (after.name, after.description, after.version) == ("n", "d", 3)
    assert archives.list(Page(), name="n") == [after]


def test_an_agent_has_no_more_archives_than_a_search_looks_through(house: House) -> None:
    agent = house.agent()
    for number in range(MOST_ATTACHED):
        house.services.archives.attach(agent.id, archive(house, str(number)))
    one_more = archive(house)
    with pytest.raises(InvalidArgument, match=str(MOST_ATTACHED)):
        house.services.archives.attach(agent.id, one_more)


def test_a_passage_whose_writing_got_no_answer_is_there_once(tmp_path: Path) -> None:
    lossy: list[LosesResponses] = []

    def wrapped(table: Table) -> Table:
        lossy.append(LosesResponses(table, after=range(1, 10_000, 2)))
        return lossy[0]

    with house_in(tmp_path, wrapped) as house:
        agent, shelf = house.agent(), archive(house)
        house.services.archives.attach(agent.id, shelf)
        put(house, shelf, "one")
        house.services.passages.create_for(agent.id, CreatePassage(text="two"))
        (two,) = house.services.passages.create_for(agent.id, CreatePassage(text="three"))
        house.services.passages.delete_of(agent.id, two.id)
        assert texts(house, agent.id) == ["one", "two"]
        house.services.archives.delete(shelf)
        assert texts(house, agent.id) == []


class BeforePassages(PassesOn):
    """Something happens just before the next passage is written, once."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.by: Callable[[], object] | None = None

    def write(self, *changes: Change) -> None:
        passage = any(isinstance(change, Put) and change.key.sk.startswith("PASSAGE#") for change in changes)
        if passage and self.by is not None:
            by, self.by = self.by, None
            by()
        super().write(*changes)


def test_a_step_whose_archive_is_deleted_meanwhile_puts_its_passage_into_another(tmp_path: Path) -> None:
    tables: list[BeforePassages] = []

    def wrapped(table: Table) -> Table:
        tables.append(BeforePassages(table))
        return tables[0]

    put_away = calls(("archival_memory_insert", {"content": "Ann likes tea."}))
    world = World(data_in(tmp_path, in_turn(put_away, says("Done."), put_away, says("Done."))), wrap=wrapped)
    agent_id, archives = world.make_agent(tools=("archival_memory_insert",)), world.stores.archives
    world.send(agent_id, "I like tea")
    (own,) = archives.of_agent(agent_id)
    tables[0].by = lambda: world.stores.writer.write(*archives.close(archives.get(own), world.clock.now()))
    world.send(agent_id, "I do like tea")
    (another,) = archives.open_of_agent(agent_id)
    assert another.id != own
    assert archives.totals(agent_id).count == 1
    assert len(world.stores.passages.ids(own)) == 1
    check_settled(world, agent_id)


def test_a_run_without_news_of_its_archives_keeps_its_prompt(house: House) -> None:
    agent, shelf = house.agent(), archive(house)

    def stamp() -> str:
        return house.stores.archives.stamp(house.stores.archives.of_agent(agent.id))

    stamps = [stamp()]
    house.services.archives.attach(agent.id, shelf)
    stamps.append(stamp())
    (passage,) = put(house, shelf, "one")
    stamps.append(stamp())
    house.services.archives.update(shelf, UpdateArchive(name="renamed"))
    assert stamp() == stamps[-1]
    house.services.passages.delete(shelf, passage.id)
    stamps.append(stamp())
    house.services.archives.delete(shelf)
    assert stamp() == stamps[0] == ""
    assert len(set(stamps)) == 4


def test_passages_and_tags_are_counted_as_they_come_and_go(house: House) -> None:
    shelf, agent = archive(house), house.agent()
    house.services.archives.attach(agent.id, shelf)
    given = [CreatePassage(text=f"fact {number}", tags=[f"t{number % 3}", f"#{number}"]) for number in range(100)]
    passages = house.services.passages.create(shelf, given)
    counted = house.stores.archives.totals(agent.id)
    assert (counted.count, len(counted.tags)) == (100, 103)
    assert len(pointers(house, shelf)) == 3, "a page holds its passages and their tags"
    for passage in passages[1:]:
        house.services.passages.delete(shelf, passage.id)
    assert house.stores.archives.totals(agent.id) == ArchiveTotals(1, ("#0", "t0"))
    house.services.archives.delete(shelf)
    assert house.stores.archives.tags(shelf) == []
    assert house.stores.archives.totals(agent.id) == ArchiveTotals(0, ())


def test_an_agents_first_passage_is_counted_with_its_tags(house: House) -> None:
    agent = house.agent()
    tags = [str(number).zfill(2) for number in range(MOST_TAGS)]
    house.services.passages.create_for(agent.id, CreatePassage(text="one", tags=tags))
    house.services.passages.create_for(agent.id, CreatePassage(text="two", tags=tags))
    assert house.stores.archives.totals(agent.id) == ArchiveTotals(2, tuple(tags))
