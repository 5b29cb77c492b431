"""What feeds the index of memory: the table's change stream as the source of `index_memory`, and a clock for what the stream has given up.

The stream is the fast way. What it tells in vain (the index sleeps, nobody embeds) stays in the table as a pointer, and searches find
what that names; the clock has `index_memory` take such pointers again, so that nothing depends on one delivery.
"""

from __future__ import annotations

import json
from typing import get_args

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from hibernaut.schemas.ids import DEFAULT_TENANT
from hibernaut.store.search_outbox import State
from infra.constructs.findings import ANYTHING, Grant
from infra.constructs.functions import OurFunction
from infra.constructs.schedule import Clock

POINTERS = tuple(f"{state}#" for state in get_args(State))
"""How the sort keys of pointers begin, and of nothing else (`store/keys.py`)."""
RETAKE = "rate(5 minutes)"
AT_ONCE = 100
"""Pointers of one invocation: a transaction leaves one, which may name many things."""
WINDOW_SECONDS = 1
TRIES = 4
"""After the first. One that fails holds up what its shard tells next, so the clock takes over soon."""
LONGEST_SECONDS = 6 * 3600


class MemoryFeed(Construct):
    def __init__(
        self, scope: Construct, id: str, *, table: dynamodb.Table, index_memory: OurFunction, letters: sqs.Queue
    ) -> None:
        super().__init__(scope, id)
        stream = str(table.table_stream_arn)
        index_memory.allow(
            Grant(
                iam.PolicyStatement(
                    actions=["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"], resources=[stream]
                )
            ),
            Grant(
                iam.PolicyStatement(actions=["dynamodb:ListStreams"], resources=["*"]),
                ANYTHING,
                "Listing streams takes no resource.",
            ),
            Grant(iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[letters.queue_arn])),
        )
        self.mapping = lambda_.CfnEventSourceMapping(
            self,
            "Stream",
            event_source_arn=stream,
            function_name=index_memory.function.function_name,
            starting_position="TRIM_HORIZON",
            batch_size=AT_ONCE,
            maximum_batching_window_in_seconds=WINDOW_SECONDS,
            parallelization_factor=2,
            bisect_batch_on_function_error=True,
            function_response_types=["ReportBatchItemFailures"],
            maximum_retry_attempts=TRIES,
            maximum_record_age_in_seconds=LONGEST_SECONDS,
            filter_criteria=lambda_.CfnEventSourceMapping.FilterCriteriaProperty(
                filters=[lambda_.CfnEventSourceMapping.FilterProperty(pattern=json.dumps(_new_pointers()))]
            ),
            destination_config=lambda_.CfnEventSourceMapping.DestinationConfigProperty(
                on_failure=lambda_.CfnEventSourceMapping.OnFailureProperty(destination=letters.queue_arn)
            ),
        )
        # Lambda looks at the stream with the function's permissions when the mapping is made.
        self.mapping.node.add_dependency(index_memory.role)
        Clock(self, "Retake", function=index_memory, expression=RETAKE, event={"retake": DEFAULT_TENANT}, letters=letters)


def _new_pointers() -> dict[str, object]:
    prefixes = [{"prefix": prefix} for prefix in POINTERS]
    return {"eventName": ["INSERT", "MODIFY"], "dynamodb": {"Keys": {"sk": {"S": prefixes}}}}


def embedding_access(stack: cdk.Stack, model: str) -> Grant:
    """Asking this one model of Bedrock."""
    arn = stack.format_arn(service="bedrock", account="", resource="foundation-model", resource_name=model)
    return Grant(iam.PolicyStatement(actions=["bedrock:InvokeModel"], resources=[arn]))
