"""The page of graphs: only where it is asked for, and without surprises on the bill."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from hibernaut.schemas.base import JsonObject
from infra.constructs.dashboard import WITHOUT_ERRORS, _collection
from infra.settings import settings_in
from tests.infra.reading import Template
from tests.support.native_metrics import undocumented

KIND = "AWS::CloudWatch::Dashboard"
FREE = 50
"""Metrics of a page that counts among an account's three free ones (CloudWatch pricing)."""


def graphs(template: Template) -> list[JsonObject]:
    """The widgets of the page; what is only known when it is deployed stands there as "?"."""
    body = template.only(KIND)["Properties"]["DashboardBody"]
    text = "".join(part if isinstance(part, str) else "?" for part in body["Fn::Join"][1])
    return [widget["properties"] for widget in json.loads(text)["widgets"]]


def metrics(template: Template) -> list[list[Any]]:
    """Each as it was meant: "." repeats what stands above it."""
    found: list[list[Any]] = []
    for graph in graphs(template):
        rows = graph["metrics"]
        for above, row in pairwise([[], *rows]):
            row[:] = [above[place] if value == "." else value for place, value in enumerate(row)]
        found += rows
    return found


def test_unless_it_is_asked_for_there_is_no_page(dev: Template, prod: Template) -> None:
    assert settings_in({}).dashboard is False
    assert settings_in({"dashboard": "True"}).dashboard is True
    assert not dev.of_type(KIND)
    assert not prod.of_type(KIND)


def test_the_page_shows_what_fails_waits_and_is_refused(large: Template) -> None:
    shown = {(row[0], row[1]) for row in metrics(large)}
    assert shown >= {
        *(("AWS/ApiGateway", name) for name in ("Count", "4XXError", "5XXError", "Latency")),
        *(("AWS/States", f"Executions{name}") for name in ("Started", "Failed", "TimedOut", "Aborted")),
        *(("AWS/Lambda", name) for name in ("Errors", "Throttles", "Duration", "IteratorAge", "ConcurrentExecutions")),
        *(("AWS/DynamoDB", name) for name in ("ReadThrottleEvents", "WriteThrottleEvents", "TransactionConflict")),
        ("AWS/SQS", "ApproximateNumberOfMessagesVisible"),
        ("AWS/ES", "ClusterStatus.red"),
        *(("Hibernaut", name) for name in ("QueueWait", "TimeToFirstToken", "StepOverhead", "RunsTakenUp", "OpenRunAge")),
        *(("Hibernaut", name) for name in ("BudgetsCrossed", "PointerAge")),
    }
    (errors,) = (graph for graph in graphs(large) if graph["title"] == "Errors of functions")
    assert {row[-1]["label"] for row in errors["metrics"]} == set(large.functions()) - set(WITHOUT_ERRORS)


def test_the_page_names_documented_metrics(large: Template) -> None:
    for row in metrics(large):
        given = row[-1]
        names = [value for value in row[2:] if isinstance(value, str)][::2]
        assert undocumented(row[0], row[1], frozenset(names), given.get("stat", "Average")) == "", row


def test_a_collection_shows_its_compute_units() -> None:
    shown = [(one.namespace, one.metric_name, set(one.dimensions or {}), one.statistic) for one in _collection()]
    assert [undocumented(space, name, frozenset(names), statistic) for space, name, names, statistic in shown] == ["", ""]
    assert {name for _, name, _, _ in shown} == {"IndexingOCU", "SearchOCU"}


def test_the_page_is_among_the_free_ones(large: Template) -> None:
    assert 0 < len(metrics(large)) <= FREE


def test_metrics_of_single_methods_which_cost_are_not_collected(dev: Template) -> None:
    (settings,) = dev.only("AWS::ApiGateway::Stage")["Properties"]["MethodSettings"]
    assert (settings["HttpMethod"], settings["MetricsEnabled"]) == ("*", False)
