"""The metrics of the functions: events of the log in CloudWatch's embedded metric format (EMF). No function calls CloudWatch.

Each log line with an event in `METRICS` gets the member `_aws`, which defines the metrics for CloudWatch (CloudWatch user guide,
"Specification: Embedded metric format"). Services log facts and do not depend on this module. Every dimension has few values: the
environment, alone or with one code of a fixed list. Tenants, agents, runs, tools and models are fields of the line, never
dimensions.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple

from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter

from hibernaut.schemas.base import JsonObject

NAMESPACE = "Hibernaut"
ENVIRONMENT = "env"


class Metric(NamedTuple):
    """A metric of an event. `field`: the field with its value; empty: each line counts as 1. `by`: the field that is a second
    dimension, beside the environment alone; empty: none.
    """

    name: str
    unit: str = "Count"
    field: str = ""
    by: str = ""


METRICS: Mapping[str, tuple[Metric, ...]] = {
    "run ended": (
        Metric("RunsEnded", by="stop_reason"),
        Metric("RunsFailed", field="failed", by="code"),
        Metric("RunDuration", "Milliseconds", "run_ms"),
    ),
    "budget crossed": (Metric("BudgetsCrossed", by="crossing"),),
    "step committed": (
        Metric("Steps"),
        Metric("StepOverhead", "Milliseconds", "overhead_ms"),
        Metric("ModelLatency", "Milliseconds", "model_ms"),
        Metric("TimeToFirstToken", "Milliseconds", "first_token_ms"),
        Metric("QueueWait", "Milliseconds", "queue_ms"),
        Metric("PromptTokens", field="prompt_tokens"),
        Metric("CompletionTokens", field="completion_tokens"),
    ),
    "model call is tried again": (Metric("ModelRetries", by="code"),),
    "model call failed": (Metric("ModelFailures", by="code"),),
    "tool called": (Metric("ToolLatency", "Milliseconds", "tool_ms", "tool_status"),),
    "step failed": (Metric("StepFailures", by="error"),),
    "step left to a retry": (Metric("PlatformFailures", by="error"),),
    "table unavailable": (Metric("TableUnavailable"),),
    "request failed": (Metric("RequestFailures"),),
    "socket connected": (Metric("SocketsConnected"),),
    "socket refused": (Metric("SocketsRefused"),),
    "socket action": (Metric("SocketActions", by="action"),),
    "socket follow ended": (Metric("SocketPosts", field="posts"), Metric("SocketsGone", field="gone")),
    "sweep ended": (Metric("RunsTakenUp", field="started"), Metric("RunsClosed", field="closed")),
    "run taken up": (Metric("OpenRunAge", "Milliseconds", "open_ms"),),
    "sweep stopped in time": (Metric("ItemsLeft", field="items_left"),),
    "run could not be swept": (Metric("SweepFailures"),),
    "blobs could not be collected": (Metric("SweepFailures"),),
    "round of the sweep failed": (Metric("SweepFailures"),),
    "entry could not be handled": (Metric("SweepFailures"),),
    "webhook called": (
        Metric("WebhookCalls", by="outcome"),
        Metric("WebhookLatency", "Milliseconds", "call_ms"),
        Metric("EventAge", "Milliseconds", "age_ms"),
    ),
    "event is dead": (Metric("DeadEvents"),),
    "event not passed on": (Metric("EventFailures"),),
    "webhook disabled": (Metric("WebhooksDisabled", by="reason"),),
    "schedule fired": (Metric("SchedulesFired", by="outcome"), Metric("ScheduleDelay", "Milliseconds", "late_ms")),
    "schedule failed": (Metric("SchedulesFailed", by="code"),),
    "schedule not fired": (Metric("ScheduleErrors"),),
    "memory indexed": (
        Metric("IndexLag", "Milliseconds", "lag_ms"),
        Metric("PointersIndexed", field="done"),
        Metric("PointersLeft", field="left"),
    ),
    "pointers taken again": (Metric("PointerAge", "Milliseconds", "oldest_ms"),),
}
"""The metrics by event. `docs/operations.md` lists them."""


def embedded(line: JsonObject, env: str, now_ms: int) -> JsonObject:
    """The line with the metrics of its event, or the line itself if the event has none. A metric or a second dimension without
    its field is omitted.
    """
    found = [metric for metric in METRICS.get(str(line.get("message")), ()) if not metric.field or metric.field in line]
    if not found:
        return line
    directives = [
        {
            "Namespace": NAMESPACE,
            "Dimensions": [[ENVIRONMENT], *([[ENVIRONMENT, metric.by]] if metric.by in line else [])],
            "Metrics": [{"Name": metric.name, "Unit": metric.unit}],
        }
        for metric in found
    ]
    values = {metric.name: line[metric.field] if metric.field else 1 for metric in found}
    return {**line, ENVIRONMENT: env, **values, "_aws": {"Timestamp": now_ms, "CloudWatchMetrics": directives}}


class MetricFormatter(LambdaPowertoolsFormatter):
    """Powertools' formatter, which also embeds the metrics of an event."""

    def __init__(self, *, env: str, service: str) -> None:
        super().__init__(service=service)
        self._env = env

    def serialize(self, log: JsonObject) -> str:  # type: ignore[override]  # Powertools passes a dict.
        """The line as JSON."""
        if "trace_id" in log:  # From a request's header: the Web Adapter sets no variable with it.
            log["xray_trace_id"] = log.pop("trace_id")
        return str(super().serialize(embedded(log, self._env, int(time.time() * 1000))))
