"""Archives, passages and groups whose ids the caller chooses: a repeated request adds nothing, and brings back nothing that was
deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hibernaut.schemas.agents.group import GroupCreate
from hibernaut.schemas.errors import Conflict, InvalidArgument
from hibernaut.schemas.ids import as_of
from hibernaut.schemas.memory.passage import CreateArchive, IdentifiedPassage, Passage
from tests.support.house import House, house_in

ARCHIVE = "archive-00000001-0000-4000-8000-000000000001"
GROUP = "group-00000001-0000-4000-8000-000000000001"
AT = datetime(2025, 3, 1, 8, 0, tzinfo=UTC)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with house_in(tmp_path) as made:
        made.services.archives.create(CreateArchive(id=ARCHIVE, name="shelf"))
        yield made


def identifier(number: int, at: datetime = AT) -> str:
    return as_of(f"passage-00000001-0000-4000-8000-{number:012x}", at)


def given(*numbers: int) -> list[IdentifiedPassage]:
    return [IdentifiedPassage(id=identifier(one), text=f"text {one}", tags=["a"], created_at=AT) for one in numbers]


def put(house: House, *numbers: int) -> list[Passage]:
    return house.services.passages.create(ARCHIVE, given(*numbers))


def count(house: House) -> int:
    agent = house.agent(name="reader", memory_blocks=[])
    house.services.archives.attach(agent.id, ARCHIVE)
    return house.stores.archives.totals(agent.id).count


def test_a_passage_gets_the_chosen_id_once(house: House) -> None:
    assert [one.id for one in put(house, 1, 2)] == [identifier(1), identifier(2)]
    again = put(house, 2, 3, 2)
    assert [(one.id, one.text) for one in again] == [
        (identifier(2), "text 2"),
        (identifier(3), "text 3"),
        (identifier(2), "text 2"),
    ]
    assert count(house) == 3


def test_a_deleted_passage_is_not_brought_back(house: House) -> None:
    put(house, 1, 2)
    house.services.passages.delete(ARCHIVE, identifier(1))
    assert [one.id for one in put(house, 1, 2)] == [identifier(2)]
    assert count(house) == 1


def test_the_id_of_a_passage_begins_with_its_time(house: House) -> None:
    other = IdentifiedPassage(id=identifier(1, datetime(2024, 1, 1, tzinfo=UTC)), text="x", created_at=AT)
    without = IdentifiedPassage(id=identifier(1), text="x")
    for one in (other, without):
        with pytest.raises(InvalidArgument, match="created_at"):
            house.services.passages.create(ARCHIVE, [one])
    assert count(house) == 0


def test_an_archive_is_created_once_and_not_while_a_deleted_one_has_the_id(house: House) -> None:
    assert house.services.archives.create(CreateArchive(id=ARCHIVE, name="other")).name == "shelf"
    house.services.archives.delete(ARCHIVE)
    with pytest.raises(Conflict, match=ARCHIVE):
        house.services.archives.create(CreateArchive(id=ARCHIVE, name="shelf"))


def test_a_group_is_created_once(house: House) -> None:
    agent = house.agent(name="Ada", memory_blocks=[])
    first = house.services.groups.create(GroupCreate(id=GROUP, agent_ids=[agent.id], description="one"))
    again = house.services.groups.create(GroupCreate(id=GROUP, agent_ids=[agent.id], description="two"))
    assert (first.id, again.description, house.services.groups.count()) == (GROUP, "one", 1)
