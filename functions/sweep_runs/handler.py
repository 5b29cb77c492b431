"""The sweep, fired once a minute by the scheduler: starts again what was lost on the way, and closes what never ends."""

from __future__ import annotations

from functions.events import LambdaContext
from functions.log import log
from hibernaut.schemas.base import JsonObject
from hibernaut.services.sweep import Sweep
from hibernaut.wiring import aws


def handler(event: JsonObject, context: LambdaContext, sweep: Sweep | None = None) -> JsonObject:
    """What it did, in numbers. An error is counted by the alarm and kept as a dead letter; the next minute brings another sweep."""
    swept = (sweep or aws.sweep()).run()
    fields = {"started": swept.started, "closed": swept.closed, "scheduled_at": event.get("at")}
    log().info("runs swept", extra={**fields, "request_id": context.aws_request_id})
    return {"started": swept.started, "closed": swept.closed}
