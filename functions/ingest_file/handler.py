"""Ingests an uploaded file. The event comes from the function that accepted the file, from the sweep, or from S3 (through
EventBridge) when the bytes are uploaded.

The function ignores a file that is ingested, deleted, or leased by another worker. A repeated event therefore does no harm.
"""

from __future__ import annotations

from functions.events import LambdaContext
from functions.log import correlated, log
from hibernaut.schemas.base import JsonObject
from hibernaut.services.files.ingestion import Ingestion
from hibernaut.services.per_tenant import PerTenant
from hibernaut.store.table import blob_keys
from hibernaut.wiring import aws


@correlated
def handler(event: JsonObject, _context: LambdaContext, ingestion: PerTenant[Ingestion] | None = None) -> JsonObject:
    """Ingest the file. Raises: errors of the ingestion; Lambda retries the call, and later the sweep restarts the ingestion."""
    tenant, file_id = _named(event)
    (ingestion or aws.ingestion()).of(tenant).process(file_id)
    log().info("file read", extra={"file_id": file_id})
    return {"tenant": tenant, "file_id": file_id}


def _named(event: JsonObject) -> tuple[str, str]:
    if "detail" in event:
        return blob_keys.of_upload_blob(event["detail"]["object"]["key"])
    return event["tenant"], event["file_id"]
