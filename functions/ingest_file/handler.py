"""Reads an uploaded file: named by whoever took it, or by S3 (through EventBridge) when its bytes have come.

A file that is read, is gone, or that another worker is at is left alone, so being told twice does no harm.
"""

from __future__ import annotations

from functions.events import LambdaContext
from functions.log import log
from hibernaut.schemas.base import JsonObject
from hibernaut.services.files.ingestion import Ingestion
from hibernaut.services.per_tenant import PerTenant
from hibernaut.store import keys
from hibernaut.wiring import aws


def handler(event: JsonObject, context: LambdaContext, ingestion: PerTenant[Ingestion] | None = None) -> JsonObject:
    """Raises: whatever keeps the file from being read now; Lambda calls again, and the sweep takes it up after that."""
    tenant, file_id = _named(event)
    (ingestion or aws.ingestion()).of(tenant).process(file_id)
    log().info("file read", extra={"file_id": file_id, "request_id": context.aws_request_id})
    return {"tenant": tenant, "file_id": file_id}


def _named(event: JsonObject) -> tuple[str, str]:
    if "detail" in event:
        return keys.of_upload_blob(event["detail"]["object"]["key"])
    return event["tenant"], event["file_id"]
