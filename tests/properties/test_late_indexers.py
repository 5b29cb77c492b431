"""However late a worker of the index comes back, at whichever of its calls it was stopped: what was deleted meanwhile stays away,
and what is there is known. Others have worked beside it, the index was perhaps emptied, and hours have passed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.memories import Killed, Memories, memories
from tests.support.world import TENANT

MOST_CALLS = 80
ANOTHER_WEEK = "the first thing of another week"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memories]:
    made = memories(tmp_path)
    yield made
    made.close()


def others_index(memory: Memories) -> None:
    assert memory.worker().drain()


def nobody(_memory: Memories) -> None: ...


def hours_pass(memory: Memories) -> None:
    """So many that tombstones are forgotten."""
    others_index(memory)
    memory.clock.sleep(7 * 24 * 3600)
    memory.write("passage", ANOTHER_WEEK)
    others_index(memory)


def it_is_emptied(memory: Memories) -> None:
    others_index(memory)
    memory.reindexing().begin([TENANT], lambda _seen: None)


def it_is_built_anew(memory: Memories) -> None:
    it_is_emptied(memory)
    others_index(memory)


MEANWHILE = [nobody, others_index, hours_pass, it_is_emptied, it_is_built_anew]


@pytest.mark.parametrize("kind", ["passage", "file"])
@pytest.mark.parametrize("meanwhile", MEANWHILE)
def test_a_late_worker_brings_nothing_back_and_takes_nothing_away(
    memory: Memories, meanwhile: Callable[[Memories], None], kind: str
) -> None:
    """At each of its calls in turn, until there is none left at which it could be late."""
    for late in range(1, MOST_CALLS):
        kept, lost = memory.write(kind, "a letter from Oslo", "a letter from Rome")  # type: ignore[arg-type]
        calls = 0

        def hook(call: str) -> None:
            nonlocal calls
            if "query" in call:  # sixteen of them look for pointers, and change nothing
                return
            calls += 1
            if calls == late:  # noqa: B023  called in this round only
                memory.delete(kind, lost)  # type: ignore[arg-type]  # noqa: B023
                meanwhile(memory)

        assert memory.worker(hook).drain()
        if calls < late:
            return
        texts = {hit.record.text for hit in memory.found(kind, "letter").hits}  # type: ignore[arg-type]
        assert texts - {ANOTHER_WEEK} == {"a letter from Oslo"}, late
        others_index(memory)
        assert memory.agree(), late
        assert memory.reindexing().of(TENANT).end()
        memory.delete(kind, kept)  # type: ignore[arg-type]
        others_index(memory)
    raise AssertionError("it never got to its end")


@pytest.mark.parametrize("kind", ["passage", "file"])
def test_a_worker_that_dies_at_any_of_its_calls_leaves_its_work_to_the_next(memory: Memories, kind: str) -> None:
    for last in range(1, MOST_CALLS):
        kept, lost = memory.write(kind, "a letter from Oslo", "a letter from Rome")  # type: ignore[arg-type]
        memory.delete(kind, lost)  # type: ignore[arg-type]
        calls = 0

        def hook(call: str) -> None:
            nonlocal calls
            if "query" in call:  # sixteen of them look for pointers, and change nothing
                return
            calls += 1
            if calls >= last:  # noqa: B023  called in this round only
                raise Killed

        try:
            assert memory.worker(hook).drain()
        except Killed:
            assert [hit.record.text for hit in memory.found(kind, "letter").hits] == ["a letter from Oslo"]  # type: ignore[arg-type]
        others_index(memory)
        assert memory.agree(), last
        if calls < last:
            return
        memory.delete(kind, kept)  # type: ignore[arg-type]
        others_index(memory)
    raise AssertionError("it never got to its end")
