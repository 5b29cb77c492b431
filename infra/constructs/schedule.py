"""The sweep's clock: once a minute, so that no run stays open. What cannot be delivered or fails is kept as a dead letter."""

from __future__ import annotations

import json

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.constructs.findings import accept
from infra.constructs.functions import OurFunction


def dead_letters(scope: Construct) -> sqs.Queue:
    """Where invocations go that nobody waits for and that failed."""
    queue = sqs.Queue(scope, "DeadLetters", enforce_ssl=True, retention_period=cdk.Duration.days(14))
    accept(queue, "SQS3", "It is the dead-letter queue itself.")
    return queue


class EveryMinute(Construct):
    def __init__(self, scope: Construct, id: str, *, sweep_runs: OurFunction, letters: sqs.Queue) -> None:
        super().__init__(scope, id)
        role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("scheduler.amazonaws.com"))
        sweep_runs.allow_invoke_by(role)
        role.add_to_policy(iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[letters.queue_arn]))
        self.schedule = scheduler.CfnSchedule(
            self,
            "Sweep",
            schedule_expression="rate(1 minute)",
            flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            target=scheduler.CfnSchedule.TargetProperty(
                arn=sweep_runs.function.function_arn,
                role_arn=role.role_arn,
                # The scheduler fills in its own attributes; the handler keeps them in its log.
                input=json.dumps({"schedule": "<aws.scheduler.schedule-arn>", "at": "<aws.scheduler.scheduled-time>"}),
                dead_letter_config=scheduler.CfnSchedule.DeadLetterConfigProperty(arn=letters.queue_arn),
                # The next minute brings the next sweep: a late one is of no use.
                retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(maximum_retry_attempts=0, maximum_event_age_in_seconds=60),
            ),
        )
