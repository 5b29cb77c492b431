"""The alarms of the offline stack over what happens in a context: metrics of log lines, and those that AWS counts."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from functions.log import log
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.schemas.base import JsonObject
from tests.support.alarms import Metrics, fires
from tests.support.counted_aws import counted
from tests.workflows.deployment import Deployment


@contextmanager
def watched(here: Deployment) -> Iterator[Metrics]:
    """The metrics of what happens in the context. The scheduler counts as running, because nothing runs by time here."""
    seen, metrics = io.StringIO(), Metrics()
    handler = logging.StreamHandler(seen)
    handler.setFormatter(log().registered_formatter)
    logger = logging.getLogger("hibernaut")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        with counted(here.aws, metrics, here.clock.now):
            yield metrics
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
        metrics.read(seen.getvalue().splitlines())
    metrics.put(*place_of(here.aws, "SweepMissing"), 5)


def alarms(aws: OfflineAws) -> dict[str, JsonObject]:
    """The alarms by name, with their references resolved."""
    return {one.name.removeprefix("Alarms")[:-8]: one.properties for one in aws.stack.of_type("AWS::CloudWatch::Alarm")}


def firing(aws: OfflineAws, metrics: Metrics) -> set[str]:
    """The alarms that fire, without `StepOverhead`: its figures are this machine's times."""
    return {name for name, alarm in alarms(aws).items() if fires(alarm, metrics)} - {"StepOverhead"}


def place_of(aws: OfflineAws, alarm: str) -> tuple[str, str, dict[str, str]]:
    """Namespace, name and dimensions of an alarm's first metric."""
    made = alarms(aws)[alarm]
    metric = made if "MetricName" in made else next(one["MetricStat"]["Metric"] for one in made["Metrics"] if "MetricStat" in one)
    return metric["Namespace"], metric["MetricName"], {one["Name"]: one["Value"] for one in metric["Dimensions"]}
