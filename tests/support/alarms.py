"""CloudWatch in this process: metrics from the lines of a log, and the states of alarms as a template defines them.

Enforces the documented rules: a directive's dimensions and metrics are members of the line, a line has at most 100 metrics and a
dimension set at most 30 names (user guide, "Specification: Embedded metric format"); an alarm without data follows its
`TreatMissingData`; an expression has a value where all of its metrics have one, `FILL` aside ("Using metric math").
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hibernaut.schemas.base import JsonObject

UNITS = {"Count", "Milliseconds"}


@dataclass
class Metrics:
    """The values of one period by namespace, name and dimensions."""

    values: dict[tuple[str, str, frozenset[tuple[str, str]]], list[float]] = field(default_factory=dict)

    def put(self, namespace: str, name: str, dimensions: Mapping[str, str], *values: float) -> None:
        self.values.setdefault((namespace, name, frozenset(dimensions.items())), []).extend(values)

    def read(self, lines: Iterable[str]) -> None:
        """Take the metrics that are embedded in these lines. Lines without any are passed over."""
        for text in lines:
            line = json.loads(text) if text.startswith("{") else {}
            for directive in line.get("_aws", {}).get("CloudWatchMetrics", ()):
                assert isinstance(line["_aws"]["Timestamp"], int)
                for names in directive["Dimensions"]:
                    assert len(names) <= 30
                    assert all(isinstance(line[name], str) for name in names), line
                    for metric in directive["Metrics"]:
                        assert metric["Unit"] in UNITS
                        assert type(line[metric["Name"]]) in (int, float), line  # CloudWatch drops a line with a boolean
                        self.put(
                            directive["Namespace"], metric["Name"], {name: line[name] for name in names}, line[metric["Name"]]
                        )

    def sum(self, name: str, **dimensions: str) -> float:
        return sum(self.values.get(("Hibernaut", name, frozenset(dimensions.items())), ()))

    def statistic(self, metric: JsonObject, name: str) -> float | None:
        dimensions = frozenset((one["Name"], one["Value"]) for one in metric.get("Dimensions", ()))
        values = self.values.get((metric["Namespace"], metric["MetricName"], dimensions))
        if not values:
            return None
        match name:
            case "Sum":
                return sum(values)
            case "Maximum":
                return max(values)
            case "Average":
                return sum(values) / len(values)
        share = float(re.fullmatch(r"p(\d+)", name)[1]) / 100  # type: ignore[index]
        return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def fires(alarm: JsonObject, metrics: Metrics) -> bool:
    """Whether an alarm is in the state ALARM if every one of its periods has these metrics."""
    value = _value(alarm, metrics)
    if value is None:
        return bool(alarm["TreatMissingData"] == "breaching")
    threshold = float(alarm["Threshold"])
    return value < threshold if alarm["ComparisonOperator"] == "LessThanThreshold" else value >= threshold


def _value(alarm: JsonObject, metrics: Metrics) -> float | None:
    if "MetricName" in alarm:
        return metrics.statistic(alarm, alarm.get("Statistic") or alarm["ExtendedStatistic"])
    [(expression)] = [one["Expression"] for one in alarm["Metrics"] if "Expression" in one]
    known = {
        one["Id"]: metrics.statistic(one["MetricStat"]["Metric"], one["MetricStat"]["Stat"])
        for one in alarm["Metrics"]
        if "MetricStat" in one
    }
    if all(value is None for value in known.values()):
        return None
    filled = set(re.findall(r"FILL\((\w+),", expression))
    if any(value is None for name, value in known.items() if name not in filled):
        return None
    assert alarm["ComparisonOperator"] == "GreaterThanOrEqualToThreshold"
    functions: dict[str, Any] = {"FILL": lambda a, b: b if a is None else a, "IF": lambda when, a, b: a if when else b}
    return float(eval(expression, {"__builtins__": {}}, {**functions, **known}))
