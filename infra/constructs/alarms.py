"""The alarms for operators: whom they tell, and what each means. `docs/operations.md` has a paragraph for each, by its name.

Knows metrics: those that AWS collects by itself, and those that the functions embed in their log (`functions/metrics.py`). Both exist
only with data, so an idle deployment pays for the alarms alone.
"""

from __future__ import annotations

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from functions.metrics import ENVIRONMENT, NAMESPACE
from infra.constructs.findings import accept
from infra.constructs.functions import OurFunction
from infra.constructs.workflow import RunStateMachine
from infra.settings import Settings

PERIOD = cdk.Duration.minutes(5)
FEWEST_FAILURES = 5
FAILED_SHARE = 10
"""Percent of the runs that ended. `FailedRuns` needs `FEWEST_FAILURES` as well, so that one failure at night is no alarm."""
SLOW_MS = 2000
LAG_MS = 15 * 60 * 1000
CROWDED = ("api", "stream", "advance_turn", "run_tool")
"""The functions that are throttled first under load."""
RUNBOOK = "Runbook: docs/operations.md#{}"


class Alarms(Construct):
    """The alarms. `functions`: the existing functions by folder."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        settings: Settings,
        workflow: RunStateMachine,
        rest: apigateway.RestApi,
        functions: Mapping[str, OurFunction],
        letters: sqs.Queue,
    ) -> None:
        super().__init__(scope, id)
        self._env = settings.name
        self._topic = _topic(self, settings.alarms) if settings.alarms else None
        self._runs(workflow)
        self._capacity(workflow, functions)
        server_errors = rest.metric_server_error(period=PERIOD)
        self._alarm("GatewayErrors", server_errors, 5, "Requests are answered with 5xx.")
        self._sweep(functions["sweep_runs"])
        waiting = letters.metric_approximate_number_of_messages_visible(period=PERIOD, statistic="Maximum")
        self._alarm("DeadLetters", waiting, 1, "Something asynchronous was given up.")
        if "index_memory" in functions:
            lag = functions["index_memory"].function.metric("IteratorAge", period=PERIOD, statistic="Maximum")
            self._alarm(
                "IndexLag", lag, LAG_MS, "The index of memory lags behind the table; searches find the newest all the same."
            )

    def _runs(self, workflow: RunStateMachine) -> None:
        failed, ended = self._own("RunsFailed"), self._own("RunsEnded")
        share = cloudwatch.MathExpression(
            expression=f"IF(failed >= {FEWEST_FAILURES}, 100 * failed / ended, 0)",
            using_metrics={"failed": failed, "ended": ended},
            period=PERIOD,
            label="failed runs (%)",
        )
        self._alarm("FailedRuns", share, FAILED_SHARE, "Runs end with an error; the metric RunsFailed has them by code.")
        machine = workflow.machine
        self._alarm("FailedExecutions", machine.metric_failed(period=PERIOD), 1, "The platform failed a run's execution.")
        self._alarm("TimedOutExecutions", machine.metric_timed_out(period=PERIOD), 1, "A run's execution passed its time.")
        overhead = self._own("StepOverhead", "p95")
        self._alarm("StepOverhead", overhead, SLOW_MS, "Steps are slow beyond the model and the tools.", periods=3)

    def _capacity(self, workflow: RunStateMachine, functions: Mapping[str, OurFunction]) -> None:
        throttled = {name: functions[name].function.metric_throttles(period=PERIOD) for name in CROWDED}
        total = cloudwatch.MathExpression(
            expression=" + ".join(f"FILL({name}, 0)" for name in CROWDED),
            using_metrics=throttled,
            period=PERIOD,
            label="throttled invocations",
        )
        self._alarm("FunctionThrottles", total, 10, "Functions are refused: too many run at once.")
        refused = workflow.machine.metric_throttled(period=PERIOD)
        self._alarm("WorkflowThrottles", refused, 10, "Step Functions refuses transitions: executions wait.")
        self._alarm("TableUnavailable", self._own("TableUnavailable"), 3, "Operations on the table fail in spite of retries.")

    def _sweep(self, sweep_runs: OurFunction) -> None:
        using = {"errors": sweep_runs.function.metric_errors(period=PERIOD), "items": self._own("SweepFailures")}
        failures = cloudwatch.MathExpression(
            expression="FILL(errors, 0) + FILL(items, 0)", using_metrics=using, period=PERIOD, label="failures of the sweep"
        )
        self._alarm("SweepErrors", failures, 3, "The sweep fails: lost runs stay open.")
        self._alarm(
            "SweepTakes", self._own("RunsTakenUp"), 25, "Many runs were lost by their workers, and taken up by the sweep."
        )

    def _own(self, name: str, statistic: str = "Sum") -> cloudwatch.Metric:
        return cloudwatch.Metric(
            namespace=NAMESPACE,
            metric_name=name,
            dimensions_map={ENVIRONMENT: self._env},
            statistic=statistic,
            period=PERIOD,
        )

    def _alarm(self, name: str, metric: cloudwatch.IMetric, threshold: int, why: str, *, periods: int = 1) -> None:
        alarm = cloudwatch.Alarm(
            self,
            name,
            metric=metric,
            threshold=threshold,
            evaluation_periods=periods,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            alarm_description=f"{why} {RUNBOOK.format(name.lower())}",
        )
        if self._topic is not None:
            alarm.add_alarm_action(actions.SnsAction(self._topic))
            alarm.add_ok_action(actions.SnsAction(self._topic))


def _topic(scope: Construct, told: str) -> sns.ITopic:
    """The topic with this ARN, or a topic of the stack that sends e-mails to this address."""
    if told.startswith("arn:"):
        return sns.Topic.from_topic_arn(scope, "Topic", told)
    topic = sns.Topic(scope, "Topic", enforce_ssl=True)
    sns.Subscription(scope, "Mail", topic=topic, endpoint=told, protocol=sns.SubscriptionProtocol.EMAIL)
    # A topic with a policy of its own has lost the default one, which lets the account's alarms publish.
    topic.add_to_resource_policy(
        iam.PolicyStatement(
            principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
            actions=["sns:Publish"],
            resources=[topic.topic_arn],
            conditions={"StringEquals": {"aws:SourceAccount": cdk.Aws.ACCOUNT_ID}},
        )
    )
    accept(topic, "SNS2", "Alarms contain names of metrics and no data; a key would cost while nobody calls.")
    return topic
