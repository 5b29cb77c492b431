"""The marks of what sleep-time agents have received."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.agents.sleeptime import MOST_CAUGHT_UP, MOST_PENDING, after_turn, before, caught_up, pending, with_pending
from hibernaut.schemas.agents.group import ManagerType, StoredGroup
from hibernaut.store.table.bodies.codec import json_of


def group(every: int | None = 5, kind: ManagerType = ManagerType.SLEEPTIME) -> StoredGroup:
    counter = -1 if every else None
    return StoredGroup(
        id="group-1",
        manager_type=kind,
        agent_ids=["agent-2"],
        description="",
        manager_agent_id="agent-1",
        sleeptime_agent_frequency=every,
        turns_counter=counter,
    )


def message(number: int) -> str:
    return f"message-{number:04d}-x"


@pytest.mark.parametrize(("every", "due"), [(None, [1, 2, 3, 4]), (0, []), (1, [1, 2, 3, 4]), (3, [1, 4])])
def test_the_first_turn_is_due_and_every_nth_after_it(every: int | None, due: list[int]) -> None:
    state, found = group(every), []
    for number in range(1, 5):
        state, works = after_turn(state, "agent-1", message(2 * number), message(2 * number + 1))
        found += [number] if works else []
    assert (found, state.turns) == (due, 4)


def test_a_voice_group_is_never_due() -> None:
    assert not after_turn(group(None, ManagerType.VOICE_SLEEPTIME), "agent-1", message(1), message(2))[1]


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=30))
def test_what_is_taken_follows_what_was_taken_before(turns: list[tuple[int, bool]]) -> None:
    """Each message of a conversation lies in exactly one of the spans that are taken, or in the last one, which is pending."""
    state, told = group(), list[int]()
    for number, (conversation, takes) in enumerate(turns):
        state, _ = after_turn(state, f"conv-{conversation}", message(2 * number), message(2 * number + 1))
        if takes or number == len(turns) - 1:
            for name, span in pending(state).items():
                told += [
                    each
                    for each, (other, _) in enumerate(turns[: number + 1])
                    if f"conv-{other}" == name and span.after < message(2 * each + 1) <= span.upto
                ]
            state = caught_up(state)
    assert sorted(told) == list(range(len(turns)))
    assert pending(state) == {}


def test_what_could_not_be_told_is_untold_again() -> None:
    state, _ = after_turn(group(), "agent-1", message(1), message(2))
    spans, taken = pending(state), caught_up(state)
    later, _ = after_turn(taken, "agent-1", message(3), message(4))
    (span,) = pending(with_pending(later, spans)).values()
    assert (span.after < message(1), span.upto) == (True, message(4))
    assert pending(with_pending(taken.model_copy(update={"progress": {}}), spans)) == spans


def test_the_marks_of_many_conversations_are_bounded() -> None:
    state = group(0)
    for number in range(MOST_PENDING + 10):
        state, _ = after_turn(state, f"conv-{number}", message(2 * number), message(2 * number + 1))
    assert set(pending(state)) == {f"conv-{number}" for number in range(10, MOST_PENDING + 10)}
    assert len(caught_up(state).progress) == MOST_CAUGHT_UP


def test_the_marks_are_stored_under_the_names_that_older_versions_read() -> None:
    state, _ = after_turn(group(), "agent-1", message(1), message(2))
    stored = json_of(state)
    assert json.loads(stored)["heard"]["agent-1"] == {"told": before(message(1)), "upto": message(2)}
    assert StoredGroup.model_validate_json(stored) == state
