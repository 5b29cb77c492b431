"""Handlers abandoned at every call to the outside world: whatever dies, the run ends, its message is kept once, the next one
works.
"""

from __future__ import annotations

from collections.abc import Callable

from hibernaut.local.aws_offline.lambdas import abandon
from hibernaut.local.aws_offline.offline import OfflineAws
from tests.workflows.deployment import Deployment

OUTSIDE = ("write", "model", "tool")


class Fate:
    """Abandons the handler that is the n-th to be at the edge of an outside call, before or after it; none for 0.

    Time passes over it, so that who comes next need not wait until the dead one can no longer be at a call.
    """

    def __init__(self) -> None:
        self.passes: Callable[[], None] = nothing_passes
        self.decide(0)

    def decide(self, doomed: int) -> None:
        self.doomed = doomed
        self.passed: list[str] = []

    @property
    def met(self) -> bool:
        return 0 < self.doomed == len(self.passed)

    def at(self, place: str) -> None:
        if self.met or not place.endswith(OUTSIDE):
            return
        self.passed.append(place)
        if self.met:
            self.passes()
            abandon()


def nothing_passes() -> None:
    """No clock is there yet."""


def met_at(here: Deployment, fate: Fate, point: int) -> str | None:
    """Send one message with the handler at this point abandoned, and check what must hold. Where that was; None past the last
    point.
    """
    agent = here.agent()
    here.knocks.clear()
    fate.decide(point)
    status, _ = here.send(agent, "Is anybody there?")
    here.aws.wait_for_all()
    met = fate.passed[-1] if fate.met else None
    fate.decide(0)
    here.go_on_later()
    runs = here.ask("GET", "/v1/runs/", query=f"agent_id={agent}")[1]
    said = [one for one in here.messages(agent) if one["message_type"] == "user_message"]
    assert [one["content"] for one in said] == ["Is anybody there?"] * len(runs)
    assert status == 200 or met
    assert len(here.knocks) <= 1
    here.check(agent)
    return met


def test_a_run_survives_the_death_of_a_handler_at_any_outside_call(offline: OfflineAws) -> None:
    fate = Fate()
    here = Deployment(offline, fate.at)
    fate.passes = here.some_minutes
    places: list[str] = []
    while (place := met_at(here, fate, len(places) + 1)) is not None:
        places.append(place)
    assert set(places) == {f"{when} {what}" for when in ("before", "after") for what in OUTSIDE}
    assert places.count("before write") >= 7
