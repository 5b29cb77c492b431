"""The state machine as it is written: whole, and holding to what is kept in its state."""

from __future__ import annotations

import json
import re
from typing import get_args

from functions.events import Receipt
from hibernaut.ports.workflow import Next
from infra.constructs.workflow import DEFINITION
from tests.infra.reading import texts

TEXT = DEFINITION.read_text(encoding="utf-8")
MACHINE = json.loads(re.sub(r"\$\{(\w+)\}", r"arn:aws:lambda:us-east-1:123456789012:function:\1", TEXT))
# statelint wants the `1.0` of a float where JSON writers leave an integer.
KNOWN_FALSE = ("be a Float",)


def test_statelint_finds_nothing() -> None:
    from statelint.linter import Linter

    problems = [problem for problem in Linter.validate(MACHINE) if not any(text in problem for text in KNOWN_FALSE)]
    assert problems == []


def test_each_choice_has_a_default() -> None:
    choices = [state for state in MACHINE["States"].values() if state["Type"] == "Choice"]
    assert choices
    assert all("Default" in state for state in choices)


def test_only_named_errors_are_tried_again_and_never_in_step() -> None:
    for state in MACHINE["States"].values():
        for retry in state.get("Retry", []):
            assert "States.ALL" not in retry["ErrorEquals"]
            assert "States.TaskFailed" not in retry["ErrorEquals"]
            assert retry["JitterStrategy"] == "FULL"
            assert retry["MaxDelaySeconds"] <= 60


def test_whatever_goes_wrong_has_a_state_to_go_to() -> None:
    caught = {
        name: [(catch["ErrorEquals"], catch["Next"]) for catch in state.get("Catch", [])]
        for name, state in MACHINE["States"].items()
        if state["Type"] == "Task"
    }
    assert caught == {
        "Advance": [
            (["Runtime.ExitError", "Sandbox.Timedout", "Lambda.Unknown"], "DiedBefore?"),
            (["States.ALL"], "CloseRun"),
        ],
        "Summarize": [(["States.ALL"], "DropInstead")],
        "AwaitApproval": [(["States.Timeout"], "DenyApproval")],
        "DenyApproval": [],
        "CloseRun": [],
    }


def test_tasks_are_given_ids_only() -> None:
    given = {text for state in MACHINE["States"].values() for text in texts(state.get("Parameters", {}))}
    assert {text for text in given if text.startswith("$")} == {"$.tenant", "$.run_id", "$.failure.Error", "$$.Task.Token"}


def test_a_receipt_is_ids_and_counters() -> None:
    assert set(Receipt.__annotations__) == {"tenant", "run_id", "next", "steps", "seconds", "drop"}


def test_every_next_of_a_step_has_a_state() -> None:
    known = {choice["StringEquals"] for choice in MACHINE["States"]["Next?"]["Choices"]}
    assert known == set(get_args(Next))
