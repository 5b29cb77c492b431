"""The table's change stream as the event source of a function."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from hibernaut.schemas.base import JsonObject
from infra.constructs.data_key import use_for
from infra.constructs.findings import ANYTHING, Grant
from infra.constructs.functions import OurFunction


@dataclass(frozen=True, slots=True)
class TableStream:
    """The stream of a table, and the queue that gets what a function gives up."""

    table: dynamodb.Table
    letters: sqs.Queue

    def feed(
        self, scope: Construct, function: OurFunction, pattern: JsonObject, *, retries: int, longest_seconds: int, **settings: Any
    ) -> None:
        """Invoke the function for the changes that match `pattern`. `retries`: repeated deliveries of a failed batch.
        `longest_seconds`: the age after which a record is discarded. `settings`: other properties of the mapping.
        """
        stream = str(self.table.table_stream_arn)
        reading = ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"]
        function.allow(
            Grant(iam.PolicyStatement(actions=reading, resources=[stream])),
            Grant(
                iam.PolicyStatement(actions=["dynamodb:ListStreams"], resources=["*"]),
                ANYTHING,
                "Listing streams takes no resource.",
            ),
            Grant(iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[self.letters.queue_arn])),
            *use_for(self.letters),
        )
        mapping = lambda_.CfnEventSourceMapping(
            scope,
            "Stream",
            event_source_arn=stream,
            function_name=function.function.function_name,
            starting_position="TRIM_HORIZON",
            maximum_retry_attempts=retries,
            maximum_record_age_in_seconds=longest_seconds,
            filter_criteria=lambda_.CfnEventSourceMapping.FilterCriteriaProperty(
                filters=[lambda_.CfnEventSourceMapping.FilterProperty(pattern=json.dumps(pattern))]
            ),
            destination_config=lambda_.CfnEventSourceMapping.DestinationConfigProperty(
                on_failure=lambda_.CfnEventSourceMapping.OnFailureProperty(destination=self.letters.queue_arn)
            ),
            **settings,
        )
        # When the mapping is created, Lambda accesses the stream with the function's permissions.
        mapping.node.add_dependency(function.role)
