"""The sweep, which the scheduler invokes once a minute: it restarts overdue runs, and closes runs that do not end.

EventBridge invokes it too when an execution failed, timed out or was stopped. Then it handles that one run at once.
"""

from __future__ import annotations

from functions.events import Heartbeat, LambdaContext
from functions.log import correlated, log
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import HibernautError
from hibernaut.services.runs.sweep import Sweep
from hibernaut.wiring import aws

HOURLY = ":00:00Z"
"""The end of the scheduler's times of full hours."""


@correlated
def handler(event: JsonObject, context: LambdaContext, sweep: Sweep | None = None) -> JsonObject:
    """Sweep, handle the run of a failed execution, or restart all runs that wait (`restart`, by an operator). Returns the numbers
    of restarted and closed runs.

    An exception counts for the alarm and becomes a dead letter; the next sweep follows within a minute.
    """
    sweep = sweep or aws.sweep()
    failed = event.get("detail")
    if "restart" in event:
        swept = sweep.restart_waiting(time_left=lambda: context.get_remaining_time_in_millis() / 1000)
        fields: JsonObject = {"started": swept.started, "closed": swept.closed}
    elif failed is None:
        swept = sweep.run(time_left=lambda: context.get_remaining_time_in_millis() / 1000)
        fields = {"started": swept.started, "closed": swept.closed, "scheduled_at": event.get("at")}
        _remove_orphans(event, context)
    else:
        run = Heartbeat.model_validate_json(failed["input"])
        swept = sweep.of(run.tenant).take_up_one(run.run_id, after=sweeps_of(failed["name"]))
        fields = {"started": swept.started, "closed": swept.closed, "run_id": run.run_id, "status": failed["status"]}
    log().info("sweep ended", extra=fields)
    return {"started": swept.started, "closed": swept.closed}


def _remove_orphans(event: JsonObject, context: LambdaContext) -> None:
    """Once an hour: remove the alarms of deleted schedules from EventBridge. A failure is logged; the next sweep tries again."""
    if not str(event.get("at", "")).endswith(HOURLY):
        return
    try:
        from hibernaut.wiring.aws_functions.firing import reconciliation  # once an hour

        reconciliation().run(time_left=lambda: context.get_remaining_time_in_millis() / 1000)
    except HibernautError as error:
        log().error("alarms could not be compared", extra={"error": error.code})


def sweeps_of(execution: str) -> int:
    """The number of times that the sweep had resumed the run before the execution with this name: n in `<run id>.<n>`, 0
    without a number.
    """
    return int(execution.partition(".")[2] or 0)
