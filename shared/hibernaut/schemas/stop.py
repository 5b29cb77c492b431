"""The stop reasons of a run and the resulting statuses (Letta V1 API, API 4.7; RT 2.7).

`budget_exceeded` is an addition to V1.
"""

from __future__ import annotations

from enum import StrEnum


class StopReason(StrEnum):
    """Why a run stopped."""

    END_TURN = "end_turn"
    MAX_STEPS = "max_steps"
    TOOL_RULE = "tool_rule"
    REQUIRES_APPROVAL = "requires_approval"
    CANCELLED = "cancelled"
    ERROR = "error"
    LLM_API_ERROR = "llm_api_error"
    INVALID_LLM_RESPONSE = "invalid_llm_response"
    INVALID_TOOL_CALL = "invalid_tool_call"
    MAX_TOKENS_EXCEEDED = "max_tokens_exceeded"
    NO_TOOL_CALL = "no_tool_call"
    BUDGET_EXCEEDED = "budget_exceeded"
    INSUFFICIENT_CREDITS = "insufficient_credits"
    CONTEXT_WINDOW_OVERFLOW_IN_SYSTEM_PROMPT = "context_window_overflow_in_system_prompt"


class RunStatus(StrEnum):
    """The statuses of a run."""

    CREATED = "created"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENDED = frozenset({RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED})
_COMPLETED = frozenset(
    {
        StopReason.BUDGET_EXCEEDED,
        StopReason.END_TURN,
        StopReason.MAX_STEPS,
        StopReason.REQUIRES_APPROVAL,
        StopReason.TOOL_RULE,
    }
)


def status_after(reason: StopReason) -> RunStatus:
    """The terminal status of a run with this stop reason."""
    if reason in _COMPLETED:
        return RunStatus.COMPLETED
    return RunStatus.CANCELLED if reason is StopReason.CANCELLED else RunStatus.FAILED
