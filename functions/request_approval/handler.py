"""Begins the wait for an approval: stores the task token with which the answer ends the wait. If the approval is already
answered, the wait ends at once.
"""

from __future__ import annotations

from functions.events import LambdaContext, beat_of, faults_named
from functions.log import correlated, log
from hibernaut.schemas.base import JsonObject
from hibernaut.services.per_tenant import PerTenant
from hibernaut.services.turns.approvals import ApprovalAnswers
from hibernaut.wiring import aws


@correlated
def handler(event: JsonObject, _context: LambdaContext, approvals: PerTenant[ApprovalAnswers] | None = None) -> JsonObject:
    """Begin the wait. The state machine ignores the reply and waits for the token.

    Raises: Retryable, StepFailed; ValueError if the event has no token.
    """
    beat = beat_of(event)
    if not beat.token:
        raise ValueError("a wait has a token")
    approvals = approvals or aws.approvals()
    with faults_named():
        approvals.of(beat.tenant).wait(beat.run_id, beat.token)
    log().info("approval awaited")
    return {"tenant": beat.tenant, "run_id": beat.run_id}
