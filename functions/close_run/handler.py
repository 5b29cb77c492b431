"""Ends a run after the last failed attempt of a step, so that its conversation is free and its caller receives a response."""

from __future__ import annotations

from functions.events import LambdaContext, beat_of, faults_named
from functions.log import correlated, log
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.stop import StopReason
from hibernaut.wiring import aws
from hibernaut.wiring.run_engine import RunEngines


@correlated
def handler(event: JsonObject, _context: LambdaContext, engines: RunEngines | None = None) -> JsonObject:
    """End the run. Does nothing for a run that has ended or does not exist. Raises: Retryable, StepFailed."""
    beat = beat_of(event)
    fields = {"error": beat.error}
    engines = engines or aws.engines()
    with faults_named():
        try:
            engines.of(beat.tenant).termination.end(beat.run_id, StopReason.ERROR)
        except NotFound:
            log().warning("no such run to close", extra=fields)
        else:
            log().warning("run closed", extra=fields)
    return {"tenant": beat.tenant, "run_id": beat.run_id}
