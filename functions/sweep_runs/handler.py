"""The sweep, fired once a minute by the scheduler: starts again what was lost on the way, and closes what never ends.

EventBridge calls it as well when an execution failed, timed out or was stopped: then it looks at that one run, at once.
"""

from __future__ import annotations

from functions.events import Heartbeat, LambdaContext
from functions.log import log
from hibernaut.schemas.base import JsonObject
from hibernaut.services.runs.sweep import Sweep
from hibernaut.wiring import aws


def handler(event: JsonObject, context: LambdaContext, sweep: Sweep | None = None) -> JsonObject:
    """What it did, in numbers. An error is counted by the alarm and kept as a dead letter; the next minute brings another sweep."""
    sweep = sweep or aws.sweep()
    failed = event.get("detail")
    if failed is None:
        swept = sweep.run()
        fields: JsonObject = {"started": swept.started, "closed": swept.closed, "scheduled_at": event.get("at")}
    else:
        run = Heartbeat.model_validate_json(failed["input"])
        swept = sweep.of(run.tenant).take_up_one(run.run_id, after=takings(failed["name"]))
        fields = {"started": swept.started, "closed": swept.closed, "run_id": run.run_id, "status": failed["status"]}
    log().info("runs swept", extra={**fields, "request_id": context.aws_request_id})
    return {"started": swept.started, "closed": swept.closed}


def takings(execution: str) -> int:
    """How often the run had been taken up when its execution of this name began: `<run id>.<n>`, the first one without a number."""
    return int(execution.partition(".")[2] or 0)
