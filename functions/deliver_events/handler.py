"""Passes events on: to webhooks, and to the event bus if the deployment has one. The table's change stream names what was just
written, and the sweep what is due.

An item that fails stays due in the table, and the sweep names it again. So nothing depends on a single invocation, and no failure
blocks the stream.
"""

from __future__ import annotations

from functions.events import LambdaContext
from functions.log import correlated, log
from hibernaut.adapters.events.lambda_function import places_in
from hibernaut.adapters.table.dynamodb_stream import lag_of, record_of
from hibernaut.schemas.base import JsonObject
from hibernaut.services.events.relay_worker import RelayWorker
from hibernaut.wiring import aws


@correlated
def handler(event: JsonObject, context: LambdaContext, worker: RelayWorker | None = None) -> JsonObject:
    """Handle `Records` of the change stream, or the `places` that the sweep hands over. Returns the numbers of handled and of
    remaining items.
    """
    records = event.get("Records", [])
    places = [record_of(record["dynamodb"]).key for record in records] or places_in(event)
    handled = (worker or aws.event_worker()).run(places, time_left=lambda: context.get_remaining_time_in_millis() / 1000)
    counted = {"done": handled, "left": len(places) - handled}
    log().info("events handled", extra=counted | lag_of(records))
    return counted
