"""Events: the change stream as the source of `deliver_events`, the sweep as its fall-back, and an event bus by setting.

Nothing here costs while no event happens: Lambda reads the stream for free and invokes the function for matching records only,
and a bus is billed by event.
"""

from __future__ import annotations

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from hibernaut.schemas.base import JsonObject
from hibernaut.store.events.event_keys import PROMPT
from infra.constructs.findings import Grant
from infra.constructs.functions import OurFunction
from infra.constructs.table_stream import TableStream

AT_ONCE = 10
TRIES = 2
LONGEST_SECONDS = 3600
"""The maximum age of a stream record in seconds. The sweep processes older records."""
WORK: JsonObject = {"eventName": ["INSERT", "MODIFY"], "dynamodb": {"NewImage": {PROMPT: {"BOOL": [True]}}}}
"""Outbox items as they are written, and deliveries that are replayed."""


class EventFeed(Construct):
    """The event source mapping of `deliver_events`, and the permission of the sweep to invoke it."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        table: dynamodb.Table,
        deliver_events: OurFunction,
        sweep_runs: OurFunction,
        letters: sqs.Queue,
    ) -> None:
        super().__init__(scope, id)
        TableStream(table, letters).feed(
            self,
            deliver_events,
            WORK,
            retries=TRIES,
            longest_seconds=LONGEST_SECONDS,
            batch_size=AT_ONCE,
            parallelization_factor=4,
        )
        deliver_events.allow_invoke_by(sweep_runs.role)
        sweep_runs.function.add_environment("HIBERNAUT_DELIVER_EVENTS", deliver_events.function.function_name)


class TenantEventBus(Construct):
    """The event bus. All `writers` get its name, because their transactions write events for it; only `deliver_events` sends."""

    def __init__(
        self, scope: Construct, id: str, *, name: str, deliver_events: OurFunction, writers: Sequence[OurFunction]
    ) -> None:
        super().__init__(scope, id)
        self.bus = events.EventBus(self, "Bus", event_bus_name=name)
        sending = iam.PolicyStatement(actions=["events:PutEvents"], resources=[self.bus.event_bus_arn])
        deliver_events.allow(Grant(sending))
        for function in writers:
            function.function.add_environment("HIBERNAUT_EVENT_BUS", name)
        cdk.CfnOutput(cdk.Stack.of(self), "EventBusName", value=self.bus.event_bus_name)
