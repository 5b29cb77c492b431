"""One event of the WebSocket API: a handshake, a message or an end; or the job of a worker, which an earlier message has
started.
"""

from __future__ import annotations

import asyncio

from functions.events import LambdaContext
from functions.log import correlated
from hibernaut.adapters.sockets.lambda_worker import LambdaWorkers
from hibernaut.rest.sockets.gateway import GatewaySockets
from hibernaut.schemas.base import JsonObject
from hibernaut.wiring.aws_functions.sockets import sockets as deployed


@correlated
def handler(event: JsonObject, context: LambdaContext, sockets: GatewaySockets | None = None) -> JsonObject:
    """Handle the event. What goes wrong with a message is posted to its connection; the answer only says that the event was
    handled.
    """
    sockets, workers = sockets or deployed(), LambdaWorkers(context.invoked_function_arn)
    if "worker" in event:
        asyncio.run(sockets.work(event, workers))
        return {}
    about = event["requestContext"]
    match about["eventType"]:
        case "CONNECT":
            return asyncio.run(sockets.connect(event))
        case "DISCONNECT":
            sockets.disconnect(about["connectionId"])
        case _:
            text = None if event.get("isBase64Encoded") else event["body"]
            asyncio.run(sockets.message(about["connectionId"], text, workers))
    return {"statusCode": 200}
