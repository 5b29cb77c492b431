"""A program in a pseudo-terminal, as its user sees it: what it shows, without control sequences, and keys."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import selectors
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

ROWS, COLUMNS = 60, 200
PATIENCE = 120.0
"""Seconds after which a program that should show something is stuck."""
_CONTROL = re.compile(r"\x1b(?:\[[0-9;?<>=]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[=>78c]|[()][A-Z0-9])")


class PseudoTerminal:
    """Runs a program. `shown`: what it has written since the last key, in one line."""

    def __init__(self, command: Sequence[str], *, folder: Path, environment: Mapping[str, str]) -> None:
        self._process, self._channel = pty.fork()
        if self._process == 0:
            os.chdir(folder)
            os.execvpe(command[0], [*command], {"TERM": "xterm-256color", **environment})
        fcntl.ioctl(self._channel, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._written = b""
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._channel, selectors.EVENT_READ)

    @property
    def shown(self) -> str:
        return " ".join(_CONTROL.sub(" ", self._written.decode(errors="replace")).split())

    def sees(self, text: str) -> None:
        """Wait until the program shows a text."""
        until = time.monotonic() + PATIENCE
        while text not in self.shown:
            left = until - time.monotonic()
            assert left > 0, f"{text!r} was not shown, but: {self.shown[-3000:]}"
            if self._selector.select(left):
                try:
                    self._written += os.read(self._channel, 65536)
                except OSError:  # the program has ended
                    raise AssertionError(f"{text!r} was not shown before the program ended: {self.shown[-3000:]}") from None

    def presses(self, key: str) -> None:
        """Press a key. What was shown before is forgotten."""
        self._written = b""
        os.write(self._channel, key.encode())

    def enters(self, line: str) -> None:
        """Type a line, wait until it is shown, and press the enter key."""
        self._written = b""
        for character in line:
            os.write(self._channel, character.encode())
        self.sees(line)
        self.presses("\r")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process, signal.SIGKILL)
        self._selector.close()
        os.close(self._channel)
        os.waitpid(self._process, 0)
