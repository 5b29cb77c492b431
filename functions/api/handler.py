"""The REST face behind API Gateway: its event in, its answer out; the app is the same as in every profile."""

from __future__ import annotations

from fastapi import FastAPI
from mangum import Mangum

from functions.events import LambdaContext
from functions.log import log
from hibernaut.schemas.base import JsonObject
from hibernaut.wiring import aws


def handler(event: JsonObject, context: LambdaContext, app: FastAPI | None = None) -> JsonObject:
    """Every outcome is an HTTP answer; the gateway turns what the app did not foresee into a 502."""
    log()  # Before the first line of any module of ours.
    answer: JsonObject = Mangum(app or aws.api_app(), lifespan="off")(event, context)  # type: ignore[arg-type]
    return answer
