"""The alarms for operators. Knows metrics; the account defines the actions of an alarm."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.constructs.functions import OurFunction
from infra.constructs.workflow import Workflow

LAG_MS = 15 * 60 * 1000


class Alarms(Construct):
    """The alarms. `index_memory`: the function that feeds the index, if memory is indexed."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        workflow: Workflow,
        sweep_runs: OurFunction,
        letters: sqs.Queue,
        index_memory: OurFunction | None,
    ) -> None:
        super().__init__(scope, id)
        five = cdk.Duration.minutes(5)
        machine, sweep = workflow.machine, sweep_runs.function
        self._alarm("FailedRuns", machine.metric_failed(period=five), 1, "A run's execution failed, also to close the run.")
        self._alarm("TimedOutRuns", machine.metric_timed_out(period=five), 1, "A run's execution passed its time.")
        self._alarm("SweepErrors", sweep.metric_errors(period=five), 3, "The sweep fails: lost runs stay open.")
        if index_memory is not None:
            lag = index_memory.function.metric("IteratorAge", period=five, statistic="Maximum")
            self._alarm(
                "IndexLag", lag, LAG_MS, "The index of memory lags behind the table; searches find the newest all the same."
            )
        waiting = letters.metric_approximate_number_of_messages_visible(period=five, statistic="Maximum")
        self._alarm("DeadLetters", waiting, 1, "Something asynchronous was given up.")

    def _alarm(self, name: str, metric: cloudwatch.Metric, threshold: int, why: str) -> None:
        metric.create_alarm(
            self,
            name,
            threshold=threshold,
            evaluation_periods=1,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            alarm_description=why,
        )
