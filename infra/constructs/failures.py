"""The fast path after a failed execution: EventBridge invokes the sweep for that run at once.

It only saves time: the periodic sweep handles the run within a minute, so a lost event does no harm.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.constructs.functions import OurFunction
from infra.constructs.workflow import RunStateMachine

UNSUCCESSFUL = ["FAILED", "TIMED_OUT", "ABORTED"]


class OnFailure(Construct):
    """The EventBridge rule for failed executions."""

    def __init__(
        self, scope: Construct, id: str, *, workflow: RunStateMachine, sweep_runs: OurFunction, letters: sqs.Queue
    ) -> None:
        super().__init__(scope, id)
        events.Rule(
            self,
            "Rule",
            event_pattern=events.EventPattern(
                source=["aws.states"],
                detail_type=["Step Functions Execution Status Change"],
                detail={"status": UNSUCCESSFUL, "stateMachineArn": [workflow.machine.state_machine_arn]},
            ),
            targets=[
                targets.LambdaFunction(
                    sweep_runs.function,
                    dead_letter_queue=letters,
                    # After that time the periodic sweep has handled the run.
                    retry_attempts=5,
                    max_event_age=cdk.Duration.minutes(10),
                )
            ],
        )
