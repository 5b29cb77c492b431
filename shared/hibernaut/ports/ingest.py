"""Having uploaded files read in the background. Where nobody is told, or who was told dies, the sweep takes the file up."""

from __future__ import annotations

from typing import Protocol


class Ingest(Protocol):
    def start(self, tenant: str, file_id: str) -> None:
        """Have the file read soon; returns at once. Doing it twice does no harm."""


class NoIngest:
    """Where nobody is told: the sweep finds what is due."""

    def start(self, tenant: str, file_id: str) -> None:  # noqa: ARG002 - the port names them
        return None


NO_INGEST = NoIngest()
