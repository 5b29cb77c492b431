"""Events on AWS, from end to end in this process: a message is sent, the stream tells `deliver_events`, a receiver on this
machine and a queue behind the bus hear of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.client import BaseClient

from hibernaut.adapters.clock import SystemClock
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.local.aws_offline.place import ACCOUNT, REGION
from hibernaut.local.aws_offline.resources import client
from hibernaut.schemas.base import JsonObject
from hibernaut.store.events import event_keys
from hibernaut.store.stores import Stores
from tests.functions.test_memory_pipeline import Memory
from tests.functions.test_permissions_used import Watch, allowed
from tests.support.alarm_stories import firing, watched
from tests.support.blobs import MemoryBlobs
from tests.support.hook_server import HookServer
from tests.workflows.deployment import Deployment

BUS = "hibernaut-dev"


@pytest.fixture(scope="module")
def aws() -> Iterator[OfflineAws]:
    with OfflineAws(time_scale=0.001, variables={"HIBERNAUT_EVENT_BUS": BUS}) as running:
        client("events").create_event_bus(Name=BUS)
        yield running


@pytest.fixture(scope="module")
def queue(aws: OfflineAws) -> str:
    """A queue that a rule of the bus feeds; its address."""
    url = str(client("sqs").create_queue(QueueName="heard")["QueueUrl"])
    events = client("events")
    pattern = {"source": ["hibernaut"], "detail-type": ["run.finished"]}
    events.put_rule(Name="finished", EventBusName=BUS, EventPattern=json.dumps(pattern))
    target = {"Id": "queue", "Arn": f"arn:aws:sqs:{REGION}:{ACCOUNT}:heard"}
    events.put_targets(Rule="finished", EventBusName=BUS, Targets=[target])
    return url


def test_a_message_ends_at_the_webhook_and_at_the_bus(aws: OfflineAws, queue: str) -> None:
    client_of = Memory(aws)
    with HookServer() as receiver:
        hook = client_of.ask("POST", "/v1/webhooks", {"url": receiver.url, "types": ["run.finished", "memory.changed"]})
        agent = client_of.agent()
        receiver.answers = 500
        client_of.ask("POST", f"/v1/agents/{agent}/messages", {"input": "hello"})
        aws.wait_for_all()
        aws.pump()
        ((headers, body),) = receiver.heard
        event = json.loads(body)
        receiver.verify(hook["secret"], headers, body)
        assert (event["type"], event["data"]["agent_id"], event["tenant"]) == ("run.finished", agent, "default")
        (message,) = client("sqs").receive_message(QueueUrl=queue, MaxNumberOfMessages=10)["Messages"]
        assert json.loads(message["Body"])["detail"] == event
        (delivery,) = client_of.ask("GET", f"/v1/webhooks/{hook['id']}/deliveries")
        assert (delivery["state"], delivery["tries"], delivery["status"]) == ("pending", 1, 500)

        receiver.answers = 204
        client_of.ask("POST", f"/v1/webhooks/{hook['id']}/deliveries/{event['id']}/replay")
        aws.pump()
        assert [json.loads(body)["id"] for _, body in receiver.heard] == [event["id"]] * 2
        (delivery,) = client_of.ask("GET", f"/v1/webhooks/{hook['id']}/deliveries")
        assert (delivery["state"], delivery["next_try_at"]) == ("delivered", None)
        assert client_of.ask("POST", f"/v1/webhooks/{hook['id']}/test")["delivered"]
        client_of.ask("DELETE", f"/v1/webhooks/{hook['id']}")


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    """What the handlers ask of AWS."""
    watch, original = Watch(), BaseClient._make_api_call

    def noted(client: Any, operation: str, asked: JsonObject) -> Any:
        if operation != "PutEvents":
            watch.note(client.meta.service_model.service_id.hyphenize(), operation, asked)
        return original(client, operation, asked)

    monkeypatch.setattr(BaseClient, "_make_api_call", noted)
    return watch


def test_the_role_of_the_function_allows_what_it_asks(aws: OfflineAws, watch: Watch) -> None:
    """The loaded template has no bus, so the permission to send to it is compared in `tests/infra/test_events.py`."""
    asked = Memory(aws)
    with HookServer() as receiver:
        hook = asked.ask("POST", "/v1/webhooks", {"url": receiver.url})
        asked.ask("POST", f"/v1/agents/{asked.agent()}/messages", {"input": "hello"})
        receiver.answers = 410
        aws.wait_for_all()
        aws.pump()
        asked.ask("DELETE", f"/v1/webhooks/{hook['id']}")
    made = {call for call in watch.calls if call.function == "deliver_events"}
    assert {"dynamodb:Query", "dynamodb:PutItem", "kms:Decrypt"} <= {call.action for call in made}
    assert {call for call in made if not allowed(aws, call)} == set()


def test_what_the_stream_lost_is_handed_over_by_the_sweep(aws: OfflineAws) -> None:
    asked = Memory(aws)
    with HookServer() as receiver:
        hook = asked.ask("POST", "/v1/webhooks", {"url": receiver.url})
        asked.ask("POST", f"/v1/agents/{asked.agent()}/messages", {"input": "hello"})
        aws.wait_for_all()
        due = Stores(aws.table, MemoryBlobs(), SystemClock()).due
        for item in [item for page in due.pages(None, 100) for items in page for item in items]:
            if event_keys.is_event_work(item.key):
                due.postpone(item, 0)
        assert not aws.fire_schedule().failed
        receiver.wait(1)
        asked.ask("DELETE", f"/v1/webhooks/{hook['id']}")


def test_a_dead_event_fires_its_alarm(aws: OfflineAws) -> None:
    asked = Memory(aws)
    with HookServer() as receiver:
        hook = asked.ask("POST", "/v1/webhooks", {"url": receiver.url, "types": ["run.finished"]})
        asked.ask("POST", f"/v1/agents/{asked.agent()}/messages", {"input": "hello"})
        aws.wait_for_all()
        receiver.answers = 410
        with watched(Deployment(aws)) as metrics:
            aws.pump()
        assert firing(aws, metrics) == {"DeadEvents"}
        assert metrics.sum("WebhookCalls", env="dev", outcome="dead") == 1
        assert asked.ask("GET", f"/v1/webhooks/{hook['id']}")["disabled_reason"] == "gone"
        asked.ask("DELETE", f"/v1/webhooks/{hook['id']}")


def test_a_webhook_that_was_gone_comes_back_with_a_new_secret_and_hears_what_it_missed(aws: OfflineAws) -> None:
    asked = Memory(aws)
    with HookServer() as receiver:
        hook = asked.ask("POST", "/v1/webhooks", {"url": receiver.url, "types": ["run.finished"]})
        path = f"/v1/webhooks/{hook['id']}"
        asked.ask("POST", f"/v1/agents/{asked.agent()}/messages", {"input": "hello"})
        receiver.answers = 410
        aws.wait_for_all()
        aws.pump()
        assert asked.ask("GET", path)["disabled_reason"] == "gone"

        receiver.answers = 204
        assert asked.ask("PATCH", path, {"enabled": True})["disabled_reason"] is None
        secret = asked.ask("POST", f"{path}/rotate", {"overlap_seconds": 0})["secret"]
        assert secret != hook["secret"]
        assert asked.ask("POST", f"{path}/replay") == {"replayed": 1, "more": False}
        aws.pump()
        (missed, (headers, body)) = receiver.heard
        assert body == missed[1]
        receiver.verify(secret, headers, body)
        with pytest.raises(AssertionError):
            receiver.verify(hook["secret"], headers, body)
        (delivery,) = asked.ask("GET", f"{path}/deliveries")
        assert delivery["state"] == "delivered"
        asked.ask("DELETE", path)
