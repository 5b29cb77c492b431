"""Starting the background ingestion of an uploaded file. If no worker is started, or the worker dies, the periodic sweep ingests
the file.
"""

from __future__ import annotations

from typing import Protocol


class Ingest(Protocol):
    """Starts ingestion workers."""

    def start(self, tenant: str, file_id: str) -> None:
        """Schedule the ingestion of the file and return at once. Idempotent."""


class NoIngest:
    """The ingest of a deployment without workers: it does nothing, and the sweep finds the files that are due."""

    def start(self, tenant: str, file_id: str) -> None:  # noqa: ARG002 - the port names them
        return None


NO_INGEST = NoIngest()
