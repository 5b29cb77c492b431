"""EventBridge's rules for ended executions and new objects: they invoke the rule's target with an event of AWS's format.

Knows: the rules of the template, and the format of EventBridge's events. Must not know: what the target does.
"""

from __future__ import annotations

import json
import uuid
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime

from hibernaut.local.aws_offline.lambdas import Lambdas, Reply
from hibernaut.local.aws_offline.moto.executions import ExecutionEnded
from hibernaut.local.aws_offline.moto.objects import CreatedObjects
from hibernaut.local.aws_offline.place import ACCOUNT, REGION
from hibernaut.local.aws_offline.resources import client
from hibernaut.local.aws_offline.stack import Stack
from hibernaut.schemas.base import Json, JsonObject


class Rules:
    """The rules of a stack. `deliveries` is the number of deliveries of each event: EventBridge guarantees at least one, and a
    test may lose all (0).
    """

    def __init__(self, stack: Stack, lambdas: Lambdas) -> None:
        self.deliveries = 1
        self._lambdas = lambdas
        self._rules = [rule.properties for rule in stack.of_type("AWS::Events::Rule")]
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="rules")
        self._under_way: list[Future[Reply]] = []
        self._closed = False

    def execution_ended(self, ended: ExecutionEnded) -> None:
        """Invoke the targets whose pattern matches the end of the execution, on a thread of this object."""
        self._tell(status_change(ended))

    def object_created(self, created: CreatedObjects) -> None:
        """Invoke the targets whose pattern matches the new object."""
        self._tell(creation(created))

    def _tell(self, event: JsonObject) -> None:
        for rule in self._rules:
            if self._closed or not fits(rule["EventPattern"], event):
                continue
            for target in rule["Targets"] * self.deliveries:
                self._under_way.append(self._pool.submit(invoke_unawaited, self._lambdas, target["Arn"], event))

    def wait(self) -> None:
        """Wait until all events are delivered."""
        while self._under_way:
            self._under_way.pop().result()

    def close(self) -> None:
        """Stop delivering events."""
        self._closed = True
        self._pool.shutdown(wait=True, cancel_futures=True)


def invoke_unawaited(lambdas: Lambdas, function: str, event: JsonObject) -> Reply:
    """An asynchronous invocation: if it fails, its event becomes a dead letter."""
    reply = lambdas.invoke(function, event)
    letters = lambdas.of(function).dead_letters
    if reply.failed and letters is not None:
        queue = client("sqs").get_queue_url(QueueName=letters.rsplit(":", 1)[1])["QueueUrl"]
        client("sqs").send_message(QueueUrl=queue, MessageBody=json.dumps(event))
    return reply


def fits(pattern: JsonObject, event: Json) -> bool:
    """Whether the event has one of the listed values for every field of the pattern. A missing object has no fields."""
    there = event if isinstance(event, dict) else {}
    return all(
        fits(expected, there.get(name)) if isinstance(expected, dict) else any(_is(there.get(name), one) for one in expected)
        for name, expected in pattern.items()
    )


def _is(value: Json, expected: Json) -> bool:
    """Whether a value equals the expected one, begins with its prefix, or is missing (`exists`: false)."""
    if isinstance(expected, dict) and "exists" in expected:
        return (value is not None) is bool(expected["exists"])
    if isinstance(expected, dict):
        return isinstance(value, str) and value.startswith(expected["prefix"])
    return bool(value == expected)


def creation(created: CreatedObjects) -> JsonObject:
    """The event that S3 sends for a new object."""
    bucket, key = created.bucket, created.key
    detail = {
        "version": "0",
        "bucket": {"name": bucket},
        "object": {"key": key, "size": created.size, "etag": created.etag, "sequencer": uuid.uuid4().hex[:18].upper()},
        "request-id": uuid.uuid4().hex[:16].upper(),
        "requester": ACCOUNT,
        "source-ip-address": "127.0.0.1",
        "reason": "PutObject",
    }
    return {**_event("Object Created", "aws.s3", f"arn:aws:s3:::{bucket}"), "detail": detail}


def _event(kind: str, source: str, resource: str) -> JsonObject:
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": kind,
        "source": source,
        "account": ACCOUNT,
        "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": REGION,
        "resources": [resource],
    }


def status_change(ended: ExecutionEnded) -> JsonObject:
    """The event that Step Functions sends when an execution ends."""
    return {
        **_event("Step Functions Execution Status Change", "aws.states", ended.arn),
        "detail": {
            "executionArn": ended.arn,
            "stateMachineArn": ended.machine,
            "name": ended.arn.rsplit(":", 1)[1],
            "status": ended.status,
            "startDate": ended.began_ms,
            "stopDate": ended.ended_ms,
            "input": ended.input,
            "output": None,
            "stateMachineVersionArn": None,
            "stateMachineAliasArn": None,
            "redriveCount": 0,
            "redriveDate": None,
            "redriveStatus": "REDRIVABLE",
            "redriveStatusReason": None,
            "inputDetails": {"included": True},
            "outputDetails": None,
            "error": ended.error,
            "cause": ended.cause,
        },
    }
