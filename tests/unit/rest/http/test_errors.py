"""The table of errors: each of ours has a status, a body and the right headers (API 1.6)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hibernaut.rest.http.errors import NO_RETRY, body_of, headers_of, status_of, validation_body
from hibernaut.schemas import errors
from hibernaut.schemas.agents.erasure_faults import ErasureRunning
from hibernaut.schemas.errors import HibernautError, ModelError
from hibernaut.schemas.faults.run_faults import RunUnreadable
from hibernaut.schemas.faults.secret_errors import SecretUnreadable
from hibernaut.schemas.memory.version_faults import VersionConflict


def tree(kind: type[HibernautError] = HibernautError) -> Iterator[type[HibernautError]]:
    """The errors by their names: `__subclasses__` has the order of the imports, and each worker of pytest has its own."""
    yield kind
    for child in sorted(kind.__subclasses__(), key=lambda child: child.__name__):
        yield from tree(child)


def made(kind: type[HibernautError]) -> HibernautError:
    if kind in (errors.Busy, errors.ApprovalPending):
        return kind("busy", "run-1")  # type: ignore[call-arg]
    if kind is errors.NewerFormat:
        return errors.NewerFormat(2, 1)
    if kind is RunUnreadable:
        return RunUnreadable("run-1", 2.0)
    if issubclass(kind, errors.Unavailable):
        return kind("busy", retry_after=1.5)
    if kind is errors.Unauthenticated:
        return errors.Unauthenticated("expired", "Ask for another one.")
    if kind is errors.RouteNotServed:
        return errors.RouteNotServed("GET /v1/x", "What it does.", "Why not.")
    if kind is errors.BudgetExceeded:
        return errors.BudgetExceeded("used up", budget="steps_per_day", subject="tenant", resets_at=None, retry_after=1)
    if kind is errors.ReplyTooLarge:
        return errors.ReplyTooLarge(2, 1)
    if kind is ErasureRunning:
        return ErasureRunning("running", "erasure-1")
    if kind is SecretUnreadable:
        return SecretUnreadable("KEY", "agent-1")
    if kind is VersionConflict:
        return VersionConflict("changed", 3)
    return kind("why")


@pytest.mark.parametrize("kind", list(tree()), ids=lambda kind: kind.__name__)
def test_every_error_has_a_status_and_a_body(kind: type[HibernautError]) -> None:
    error = made(kind)
    assert 400 <= status_of(error) <= 504
    body = body_of(error)
    assert body.keys() in (
        {"detail"},
        {"detail", "run_id"},
        {"detail", "code"},
        {"detail", "code", "run_id"},
        {"detail", "code", "current_version"},
        {"detail", "code", "erasure_id"},
        {"detail", "code", "route"},
        {"detail", "code", "budget", "subject", "resets_at"},
        {"error"},
    )


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.NotFound("x"), 404),
        (errors.InvalidToolSource("x", 3), 400),
        (errors.NameTaken("x"), 400),
        (errors.Unprocessable("x"), 422),
        (errors.Busy("x", "run-1"), 409),
        (errors.ApprovalPending("x", "message-1"), 409),
        (errors.LogExpired("x"), 410),
        (errors.NotImplementedHere("x"), 501),
        (errors.ModelTimeout("x"), 504),
        (errors.ModelOverloaded("x"), 503),
        (errors.ModelConnection("x"), 500),
        (errors.InvalidModelResponse("x"), 500),
        (errors.ContextWindowExceeded("x"), 400),
        (errors.StoreUnavailable("x", 1.5), 503),
        (errors.ForeignHost("x"), 403),
        (errors.ModelCredits("x"), 402),
    ],
    ids=lambda value: type(value).__name__,
)
def test_statuses_are_lettas(error: HibernautError, status: int) -> None:
    assert status_of(error) == status


def test_a_busy_conversation_names_its_run() -> None:
    assert body_of(errors.Busy("busy", "run-1")) == {"detail": "busy", "run_id": "run-1"}


def test_a_pending_approval_names_the_message_that_asks_for_it() -> None:
    assert body_of(errors.ApprovalPending("CONFLICT: …", "message-1")) == {
        "detail": {"code": "PENDING_APPROVAL", "message": "CONFLICT: …", "pending_request_id": "message-1"}
    }


def test_a_providers_failure_is_told_apart_from_ours() -> None:
    body = body_of(errors.ModelRateLimit("RATE_LIMIT_EXCEEDED: slow down"))
    assert body["error"]["type"] == "llm_rate_limit"
    assert body["error"]["detail"] == "RATE_LIMIT_EXCEEDED: slow down"


@pytest.mark.parametrize("kind", [kind for kind in tree() if issubclass(kind, ModelError | errors.Conflict | RunUnreadable)])
def test_what_would_end_the_same_is_not_sent_again(kind: type[HibernautError]) -> None:
    assert headers_of(made(kind)) == NO_RETRY


def test_a_rate_limit_says_when_to_come_back() -> None:
    assert headers_of(errors.ModelRateLimit("x", retry_after=1.2)) == NO_RETRY | {"retry-after": "2"}


def test_other_errors_leave_the_client_its_own_mind() -> None:
    assert headers_of(errors.NotFound("x")) == {}


def test_an_example_is_given_for_malformed_ids_only() -> None:
    pattern = "^mcp_server-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"
    malformed = {"type": "string_pattern_mismatch", "ctx": {"pattern": pattern}}
    other = {"type": "string_pattern_mismatch", "ctx": {"pattern": "^[a-z]+$"}}
    assert validation_body([other, malformed])["examples"] == ["mcp_server-123e4567-e89b-42d3-8456-426614174000"]
    assert "examples" not in validation_body([other])
