"""Feeds the memory index: the table's change stream as the event source of `index_memory`, and a schedule for records that the
stream gave up.

The stream is the fast path. If indexing fails (the index is unreachable, embedding fails), a pointer remains in the table, and
searches read the pointed documents directly. On schedule, `index_memory` processes such pointers again, so that nothing depends
on a single delivery.
"""

from __future__ import annotations

from typing import get_args

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from hibernaut.schemas.base import JsonObject
from hibernaut.store.memory.search_outbox import State
from infra.constructs.findings import Grant
from infra.constructs.functions import OurFunction
from infra.constructs.schedule import FunctionSchedule
from infra.constructs.table_stream import TableStream

POINTERS = tuple(f"{state}#" for state in get_args(State))
"""The prefix of the sort keys of pointers, and of no other item (`store/table/keys.py`)."""
RETAKE = "rate(5 minutes)"
BATCH_SIZE = 100
"""The number of pointers in one invocation: a transaction leaves one pointer, which may name many documents."""
WINDOW_SECONDS = 1
TRIES = 4
"""The number of retries. A failing batch blocks its shard, so the schedule takes over soon."""
LONGEST_SECONDS = 6 * 3600


class MemoryFeed(Construct):
    """The event source mapping and the schedule of `index_memory`. `late`: the index shows late what was written, so that
    pointers are marked before they are removed (`services.search.late_visibility`).
    """

    def __init__(
        self, scope: Construct, id: str, *, table: dynamodb.Table, index_memory: OurFunction, letters: sqs.Queue, late: bool
    ) -> None:
        super().__init__(scope, id)
        TableStream(table, letters).feed(
            self,
            index_memory,
            _new_pointers(late=late),
            retries=TRIES,
            longest_seconds=LONGEST_SECONDS,
            batch_size=BATCH_SIZE,
            maximum_batching_window_in_seconds=WINDOW_SECONDS,
            parallelization_factor=2,
            bisect_batch_on_function_error=True,
            function_response_types=["ReportBatchItemFailures"],
        )
        FunctionSchedule(self, "Retake", function=index_memory, expression=RETAKE, event={"retake": "all"}, letters=letters)


def _new_pointers(*, late: bool) -> JsonObject:
    """The pattern for pointers to records that are not in the index. `late`: without marked pointers, which the schedule
    processes.
    """
    prefixes = [{"prefix": prefix} for prefix in POINTERS]
    image = {"Keys": {"sk": {"S": prefixes}}}
    unmarked = {"NewImage": {"written": {"N": [{"exists": False}]}}} if late else {}
    return {"eventName": ["INSERT", "MODIFY"], "dynamodb": image | unmarked}


def embedding_access(stack: cdk.Stack, model: str) -> Grant:
    """The permission to invoke this one Bedrock model."""
    arn = stack.format_arn(service="bedrock", account="", resource="foundation-model", resource_name=model)
    return Grant(iam.PolicyStatement(actions=["bedrock:InvokeModel"], resources=[arn]))
