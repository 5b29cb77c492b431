"""Every event in `events/` goes through its real handler over the whole stack: what AWS sends is understood."""

from __future__ import annotations

import json

import pytest

from functions.sweep_runs.handler import takings
from hibernaut.local.aws_offline.lambdas import Reply
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.schemas.base import Json
from tests.functions.conftest import EVENTS, sample

OTHERS = {"run_tool", "stream"}
"""Functions whose samples have tests of their own."""
ANSWERS = {
    ("advance_turn", "approval_overdue"): None,
    ("advance_turn", "drops_old_turns"): "StepFailed",
    ("advance_turn", "first_step"): "StepFailed",
    ("advance_turn", "next_step"): "StepFailed",
    ("advance_turn", "unknown_run"): "StepFailed",
    ("api", "create_agent"): 200,
    ("api", "health"): 200,
    ("api", "list_agents_by_tags"): 200,
    ("api", "preflight"): 200,
    ("api", "root"): 307,
    ("api", "unknown_agent"): 404,
    ("close_run", "timed_out"): None,
    ("index_memory", "build_anew"): None,
    ("index_memory", "every_five_minutes"): None,
    ("index_memory", "is_it_built"): None,
    ("index_memory", "two_pointers"): None,
    ("ingest_file", "object_created"): None,
    ("ingest_file", "taken_by_the_api"): None,
    ("request_approval", "asked"): None,
    ("summarize", "long_window"): "StepFailed",
    ("sweep_runs", "every_minute"): None,
    ("sweep_runs", "execution_failed"): None,
    ("sweep_runs", "execution_stopped"): None,
}
"""The HTTP status, or the name of the error, that each sample's handler answers over an empty table."""


def test_each_sample_has_an_expected_answer() -> None:
    files = {(file.parent.name, file.stem) for file in EVENTS.glob("*/*.json") if file.parent.name not in OTHERS}
    assert files == set(ANSWERS)


@pytest.mark.parametrize(("function", "name"), sorted(ANSWERS))
def test_the_handler_answers_the_sample(aws: OfflineAws, function: str, name: str) -> None:
    assert outcome(aws.lambdas.invoke(function, sample(function, name))) == ANSWERS[function, name]


def outcome(reply: Reply) -> Json:
    return reply.error if reply.failed else reply.payload.get("statusCode")


def test_a_query_parameter_that_comes_twice_reaches_the_app_twice(aws: OfflineAws) -> None:
    creation = sample("api", "create_agent")
    aws.invoke("api", {**creation, "body": json.dumps({"name": "both", "tags": ["b", "a"]})})
    for tag in ("a", "b"):
        aws.invoke("api", {**creation, "body": json.dumps({"name": f"only {tag}", "tags": [tag]})})
    found = json.loads(aws.invoke("api", sample("api", "list_agents_by_tags"))["body"])
    assert {agent["name"] for agent in found} <= {"both", "traveller"}


def test_a_preflight_is_answered_by_the_app(aws: OfflineAws) -> None:
    answer = aws.invoke("api", sample("api", "preflight"))
    assert answer["headers"]["access-control-allow-origin"] == "http://localhost:3000"


def test_a_sweep_tells_what_it_did(aws: OfflineAws) -> None:
    assert aws.invoke("sweep_runs", sample("sweep_runs", "every_minute")) == {"started": 0, "closed": 0}


def test_a_run_that_is_gone_is_not_taken_up(aws: OfflineAws) -> None:
    assert aws.invoke("sweep_runs", sample("sweep_runs", "execution_failed")) == {"started": 0, "closed": 0}


@pytest.mark.parametrize(("name", "number"), [("execution_failed", 0), ("execution_stopped", 2)])
def test_an_execution_s_name_tells_how_often_its_run_was_taken_up(name: str, number: int) -> None:
    assert takings(sample("sweep_runs", name)["detail"]["name"]) == number


def test_an_approval_that_nobody_asked_for_is_not_denied(aws: OfflineAws) -> None:
    assert aws.invoke("advance_turn", sample("advance_turn", "approval_overdue"))["next"] == "finished"


def test_closing_a_run_that_is_gone_is_an_answer(aws: OfflineAws) -> None:
    event = sample("close_run", "timed_out")
    assert aws.invoke("close_run", event) == {"tenant": event["tenant"], "run_id": event["run_id"]}
