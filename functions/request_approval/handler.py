"""Begins the wait for an approval: notes the name by which whoever answers ends it. What was answered already is not waited for."""

from __future__ import annotations

from functions.events import Heartbeat, LambdaContext, faults_named
from functions.log import log
from hibernaut.schemas.base import JsonObject
from hibernaut.services.per_tenant import PerTenant
from hibernaut.services.turns.approvals import ApprovalAnswers
from hibernaut.wiring import aws


def handler(event: JsonObject, context: LambdaContext, approvals: PerTenant[ApprovalAnswers] | None = None) -> JsonObject:
    """The state machine does not read the answer: it waits for the token. Raises: Retryable, StepFailed, and ValueError without a token."""
    beat = Heartbeat.model_validate(event)
    if not beat.token:
        raise ValueError("a wait has a token")
    approvals = approvals or aws.approvals()
    with faults_named(beat.run_id):
        approvals.of(beat.tenant).wait(beat.run_id, beat.token)
    log().info("approval awaited", extra={"run_id": beat.run_id, "request_id": context.aws_request_id})
    return {"tenant": beat.tenant, "run_id": beat.run_id}
