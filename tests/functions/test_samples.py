"""Every event in `events/` goes through its real handler over the whole stack: what AWS sends is understood."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest

from functions.events import Heartbeat
from functions.sweep_runs.handler import sweeps_of
from hibernaut.adapters.packages.builder import digest_of
from hibernaut.adapters.packages.target import target_name
from hibernaut.local.aws_offline.lambdas import Reply
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.tools.package_set import PackageSet
from tests.functions.conftest import EVENTS, sample

OTHERS = {"run_tool", "run_node", "stream"}
"""Functions whose samples have tests of their own."""
RUN = {"tenant": "default", "run_id": "run-0199f2c0-7a10-4000-8a5b-3f1e2d4c5b00"}
FILE = {"tenant": "default", "file_id": "file-0199f2c2-3d40-4000-8e6f-7a8b9cadbe00"}
NO_PACKAGES = PackageSet(
    digest=digest_of(()), target=target_name(), size=0, pins=[], archive=sha256(b"PK\5\6" + bytes(18)).hexdigest()
)
"""The set without packages: an empty zip file."""
NO_SUCH_RUN = {"errorType": "StepFailed", "errorMessage": "NotFound"}
ANSWERS: dict[tuple[str, str], Json] = {
    ("advance_turn", "approval_overdue"): {"v": 1, **RUN, "next": "finished", "steps": 0, "seconds": 1, "drop": False},
    ("advance_turn", "drops_old_turns"): NO_SUCH_RUN,
    ("advance_turn", "first_step"): NO_SUCH_RUN,
    ("advance_turn", "next_step"): NO_SUCH_RUN,
    ("advance_turn", "unknown_run"): NO_SUCH_RUN,
    ("api", "create_agent"): 200,
    ("api", "health"): 200,
    ("api", "list_agents_by_tags"): 200,
    ("api", "preflight"): 200,
    ("api", "root"): 307,
    ("api", "unknown_agent"): 404,
    ("build_packages", "no_requirements"): {"packages": NO_PACKAGES.model_dump()},
    ("close_run", "timed_out"): RUN,
    ("deliver_events", "due"): {"done": 2, "left": 0},
    ("deliver_events", "written"): {"done": 1, "left": 0},
    ("fire_schedule", "at_its_time"): {"fired": 0, "left": 0},
    ("fire_schedule", "lost"): {"fired": 0, "left": 0},
    ("index_memory", "build_anew"): {"records": 0},
    ("index_memory", "every_five_minutes"): {"done": 0, "left": 0},
    ("index_memory", "is_it_built"): {"whole": True, "left": 0},
    ("index_memory", "two_pointers"): {"batchItemFailures": []},
    ("ingest_file", "object_created"): FILE,
    ("ingest_file", "taken_by_the_api"): FILE,
    ("request_approval", "asked"): RUN,
    ("socket", "binary_message"): 200,
    ("socket", "connect"): 200,
    ("socket", "disconnect"): 200,
    ("socket", "message"): 200,
    ("socket", "worker"): {},
    ("summarize", "long_window"): NO_SUCH_RUN,
    ("sweep_runs", "every_minute"): {"started": 0, "closed": 0},
    ("sweep_runs", "execution_failed"): {"started": 0, "closed": 0},
    ("sweep_runs", "execution_stopped"): {"started": 0, "closed": 0},
}
"""What each sample's handler answers over a table without runs: the whole answer or error, of the API's the status.

`test_samples_over_records` and `test_socket_samples` have what they do to records that exist."""
READ: dict[tuple[str, str], JsonObject] = {
    ("advance_turn", "approval_overdue"): {**RUN, "deny": True},
    ("advance_turn", "drops_old_turns"): {**RUN, "drop": True},
    ("advance_turn", "first_step"): RUN,
    ("advance_turn", "next_step"): RUN,
    ("advance_turn", "unknown_run"): {**RUN, "run_id": "run-0199f2c0-7a10-4000-8a5b-000000000000"},
    ("close_run", "timed_out"): {**RUN, "error": "Sandbox.Timedout"},
    ("request_approval", "asked"): {**RUN, "token": sample("request_approval", "asked")["token"]},
    ("summarize", "long_window"): RUN,
}
"""What the state machine's samples say, beyond what is left out."""


def test_each_sample_has_an_expected_answer() -> None:
    files = {(file.parent.name, file.stem) for file in EVENTS.glob("*/*.json") if file.parent.name not in OTHERS}
    assert files == set(ANSWERS)


@pytest.mark.parametrize(("function", "name"), sorted(ANSWERS))
def test_the_handler_answers_the_sample(aws: OfflineAws, function: str, name: str) -> None:
    assert outcome(aws.lambdas.invoke(function, sample(function, name))) == ANSWERS[function, name]


def outcome(reply: Reply) -> Json:
    if reply.failed:
        return {name: reply.payload[name] for name in ("errorType", "errorMessage")}
    return reply.payload.get("statusCode", reply.payload)


@pytest.mark.parametrize(("function", "name"), sorted(READ))
def test_a_sample_of_the_state_machine_says_what_is_to_be_done(function: str, name: str) -> None:
    read = Heartbeat.model_validate(sample(function, name)).model_dump(exclude_defaults=True)
    assert read == READ[function, name]


def test_a_query_parameter_that_comes_twice_reaches_the_app_twice(aws: OfflineAws) -> None:
    creation = sample("api", "create_agent")
    aws.invoke("api", {**creation, "body": json.dumps({"name": "both", "tags": ["b", "a"]})})
    for tag in ("a", "b"):
        aws.invoke("api", {**creation, "body": json.dumps({"name": f"only {tag}", "tags": [tag]})})
    found = json.loads(aws.invoke("api", sample("api", "list_agents_by_tags"))["body"])
    names = {agent["name"] for agent in found}
    assert "both" in names
    assert names.isdisjoint({"only a", "only b"})


def test_a_preflight_is_answered_by_the_app(aws: OfflineAws) -> None:
    answer = aws.invoke("api", sample("api", "preflight"))
    assert answer["headers"]["access-control-allow-origin"] == "http://localhost:3000"


def test_a_sweep_tells_what_it_did(aws: OfflineAws) -> None:
    assert aws.invoke("sweep_runs", sample("sweep_runs", "every_minute")) == {"started": 0, "closed": 0}


def test_a_run_that_is_gone_is_not_taken_up(aws: OfflineAws) -> None:
    assert aws.invoke("sweep_runs", sample("sweep_runs", "execution_failed")) == {"started": 0, "closed": 0}


@pytest.mark.parametrize(("name", "number"), [("execution_failed", 0), ("execution_stopped", 2)])
def test_an_execution_s_name_tells_how_often_its_run_was_taken_up(name: str, number: int) -> None:
    assert sweeps_of(sample("sweep_runs", name)["detail"]["name"]) == number


def test_an_approval_that_nobody_asked_for_is_not_denied(aws: OfflineAws) -> None:
    assert aws.invoke("advance_turn", sample("advance_turn", "approval_overdue"))["next"] == "finished"


def test_closing_a_run_that_is_gone_is_an_answer(aws: OfflineAws) -> None:
    event = sample("close_run", "timed_out")
    assert aws.invoke("close_run", event) == {"tenant": event["tenant"], "run_id": event["run_id"]}
