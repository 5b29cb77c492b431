"""One heartbeat: performs the run's next step and answers what comes after it."""

from __future__ import annotations

from typing import TypedDict

from functions.events import Heartbeat, LambdaContext, retried_by_the_workflow
from functions.log import log
from hibernaut.ports.workflow import Next
from hibernaut.schemas.base import JsonObject
from hibernaut.services.turns import Turns
from hibernaut.wiring import aws


class Receipt(TypedDict):
    """The state machine's next state: ids and counters only."""

    tenant: str
    run_id: str
    next: Next
    steps: int


def handler(event: JsonObject, context: LambdaContext, turns: Turns | None = None) -> Receipt:
    """Raises: Retryable, and NotFound for a run that there is not."""
    beat = Heartbeat.model_validate(event)
    with retried_by_the_workflow():
        turns = turns or aws.turns()
        advanced = turns.advance(beat.tenant, beat.run_id, time_left=lambda: context.get_remaining_time_in_millis() / 1000)
    log().info(
        "turn advanced",
        extra={
            "run_id": beat.run_id,
            "next": advanced.next,
            "steps": advanced.steps,
            "request_id": context.aws_request_id,
        },
    )
    return {"tenant": beat.tenant, "run_id": beat.run_id, "next": advanced.next, "steps": advanced.steps}
