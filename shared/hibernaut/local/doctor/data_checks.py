"""Checks of the records of a deployment: runs that do not end, work that the sweep does not reach, and API keys."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from hibernaut.local.doctor.stack_checks import Result
from hibernaut.wiring.inspection import Inspection

OLD = timedelta(hours=1)
OVERDUE_MS = 5 * 60_000
"""The sweep comes once a minute, and postpones what it cannot handle."""


def open_runs(records: Inspection) -> Iterator[Result]:
    """The oldest open run of each tenant, if it is older than an hour."""
    now, found = datetime.now(UTC), records.oldest_open_runs()
    old = [run for run in found if now - run.created_at > OLD]
    for run in old:
        minutes = (now - run.created_at) // timedelta(minutes=1)
        text = f"{run.id} of the tenant {run.tenant} is open for {minutes:,} minutes ({run.status}, {run.steps} steps)"
        yield (
            "warning",
            text,
            "see OpenRuns in docs/operations.md: a long run may be fine; hibernaut redrive --runs starts runs that wait",
        )
    if not old:
        yield "ok", "no run is open for longer than an hour"


def overdue(records: Inspection) -> Iterator[Result]:
    """Whether the sweep reaches what is due."""
    late = records.overdue_ms()
    if late > OVERDUE_MS:
        yield "failure", f"the sweep is {late // 60_000:,} minutes late", "see SweepErrors and SweepMissing in docs/operations.md"
    else:
        yield "ok", "the sweep reaches what is due"


def api_keys(records: Inspection) -> Iterator[Result]:
    """The usable API keys by scope: without one of the scope admin nobody can create others over the API."""
    found = records.usable_keys()
    text = ", ".join(f"{count} {scope}" for scope, count in found.items())
    if not sum(found.values()):
        yield "failure", "there is no usable API key: every request answers 401", "hibernaut keys create --scope admin"
    elif not found["admin"]:
        yield "warning", f"usable API keys: {text}", "hibernaut keys create --scope admin"
    else:
        yield "ok", f"usable API keys: {text}"
