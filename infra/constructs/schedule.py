"""Schedules: functions that are invoked at a fixed rate. Undelivered and failed invocations become dead letters."""

from __future__ import annotations

import json
from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.constructs.data_key import data_key, use_for
from infra.constructs.findings import accept, give
from infra.constructs.functions import OurFunction
from infra.constructs.trust import service_for_this_account
from infra.settings import Settings


def dead_letters(scope: Construct, settings: Settings) -> sqs.Queue:
    """The queue for failed asynchronous invocations."""
    queue = sqs.Queue(
        scope,
        "DeadLetters",
        enforce_ssl=True,
        retention_period=cdk.Duration.days(14),
        encryption_master_key=data_key(scope, settings),
    )
    accept(queue, "SQS3", "It is the dead-letter queue itself.")
    return queue


class FunctionSchedule(Construct):
    """Invokes a function at a rate, with an event of its own. A late invocation is dropped, because the next one is
    equivalent.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        function: OurFunction,
        expression: str,
        event: Mapping[str, object],
        letters: sqs.Queue,
    ) -> None:
        super().__init__(scope, id)
        role = iam.Role(self, "Role", assumed_by=service_for_this_account("scheduler.amazonaws.com"))
        function.allow_invoke_by(role)
        role.add_to_policy(iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[letters.queue_arn]))
        give(role, *use_for(letters))
        # The scheduler replaces these attributes; the handler logs them.
        payload = {**event, "schedule": "<aws.scheduler.schedule-arn>", "at": "<aws.scheduler.scheduled-time>"}
        self.schedule = scheduler.CfnSchedule(
            self,
            "Schedule",
            schedule_expression=expression,
            flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            target=scheduler.CfnSchedule.TargetProperty(
                arn=function.function.function_arn,
                role_arn=role.role_arn,
                input=json.dumps(payload),
                dead_letter_config=scheduler.CfnSchedule.DeadLetterConfigProperty(arn=letters.queue_arn),
                retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(maximum_retry_attempts=0, maximum_event_age_in_seconds=60),
            ),
        )


class EveryMinute(Construct):
    """The schedule of the sweep, which closes or resumes open runs."""

    def __init__(self, scope: Construct, id: str, *, sweep_runs: OurFunction, letters: sqs.Queue) -> None:
        super().__init__(scope, id)
        FunctionSchedule(self, "Sweep", function=sweep_runs, expression="rate(1 minute)", event={}, letters=letters)
