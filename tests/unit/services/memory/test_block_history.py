"""The versions of blocks: who changed what, the value at a time, differences, rollbacks, and what a run changed."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from hibernaut.ports.storage.table import Change, Delete
from hibernaut.schemas.errors import Conflict, NotFound
from hibernaut.schemas.memory.block import BlockUpdate
from hibernaut.schemas.memory.version import Rollback
from hibernaut.schemas.memory.version_faults import VersionConflict, VersionExpired
from hibernaut.services.memory.block_history import VersionPage
from tests.support.histories import Histories
from tests.support.tables import PassesOn
from tests.support.world import World

LONG = "x" * 70_000
"""Longer than what an item holds."""


@pytest.fixture
def kept(tmp_path: Path) -> Histories:
    return Histories(tmp_path)


def test_each_change_is_a_version_with_its_author_and_its_time(kept: Histories) -> None:
    block = kept.block("one", "two")
    kept.wait()
    kept.blocks.delete(block.id, key_id="key-2")
    told = [
        (each.version, each.change, each.by.source, each.by.key_id, each.fields)
        for each in kept.history.page(block.id, VersionPage())
        if each.by
    ]
    assert told == [
        (3, "deleted", "api", "key-2", []),
        (2, "updated", "api", "key-1", ["value"]),
        (1, "created", "api", "key-1", []),
    ]
    assert [kept.value(block.id, number) for number in (1, 2, 3)] == ["one", "two", None]


def test_a_page_of_versions_is_read_by_number_in_either_direction(kept: Histories) -> None:
    block = kept.block(*(str(number) for number in range(1, 8)))

    def numbers(**asked: object) -> list[int]:
        return [each.version for each in kept.history.page(block.id, VersionPage(**asked))]  # type: ignore[arg-type]

    assert numbers(limit=3) == [7, 6, 5]
    assert numbers(limit=3, before=5) == [4, 3, 2]
    assert numbers(limit=3, after=2, descending=False) == [3, 4, 5]
    assert numbers(after=2, before=4) == [3]


def test_the_value_at_a_time_is_that_of_the_version_in_force(kept: Histories) -> None:
    began = kept.world.clock.now()
    block = kept.block("one", "two", "three")

    def at(hours: float) -> str | None:
        shown = kept.history.at(block.id, began + timedelta(hours=hours)).block
        return shown.value if shown else None

    assert [at(hours) for hours in (0, 0.5, 1, 1.9, 2, 99)] == ["one", "one", "two", "two", "three", "three"]
    with pytest.raises(NotFound, match="was created at"):
        at(-1)
    kept.wait()
    kept.blocks.delete(block.id)
    assert [at(hours) for hours in (1, 2.5, 3)] == ["two", "three", None]


def test_a_difference_is_told_by_field_and_a_text_of_several_lines_by_line(kept: Histories) -> None:
    block = kept.block("a\nb\nc", "a\nB\nc", description="old")
    kept.blocks.update(block.id, BlockUpdate(description="new"))
    (own,) = kept.history.diff(block.id, 2).changes
    assert (own.field, own.before, own.after) == ("value", "a\nb\nc", "a\nB\nc")
    assert own.lines is not None
    assert own.lines[1:] == [" a", "-b", "+B", " c"]
    assert [each.field for each in kept.history.diff(block.id, 1, 3).changes] == ["description", "value"]
    back = {each.field: (each.before, each.after) for each in kept.history.diff(block.id, 3, 1).changes}
    assert back["description"] == ("new", "old")
    first = kept.history.diff(block.id, 1)
    assert (first.from_version, {each.field: each.after for each in first.changes}["value"]) == (0, "a\nb\nc")


def test_a_rollback_is_a_version_that_brings_the_values_back(kept: Histories) -> None:
    block = kept.block("one", "two", "three", tags=["t"])
    done = kept.history.rollback(block.id, Rollback(version=1, current_version=3), key_id="key-9")
    assert done.block is not None
    assert (done.version, done.change, done.restored_version, done.block.value) == (4, "rolled_back", 1, "one")
    assert done.by is not None
    assert done.by.key_id == "key-9"
    again = kept.history.rollback(block.id, Rollback(version=3))
    assert (again.version, kept.blocks.retrieve(block.id).value) == (5, "three")
    assert kept.fault(block.id) is None


def test_a_rollback_from_another_version_than_the_current_one_is_told_which_it_is(kept: Histories) -> None:
    block = kept.block("one", "two", "three")
    with pytest.raises(VersionConflict) as refused:
        kept.history.rollback(block.id, Rollback(version=1, current_version=2))
    assert (refused.value.current_version, kept.blocks.retrieve(block.id).value) == (3, "three")


def test_a_rollback_that_another_change_overtakes_is_refused(kept: Histories) -> None:
    block = kept.block("one", "two")
    real, done = kept.stores.blocks.change, []

    def overtaken(*asked: object) -> object:
        if not done:
            done.append(True)
            kept.blocks.update(block.id, BlockUpdate(value="theirs"))
        return real(*asked)  # type: ignore[arg-type]

    kept.stores.blocks.change = overtaken  # type: ignore[method-assign,assignment]
    with pytest.raises(VersionConflict):
        kept.history.rollback(block.id, Rollback(version=1, current_version=2))
    assert kept.blocks.retrieve(block.id).value == "theirs"


def test_a_rollback_to_what_is_not_there_changes_nothing(kept: Histories) -> None:
    block = kept.block("one", "two")
    with pytest.raises(NotFound, match="has no version 9"):
        kept.history.rollback(block.id, Rollback(version=9))
    kept.wait(timedelta(days=91))
    kept.blocks.update(block.id, BlockUpdate(value="three"))
    with pytest.raises(VersionExpired, match="Version 1"):
        kept.history.rollback(block.id, Rollback(version=1))
    assert kept.value(block.id, 2) == "two", "what was replaced lately is kept, however old it is"
    kept.blocks.delete(block.id)
    with pytest.raises(NotFound):
        kept.history.rollback(block.id, Rollback(version=2))
    assert kept.value(block.id, 3) == "three"


def test_a_label_that_another_block_of_an_agent_has_now_is_not_brought_back(kept: Histories) -> None:
    block = kept.block("one")
    kept.blocks.update(block.id, BlockUpdate(label="other"))
    rival = kept.block("two")
    kept.world.make_agent(blocks=[kept.blocks.retrieve(block.id), rival])
    with pytest.raises(Conflict, match="notes"):
        kept.history.rollback(block.id, Rollback(version=1))
    assert kept.blocks.retrieve(block.id).label == "other"


def test_the_version_of_a_deletion_has_no_values_to_bring_back(kept: Histories) -> None:
    block = kept.block("one")
    kept.blocks.delete(block.id)
    shown = kept.history.version(block.id, 2)
    assert (shown.change, shown.block) == ("deleted", None)
    with pytest.raises(NotFound):
        kept.history.rollback(block.id, Rollback(version=1))


def test_a_block_of_older_data_has_its_value_from_before_its_first_version(kept: Histories) -> None:
    block = kept.older("before")
    (only,) = kept.history.page(block.id, VersionPage())
    assert (only.version, only.change, only.by) == (1, "unrecorded", None)
    kept.wait()
    kept.blocks.update(block.id, BlockUpdate(value="after"))
    assert [(each.version, each.change) for each in kept.history.page(block.id, VersionPage())] == [
        (2, "updated"),
        (1, "unrecorded"),
    ]
    assert [kept.value(block.id, number) for number in (1, 2)] == ["before", "after"]
    assert kept.history.rollback(block.id, Rollback(version=1)).version == 3
    assert kept.fault(block.id) is None


def test_large_values_are_versions_too(kept: Histories) -> None:
    block = kept.block(LONG, "short", LONG + "y")
    assert [kept.value(block.id, number) for number in (1, 2, 3)] == [LONG, "short", LONG + "y"]
    assert kept.fault(block.id) is None


def test_a_clock_that_was_set_back_does_not_bring_versions_out_of_order(kept: Histories) -> None:
    block = kept.block("one", "two")
    kept.wait(timedelta(hours=-5))
    kept.blocks.update(block.id, BlockUpdate(value="three"))
    times = [each.at for each in kept.history.page(block.id, VersionPage(descending=False)) if each.at]
    assert times == sorted(times)
    assert kept.history.at(block.id, times[-1]).version == 3


def test_expired_versions_are_not_shown_before_the_engine_removes_them(kept: Histories) -> None:
    block = kept.block("one", "two")
    kept.wait(timedelta(days=89))
    kept.blocks.update(block.id, BlockUpdate(value="three"))
    kept.wait(timedelta(days=2))
    assert [each.version for each in kept.history.page(block.id, VersionPage())] == [3, 2]
    assert kept.value(block.id, 2) == "two"
    with pytest.raises(VersionExpired):
        kept.history.version(block.id, 1)
    assert kept.fault(block.id) is None


def test_nothing_is_listed_of_a_block_that_never_was(kept: Histories) -> None:
    for missing in ("block-00000000-0000-4000-8000-000000000000", "nonsense"):
        with pytest.raises(NotFound):
            kept.history.page(missing, VersionPage())


def test_versions_of_another_tenant_are_not_there(kept: Histories) -> None:
    block = kept.block("one", "two")
    kept.take(kept.world.all_stores.of("other"))
    with pytest.raises(NotFound):
        kept.history.page(block.id, VersionPage())
    with pytest.raises(NotFound):
        kept.history.version(block.id, 1)


def test_the_next_process_goes_on_with_the_chain(kept: Histories) -> None:
    block = kept.block("one", "two")
    kept.take(World(kept.world.data).stores)
    kept.blocks.update(block.id, BlockUpdate(value="three"))
    assert (kept.fault(block.id), len(kept.links(block.id))) == (None, 3)


def test_the_blob_of_an_expired_version_is_collected(kept: Histories) -> None:
    block = kept.block(LONG, "short", "shorter")
    (blob,) = kept.world.data.blobs.kept
    assert blob.startswith("records/"), "the rule that empties ephemeral/ is shorter than the retention"
    kept.wait(timedelta(days=2))
    assert kept.world.all_stores.blob_collector.collect() == 0
    kept.table.write(Delete(kept.stores.blocks.history(block.id).key(2)))  # the engine removes what has expired
    kept.wait(timedelta(days=2))
    assert kept.world.all_stores.blob_collector.collect() == 1
    assert kept.world.data.blobs.kept == {}


def test_the_versions_of_a_block_take_one_item_each_and_no_further_read(tmp_path: Path) -> None:
    written: list[int] = []

    class Counted(PassesOn):
        def write(self, *changes: Change) -> None:
            written.append(len(changes))
            super().write(*changes)

    kept = Histories(tmp_path, wrap=Counted)
    block = kept.block("one")
    written.clear()
    kept.blocks.update(block.id, BlockUpdate(value="two"))
    assert written == [2], "the record and its version"
