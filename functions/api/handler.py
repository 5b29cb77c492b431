"""The REST API behind API Gateway: converts the gateway's event to a request of the app, which is the same in every profile."""

from __future__ import annotations

from fastapi import FastAPI
from mangum import Mangum

from functions.events import LambdaContext
from functions.log import correlated
from hibernaut.schemas.base import JsonObject
from hibernaut.wiring import aws


@correlated
def handler(event: JsonObject, context: LambdaContext, app: FastAPI | None = None) -> JsonObject:
    """Serve one request. Every result is an HTTP response; the gateway converts an uncaught exception to a 502."""
    answer: JsonObject = Mangum(app or aws.api_app(), lifespan="off")(event, context)  # type: ignore[arg-type]
    return answer
