"""The audit of versions of a data folder or a deployed stack, without its server: the composition root of the command
`hibernaut audit`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hibernaut.adapters.blobs.disk import DiskBlobs
from hibernaut.adapters.clock import SystemClock
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.services.memory.memory_audit import MemoryAudit
from hibernaut.store.stores import Stores
from hibernaut.wiring.data_folder import BLOBS, TABLE


@contextmanager
def audit_of_folder(data: Path, tenant: str) -> Iterator[MemoryAudit]:
    """Of a data folder, also while a server has it open. Raises: TableError, InvalidArgument."""
    table = SqliteTable(data / TABLE)
    try:
        yield MemoryAudit(Stores(table, DiskBlobs(data / BLOBS), SystemClock()).of(tenant))
    finally:
        table.close()


def audit_of_stack(table: str, bucket: str, tenant: str) -> MemoryAudit:
    """Of a deployed stack, with the user's AWS credentials. Raises: InvalidArgument."""
    from hibernaut.adapters.blobs.s3 import S3Blobs
    from hibernaut.adapters.table.dynamodb import DynamoDbTable

    return MemoryAudit(Stores(DynamoDbTable(table), S3Blobs(bucket), SystemClock()).of(tenant))
