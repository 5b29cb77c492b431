"""What CloudWatch would count of the offline AWS, by the documented meaning of each metric: requests that the gateway answers,
invocations, executions, letters in the queue, and the age of stream records. Times are those of the test's clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import pytest

from hibernaut.local.aws_offline.api_gateway.gateway_events import GatewayRequest, GatewayResponse
from hibernaut.local.aws_offline.lambdas import Reply
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.local.aws_offline.resources import client
from hibernaut.schemas.base import Json
from tests.support.alarms import Metrics

THROTTLED = "TooManyRequestsException"
"""The error of an invocation beyond the concurrency (Lambda API reference, Invoke)."""
ENDS = {
    "FAILED": "ExecutionsFailed",
    "TIMED_OUT": "ExecutionsTimedOut",
    "ABORTED": "ExecutionsAborted",
    "SUCCEEDED": "ExecutionsSucceeded",
}


@contextmanager
def counted(aws: OfflineAws, metrics: Metrics, now: Callable[[], datetime]) -> Iterator[None]:
    """Count what happens in the context. Executions and letters are counted as they stand at its end."""
    invoke, answer = aws.lambdas.invoke, aws.gateway.answer

    def invoked(name: str, event: Json, **more: Any) -> Reply:
        reply = invoke(name, event, **more)
        _invocation(metrics, aws.lambdas.of(name).name, event, reply, now())
        return reply

    def answered(request: GatewayRequest) -> GatewayResponse:
        response = answer(request)
        (api,) = aws.stack.of_type("AWS::ApiGateway::RestApi")
        place = {"ApiName": api.properties["Name"]}
        metrics.put("AWS/ApiGateway", "Count", place, 1)
        metrics.put("AWS/ApiGateway", "4XXError", place, int(400 <= response.status < 500))
        metrics.put("AWS/ApiGateway", "5XXError", place, int(response.status >= 500))
        return response

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aws.lambdas, "invoke", invoked)
        patch.setattr(aws.gateway, "answer", answered)
        yield
    for status, name in ENDS.items():
        metrics.put("AWS/States", name, {"StateMachineArn": aws.state_machine}, len(aws.executions(status)))
    queue = aws.stack.outputs["DeadLettersUrl"]
    asked = client("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=["ApproximateNumberOfMessages"])["Attributes"]
    visible = int(asked["ApproximateNumberOfMessages"])
    metrics.put("AWS/SQS", "ApproximateNumberOfMessagesVisible", {"QueueName": queue.rsplit("/", 1)[1]}, visible)


def _invocation(metrics: Metrics, function: str, event: Json, reply: Reply, now: datetime) -> None:
    """A throttled invocation counts as nothing else. The age of a batch is that of its last record when the function got it."""
    place = {"FunctionName": function}
    if reply.failed and reply.payload["errorType"] == THROTTLED:
        metrics.put("AWS/Lambda", "Throttles", place, 1)
        return
    metrics.put("AWS/Lambda", "Invocations", place, 1)
    metrics.put("AWS/Lambda", "Errors", place, int(reply.failed))
    records = event.get("Records", ()) if isinstance(event, dict) else ()
    if records:
        age = now.timestamp() - records[-1]["dynamodb"]["ApproximateCreationDateTime"]
        metrics.put("AWS/Lambda", "IteratorAge", place, max(0.0, age * 1000))
