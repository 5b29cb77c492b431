"""The wait of a run for another one: no order of actions and deaths loses its wake-up, and each seeded mistake is found."""

from __future__ import annotations

import pytest

from hibernaut.ports.storage.table import Condition
from tests.protocol.wait_model import Broken, WaitModel


def without(action: str, *names: str) -> WaitModel:
    """The model in which the condition of an action lacks the terms on these attributes."""

    def weaken(name: str, condition: Condition) -> Condition:
        return condition if name != action else tuple(term for term in condition if term.name not in names)

    return WaitModel(weaken)


def test_no_order_of_replies_waits_and_deaths_loses_a_wake_up() -> None:
    assert WaitModel().explored() > 500


def test_a_wait_that_does_not_ask_whether_the_run_was_woken_is_found() -> None:
    with pytest.raises(Broken, match="W1"):
        without("wait", "woken").explored()


def test_an_end_that_only_its_own_worker_tells_is_lost_with_it() -> None:
    with pytest.raises(Broken, match="W1"):
        WaitModel(told=False).explored()
