"""Traces of steps: each is a blob that expires, kept beside the table. No transaction knows of it."""

from __future__ import annotations

from pydantic import ValidationError

from hibernaut.ports.blobs import Blobs
from hibernaut.schemas.trace import ProviderTrace
from hibernaut.store import keys


class Traces:
    """Thread-safe. A trace is kept for at least a day."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    def put(self, tenant: str, trace: ProviderTrace) -> None:
        """Raises: OSError."""
        key = keys.trace(tenant, trace.run_id, trace.step_id)
        self._blobs.put(key, trace.model_dump_json().encode(), durable=False)

    def get(self, tenant: str, run_id: str, step_id: str) -> ProviderTrace | None:
        """None also where the machine failed while the trace was written. Raises: OSError."""
        try:
            return ProviderTrace.model_validate_json(self._blobs.get(keys.trace(tenant, run_id, step_id)))
        except (KeyError, ValidationError):
            return None
