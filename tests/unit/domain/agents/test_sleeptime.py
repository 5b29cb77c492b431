"""The marks of what sleep-time agents were told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.agents.sleeptime import MOST_HEARD, MOST_UNTOLD, after_turn, all_told, given_back, untold
from hibernaut.schemas.agents.group import ManagerType, StoredGroup


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
    """Each message of a conversation lies in exactly one of the spans that are taken, or in the last one, which is untold."""
    state, told = group(), list[int]()
    for number, (conversation, takes) in enumerate(turns):
        state, _ = after_turn(state, f"conv-{conversation}", message(2 * number), message(2 * number + 1))
        if takes or number == len(turns) - 1:
            for name, span in untold(state).items():
                told += [
                    each
                    for each, (other, _) in enumerate(turns[: number + 1])
                    if f"conv-{other}" == name and span.told < message(2 * each + 1) <= span.upto
                ]
            state = all_told(state)
    assert sorted(told) == list(range(len(turns)))
    assert untold(state) == {}


def test_what_could_not_be_told_is_untold_again() -> None:
    state, _ = after_turn(group(), "agent-1", message(1), message(2))
    spans, taken = untold(state), all_told(state)
    later, _ = after_turn(taken, "agent-1", message(3), message(4))
    (span,) = untold(given_back(later, spans)).values()
    assert (span.told < message(1), span.upto) == (True, message(4))
    assert untold(given_back(taken.model_copy(update={"heard": {}}), spans)) == spans


def test_the_marks_of_many_conversations_are_bounded() -> None:
    state = group(0)
    for number in range(MOST_UNTOLD + 10):
        state, _ = after_turn(state, f"conv-{number}", message(2 * number), message(2 * number + 1))
    assert set(untold(state)) == {f"conv-{number}" for number in range(10, MOST_UNTOLD + 10)}
    assert len(all_told(state).heard) == MOST_HEARD
