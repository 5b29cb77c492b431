"""A small load with faults in every service: every accepted message has one run, every run has ended, and the bill is counted."""

from __future__ import annotations

import pytest

from hibernaut.domain.aws_prices import cost_of
from tests.load.run import Load, LoadPlan, LoadReport, deployed

PLAN = LoadPlan(callers=4, background=2, messages=2, model_seconds=0.0, seed=35)
"""With this seed the sixth request to the table and the fourth invocation fail: the load is too small for every seed to have
faults.
"""


@pytest.fixture(scope="module")
def report() -> LoadReport:
    with deployed() as aws:
        return Load(aws, PLAN).played()


def test_nothing_is_lost_doubled_or_stuck(report: LoadReport) -> None:
    assert report.findings == []
    assert report.sent["all"] == (PLAN.callers + PLAN.background) * PLAN.messages
    assert report.sent["accepted"] <= report.runs <= report.sent["all"]


def test_the_services_have_failed(report: LoadReport) -> None:
    assert {name.split()[0] for name in report.faults} >= {"dynamodb", "invocation"}


def test_the_bill_has_all_that_the_runs_tell_and_what_their_failures_took(report: LoadReport) -> None:
    assert report.bill.write_units > 0
    assert report.told.transitions <= report.bill.transitions
    assert cost_of(report.told) <= cost_of(report.bill)
