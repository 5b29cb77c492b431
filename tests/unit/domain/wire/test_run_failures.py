"""The error of a failed run: its type for clients, and its place in the metadata."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hibernaut.domain.wire.run_failures import error_message, shown_run
from hibernaut.schemas.runs.run import RunError, RunOptions, StoredRun


def failed(error: RunError | None, **fields: object) -> StoredRun:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return StoredRun(id="run-1", agent_id="agent-1", created_at=now, options=RunOptions(max_steps=1), error=error, **fields)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("llm_rate_limit", "llm_rate_limit"),
        ("llm_bad_request", "llm_error"),
        ("llm_empty_response", "llm_empty_response"),
        ("context_window_exceeded", "context_window_overflow_in_system_prompt"),
        ("internal_error", "internal_error"),
    ],
)
def test_an_error_has_a_type_that_clients_know(code: str, kind: str) -> None:
    assert error_message("run-1", RunError(code=code, message="Why.")).error_type == kind


def test_the_error_stands_beside_the_other_metadata() -> None:
    shown = shown_run(failed(RunError(code="internal_error", message="Why."), metadata={"run_type": "send_message"}))
    assert shown.metadata is not None
    assert shown.metadata["run_type"] == "send_message"
    assert shown.metadata["error"]["detail"] == "Why."
    assert shown_run(failed(RunError(code="internal_error", message="Why."))).metadata is not None


def test_a_run_without_an_error_has_its_own_metadata() -> None:
    assert shown_run(failed(None, metadata={"run_type": "send_message"})).metadata == {"run_type": "send_message"}
    assert shown_run(failed(None)).metadata is None
