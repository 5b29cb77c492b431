"""The page on AWS says what is so."""

from __future__ import annotations

from dataclasses import fields

import pytest

from functions.metrics import METRICS
from hibernaut.wiring.configuration.provider_variables import PROVIDER_NAMES
from infra.artifacts import ROOT
from infra.constructs.feed import BATCH_SIZE, RETAKE, TRIES
from infra.search_settings import Search
from infra.settings import GATEWAY_SECONDS, Sizes, settings_of
from tests.compat.offline_gaps import GAPS, Gap
from tests.deploy.gaps import DEPLOY_GAPS
from tests.infra.reading import Template

PAGE = (ROOT / "docs" / "aws.md").read_text(encoding="utf-8")
RUNBOOK = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
COSTS = (ROOT / "docs" / "costs.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("title", "gaps"),
    [("What it cannot show:", GAPS), ("What a rehearsal cannot show:", DEPLOY_GAPS)],
    ids=["offline", "rehearsed"],
)
def test_the_page_lists_what_cannot_be_shown_as_the_data_does(title: str, gaps: tuple[Gap, ...]) -> None:
    rows = [f"| {gap.what} | {gap.reason} | {gap.instead} |" for gap in gaps]
    section = PAGE.partition(title)[2].partition("\n## ")[0]
    assert [line for line in section.splitlines() if line.startswith("| ") and line != "| | why | instead |"] == rows


@pytest.mark.parametrize("gaps", [GAPS, DEPLOY_GAPS])
def test_each_gap_is_named_once(gaps: tuple[Gap, ...]) -> None:
    assert len({gap.id for gap in gaps}) == len(gaps)


def test_the_page_names_every_function_output_key_and_limit(dev: Template) -> None:
    names = [
        *(field.name for field in fields(Sizes)),
        *PROVIDER_NAMES,
        *(name for name in dev.document["Outputs"] if "Rest" not in name),
    ]
    assert [name for name in names if f"`{name}`" not in PAGE] == []
    assert f"{GATEWAY_SECONDS} seconds" in PAGE


def test_the_page_tells_how_environments_differ() -> None:
    kept = next(line for line in PAGE.splitlines() if line.startswith("| logs are kept"))
    assert (
        kept
        == "| logs are kept | " + " | ".join(f"{settings_of(name).log_days} days" for name in ("dev", "staging", "prod")) + " |"
    )


def test_the_runbook_has_a_paragraph_for_every_alarm(dev: Template) -> None:
    alarms = dev.of_type("AWS::CloudWatch::Alarm")
    assert alarms
    assert all(f"\n### {name.removeprefix('Alarms')[:-8]}\n" in RUNBOOK for name in alarms)


def test_the_page_on_costs_counts_the_alarms_and_their_metrics(dev: Template) -> None:
    queries = [
        [query for query in alarm["Properties"].get("Metrics", ()) if "MetricStat" in query]
        for name, alarm in dev.of_type("AWS::CloudWatch::Alarm").items()
        if "IndexLag" not in name  # only with an index; the page counts it there
    ]
    metrics = sum(len(one) or 1 for one in queries)
    assert f"| {len(queries)}, over {metrics} metrics at 0.10 each | {metrics / 10:.2f} |" in COSTS


def test_the_runbook_names_every_metric_of_the_functions() -> None:
    assert [one.name for metrics in METRICS.values() for one in metrics if f"`{one.name}`" not in RUNBOOK] == []


def test_the_page_names_every_wish_of_a_deployment_with_what_is_usual() -> None:
    usual = Search()
    row = next(line for line in PAGE.splitlines() if line.startswith("| `searchInstance`"))
    assert row.endswith(f"| `{usual.instance}`, {usual.count}, {usual.volume} |")
    for word in (
        "env",
        "callers",
        "access",
        "search",
        "searchVpc",
        "embedding",
        "promptCache",
        "systemPrompt",
        "historyDays",
        "privateAddresses",
        "restDays",
        "retentionDays",
        "defaultModel",
        "followers",
        "toolTime",
        "replyTime",
        "tenantBudget",
        "otlp",
        "secretsKey",
        "dataKey",
        "hostedZone",
        "defaultEndpoint",
        "waf",
        "vpc",
        "toolNetwork",
        "tags",
        "tenantCredentials",
        "dashboard",
        "snapStart",
        "release",
        "websockets",
        "alarms",
        "bundle",
        "check",
    ):
        assert f"| `{word}` |" in PAGE
    assert f"`{usual.kind}` (the default)" in PAGE


def test_the_page_says_how_often_the_index_is_fed_again_as_the_stack_does() -> None:
    assert RETAKE == "rate(5 minutes)"
    assert "every five minutes `index_memory`" in PAGE
    assert f"batches of {BATCH_SIZE}" in PAGE
    assert "tried four times more" in PAGE
    assert TRIES == 4
