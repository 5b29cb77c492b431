"""The REST API behind API Gateway: converts the gateway's event to a request of the app, which is the same in every profile."""

from __future__ import annotations

import json

from fastapi import FastAPI
from mangum import Mangum

from functions.events import LambdaContext
from functions.log import correlated, log
from functions.snapshots import import_for_snapshot
from hibernaut.rest.http.errors import body_of, status_of
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import ReplyTooLarge
from hibernaut.wiring import aws

LARGEST_REPLY = 6_291_556
"""Lambda's quota of the reply of a synchronous invocation in bytes; it answers a larger one with an error, and the gateway with
502.
"""
ESCAPED = 6
"""The most bytes that JSON makes of one character of a body: `\\u001f`."""
import_for_snapshot("botocore.session", "hibernaut.rest.app", "hibernaut.wiring.api_services")


@correlated
def handler(event: JsonObject, context: LambdaContext, app: FastAPI | None = None) -> JsonObject:
    """Serve one request. Every result is an HTTP response; the gateway converts an uncaught exception to a 502."""
    answer: JsonObject = Mangum(app or aws.api_app(), lifespan="off")(event, context)  # type: ignore[arg-type]
    size = size_of(answer)
    return answer if size <= LARGEST_REPLY else too_large(answer, size)


def size_of(answer: JsonObject) -> int:
    """The bytes of the reply as the runtime sends it, JSON in UTF-8; for a reply far below the limit, an upper bound."""
    bound = len(answer["body"]) * ESCAPED
    return bound if bound < LARGEST_REPLY // 2 else len(json.dumps(answer, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def too_large(answer: JsonObject, size: int) -> JsonObject:
    """The 413 response that replaces a too large response. It keeps the headers that do not describe the body, so that a web page
    may read it.
    """
    log().warning("reply too large", extra={"bytes": size, "status": answer["statusCode"]})
    error = ReplyTooLarge(size, LARGEST_REPLY)
    members = {
        member: {name: value for name, value in answer[member].items() if not name.lower().startswith("content-")}
        for member in ("headers", "multiValueHeaders")
        if answer.get(member)
    }
    members.setdefault("headers", {})["content-type"] = "application/json"
    return {**members, "statusCode": status_of(error), "isBase64Encoded": False, "body": json.dumps(body_of(error))}
