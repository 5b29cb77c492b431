"""The alarms for operators: their recipients and their meanings. `docs/operations.md` has a paragraph for each, by its name.

Knows metrics: those that AWS collects by itself, and those that the functions embed in their log (`functions/metrics.py`). Both
exist only with data, so an idle deployment pays for the alarms alone.
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
from infra.constructs.data_key import data_key
from infra.constructs.findings import accept
from infra.constructs.functions import OurFunction
from infra.constructs.releases import alarm_name, release_errors
from infra.constructs.workflow import RunStateMachine
from infra.settings import Settings

PERIOD = cdk.Duration.minutes(5)
FEWEST_FAILURES = 5
FAILED_SHARE = 10
"""Percent of the runs that ended. `FailedRuns` needs `FEWEST_FAILURES` as well, so that one failure at night is no alarm."""
SLOW_MS = 2000
LAG_MS = 15 * 60 * 1000
OPEN_MS = 60 * 60 * 1000
"""The age of a run without a worker that is an alarm. The sweep takes up such a run every 15 minutes at the least, so of four
periods one has a value.
"""
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
        self._env, self._settings = settings.name, settings
        self._topic = _topic(self, settings) if settings.alarms else None
        self._runs(workflow)
        self._capacity(workflow, functions)
        server_errors = rest.metric_server_error(period=PERIOD)
        self._alarm("GatewayErrors", server_errors, 5, "Requests are answered with 5xx.")
        if settings.gradual:
            aliases = {name: one.alias for name, one in functions.items() if one.alias is not None}
            self._alarm("ReleaseErrors", release_errors(aliases, PERIOD), 5, "Invocations fail, by either version of a release.")
        self._sweep(functions["sweep_runs"])
        waiting = letters.metric_approximate_number_of_messages_visible(period=PERIOD, statistic="Maximum")
        self._alarm("DeadLetters", waiting, 1, "An asynchronous invocation failed for good and is in the queue of dead letters.")
        self._alarm(
            "BudgetsCrossed",
            self._own("BudgetsCrossed", crossing="limit"),
            1,
            "A budget is used up: its subject gets 429 and its runs end.",
        )
        dead = self._own("DeadEvents")
        self._alarm("DeadEvents", dead, 1, "Events could not be delivered to a webhook for more than a day, or it is gone.")
        if "index_memory" in functions:
            self._index(functions["index_memory"])

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
        self._alarm(
            "TimedOutExecutions", machine.metric_timed_out(period=PERIOD), 1, "A run's execution exceeded its time limit."
        )
        overhead = self._own("StepOverhead", "p95")
        self._alarm("StepOverhead", overhead, SLOW_MS, "Steps are slow beyond the model and the tools.", of=(3, 3))

    def _capacity(self, workflow: RunStateMachine, functions: Mapping[str, OurFunction]) -> None:
        throttled = {name: functions[name].function.metric_throttles(period=PERIOD) for name in CROWDED}
        total = cloudwatch.MathExpression(
            expression=" + ".join(f"FILL({name}, 0)" for name in CROWDED),
            using_metrics=throttled,
            period=PERIOD,
            label="throttled invocations",
        )
        self._alarm("FunctionThrottles", total, 10, "Invocations are refused: too many functions run at once.")
        refused = workflow.machine.metric_throttled(period=PERIOD)
        self._alarm("WorkflowThrottles", refused, 10, "Step Functions refuses transitions: executions wait.")
        self._alarm("TableUnavailable", self._own("TableUnavailable"), 3, "Operations on the table fail despite retries.")

    def _sweep(self, sweep_runs: OurFunction) -> None:
        using = {"errors": sweep_runs.function.metric_errors(period=PERIOD), "items": self._own("SweepFailures")}
        failures = cloudwatch.MathExpression(
            expression="FILL(errors, 0) + FILL(items, 0)", using_metrics=using, period=PERIOD, label="failures of the sweep"
        )
        self._alarm("SweepErrors", failures, 3, "The sweep fails: lost runs stay open.")
        self._alarm("SweepTakes", self._own("RunsTakenUp"), 25, "Many runs lost their workers and were continued by the sweep.")
        self._alarm(
            "OpenRuns",
            self._own("OpenRunAge", "Maximum"),
            OPEN_MS,
            "A run stays open: its workers die or cannot start.",
            of=(1, 4),
        )
        invoked = sweep_runs.function.metric_invocations(period=PERIOD)
        self._alarm("SweepMissing", invoked, 1, "The sweep is not invoked: lost runs stay open.", of=(3, 3), below=True)

    def _index(self, index_memory: OurFunction) -> None:
        """The stream's position and the pointers that the stream gave up: the older one is the lag."""
        stream = index_memory.function.metric("IteratorAge", period=PERIOD, statistic="Maximum")
        lag = cloudwatch.MathExpression(
            expression="IF(FILL(stream, 0) > FILL(pointers, 0), FILL(stream, 0), FILL(pointers, 0))",
            using_metrics={"stream": stream, "pointers": self._own("PointerAge", "Maximum")},
            period=PERIOD,
            label="lag (ms)",
        )
        self._alarm("IndexLag", lag, LAG_MS, "The memory index lags behind the table. Searches still find the newest records.")

    def _own(self, name: str, statistic: str = "Sum", **dimension: str) -> cloudwatch.Metric:
        return cloudwatch.Metric(
            namespace=NAMESPACE,
            metric_name=name,
            dimensions_map={ENVIRONMENT: self._env, **dimension},
            statistic=statistic,
            period=PERIOD,
        )

    def _alarm(
        self,
        name: str,
        metric: cloudwatch.IMetric,
        threshold: int,
        why: str,
        *,
        of: tuple[int, int] = (1, 1),
        below: bool = False,
    ) -> None:
        """`of`: the number of periods that must reach the threshold, of how many. `below`: it fires under the threshold, and
        without data.
        """
        reached, periods = of
        compared, missing = cloudwatch.ComparisonOperator, cloudwatch.TreatMissingData
        alarm = cloudwatch.Alarm(
            self,
            name,
            alarm_name=alarm_name(self._settings, name),
            metric=metric,
            threshold=threshold,
            evaluation_periods=periods,
            datapoints_to_alarm=reached,
            comparison_operator=compared.LESS_THAN_THRESHOLD if below else compared.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=missing.BREACHING if below else missing.NOT_BREACHING,
            alarm_description=f"{why} {RUNBOOK.format(name.lower())}",
        )
        if self._topic is not None:
            alarm.add_alarm_action(actions.SnsAction(self._topic))
            alarm.add_ok_action(actions.SnsAction(self._topic))


def _topic(scope: Construct, settings: Settings) -> sns.ITopic:
    """The topic with this ARN, or a topic of the stack that sends e-mails to this address."""
    target, key = settings.alarms, data_key(scope, settings)
    if target.startswith("arn:"):
        return sns.Topic.from_topic_arn(scope, "Topic", target)
    topic = sns.Topic(scope, "Topic", enforce_ssl=True, master_key=key)
    sns.Subscription(scope, "Mail", topic=topic, endpoint=target, protocol=sns.SubscriptionProtocol.EMAIL)
    # A topic with a policy of its own has lost the default one, which lets the account's alarms publish.
    topic.add_to_resource_policy(
        iam.PolicyStatement(
            principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
            actions=["sns:Publish"],
            resources=[topic.topic_arn],
            conditions={"StringEquals": {"aws:SourceAccount": cdk.Aws.ACCOUNT_ID}},
        )
    )
    if key is None:
        accept(topic, "SNS2", "Alarms contain names of metrics and no data; a key would cost while nobody calls.")
    return topic
