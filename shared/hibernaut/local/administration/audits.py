"""`hibernaut audit`: checks the chains of versions of a data folder or of a deployed stack, and prints their heads.

Knows the terminal; must not know how versions are stored.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from hibernaut.local.administration.stack_outputs import aws_errors, outputs_of
from hibernaut.local.profiles import CannotServe
from hibernaut.ports.storage.table import TableError
from hibernaut.schemas.errors import HibernautError
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.version import ChainReport, NotedHead
from hibernaut.services.memory.memory_audit import MemoryAudit, summary
from hibernaut.wiring.data_folder import TABLE
from hibernaut.wiring.memory_audits import audit_of_folder, audit_of_stack
from hibernaut.wiring.settings import EmbeddedSettings

OUTPUTS = ("TableName", "BucketName")
HEAD = set(NotedHead.model_fields)


@immutable
class AuditPlace:
    """What is audited: a tenant, or one of its agents, in a data folder or in the stack of an environment. `data` None: the
    environment's setting applies.
    """

    tenant: str
    agent: str | None = None
    data: str | None = None
    env: str | None = None


def verify(place: AuditPlace, against: str | None, *, as_json: bool) -> int:
    """Check all chains and print the broken ones; returns the exit code: 1 if there are any. Raises: CannotServe, BadSetting."""
    noted = _noted(against) if against else ()
    with _opened(place) as audit:
        reports = list(audit.check(agent_id=place.agent, noted=noted))
    broken = [report for report in reports if report.fault]
    if as_json:
        result = {"records": len(reports), "summary": summary(reports), "broken": [report.model_dump() for report in broken]}
        print(json.dumps(result, indent=1))
    else:
        for report in broken:
            print(f"BROKEN {report.kind} {report.subject}, {report.fault}")
        for report in reports:
            if report.erasure and not report.fault:
                print(f"ERASED {report.kind} {report.subject}, at version {report.version}, by {report.erasure}")
        print(_summary_line(reports, broken))
    return 1 if broken else 0


def print_heads(place: AuditPlace) -> int:
    """Print the newest version of each record as JSON, and their summary to the standard error. Raises: CannotServe,
    BadSetting.
    """
    with _opened(place) as audit:
        reports = list(audit.check(agent_id=place.agent))
    print("[" + ",\n ".join(report.model_dump_json(include=HEAD) for report in reports if report.version) + "]")
    broken = [report for report in reports if report.fault]
    print(_summary_line(reports, broken), file=sys.stderr)
    return 1 if broken else 0


def _summary_line(reports: list[ChainReport], broken: list[ChainReport]) -> str:
    state = f"{len(broken)} of {len(reports)} chains are broken" if broken else f"All {len(reports)} chains hold"
    return f"{state}. Summary of the heads: {summary(reports)}"


def _noted(file: str) -> list[NotedHead]:
    try:
        return TypeAdapter(list[NotedHead]).validate_json(Path(file).read_bytes())
    except OSError as error:
        raise CannotServe(f"{file} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        raise CannotServe(f"{file} is not what hibernaut audit heads prints: {error.errors()[0]['msg']}", 2) from error


@contextmanager
def _opened(place: AuditPlace) -> Iterator[MemoryAudit]:
    """Raises: CannotServe, also for every error of the body."""
    try:
        if place.env is not None:
            with aws_errors():
                yield _of_stack(place.env, place.tenant)
            return
        data = Path(place.data).expanduser() if place.data is not None else EmbeddedSettings.from_environment().data
        if not (data / TABLE).is_file():
            raise CannotServe(f"{data} holds no agents: there is nothing to audit")
        with audit_of_folder(data, place.tenant) as audit:
            yield audit
    except TableError as error:
        raise CannotServe(str(error)) from error
    except HibernautError as error:
        raise CannotServe(error.detail) from error


def _of_stack(env: str, tenant: str) -> MemoryAudit:
    name = f"hibernaut-{env}"
    outputs = outputs_of(name)
    if missing := [output for output in OUTPUTS if output not in outputs]:
        raise CannotServe(f"the stack {name} has no output {missing[0]}; deploy this version of Hibernaut first")
    return audit_of_stack(outputs["TableName"], outputs["BucketName"], tenant)
