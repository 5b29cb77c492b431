"""An optimistic change is repeated while others change the record."""

from __future__ import annotations

import pytest

from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.schemas.errors import Conflict, NotFound
from hibernaut.store.table.optimistic_retry import TRIES, until_settled


class Contest:
    """A change that other writers overtake a number of times."""

    def __init__(self, overtaken: int) -> None:
        self.overtaken = overtaken
        self.attempts = 0

    def attempt(self) -> str:
        self.attempts += 1
        if self.attempts <= self.overtaken:
            raise ConditionFailed({})
        return "written"


def test_the_last_attempt_may_succeed() -> None:
    contest = Contest(overtaken=TRIES - 1)
    assert until_settled(contest.attempt, "busy") == "written"
    assert contest.attempts == TRIES


def test_a_change_that_is_always_overtaken_is_a_conflict() -> None:
    contest = Contest(overtaken=3)
    with pytest.raises(Conflict, match=r"^the record is busy$"):
        until_settled(contest.attempt, "the record is busy", tries=3)
    assert contest.attempts == 3


def test_another_error_ends_the_attempts() -> None:
    made: list[int] = []

    def attempt() -> None:
        made.append(1)
        raise NotFound("it is gone")

    with pytest.raises(NotFound, match="it is gone"):
        until_settled(attempt, "busy")
    assert made == [1]
