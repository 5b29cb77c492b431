"""Executions under way while the code changes: the definition of the release before with these functions, and the other way
round.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.schemas.base import JsonObject
from tests.releases.executions import CALLS, MACHINE, PLAYS, definition, deploy, driven, noted, played
from tests.workflows.deployment import Deployment

BEFORE = Path(__file__).parent / "before"
RECORDED: dict[str, Any] = json.loads((BEFORE / CALLS).read_text(encoding="utf-8"))
OLD = (BEFORE / MACHINE).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def offline() -> Iterator[OfflineAws]:
    with OfflineAws(time_scale=0.001) as aws:
        yield aws


def without_version(document: JsonObject) -> JsonObject:
    """An event or a reply as the release before knew it. It ignores what it does not know."""
    return {name: value for name, value in document.items() if name != "v"}


def told(calls: list[JsonObject]) -> list[JsonObject]:
    """The calls of each function in their order. Across functions there is none: a wait can end before its request has
    returned.
    """
    in_order = sorted(calls, key=lambda call: str(call["function"]))
    return [{key: without_version(part) if isinstance(part, dict) else part for key, part in call.items()} for call in in_order]


def test_the_plays_are_those_that_were_recorded() -> None:
    assert set(PLAYS) == set(RECORDED)


@pytest.mark.parametrize("name", PLAYS)
def test_an_execution_of_the_release_before_goes_on_with_these_functions(offline: OfflineAws, name: str) -> None:
    deploy(offline, OLD)
    with noted(offline) as calls:
        status = played(offline, name)
    assert (status, told(calls)) == (RECORDED[name]["status"], told(RECORDED[name]["calls"]))


@pytest.mark.parametrize("name", [name for name, play in PLAYS.items() if not play.ends_wait])
def test_an_execution_of_this_release_goes_on_with_the_functions_of_the_one_before(offline: OfflineAws, name: str) -> None:
    """As during a gradual release, and after a roll-back. Its starter may be of the release before too."""
    recorded = RECORDED[name]
    deploy(offline, definition())
    with noted(offline, recorded["calls"]) as calls:
        status = driven(offline, recorded["calls"][0]["event"])
    assert (status, told(calls)) == (recorded["status"], told(recorded["calls"]))


def test_a_run_that_waits_for_an_approval_is_answered_after_the_release(offline: OfflineAws) -> None:
    deploy(offline, OLD)
    deployment = Deployment(offline)
    rules = [{"type": "requires_approval", "tool_name": "knock"}]
    agent = deployment.agent(tool_rules=rules)
    run = deployment.begin(agent, "Is anybody there?")
    assert offline.wait_for_all()[run] == "RUNNING"

    deploy(offline, definition())
    asked = deployment.messages(agent)[-1]
    answer = {"type": "approval", "approval_request_id": asked["id"], "approve": True}
    status, reply = deployment.ask("POST", f"/v1/agents/{agent}/messages", {"messages": [answer]})
    assert (status, reply["stop_reason"]["stop_reason"]) == (200, "end_turn")
    assert (offline.wait_for_run(run), deployment.knocks) == ("SUCCEEDED", ["front"])
    deployment.check(agent)
