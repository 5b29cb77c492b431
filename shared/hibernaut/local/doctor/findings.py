"""What the doctor finds: the result of each check, its order, and how it is printed.

Knows the terminal. Must not know what is checked. A check is independent of all others: one that may not call AWS names the
missing permission, and the next one begins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Generic, Literal, TypeVar

from hibernaut.schemas.immutable import immutable

Level = Literal["ok", "note", "warning", "failure", "unknown"]
"""note: worth knowing. warning: works, and will or may fail. failure: does not work. unknown: could not be checked."""
MARKS: dict[Level, str] = {"ok": "ok", "note": "note", "warning": "WARNING", "failure": "FAILURE", "unknown": "unknown"}
_ACTION = re.compile(r"not authorized to perform: ([A-Za-z0-9-]+:[A-Za-z0-9]+)")
DENIED = ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthorizationError", "AuthorizationErrorException")
P = TypeVar("P")


@immutable
class Finding:
    """The result of a check. `text` says what is so, `advice` what to do."""

    check: str
    level: Level
    text: str
    advice: str = ""


@immutable
class Examination(Generic[P]):
    """A check of a place. `run` yields pairs of level and text, or triples with an advice."""

    name: str
    run: Callable[[P], Iterator[tuple[Level, str] | tuple[Level, str, str]]]


def findings_of(checks: Sequence[Examination[P]], place: P, failed: Callable[[Exception], str | None]) -> list[Finding]:
    """All findings. `failed` explains an exception that a check may raise; None: it is a defect of the check, which is raised."""
    found: list[Finding] = []
    for check in checks:
        try:
            found += [Finding(check.name, *result) for result in check.run(place)]
        except Exception as error:
            reason = failed(error)
            if reason is None:
                raise
            found.append(Finding(check.name, "unknown", reason))
    return found


def aws_failure(error: Exception) -> str | None:
    """An error of AWS in one line; a refusal names the permission that is missing. None: it is no error of AWS."""
    from botocore.exceptions import BotoCoreError, ClientError

    if isinstance(error, ClientError):
        answer = error.response.get("Error", {})
        code, message = str(answer.get("Code", "Error")), str(answer.get("Message", ""))
        if code in DENIED:
            action = _ACTION.search(message)
            return f"not checked: you may not {action[1] if action else error.operation_name}"
        return f"not checked: {error.operation_name} answered {code}: {message}"
    return f"not checked: AWS cannot be called: {error}" if isinstance(error, BotoCoreError) else None


def printed(title: str, findings: Sequence[Finding], *, as_json: bool) -> str:
    """The findings as text or as JSON. Lines of the text begin with the level."""
    if as_json:
        return json.dumps({"title": title, "healthy": healthy(findings), "findings": [asdict(one) for one in findings]}, indent=1)
    lines = [title]
    for one in findings:
        lines.append(f"  {MARKS[one.level]:<8}{one.check}: {one.text}")
        if one.advice:
            lines.append(f"          → {one.advice}")
    wrong = sum(one.level in ("warning", "failure") for one in findings)
    unknown = sum(one.level == "unknown" for one in findings)
    missing = f"; {unknown} could not be checked" if unknown else ""
    lines.append(f"{'Nothing is wrong' if not wrong else f'{wrong} found'}{missing}.")
    return "\n".join(lines)


def healthy(findings: Sequence[Finding]) -> bool:
    """Whether nothing is wrong and everything could be checked."""
    return all(one.level in ("ok", "note") for one in findings)
