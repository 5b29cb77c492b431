"""The versions of passages: created, deleted, brought back."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hibernaut.schemas.errors import Conflict, InvalidArgument, NotFound
from hibernaut.schemas.memory.passage import CreatePassage, Passage
from hibernaut.schemas.memory.version import Rollback
from hibernaut.schemas.memory.version_faults import VersionConflict, VersionExpired
from hibernaut.services.memory.memory_audit import MemoryAudit
from tests.support.house import House

KEY = "The key hangs behind the clock."


def made(house: House, text: str = KEY) -> Passage:
    (passage,) = house.services.passages.create_for(
        house.agent().id, CreatePassage(text=text, tags=["house", "keys"]), key_id="key-1"
    )
    return passage


def faults(house: House) -> set[str | None]:
    return {report.fault for report in MemoryAudit(house.stores).check()}


def test_a_deleted_passage_is_read_and_brought_back_with_its_tags(house: House) -> None:
    passage = made(house)
    archive, history = str(passage.archive_id), house.services.passage_history
    (first,) = history.versions(archive, passage.id)
    assert first.by is not None
    assert (first.version, first.change, first.by.key_id) == (1, "created", "key-1")
    house.services.passages.delete(archive, passage.id, key_id="key-2")
    told = history.versions(archive, passage.id)
    assert [(each.version, each.change, each.by and each.by.key_id) for each in told] == [
        (2, "deleted", "key-2"),
        (1, "created", "key-1"),
    ]
    assert told[1].passage == passage
    back = history.rollback(archive, passage.id, Rollback(version=1, current_version=2), key_id="key-3")
    assert (back.version, back.change, back.restored_version, back.passage) == (3, "rolled_back", 1, passage)
    assert back.previous_hash == told[0].hash
    assert house.stores.archives.totals(house.stores.archives.agents_of(archive)[0]).tags == ("house", "keys")
    house.services.passages.delete(archive, passage.id)
    assert [each.version for each in history.versions(archive, passage.id)] == [4, 3, 2, 1]
    assert faults(house) == {None}


def test_large_passages_are_brought_back_whole(house: House) -> None:
    passage = made(house, "x " * 8_000)
    archive = str(passage.archive_id)
    house.services.passages.delete(archive, passage.id)
    back = house.services.passage_history.rollback(archive, passage.id, Rollback(version=1))
    assert back.passage == passage


def test_what_cannot_be_brought_back_is_told(house: House) -> None:
    passage = made(house)
    archive, history = str(passage.archive_id), house.services.passage_history
    with pytest.raises(Conflict, match="is there"):
        history.rollback(archive, passage.id, Rollback(version=1))
    house.services.passages.delete(archive, passage.id)
    with pytest.raises(VersionConflict):
        history.rollback(archive, passage.id, Rollback(version=1, current_version=1))
    with pytest.raises(InvalidArgument):
        history.rollback(archive, passage.id, Rollback(version=2))
    with pytest.raises(VersionExpired):
        history.rollback(archive, passage.id, Rollback(version=9))
    house.services.archives.delete(archive)
    with pytest.raises(NotFound):
        history.versions(archive, passage.id)


def test_the_version_in_force_at_a_time_is_read(house: House) -> None:
    passage = made(house)
    archive, history = str(passage.archive_id), house.services.passage_history
    (first,) = history.versions(archive, passage.id)
    house.services.passages.delete(archive, passage.id)
    last = history.versions(archive, passage.id)[0]
    assert first.at is not None
    assert last.at is not None
    assert [history.versions(archive, passage.id, at=at)[0].version for at in (first.at, last.at)] == [1, 2]
    with pytest.raises(NotFound, match="was created after"):
        history.versions(archive, passage.id, at=first.at - timedelta(days=1))
    with pytest.raises(NotFound):
        history.versions(archive, "passage-00000000-0000-4000-8000-000000000000")
