"""Traces of steps. A trace is a blob that expires. No item of the table names it, and no transaction covers it."""

from __future__ import annotations

from pydantic import ValidationError

from hibernaut.schemas.runs.trace import ProviderTrace
from hibernaut.store.table import blob_keys
from hibernaut.store.table.tenant_table import TenantBlobs


class Traces:
    """The traces of one tenant's steps. A trace lives for at least a day. Thread-safe."""

    def __init__(self, blobs: TenantBlobs, tenant: str) -> None:
        self._blobs = blobs
        self._tenant = tenant

    def put(self, trace: ProviderTrace) -> None:
        """Store the trace of a step. A failure of the machine may lose it. Raises: OSError."""
        key = blob_keys.trace(self._tenant, trace.run_id, trace.step_id)
        self._blobs.put(key, trace.model_dump_json().encode(), durable=False)

    def get(self, run_id: str, step_id: str) -> ProviderTrace | None:
        """The trace of a step; None if there is none, or if a failure of the machine truncated it. Raises: OSError."""
        try:
            return ProviderTrace.model_validate_json(self._blobs.get(blob_keys.trace(self._tenant, run_id, step_id)))
        except (KeyError, ValidationError):
            return None

    def delete(self, run_id: str, step_id: str) -> None:
        """Delete the trace of a step, if there is one. Raises: OSError."""
        self._blobs.delete(blob_keys.trace(self._tenant, run_id, step_id))
