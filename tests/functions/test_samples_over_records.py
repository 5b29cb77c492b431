"""Samples of `events/` whose names stand for records that exist: each handler does what its sample says to do."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import pytest

from functions.sweep_runs.handler import handler as sweep
from hibernaut.adapters.clock import SystemClock
from hibernaut.local.aws_offline.api_gateway.gateway_events import GatewayRequest
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.ports.storage.table import Item, Update
from hibernaut.schemas.base import JsonObject
from hibernaut.store.due_index import DueItem
from hibernaut.store.events import event_keys
from hibernaut.store.stores import Stores
from hibernaut.store.table import keys
from hibernaut.wiring import aws as wiring
from hibernaut.wiring.engines.memory_index import index_of
from hibernaut.wiring.settings import AwsSettings
from tests.functions.conftest import sample
from tests.support.blobs import MemoryBlobs
from tests.support.clocks import LaterClock
from tests.support.hook_server import HookServer

TENANT = "default"
RUN = "run-0199f2c0-7a10-4000-8a5b-3f1e2d4c5b00"
FILE = "file-0199f2c2-3d40-4000-8e6f-7a8b9cadbe00"
SCHEDULE = "schedule-0199f2c0-7a10-4000-8a5b-3f1e2d4c5b00"
EVENT = "evt-0199f2c0-7a10-4000-8a5b-3f1e2d4c5b00"
WEBHOOK = "webhook-0199f2c0-7a10-4000-8a5b-3f1e2d4c5b00"
NAMED = {"run": RUN, "file": FILE, "schedule": SCHEDULE, "event": EVENT, "webhook": WEBHOOK}
"""The ids in the samples."""
HUMAN = [{"label": "human", "value": ""}]
LONG = "a long story " * 600
PATIENCE = 30.0
STEPS = ("advance_turn", "close_run", "sweep_runs")
SOON = timedelta(milliseconds=900)
"""Within the time by which a worker's clock may be slow, so that a schedule is due at once."""
T = TypeVar("T")


class Down:
    """What a handler needs, out of order."""

    def __init__(self) -> None:
        self.used = threading.Event()

    def __getattr__(self, name: str) -> Any:
        self.used.set()
        raise ValueError(name)


class Context:
    aws_request_id = "0199f2c0"

    def get_remaining_time_in_millis(self) -> int:
        return 30_000


class Deployment:
    """The API's answers, and runs that the platform left open."""

    def __init__(self, aws: OfflineAws) -> None:
        self.aws = aws

    def ask(self, method: str, path: str, body: Any = None, *, status: int = 200) -> Any:
        headers = [("Content-Type", "application/json"), ("Host", "localhost")]
        payload = json.dumps(body).encode() if body is not None else b""
        path, _, query = path.partition("?")
        answer = self.aws.gateway.answer(GatewayRequest(method, path, query, headers, payload))
        assert answer.status == status, answer.body
        return json.loads(answer.body) if answer.body else None

    def agent(self, **fields: Any) -> str:
        return str(self.ask("POST", "/v1/agents/", {"name": "sampled", "memory_blocks": HUMAN, **fields})["id"])

    def begun(self, agent: str, text: str, **fields: Any) -> str:
        """A run that was accepted."""
        return str(self.ask("POST", f"/v1/agents/{agent}/messages/async", {"input": text, **fields})["id"])

    def left_open(self, agent: str, text: str) -> str:
        """A run whose execution failed before its first step, and that no sweep has taken up yet."""
        return self.without(STEPS, lambda: self.begun(agent, text))

    def without(self, functions: tuple[str, ...], act: Callable[[], T]) -> T:
        """What comes of `act` while these functions fail."""
        for function in functions:
            self.aws.lambdas.deps[function] = Down()
        try:
            done = act()
            self.aws.wait_for_all()
        finally:
            for function in functions:
                del self.aws.lambdas.deps[function]
        return done

    def upload(self, folder: str, text: str) -> str:
        """The id of a file that was taken."""
        body = f'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n{text}\r\n--b--\r\n'.encode()
        headers = [("Content-Type", "multipart/form-data; boundary=b"), ("Host", "localhost")]
        answer = self.aws.gateway.answer(GatewayRequest("POST", f"/v1/folders/{folder}/upload", "", headers, body))
        assert answer.status == 200, answer.body
        return str(json.loads(answer.body)["id"])

    def run(self, run_id: str) -> Any:
        return self.ask("GET", f"/v1/runs/{run_id}")

    def due_event(self) -> DueItem:
        """The only item of the outbox of events."""
        items = [item for page in self.stores().due.pages(None, 100) for items in page for item in items]
        (found,) = [item for item in items if item.key.sk == event_keys.OUTBOX]
        return found

    def stores(self) -> Stores:
        """The table's repositories."""
        return Stores(self.aws.table, MemoryBlobs(), SystemClock())

    def said(self, run_id: str) -> list[str]:
        """The types of the run's messages."""
        return [message["message_type"] for message in self.ask("GET", f"/v1/runs/{run_id}/messages")]


@pytest.fixture(scope="module")
def deployed(aws: OfflineAws) -> Deployment:
    return Deployment(aws)


def about(function: str, name: str, **ids: str) -> JsonObject:
    """The sample with the id of a record that exists in the place of the one that it names."""
    text = json.dumps(sample(function, name))
    for noun, own in ids.items():
        text = text.replace(NAMED[noun], own)
    event: JsonObject = json.loads(text)
    assert event != sample(function, name)
    return event


def test_the_event_of_a_first_step_performs_all_steps_and_another_event_finds_the_run_ended(deployed: Deployment) -> None:
    run = deployed.left_open(deployed.agent(), "Remember that I like tea")
    first = deployed.aws.invoke("advance_turn", about("advance_turn", "first_step", run=run))
    assert (first["next"], first["steps"]) == ("finished", 2)
    then = deployed.aws.invoke("advance_turn", about("advance_turn", "next_step", run=run))
    assert (then["next"], then["steps"], deployed.run(run)["status"]) == ("finished", 2, "completed")
    assert deployed.said(run)[-2:] == ["tool_return_message", "assistant_message"]


def too_full(deployed: Deployment) -> tuple[str, str]:
    """An agent with a window that is too full for its next step, and the run that waits for room."""
    agent = deployed.agent(context_window_limit=8000)
    for _ in range(3):
        deployed.begun(agent, LONG)
        deployed.aws.wait_for_all()
    run = deployed.left_open(agent, LONG)
    asked = deployed.aws.invoke("advance_turn", about("advance_turn", "first_step", run=run))
    assert asked["next"] == "compact"
    return agent, run


def in_context(deployed: Deployment, agent: str) -> list[str]:
    """The roles of the window's messages."""
    return [message["role"] for message in deployed.ask("GET", f"/v1/agents/{agent}/context")["messages"]]


def test_a_summary_makes_room_in_a_long_window(deployed: Deployment) -> None:
    agent, run = too_full(deployed)
    receipt = deployed.aws.invoke("summarize", about("summarize", "long_window", run=run))
    assert receipt["next"] == "advance"
    assert in_context(deployed, agent)[1] == "summary"


def test_a_step_that_drops_old_turns_makes_room_without_a_summary(deployed: Deployment) -> None:
    agent, run = too_full(deployed)
    before = in_context(deployed, agent)
    receipt = deployed.aws.invoke("advance_turn", about("advance_turn", "drops_old_turns", run=run))
    after = in_context(deployed, agent)
    assert (receipt["next"], receipt["drop"], deployed.run(run)["status"]) == ("finished", False, "completed")
    assert len(after) < len(before)
    assert "summary" not in after


def test_a_run_whose_steps_fail_is_closed(deployed: Deployment) -> None:
    run = deployed.left_open(deployed.agent(), "Hello")
    deployed.aws.invoke("close_run", about("close_run", "timed_out", run=run))
    closed = deployed.run(run)
    assert (closed["status"], closed["stop_reason"]) == ("failed", "error")


@pytest.mark.parametrize(("name", "takings"), [("execution_failed", 0), ("execution_stopped", 2)])
def test_a_run_whose_execution_failed_is_taken_up(deployed: Deployment, name: str, takings: int) -> None:
    run = deployed.left_open(deployed.agent(), "Hello")
    event = about("sweep_runs", name, run=run)
    for number in range(takings):
        assert deployed.aws.invoke("sweep_runs", event)["started"] == 0, "it is about a later execution"
        earlier = json.loads(json.dumps(event).replace(f"{run}.{takings}", f"{run}.{number}"))
        assert deployed.without(STEPS, lambda: sweep(earlier, Context()))["started"] == 1  # noqa: B023  called at once
    assert deployed.aws.invoke("sweep_runs", event) == {"started": 1, "closed": 0}
    deployed.aws.wait_for_all()
    assert deployed.run(run)["status"] == "completed"


def test_the_sweep_of_every_minute_takes_up_a_run_that_was_left_open(deployed: Deployment) -> None:
    run = deployed.left_open(deployed.agent(), "Hello")
    deployed.aws.table.write(Update(keys.run(TENANT, run), set={"due_sk": f"{1:013d}#{run}"}))
    assert deployed.aws.invoke("sweep_runs", sample("sweep_runs", "every_minute")) == {"started": 1, "closed": 0}
    deployed.aws.wait_for_all()
    assert deployed.run(run)["status"] == "completed"


@pytest.fixture
def asked(deployed: Deployment) -> tuple[str, str]:
    """An agent, and its run that asked for an approval whose deadline comes in a second. It has no execution that waits."""
    rule = {"type": "requires_approval", "tool_name": "memory_insert"}
    agent = deployed.agent(tool_rules=[rule], approval_deadline=1)
    run = deployed.left_open(agent, "Remember that I like tea")
    assert deployed.aws.invoke("advance_turn", about("advance_turn", "first_step", run=run))["next"] == "approval"
    return agent, run


def test_a_wait_for_an_approval_keeps_its_token(deployed: Deployment, asked: tuple[str, str]) -> None:
    _, run = asked
    event = about("request_approval", "asked", run=run)
    deployed.aws.invoke("request_approval", event)
    kept = deployed.aws.table.get(keys.approval(TENANT, run))
    assert kept is not None
    assert kept["task_token"] == event["token"]


def test_an_overdue_approval_is_denied(deployed: Deployment, asked: tuple[str, str]) -> None:
    agent, run = asked
    receipt = deployed.aws.invoke("advance_turn", about("advance_turn", "approval_overdue", run=run))
    assert receipt["next"] == "finished"
    deployed.aws.wait_for_all()
    denied = [one for one in deployed.ask("GET", "/v1/runs/") if one["agent_id"] == agent and one["id"] != run]
    assert [(one["metadata"]["run_type"], one["status"]) for one in denied] == [("approval_deadline", "completed")]


@pytest.mark.parametrize("name", ["object_created", "taken_by_the_api"])
def test_a_file_that_was_taken_is_read(deployed: Deployment, name: str) -> None:
    folder = deployed.ask("POST", "/v1/folders/", {"name": name})["id"]
    down = deployed.aws.lambdas.deps["ingest_file"] = Down()
    file = deployed.upload(folder, "Tea grows on bushes.")
    assert down.used.wait(PATIENCE), "the API invokes the function, and does not wait for it"
    del deployed.aws.lambdas.deps["ingest_file"]
    path = f"/v1/folders/{folder}/files/{file}?include_content=true"
    assert deployed.ask("GET", path)["processing_status"] == "parsing"
    assert deployed.aws.invoke("ingest_file", about("ingest_file", name, file=file)) == {"tenant": TENANT, "file_id": file}
    assert deployed.ask("GET", path)["content"] == "Tea grows on bushes."


def test_pointers_to_what_is_new_and_what_is_gone_change_the_index(deployed: Deployment) -> None:
    agent = deployed.agent()
    path = f"/v1/agents/{agent}/archival-memory"
    gone = str(deployed.ask("POST", path, {"text": "Coffee is too strong."})[0]["id"])
    deployed.aws.pump()
    assert gone in known()
    deployed.ask("DELETE", f"{path}/{gone}")
    deployed.begun(agent, "Tea is better.")
    deployed.aws.wait_for_all()
    new, old = (pointer(deployed, agent, mark) for mark in ("NEW#message", f"GONE#{gone}"))
    event = sample("index_memory", "two_pointers")
    for record, item in zip(event["Records"], (new, old), strict=True):
        image = {name: {"S": str(item[name])} for name in record["dynamodb"]["NewImage"]}
        record["dynamodb"] |= {"Keys": {name: image[name] for name in ("pk", "sk")}, "NewImage": image}
    assert deployed.aws.invoke("index_memory", event) == {"batchItemFailures": []}
    assert gone not in known()
    assert set(str(new["ids"]).split()) <= known()


def test_the_event_of_every_five_minutes_indexes_what_the_stream_left(deployed: Deployment) -> None:
    passage = str(deployed.ask("POST", f"/v1/agents/{deployed.agent()}/archival-memory", {"text": "The well is dry."})[0]["id"])
    later = wiring.AwsOverrides(clock=LaterClock(timedelta(minutes=10)))
    deployed.aws.lambdas.deps["index_memory"] = wiring.feeding(AwsSettings.from_environment(), later)
    try:
        answer = deployed.aws.invoke("index_memory", sample("index_memory", "every_five_minutes"))
    finally:
        del deployed.aws.lambdas.deps["index_memory"]
    assert answer["done"] > 0
    assert passage in known()


def pointer(deployed: Deployment, agent: str, prefix: str) -> Item:
    """The first item of the agent's outbox that begins so."""
    places = [f"{TENANT}#TAIL#{agent}", f"{TENANT}#TAIL#archive{agent.removeprefix('agent')}"]
    return next(item for place in places for item in deployed.aws.table.query(place, prefix=prefix))


def known() -> set[str]:
    """The ids of the records that the index has."""
    index = index_of(AwsSettings.from_environment())
    assert index is not None
    return {state.id.rpartition("/")[2] for space in index.spaces() for state in index.states(space, TENANT)}


@pytest.mark.parametrize("name", ["at_its_time", "lost"])
def test_a_schedule_whose_time_has_come_makes_a_run(deployed: Deployment, name: str) -> None:
    path = f"/v1/agents/{deployed.agent()}/schedule"
    once = {"scheduled_at": (datetime.now(UTC) + SOON).timestamp() * 1000}
    asked = {"messages": [{"role": "user", "content": "wake up"}], "schedule": once}
    schedule = deployed.ask("POST", path, asked, status=201)["id"]
    assert deployed.ask("GET", f"{path}/{schedule}")["outcomes"] == []
    assert deployed.aws.invoke("fire_schedule", about("fire_schedule", name, schedule=schedule)) == {"fired": 1, "left": 0}
    deployed.aws.wait_for_all()
    (outcome,) = deployed.ask("GET", f"{path}/{schedule}")["outcomes"]
    assert (outcome["status"], deployed.run(outcome["run_id"])["status"]) == ("accepted", "completed")


@pytest.fixture
def hooked(deployed: Deployment) -> Iterator[tuple[HookServer, str]]:
    """A receiver, and its webhook, which hears the ends of runs."""
    deployed.aws.pump()
    with HookServer() as receiver:
        hook = str(deployed.ask("POST", "/v1/webhooks", {"url": receiver.url, "types": ["run.finished"]})["id"])
        yield receiver, hook
        deployed.ask("DELETE", f"/v1/webhooks/{hook}")


def finished(deployed: Deployment) -> str:
    """The id of the event of a run's end, which nobody has delivered."""
    deployed.begun(deployed.agent(), "Hello")
    deployed.aws.wait_for_all()
    return deployed.due_event().key.pk.rpartition("#")[2]


def heard(receiver: HookServer) -> list[str]:
    """The ids of the events that the receiver was sent, in order."""
    return [json.loads(body)["id"] for _, body in receiver.heard]


def test_an_event_that_was_just_written_is_delivered(deployed: Deployment, hooked: tuple[HookServer, str]) -> None:
    receiver, hook = hooked
    event = finished(deployed)
    assert deployed.aws.invoke("deliver_events", about("deliver_events", "written", event=event)) == {"done": 1, "left": 0}
    assert heard(receiver) == [event]
    (delivery,) = deployed.ask("GET", f"/v1/webhooks/{hook}/deliveries")
    assert delivery["state"] == "delivered"


def test_a_due_event_and_a_due_delivery_are_delivered(deployed: Deployment, hooked: tuple[HookServer, str]) -> None:
    receiver, hook = hooked
    receiver.answers = 500
    failed = finished(deployed)
    deployed.aws.invoke("deliver_events", about("deliver_events", "written", event=failed))
    receiver.answers = 204
    deployed.ask("POST", f"/v1/webhooks/{hook}/deliveries/{failed}/replay")
    new = finished(deployed)
    due = about("deliver_events", "due", event=failed, webhook=hook)
    due["places"][0] = about("deliver_events", "due", event=new)["places"][0]
    assert deployed.aws.invoke("deliver_events", due) == {"done": 2, "left": 0}
    assert sorted(heard(receiver)) == sorted([failed, failed, new])
    assert {one["state"] for one in deployed.ask("GET", f"/v1/webhooks/{hook}/deliveries")} == {"delivered"}
