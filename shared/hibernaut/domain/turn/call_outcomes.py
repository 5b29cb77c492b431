"""The outcomes of the calls of a step, for the record of calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from hibernaut.domain.turn.actor import Call, CallResult
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.runs.approval import Resolution, Verdict
from hibernaut.schemas.tools.tool_policy import PolicyOutcome


@immutable
class ToolCallOutcome:
    """The outcome of one call. `status`: that of its result; None: it has none yet."""

    call: Call
    outcome: PolicyOutcome
    status: Literal["success", "error"] | None = None


def of_results(results: Sequence[CallResult]) -> tuple[ToolCallOutcome, ...]:
    """The outcomes of calls that returned."""
    return tuple(ToolCallOutcome(result.call, _outcome(result), result.status) for result in results)


def of_waiting(calls: Sequence[Call]) -> tuple[ToolCallOutcome, ...]:
    """The outcomes of a reply whose calls wait: the others of the reply have theirs when the answer has come."""
    return tuple(ToolCallOutcome(call, "asked") for call in calls if call.needs_approval)


def of_interrupted(results: Sequence[CallResult]) -> tuple[ToolCallOutcome, ...]:
    """The outcomes of calls whose run was ended."""
    return tuple(ToolCallOutcome(result.call, "interrupted", result.status) for result in results)


def of_resolution(resolution: Resolution, results: Sequence[CallResult]) -> tuple[ToolCallOutcome, ...]:
    """The outcomes of calls that an answer has resolved; `results` in the order of the verdicts."""
    pairs = zip(resolution.verdicts, results, strict=True)
    return tuple(ToolCallOutcome(result.call, _answered(verdict, result), result.status) for verdict, result in pairs)


def _outcome(result: CallResult) -> PolicyOutcome:
    decision = result.call.decision
    if result.call.refusal is not None:
        return "denied" if decision is not None and decision.action == "deny" else "invalid"
    return "limited" if result.limited else "allowed"


def _answered(verdict: Verdict, result: CallResult) -> PolicyOutcome:
    match verdict.decision:
        case "deny":
            return "rejected"
        case "given":
            return "returned"
        case "run":
            outcome = _outcome(result)
            return "approved" if outcome == "allowed" and verdict.call.held else outcome
