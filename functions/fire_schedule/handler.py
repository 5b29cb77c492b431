"""Fires schedules: the one in an event of EventBridge Scheduler, or the ones in an event of the sweep.

A failed schedule stays due in the table, and the sweep passes it on again. Nothing depends on a single invocation.
"""

from __future__ import annotations

from functions.events import LambdaContext
from functions.log import correlated, log
from hibernaut.adapters.schedules.lambda_function import places_in
from hibernaut.schemas.base import JsonObject
from hibernaut.services.schedules.firing_worker import FiringWorker
from hibernaut.wiring.aws_functions.firing import firing_worker


@correlated
def handler(event: JsonObject, context: LambdaContext, worker: FiringWorker | None = None) -> JsonObject:
    """Fire the schedule with this `tenant` and `schedule_id`, or those at the places `schedules`. Returns the numbers of fired
    and of remaining schedules.
    """
    worker = worker or firing_worker(context.invoked_function_arn)
    done = worker.run(places_in(event), time_left=lambda: context.get_remaining_time_in_millis() / 1000)
    counted: JsonObject = {"fired": done.fired, "left": done.remaining}
    log().info("schedules looked at", extra={**counted, "scheduled_at": event.get("at")})
    return counted
