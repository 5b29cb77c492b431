"""One heartbeat: performs the run's next steps and returns the next state, or denies an overdue approval."""

from __future__ import annotations

from functions.events import LambdaContext, Receipt, beat_of, faults_named, receipt_of
from functions.log import correlated, log
from functions.snapshots import import_for_snapshot
from hibernaut.ports.runs.workflow import STEPS_PER_INVOCATION
from hibernaut.schemas.base import JsonObject
from hibernaut.services.steps.step_lease import AdvanceResult
from hibernaut.wiring import aws
from hibernaut.wiring.run_engine import RunEngines

import_for_snapshot(
    "botocore.session",
    "hibernaut.services.steps.model_step",
    "hibernaut.services.tool_calls.file_tools",
    "hibernaut.services.tool_calls.memory_tools",
    "hibernaut.services.turns.turn_engine",
    "hibernaut.services.turns.unit_of_work",
    "httpx2",
)


STATES = 2
"""The transitions of an invocation: the state that calls the function, and the choice that follows."""
TAKE_OVER = 2
"""The transitions between the death of a worker and the next one."""


@correlated
def handler(event: JsonObject, context: LambdaContext, engines: RunEngines | None = None) -> Receipt:
    """Perform steps while time is left, or deny the approval if the event says so. Raises: Retryable, StepFailed.

    A worker that replaces a dead one performs only the step that killed it: the state machine counts deaths by step.
    """
    beat = beat_of(event)
    engines = engines or aws.engines()  # outside `faults_named`: an error here is a defect of the deployment
    with engines.meter.invocation(transitions=STATES + TAKE_OVER * beat.died), faults_named():
        chain = engines.of(beat.tenant)
        if beat.deny:
            denied_by = chain.approvals.deny_overdue(beat.run_id)
            log().info("approval overdue", extra={"denied_by": denied_by})
            return receipt_of(beat, AdvanceResult("finished", 0))
        takes_over = beat.died or beat.summary_died
        advanced = chain.turns.advance(
            beat.run_id,
            time_left=lambda: context.get_remaining_time_in_millis() / 1000,
            steps=1 if takes_over else STEPS_PER_INVOCATION,
            drop=beat.drop,
            takes_over=takes_over,
        )
    log().info("turn advanced", extra={"next": advanced.next, "steps": advanced.steps})
    return receipt_of(beat, advanced)
