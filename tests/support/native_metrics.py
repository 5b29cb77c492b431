"""The metrics that AWS collects by itself, as far as alarms and graphs of the stack name them: their documented dimensions and
the statistics that mean something. A name, a dimension or a statistic that is not listed here has no data on AWS, and its alarm
never fires.
"""

from __future__ import annotations

from typing import NamedTuple

from functions.metrics import ENVIRONMENT, METRICS, NAMESPACE
from hibernaut.schemas.base import JsonObject


class NativeMetric(NamedTuple):
    """`dimensions`: each documented set of dimensions. `statistics`: the prefixes of those that the page calls meaningful ("p":
    percentiles).
    """

    dimensions: tuple[frozenset[str], ...]
    statistics: tuple[str, ...]


def _of(names: str, statistics: str, *dimensions: str) -> dict[str, NativeMetric]:
    sets = tuple(frozenset(one.split()) for one in dimensions)
    return {name: NativeMetric(sets, tuple(statistics.split())) for name in names.split()}


FUNCTION = ("FunctionName", "FunctionName Resource", "FunctionName Resource ExecutedVersion")
NATIVE: dict[str, dict[str, NativeMetric]] = {
    # API Gateway developer guide, "Amazon API Gateway dimensions and metrics": REST APIs.
    "AWS/ApiGateway": {
        **_of("Count", "SampleCount Sum", "ApiName", "ApiName Stage", "ApiName Method Resource Stage"),
        **_of("4XXError 5XXError", "Sum", "ApiName", "ApiName Stage", "ApiName Method Resource Stage"),
        **_of("Latency IntegrationLatency", "Average p", "ApiName", "ApiName Stage", "ApiName Method Resource Stage"),
    },
    # Lambda developer guide, "Types of metrics for Lambda functions".
    "AWS/Lambda": {
        **_of("Invocations Errors Throttles", "Sum", *FUNCTION),
        **_of("Duration IteratorAge", "Average Maximum p", *FUNCTION),
        **_of("ConcurrentExecutions", "Maximum", *FUNCTION),
    },
    # Step Functions developer guide, "Execution metrics": counts, and times in milliseconds.
    "AWS/States": {
        **_of(
            "ExecutionsStarted ExecutionsSucceeded ExecutionsFailed ExecutionsTimedOut ExecutionsAborted ExecutionThrottled",
            "Sum",
            "StateMachineArn",
        ),
        **_of("ExecutionTime", "Average p", "StateMachineArn"),
    },
    # SQS developer guide, "Available CloudWatch metrics for Amazon SQS".
    "AWS/SQS": _of("ApproximateNumberOfMessagesVisible", "Maximum", "QueueName"),
    # DynamoDB developer guide, "DynamoDB metrics and dimensions".
    "AWS/DynamoDB": {
        **_of("ReadThrottleEvents WriteThrottleEvents", "Sum", "TableName", "TableName GlobalSecondaryIndexName"),
        **_of("TransactionConflict", "Sum", "TableName"),
    },
    # OpenSearch Service developer guide, "Monitoring OpenSearch cluster metrics with Amazon CloudWatch".
    "AWS/ES": _of(
        "CPUUtilization JVMMemoryPressure SearchLatency ClusterStatus.red ClusterIndexWritesBlocked",
        "Maximum",
        "ClientId DomainName",
    ),
    # OpenSearch Service developer guide, "Monitoring OpenSearch Serverless with Amazon CloudWatch": units are counted for the
    # account.
    "AWS/AOSS": _of("IndexingOCU SearchOCU", "Sum", "ClientId"),
}
"""By namespace and name. AWS/ApiGateway has the dimension ApiName even where metrics of single methods are not collected."""

OUR_STATISTICS = {"Count": ("Sum",), "Milliseconds": ("Maximum", "Average", "p")}


def undocumented(namespace: str, name: str, dimensions: frozenset[str], statistic: str) -> str:
    """What is wrong with a metric of an alarm or a graph; "" if it is one that AWS or the functions make."""
    if namespace == NAMESPACE:
        return _not_ours(name, dimensions, statistic)
    known = NATIVE.get(namespace, {}).get(name)
    if known is None:
        return f"no metric {name} in {namespace}"
    if dimensions not in known.dimensions:
        return f"{namespace} {name} has no data for the dimensions {sorted(dimensions)}"
    return "" if statistic.startswith(known.statistics) else f"{statistic} of {namespace} {name} means nothing"


def _not_ours(name: str, dimensions: frozenset[str], statistic: str) -> str:
    for metric in (one for metrics in METRICS.values() for one in metrics):
        if metric.name == name:
            allowed = ({ENVIRONMENT}, {ENVIRONMENT, metric.by} if metric.by else {ENVIRONMENT})
            if dimensions not in allowed:
                return f"{name} has no data for the dimensions {sorted(dimensions)}"
            return "" if statistic.startswith(OUR_STATISTICS[metric.unit]) else f"{statistic} of {name} means nothing"
    return f"the functions make no metric {name}"


def metrics_of(alarm: JsonObject) -> list[tuple[str, str, frozenset[str], str]]:
    """The metrics of an alarm's properties: namespace, name, names of the dimensions, statistic."""
    single = [(alarm, alarm.get("Statistic") or alarm.get("ExtendedStatistic"))] if "MetricName" in alarm else []
    several = [
        (one["MetricStat"]["Metric"], one["MetricStat"]["Stat"]) for one in alarm.get("Metrics", ()) if "MetricStat" in one
    ]
    return [
        (metric["Namespace"], metric["MetricName"], frozenset(one["Name"] for one in metric["Dimensions"]), str(statistic))
        for metric, statistic in (*single, *several)
    ]
