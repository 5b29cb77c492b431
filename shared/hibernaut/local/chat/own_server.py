"""The server that a chat starts for itself: `hibernaut dev` in a process beside it, on a free port. It ends with the chat,
however that ends.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from hibernaut.local.profiles import CannotServe

PROGRAM = "from hibernaut.local.chat_server import serve_for_chat; serve_for_chat()"
READY = "Ctrl-C stops it"
_ADDRESS = re.compile(r"http://\S+")
GRACE = 8.0
"""Seconds that the server has to end."""


class OwnServer:
    """A server of a data folder. `data`: the folder; None: that of the environment. Raises: CannotServe with what the server
    says.
    """

    def __init__(self, data: str | None, more: Sequence[str] = ()) -> None:
        self.started_with = (data, more)
        folder = ["--data-dir", data] if data is not None else []
        self._output = tempfile.TemporaryFile(mode="w+", encoding="utf-8", errors="replace")  # noqa: SIM115  closed by `close`
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, "dev", "--port", "0", *folder, *more],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._output,
            text=True,
            start_new_session=True,  # Ctrl-C in the terminal stops the run, not the server
        )
        self.url = self._ready()

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def _ready(self) -> str:
        """The address, once the server answers."""
        url = ""
        for line in self.process.stdout or ():
            found = _ADDRESS.search(line)
            url = url or (found[0] if found else "")
            if READY in line:
                return url
        self._output.seek(0)
        why = self._output.read().strip().splitlines()
        self.close()
        raise CannotServe(why[-1].removeprefix("hibernaut: ") if why else "the server has ended before it was ready")

    def close(self) -> None:
        """End the server; what is unfinished continues at its next start."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self._output.close()
