"""Reduces a window by a summary. If this fails in any way, the state machine makes the step drop old turns instead."""

from __future__ import annotations

from functions.events import LambdaContext, Receipt, beat_of, faults_named, receipt_of
from functions.log import correlated, log
from hibernaut.schemas.base import JsonObject
from hibernaut.wiring import aws
from hibernaut.wiring.run_engine import RunEngines

STATES = 2
"""The transitions of an invocation: the state that calls the function, and the choice that follows."""


@correlated
def handler(event: JsonObject, context: LambdaContext, engines: RunEngines | None = None) -> Receipt:
    """Summarize the window of the run's conversation. Raises: Retryable, StepFailed."""
    beat = beat_of(event)
    engines = engines or aws.engines()
    with engines.meter.invocation(transitions=STATES), faults_named():
        compactions = engines.of(beat.tenant).compactions
        advanced = compactions.compact(beat.run_id, time_left=lambda: context.get_remaining_time_in_millis() / 1000)
    log().info("summary ended", extra={"next": advanced.next})
    return receipt_of(beat, advanced)
