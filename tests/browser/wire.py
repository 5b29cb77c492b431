"""A wire between a browser and a server of this machine, which a test cuts and mends."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit

PIECE = 65_536


class Wire:
    """Passes bytes from a port of its own (`url`) to a server. While it is cut, connections end, and new ones end at once."""

    def __init__(self, server: str) -> None:
        parts = urlsplit(server)
        self._to = (str(parts.hostname), int(parts.port or 0))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._is_cut = False
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def cut(self) -> None:
        """End all connections, and those that come."""
        with self._lock:
            self._is_cut = True
        self._end()

    def mend(self) -> None:
        """Pass on the connections that come."""
        with self._lock:
            self._is_cut = False

    def close(self) -> None:
        """Give the port back."""
        self.cut()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in tuple(self._threads):
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                refused = self._is_cut
            if refused:
                near.close()
                continue
            far = socket.create_connection(self._to)
            with self._lock:
                self._open |= {near, far}
            for source, target in ((near, far), (far, near)):
                pump = threading.Thread(target=self._pump, args=(source, target), daemon=True)
                self._threads.append(pump)
                pump.start()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(PIECE):
                target.sendall(piece)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            with self._lock:
                self._open.discard(one)
        with suppress(OSError):
            source.close()

    def _end(self) -> None:
        with self._lock:
            ending = tuple(self._open)
        for one in ending:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
