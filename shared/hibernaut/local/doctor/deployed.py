"""`hibernaut doctor --env`: checks a deployed stack with the user's AWS credentials. It changes nothing and prints no secret."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hibernaut.local.administration.deployment import DeployedResources
from hibernaut.local.doctor import data_checks, service_checks, stack_checks
from hibernaut.local.doctor.findings import Examination, Finding, aws_failure, findings_of
from hibernaut.local.doctor.stack_checks import Result
from hibernaut.local.profiles import CannotServe
from hibernaut.ports.storage.table import TableError
from hibernaut.schemas.errors import HibernautError
from hibernaut.wiring.inspection import Inspection, inspection_of_stack


def _of_records(check: Callable[[Inspection], Iterator[Result]]) -> Callable[[DeployedResources], Iterator[Result]]:
    def run(place: DeployedResources) -> Iterator[Result]:
        yield from check(inspection_of_stack(place.output("TableName"), place.output("BucketName")))

    return run


CHECKS: tuple[Examination[DeployedResources], ...] = (
    Examination("stack", stack_checks.stack),
    Examination("version", stack_checks.version),
    Examination("clock", stack_checks.clock),
    Examination("table", stack_checks.table),
    Examination("bucket", stack_checks.bucket),
    Examination("schedules", service_checks.schedules),
    Examination("dead letters", service_checks.dead_letters),
    Examination("alarms", service_checks.alarms),
    Examination("functions", service_checks.functions),
    Examination("executions", service_checks.workflow),
    Examination("secrets", service_checks.secrets),
    Examination("models", service_checks.models),
    Examination("index", service_checks.index),
    Examination("open runs", _of_records(data_checks.open_runs)),
    Examination("overdue work", _of_records(data_checks.overdue)),
    Examination("API keys", _of_records(data_checks.api_keys)),
)


def diagnosed(place: DeployedResources) -> list[Finding]:
    """The findings of all checks. Raises: CannotServe if there is no such stack."""
    _ = place.outputs
    return findings_of(CHECKS, place, _failure)


def _failure(error: Exception) -> str | None:
    cause = error.__cause__  # The table translates the errors of AWS.
    reason = aws_failure(cause) if isinstance(cause, Exception) else None
    if reason is None and isinstance(error, CannotServe | TableError | HibernautError):
        return f"not checked: {error}"
    return reason or aws_failure(error)
