"""The trigger for uploaded files: EventBridge invokes `ingest_file` for every object below the uploads' prefix.

Delivery is at least once, with retries if the function fails; finally the event becomes a dead letter.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from hibernaut.store.table.blob_keys import UPLOADS
from infra.constructs.functions import OurFunction


class OnUpload(Construct):
    """The EventBridge rule for uploaded files."""

    def __init__(self, scope: Construct, id: str, *, bucket: s3.Bucket, ingest_file: OurFunction, letters: sqs.Queue) -> None:
        super().__init__(scope, id)
        events.Rule(
            self,
            "Rule",
            event_pattern=events.EventPattern(
                source=["aws.s3"],
                detail_type=["Object Created"],
                detail={"bucket": {"name": [bucket.bucket_name]}, "object": {"key": [{"prefix": UPLOADS}]}},
            ),
            targets=[
                targets.LambdaFunction(
                    ingest_file.function,
                    dead_letter_queue=letters,
                    retry_attempts=5,
                    max_event_age=cdk.Duration.hours(1),
                )
            ],
        )
