"""A dashboard for operators, ordered by the path of a request. Uses AWS's own metrics, which have no extra cost, and the metrics
that the functions embed in their log anyway.
It has at most fifty metrics, so that an account's first three dashboards are free.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from functions.metrics import ENVIRONMENT, NAMESPACE
from infra.constructs.functions import OurFunction
from infra.constructs.workflow import RunStateMachine
from infra.settings import Settings

PERIOD = cdk.Duration.minutes(5)
WIDTH = 12
"""Of the dashboard's 24 columns: two graphs are side by side."""
SLOW = ("api", "advance_turn", "index_memory")
"""The functions with a graph of their duration; the others mostly wait for these, for a tool or for a summary."""
WITHOUT_ERRORS = ("build_packages", "run_node")
"""Functions without a graph of failures, because their callers handle and log them: a page of more than fifty metrics costs
money.
"""
CROWDED = ("api", "stream", "advance_turn", "run_tool")
"""The functions that are throttled first under load."""


class Dashboard(Construct):
    """The dashboard. `functions`: the existing functions by folder."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        settings: Settings,
        rest: apigateway.RestApi,
        workflow: RunStateMachine,
        functions: Mapping[str, OurFunction],
        table: dynamodb.Table,
        letters: sqs.Queue,
    ) -> None:
        super().__init__(scope, id)
        slow, crowded = ({name: functions[name] for name in names if name in functions} for names in (SLOW, CROWDED))
        page = cloudwatch.Dashboard(self, "Page", dashboard_name=settings.stack_name, default_interval=cdk.Duration.hours(3))
        page.add_widgets(*_requests(rest))
        page.add_widgets(*_runs(workflow))
        page.add_widgets(*_steps(settings), *_sweep(settings))
        page.add_widgets(
            _graph(
                "Errors of functions",
                _each({name: one for name, one in functions.items() if name not in WITHOUT_ERRORS}, "Errors", "Sum"),
            ),
            _graph("Refused, because too many ran at once", _each(crowded, "Throttles", "Sum")),
        )
        page.add_widgets(
            _graph("Slowest of a hundred calls (ms)", _each(slow, "Duration", "p99")),
            _graph("Running at once", _each(crowded, "ConcurrentExecutions", "Maximum")),
        )
        waiting = letters.metric_approximate_number_of_messages_visible(period=PERIOD, statistic="Maximum", label="dead letters")
        page.add_widgets(_graph("Given up", [waiting]), _graph("The table refuses, or two meet", _refusals(table)))
        if "index_memory" in functions:
            lag = _each({"index_memory": functions["index_memory"]}, "IteratorAge", "Maximum")
            waiting = _own(settings, "PointerAge", "Maximum", "given up by the stream")
            index = _domain(settings) if settings.search.kind == "domain" else _collection()
            page.add_widgets(_graph("Lag of the index (ms)", [*lag, waiting]), _graph("Index of memory", index))


def _requests(rest: apigateway.RestApi) -> list[cloudwatch.IWidget]:
    counts = [
        rest.metric_count(period=PERIOD, label="requests"),
        rest.metric_client_error(period=PERIOD, label="4xx"),
        rest.metric_server_error(period=PERIOD, label="5xx"),
    ]
    times = [rest.metric_latency(period=PERIOD, statistic=one, label=one) for one in ("p50", "p99")]
    return [_graph("Requests", counts), _graph("Time to the end of the reply (ms)", times)]


def _runs(workflow: RunStateMachine) -> list[cloudwatch.IWidget]:
    machine = workflow.machine
    counts = [
        machine.metric_started(period=PERIOD, label="started"),
        machine.metric_failed(period=PERIOD, label="failed"),
        machine.metric_timed_out(period=PERIOD, label="timed out"),
        machine.metric_aborted(period=PERIOD, label="stopped"),
    ]
    times = [machine.metric_time(period=PERIOD, statistic="p99", label="p99")]
    return [_graph("Executions", counts), _graph("Time of an execution, waits for approvals too (ms)", times)]


def _steps(settings: Settings) -> list[cloudwatch.IWidget]:
    """What callers wait for besides the model."""
    times = {"QueueWait": "queue", "TimeToFirstToken": "first token", "StepOverhead": "a step without model and tools"}
    waits = [_own(settings, name, "p95", label) for name, label in times.items()]
    return [_graph("Slowest of twenty waits (ms)", waits)]


def _sweep(settings: Settings) -> list[cloudwatch.IWidget]:
    """Runs that lost their workers, and budgets that ended runs."""
    counts = [
        _own(settings, "RunsTakenUp", "Sum", "taken up by the sweep"),
        _own(settings, "BudgetsCrossed", "Sum", "budgets used up", crossing="limit"),
    ]
    ages = [_own(settings, "OpenRunAge", "Maximum", "age of the oldest of them (ms)")]
    return [
        cloudwatch.GraphWidget(
            title="Runs without a worker, and budgets",
            left=counts,
            right=ages,
            width=WIDTH,
            left_y_axis=cloudwatch.YAxisProps(min=0),
        )
    ]


def _collection() -> list[cloudwatch.IMetric]:
    """Compute units of all collections of the account: AWS counts them by no other dimension."""
    return [
        cloudwatch.Metric(
            namespace="AWS/AOSS",
            metric_name=name,
            dimensions_map={"ClientId": cdk.Aws.ACCOUNT_ID},
            period=PERIOD,
            statistic="Sum",
            label=label,
        )
        for name, label in {"IndexingOCU": "units for indexing", "SearchOCU": "units for search"}.items()
    ]


def _own(settings: Settings, name: str, statistic: str, label: str, **dimension: str) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=NAMESPACE,
        metric_name=name,
        dimensions_map={ENVIRONMENT: settings.name, **dimension},
        period=PERIOD,
        statistic=statistic,
        label=label,
    )


def _refusals(table: dynamodb.Table) -> list[cloudwatch.IMetric]:
    names = {"ReadThrottleEvents": "reads", "WriteThrottleEvents": "writes", "TransactionConflict": "transactions that meet"}
    return [table.metric(name, period=PERIOD, statistic="Sum", label=label) for name, label in names.items()]


def _domain(settings: Settings) -> list[cloudwatch.IMetric]:
    """The metrics of a domain for refusals, latency and availability, in percent and milliseconds."""
    dimensions = {"DomainName": settings.stack_name, "ClientId": cdk.Aws.ACCOUNT_ID}
    labels = {
        "CPUUtilization": "processor (%)",
        "JVMMemoryPressure": "memory (%)",
        "ClusterStatus.red": "not whole (1)",
        "ClusterIndexWritesBlocked": "writes refused (1)",
    }
    return [
        cloudwatch.Metric(
            namespace="AWS/ES", metric_name=name, dimensions_map=dimensions, period=PERIOD, statistic="Maximum", label=label
        )
        for name, label in labels.items()
    ]


def _each(functions: Mapping[str, OurFunction], metric: str, statistic: str) -> list[cloudwatch.IMetric]:
    return [one.function.metric(metric, period=PERIOD, statistic=statistic, label=name) for name, one in functions.items()]


def _graph(title: str, metrics: Sequence[cloudwatch.IMetric]) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(title=title, left=list(metrics), width=WIDTH, left_y_axis=cloudwatch.YAxisProps(min=0))
