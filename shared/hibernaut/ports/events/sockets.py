"""WebSocket connections that another service holds, and the workers that follow runs for them."""

from __future__ import annotations

from typing import Protocol

from hibernaut.schemas.base import JsonObject


class ConnectionGone(Exception):
    """The connection is closed: nothing can be sent to it."""


class NotPosted(Exception):
    """The service that holds the connection refuses or does not answer; the retries are exhausted."""


class ClientConnections(Protocol):
    """The connections of a gateway. Thread-safe."""

    def post(self, connection_id: str, text: str) -> None:
        """Send a message. A message may arrive twice if an answer was lost. Raises: ConnectionGone, NotPosted."""

    def close(self, connection_id: str) -> None:
        """Close the connection; one that is closed is no error. Raises: NotPosted."""


class SocketWorkers(Protocol):
    """Starts workers that outlive the message of a client."""

    def start(self, job: JsonObject) -> None:
        """Start a worker for the job, at least once. Raises: ServerBusy."""
