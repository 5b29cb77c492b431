"""A real Chromium without a window, and a site of an attacker that it visits. Every name `*.test` is this machine to it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first is Chromium without its own windows, whose processes take a third of the time of a test."""
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-features=HttpsUpgrades,HttpsFirstBalancedModeAutoEnable",
    "--remote-debugging-port=0",
    "--host-resolver-rules=MAP *.test 127.0.0.1",
)
PATIENCE = 120.0
"""Seconds after which a page is stuck."""


def program() -> str:
    """Chromium's path. Skips where there is none, and fails in CI, which installs it (`.ci/run`)."""
    found = next((path for name in PROGRAMS if (path := shutil.which(name))), None)
    if found is None and os.environ.get("CI") == "true":
        pytest.fail("CI needs Chromium: apt-get install chromium-headless-shell")
    return found or pytest.skip("there is no Chromium here (Debian's package chromium-headless-shell)")


@contextmanager
def visiting(url: str, profile: Path) -> Iterator[None]:
    """Chromium opens the page in a new profile, and stays on it. It ends with all its processes: Debian's command is a shell
    script, which would end alone.
    """
    command = [program(), *FLAGS, f"--user-data-dir={profile}", url]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True) as browser:
        try:
            yield
        finally:
            os.killpg(browser.pid, signal.SIGKILL)


class _Server(ThreadingHTTPServer):
    """Knows its open connections: a browser opens some before it needs them, and a thread would answer on those after the end."""

    daemon_threads = True

    def __init__(self, place: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._open: set[socket.socket] = set()
        super().__init__(place, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        super().server_close()
        for connection in tuple(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class Site:
    """A site on a port of this machine: `/` is the page, `/go` answers once `go` is set (`arrived`: a page waits for it), and a
    POST is a report.
    """

    def __init__(self, page: str = "", port: int = 0) -> None:
        self.page = page
        self.arrived, self.go = threading.Event(), threading.Event()
        self._reports: SimpleQueue[str] = SimpleQueue()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path == "/go":
                    site.arrived.set()
                    site.go.wait(PATIENCE)
                self._answer(site.page)

            def do_POST(self) -> None:
                site._reports.put(self.rfile.read(int(self.headers["content-length"])).decode())
                self._answer("")

            def log_message(self, *_: object) -> None:
                """Says nothing."""

            def _answer(self, text: str) -> None:
                self.send_response(200)
                self.send_header("content-type", "text/html")
                self.end_headers()
                self.wfile.write(text.encode())

        self._server = _Server(("127.0.0.1", port), Handler)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def report(self) -> str:
        """What the page says next."""
        return self._reports.get(timeout=PATIENCE)

    def close(self) -> None:
        """Give the port up."""
        self.go.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
