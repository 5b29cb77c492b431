"""moto's management API of WebSocket connections, with real connections: moto itself only stores posted messages.

Knows: the internals of moto's service. Must not know: the messages. It enforces the rules of API Gateway: 410 for a closed
connection, 413 for a message over 128 KB or a frame over 32 KB (developer guide, "Quotas for configuring and running a WebSocket
API").
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol
from urllib.parse import unquote

from hibernaut.local.aws_offline.patching import put

LARGEST_FRAME = 32 * 1024


class OpenConnections(Protocol):
    """The connections of a gateway: each call returns False if the connection is closed. Callable from any thread."""

    def post(self, connection_id: str, data: bytes) -> bool:
        """Send a text to the client."""

    def close(self, connection_id: str) -> bool:
        """Close the connection."""


@contextmanager
def connections_behind_moto(gateway: OpenConnections) -> Iterator[None]:
    """Within the context, the calls of the management API reach these connections."""
    from moto.apigatewaymanagementapi.models import ApiGatewayManagementApiBackend as Backend
    from moto.core.exceptions import JsonRESTError

    class ManagementError(JsonRESTError):
        """An error of the management API: its status and its name."""

        def __init__(self, code: int, name: str) -> None:
            self.code = code
            super().__init__(name, name)

    def post(_backend: Any, data: bytes, connection_id: str) -> None:
        if len(data) > LARGEST_FRAME:
            raise ManagementError(413, "PayloadTooLargeException")
        if not gateway.post(unquote(connection_id), data):
            raise ManagementError(410, "GoneException")

    def close(_backend: Any, connection_id: str) -> None:
        if not gateway.close(unquote(connection_id)):
            raise ManagementError(410, "GoneException")

    originals = Backend.post_to_connection, Backend.delete_connection
    put(Backend, "post_to_connection", post)
    put(Backend, "delete_connection", close)
    try:
        yield
    finally:
        put(Backend, "post_to_connection", originals[0])
        put(Backend, "delete_connection", originals[1])
