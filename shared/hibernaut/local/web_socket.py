"""A connection that has become a WebSocket, over uvicorn's protocol.

Knows uvicorn and, through it, the package `websockets`. Must not know the messages on the connection.
"""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

LINGER = 5.0
"""Seconds after which a connection that this side closed is cut, whether or not its client has read the rest."""


class WebSocketConnection(WebSocketsSansIOProtocol):
    """uvicorn's protocol, which this side can also close while the client does not read, and which logs no address: it may hold a
    key.
    """

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        self.logger = logging.getLogger("hibernaut.local.web_socket.warnings")
        self.logger.setLevel(logging.WARNING)

    async def send(self, message: MutableMapping[str, Any]) -> None:  # type: ignore[override]  # uvicorn types each message
        """Send a message when the client has read enough of the earlier messages. A close is sent at once."""
        if message["type"] == "websocket.close":
            self.writable.set()
            self.loop.call_later(LINGER, self.transport.abort)
        await super().send(message)  # type: ignore[arg-type]
        if message["type"] == "websocket.http.response.body" and self.close_sent:
            self.handshake_complete = (
                True  # A refusal ends the handshake too: uvicorn would log an error because it was not accepted.
            )
