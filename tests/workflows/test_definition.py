"""The state machine as it is written: whole, true to the rule of whose fault closes a run, and holding to what is kept in its
state.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple, get_args

import pytest

from functions.events import Heartbeat, Receipt, StepFailed
from hibernaut.ports.runs.workflow import Next
from hibernaut.schemas.base import JsonObject
from infra.constructs.workflow import DEFINITION
from tests.infra.reading import texts
from tests.workflows import faults

TEXT = DEFINITION.read_text(encoding="utf-8")
MACHINE = json.loads(re.sub(r"\$\{(\w+)\}", r"arn:aws:lambda:us-east-1:123456789012:function:\1", TEXT))
STATES: dict[str, JsonObject] = MACHINE["States"]
TASKS = [name for name, state in STATES.items() if state["Type"] == "Task"]
# statelint wants the `1.0` of a float where JSON writers leave an integer.
KNOWN_FALSE = ("be a Float",)
CLOSING = "CloseRun"


class Outcome(NamedTuple):
    """What becomes of an error: how often its state tries again, and where it goes then; None ends the execution as failed."""

    again: int
    next: str | None


def outcome(state: JsonObject, error: str) -> Outcome:
    """As Step Functions decides: the first Retry, and then the first Catch, that names the error or States.ALL."""
    retry = next((each for each in state.get("Retry", []) if names(each, error)), {"MaxAttempts": 0})
    catch = next((each for each in state.get("Catch", []) if names(each, error)), {"Next": None})
    return Outcome(retry.get("MaxAttempts", 3), catch["Next"])


def names(rule: JsonObject, error: str) -> bool:
    return error in rule["ErrorEquals"] or rule["ErrorEquals"] == ["States.ALL"]


def follows(name: str) -> set[str]:
    """The states that may come after this one where nothing goes wrong."""
    state = STATES[name]
    found = {state[key] for key in ("Next", "Default") if key in state}
    return found | {choice["Next"] for choice in state.get("Choices", [])}


def caught(name: str) -> set[str]:
    return {catch["Next"] for catch in STATES[name].get("Catch", [])}


def reached(start: str, *, errors: bool = True) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += follows(name) | (caught(name) if errors else set())
    return found


def ends(name: str) -> bool:
    return STATES[name]["Type"] in ("Succeed", "Fail") or bool(STATES[name].get("End"))


def until_a_task(name: str) -> Iterator[str]:
    """The states from this one on, up to a task or an end. They must not branch."""
    while STATES[name]["Type"] != "Task":
        yield name
        if ends(name):
            return
        (name,) = follows(name)
    yield name


def test_statelint_finds_nothing() -> None:
    from statelint.linter import Linter

    problems = [problem for problem in Linter.validate(MACHINE) if not any(text in problem for text in KNOWN_FALSE)]
    assert problems == []


def test_every_state_is_reached() -> None:
    assert reached(MACHINE["StartAt"]) == set(STATES)


@pytest.mark.parametrize("name", STATES)
def test_every_state_comes_to_an_end(name: str) -> None:
    assert any(ends(each) for each in reached(name, errors=False))


def test_each_choice_has_a_default() -> None:
    choices = [state for state in STATES.values() if state["Type"] == "Choice"]
    assert choices
    assert all("Default" in state for state in choices)


@pytest.mark.parametrize("name", TASKS)
def test_what_the_platform_fails_in_is_tried_again_and_never_in_step(name: str) -> None:
    for error in set(faults.platform()) - {"States.Timeout"}:
        assert outcome(STATES[name], error).again >= 5, error
    for retry in STATES[name]["Retry"]:
        assert retry["MaxAttempts"] == 0 or (retry["JitterStrategy"] == "FULL" and retry["MaxDelaySeconds"] <= 60)


@pytest.mark.parametrize("name", TASKS)
def test_a_step_s_own_fault_is_not_tried_again(name: str) -> None:
    assert outcome(STATES[name], StepFailed.__name__).again == 0


def test_a_step_s_own_fault_closes_the_run() -> None:
    assert outcome(STATES["Advance"], StepFailed.__name__) == (0, CLOSING)
    assert StepFailed.__name__ == faults.STEP_FAILED


@pytest.mark.parametrize("error", faults.platform())
def test_a_fault_of_the_platform_leaves_the_run_open(error: str) -> None:
    """The execution fails visibly, which tells the sweep, and on the way nothing closes the run."""
    after = outcome(STATES["Advance"], error).next
    assert after is not None
    path = list(until_a_task(after))
    assert CLOSING not in path
    assert STATES[path[-1]]["Type"] == "Fail"


@pytest.mark.parametrize("error", faults.DEATHS)
def test_a_death_is_followed_by_one_more_worker_and_the_second_closes_the_run(error: str) -> None:
    again, after = outcome(STATES["Advance"], error)
    assert again == 0
    assert after is not None
    choice = STATES[after]
    assert choice["Type"] == "Choice"
    (marked,) = choice["Choices"]
    assert (marked["Next"], marked["IsPresent"]) == (CLOSING, True)
    path = list(until_a_task(choice["Default"]))
    assert path[-1] == "Advance"
    assert [STATES[each]["ResultPath"] for each in path[:-1] if STATES[each].get("Result") is True] == [marked["Variable"]]
    assert marked["Variable"].removeprefix("$.") in Heartbeat.model_fields


def test_nothing_else_closes_a_run() -> None:
    """Only what Advance catches of its own fault, and the second death, lead there."""
    closing = {name for name in STATES if CLOSING in follows(name) | caught(name)}
    assert closing == {"Advance", outcome(STATES["Advance"], faults.DEATHS[0]).next}
    assert [catch["ErrorEquals"] for catch in STATES["Advance"]["Catch"] if catch["Next"] == CLOSING] == [[faults.STEP_FAILED]]


@pytest.mark.parametrize("error", [*faults.platform(), *faults.DEATHS, faults.STEP_FAILED])
def test_a_summary_that_fails_in_whatever_way_lets_the_step_make_room(error: str) -> None:
    after = outcome(STATES["Summarize"], error).next
    assert after is not None
    path = list(until_a_task(after))
    marks = [STATES[each]["ResultPath"] for each in path[:-1]]
    assert path[-1] == "Advance"
    assert marks == (["$.summary_died", "$.drop"] if error in faults.DEATHS else ["$.drop"])


def test_a_deadline_that_passes_is_denied_at_once_and_a_wait_that_cannot_begin_denies_nothing() -> None:
    assert outcome(STATES["AwaitApproval"], "States.Timeout") == (0, "DenyApproval")
    assert {outcome(STATES["AwaitApproval"], error).next for error in faults.platform() if error != "States.Timeout"} == {None}


def test_a_next_that_is_not_known_leaves_the_run_open_after_a_pause() -> None:
    path = list(until_a_task(STATES["Next?"]["Default"]))
    assert STATES[path[-1]]["Type"] == "Fail"
    assert "Wait" in {STATES[each]["Type"] for each in path}


def test_tasks_are_given_ids_only() -> None:
    given = {text for state in STATES.values() for text in texts(state.get("Parameters", {}))}
    assert {text for text in given if text.startswith("$")} == {"$.tenant", "$.run_id", "$.failure.Error", "$$.Task.Token"}


def test_a_receipt_is_ids_and_counters() -> None:
    assert set(Receipt.__annotations__) == {"v", "tenant", "run_id", "next", "steps", "seconds", "drop"}


def test_every_next_of_a_step_has_a_state() -> None:
    known = {choice["StringEquals"] for choice in STATES["Next?"]["Choices"]}
    assert known == set(get_args(Next))
