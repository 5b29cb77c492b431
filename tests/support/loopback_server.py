"""An HTTP server on loopback that waits without polling: one that stands for a whole run takes no time of the processor
meanwhile.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class LoopbackServer(ThreadingHTTPServer):
    """The server, from its creation until `end`. `address` is its URL without a path. Each connection has a thread of its own."""

    request_queue_size = 128

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.address = f"http://127.0.0.1:{self.server_address[1]}"
        self._over = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Accept no further connection, and close the port."""
        self._over = True
        with suppress(OSError):  # The thread waits for a connection: this is the last one.
            socket.create_connection(("127.0.0.1", self.server_address[1])).close()
        self._thread.join()
        self.server_close()

    def verify_request(self, request: Any, client_address: Any) -> bool:  # noqa: ARG002  the signature is the library's
        return not self._over

    def _serve(self) -> None:
        while not self._over:
            self.handle_request()
