"""Traces of steps: each is a blob that expires, kept beside the table. No transaction knows of it."""

from __future__ import annotations

from pydantic import ValidationError

from hibernaut.schemas.trace import ProviderTrace
from hibernaut.store import keys
from hibernaut.store.tenant_table import TenantBlobs


class Traces:
    """Thread-safe. A trace is kept for at least a day."""

    def __init__(self, blobs: TenantBlobs, tenant: str) -> None:
        self._blobs = blobs
        self._tenant = tenant

    def put(self, trace: ProviderTrace) -> None:
        """Raises: OSError."""
        key = keys.trace(self._tenant, trace.run_id, trace.step_id)
        self._blobs.put(key, trace.model_dump_json().encode(), durable=False)

    def get(self, run_id: str, step_id: str) -> ProviderTrace | None:
        """None also where the machine failed while the trace was written. Raises: OSError."""
        try:
            return ProviderTrace.model_validate_json(self._blobs.get(keys.trace(self._tenant, run_id, step_id)))
        except (KeyError, ValidationError):
            return None
