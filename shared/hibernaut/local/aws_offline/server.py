"""An ASGI app on a port, in a thread: for tests, and for the command. Knows uvicorn; must not know which app."""

from __future__ import annotations

import socket
import threading
from typing import Any


class Server:
    """Bound when it is made. Raises: OSError for a port that is taken."""

    def __init__(self, app: Any, host: str, port: int) -> None:
        import uvicorn

        self._socket = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=512)
        config = uvicorn.Config(app, log_level="warning", lifespan="off", timeout_graceful_shutdown=2, access_log=False)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True, name="gateway")

    def start(self) -> str:
        """Serve; the address. Connections that come before the server is up wait in the socket's queue."""
        self._thread.start()
        host, port = self._socket.getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()
