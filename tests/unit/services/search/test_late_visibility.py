"""Beside an index that shows late what was written: what a search finds at each moment, and what the index keeps in the end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from hibernaut.ports.memory.embedder import EmbedderFailed
from hibernaut.store.stores import Stores
from hibernaut.store.table import keys
from tests.support.late_memories import LateMemories
from tests.support.memories import ARCHIVE, FILE, Killed
from tests.support.world import TENANT

EVER = timedelta(days=1).total_seconds
REFUSED = EmbedderFailed("test: refused with status 401", retryable=False)


@pytest.fixture
def late(tmp_path: Path) -> Iterator[LateMemories]:
    made = LateMemories(tmp_path)
    yield made
    made.memory.close()


def test_a_record_is_found_once_at_every_moment_and_leaves_the_tail_when_the_index_shows_it(late: LateMemories) -> None:
    late.memory.write("passage", "water in a well")
    for seconds in (0, 30, 30, 50):
        late.memory.clock.sleep(seconds)
        late.delivered()
        assert (late.found(), late.tail()) == (["water in a well"], 1)
    late.index.refresh()
    assert late.found() == ["water in a well"]  # the index shows it, and the tail does still
    late.memory.clock.sleep(130)
    assert late.delivered() == 1
    assert (late.found(), late.tail(), late.standing()) == (["water in a well"], 0, [])
    assert [version for _, version in late.index.copies()] == [2]


def test_a_pointer_that_is_delivered_again_is_written_once(late: LateMemories) -> None:
    late.memory.write("passage", "water", "more water")
    for _ in range(3):
        late.delivered()
    assert late.index.calls.count("put") == 1
    assert len(late.index.copies()) == 2
    late.passes()
    late.delivered()
    assert late.standing() == []
    assert late.index.calls.count("discard") == late.index.calls.count("collect") == 0, "what needs no request sends none"


def test_the_schedule_settles_what_was_written_however_young_its_records_are(late: LateMemories) -> None:
    late.memory.write("passage", "water")
    late.delivered()
    assert late.retaken() == 0
    late.passes()
    assert late.retaken() == 1
    assert late.standing() == []


def test_a_record_that_is_deleted_leaves_no_copy_whenever_that_is(late: LateMemories) -> None:
    soon, later, last = late.memory.write("passage", "water one", "water two", "water three")
    late.delivered()
    late.memory.delete("passage", soon)
    late.delivered()
    assert late.found() == ["water three", "water two"]
    late.passes()
    late.delivered()
    late.memory.delete("passage", later)
    assert late.found() == ["water three"]
    for _ in range(3):
        late.delivered()
        late.passes()
    assert late.standing() == []
    assert late.index.copies() == [(f"{ARCHIVE}/{last}", 2)]
    assert late.found() == ["water three"]


def test_a_record_that_is_deleted_while_it_is_written_loses_its_copy_before_any_search_finds_it(late: LateMemories) -> None:
    gone, kept = late.memory.write("passage", "water gone", "water kept")

    def deleting(call: str) -> None:
        if call == "after put":
            late.memory.delete("passage", gone)

    late.delivered(deleting)
    assert late.index.copies() == [(f"{ARCHIVE}/{kept}", 2)]


def test_a_worker_that_dies_before_its_mark_leaves_a_double_which_no_search_shows_and_which_is_collected(
    late: LateMemories,
) -> None:
    late.memory.write("passage", "water")

    def dying(call: str) -> None:
        if call == "after put":
            raise Killed

    with pytest.raises(Killed):
        late.delivered(dying)
    late.delivered()
    assert len(late.index.copies()) == 2
    late.passes()
    assert late.found() == ["water"]
    late.retaken()
    assert len(late.index.copies()) == 1
    calls = len(late.index.calls)
    late.retaken()
    assert len(late.index.calls) == calls, "an index with nothing to do is not woken"
    late.index.refresh()
    assert late.found() == ["water"]


def test_what_an_embedder_refuses_is_found_by_words_and_its_older_copy_goes_when_it_is_embedded(late: LateMemories) -> None:
    late.embedder.refuses = REFUSED
    late.memory.write("passage", *(f"water {number}" for number in range(20)))
    late.delivered()
    assert len(late.found()) == 20
    late.passes()
    late.delivered()
    assert {version for _, version in late.index.copies()} == {1}
    assert (late.tail(), len(late.standing())) == (0, 2)
    late.embedder.refuses = None
    late.indexing().of(TENANT).ask_again(going=lambda: True)
    assert len(late.index.copies()) == 40
    assert len(late.found()) == 20, "the older copies are found until the new ones are"
    late.passes()
    late.indexing().of(TENANT).ask_again(going=lambda: True)
    assert {version for _, version in late.index.copies()} == {2}
    assert len(late.index.copies()) == 20
    assert late.standing() == []


def test_the_pieces_of_a_file_are_embedded_at_once_and_counted_once(late: LateMemories) -> None:
    late.memory.write("file", *(f"piece {number}" for number in range(20)))
    late.delivered()
    file = late.memory.stores.files.get(FILE)
    assert file is not None
    assert file.embedded == 20
    late.passes()
    late.delivered()
    file = late.memory.stores.files.get(FILE)
    assert file is not None
    assert (file.embedded, late.standing()) == (20, [])
    assert {version for _, version in late.index.copies()} == {2}


def test_a_rebuild_is_complete_when_the_index_shows_all_of_it(late: LateMemories) -> None:
    late.memory.write("passage", "water")
    late.delivered()
    late.passes()
    late.delivered()
    reindexing = late.memory.reindexing()
    reindexing.begin([TENANT], lambda _progress: None)
    assert late.index.copies() == []
    late.delivered()
    assert not reindexing.end()
    assert late.memory.found("passage", "water").incomplete
    late.passes()
    late.delivered()
    assert reindexing.end()
    assert late.found() == ["water"]
    assert not late.memory.found("passage", "water").incomplete


def test_while_it_sleeps_nothing_is_lost_and_the_answer_says_so(late: LateMemories) -> None:
    late.memory.write("passage", "water")
    late.index.asleep = True
    batch = late.indexing().of(TENANT).take([(key, {}) for key in late.standing()])
    assert (batch.asleep, batch.done, len(batch.remaining)) == (True, 0, 1)
    found = late.memory.found("passage", "water")
    assert ([hit.record.text for hit in found.hits], found.asleep) == (["water"], True)
    late.index.asleep = False
    late.delivered()
    late.passes()
    late.index.asleep = True
    assert late.retaken() == 1, "to remove the pointer of what is seen asks the index nothing"
    assert late.standing() == []


def test_pointers_of_before_have_no_marks(late: LateMemories) -> None:
    late.memory.write("passage", "water")
    (key,) = late.standing()
    item = Stores(late.memory.table, None, late.memory.clock)._table.get(key)  # type: ignore[arg-type]
    assert item is not None
    assert keys.is_unindexed(key)
    assert not {"written", "copies", "replaced", "following", "space"} & item.keys()
