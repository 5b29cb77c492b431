"""Processes of tools, and one that is started before its call, so that the call waits neither for Python nor for the imports of
`requests`.

A process serves one call and ends with it, whenever it was started. A spare has run the server's own program alone: it waits for
its job on stdin, holds nothing of any call, and ends when its stdin does. Knows the program that is started; must not know jobs.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from io import RawIOBase
from pathlib import Path
from typing import NamedTuple, cast

STANDING = ("requests", "httpx", "pydantic", "yaml", "letta_client")
"""The packages that every tool may import. A spare imports those that the source of the last call names."""
IDLE_SECONDS = 60.0
"""The time after the last call for which a spare is kept."""
_ROOT = str(Path(__file__).parents[3])
"""The folder that contains the package."""
_START = f"import sys; sys.path.insert(0, {_ROOT!r}); from hibernaut.adapters.tool_runner.cage.launcher import main; main()"
# Isolated, without `site` (the parent passes its path), UTF-8, unbuffered: output before a kill is not lost.
_FLAGS = ("-I", "-S", "-X", "utf8", "-u", "-W", "ignore")


class Launched(NamedTuple):
    """A process that waits for its job. `channel`: where its reply is read."""

    process: subprocess.Popen[bytes]
    channel: RawIOBase

    def end(self) -> None:
        """End a process that got no job."""
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self.channel.close()
        self.process.wait()


def launched(imports: Sequence[str] = (), recall: int | None = None) -> Launched:
    """Start a process, which imports these modules before it reads its job. `recall`: a further descriptor that it is given.
    Raises: OSError.
    """
    reading, writing = os.pipe()
    channel = cast("RawIOBase", os.fdopen(reading, "rb", buffering=0))
    path = os.pathsep.join(entry for entry in sys.path if Path(entry).is_absolute()) if imports else ""
    try:
        process = subprocess.Popen(  # our own interpreter on our own script
            [sys.executable, *_FLAGS, "-c", _START, str(writing), ",".join(imports), path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            pass_fds=(writing,) if recall is None else (writing, recall),
            env={},  # variables, such as LD_PRELOAD, would have code run before the walls stand
            start_new_session=True,
        )
    except OSError:
        channel.close()
        raise
    finally:
        os.close(writing)
    return Launched(process, channel)


def imports_of(source: str) -> tuple[str, ...]:
    """The standing packages that a source names."""
    return tuple(name for name in STANDING if re.search(rf"\b{name}\b", source))


class Spare:
    """One process for the next call. It is started by a thread of its own, because a process is signalled when the thread that
    started it ends.
    `idle`: seconds after the last call for which it is kept. Thread-safe.
    """

    def __init__(self, *, idle: float = IDLE_SECONDS, start: Callable[[Sequence[str]], Launched] = launched) -> None:
        self._idle = idle
        self._start = start
        self._changed = threading.Condition()
        self._waiting: Launched | None = None
        self._imports: tuple[str, ...] = ()
        self._next_imports: tuple[str, ...] | None = None
        self._until = 0.0
        self._thread: threading.Thread | None = None
        self._closed = False

    def take(self, imports: tuple[str, ...]) -> Launched | None:
        """The process that waits, if there is one; another one with these imports is then started for the next call."""
        with self._changed:
            taken, self._waiting = self._waiting, None
            if not self._closed:
                self._next_imports, self._until = imports, time.monotonic() + self._idle
                if self._thread is None:
                    self._thread = threading.Thread(target=self._keep, name="tool-spare", daemon=True)
                    self._thread.start()
                self._changed.notify_all()
        if taken is not None and taken.process.poll() is not None:
            taken.end()
            return None
        return taken

    def close(self) -> None:
        """End the process that waits; no further one is started."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def is_ready(self, seconds: float) -> bool:
        """Whether a process waits, at the latest in so many seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._waiting is not None, seconds)

    def _keep(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._next_imports is not None, self._left())
                imports, self._next_imports = self._next_imports, None
                if self._waiting is not None and imports == self._imports and not self._closed:
                    continue  # of two calls at once one has started it
                old, self._waiting = self._waiting, None
                closed = self._closed
            if old is not None:
                old.end()
            if closed:
                return
            if imports is not None:
                self._replace(imports)

    def _left(self) -> float | None:
        """Seconds until the waiting process is ended; None: there is none."""
        return max(0.0, self._until - time.monotonic()) if self._waiting is not None else None

    def _replace(self, imports: tuple[str, ...]) -> None:
        with contextlib.suppress(OSError):  # the next call starts its own, and tells why it cannot
            made = self._start(imports)
            with self._changed:
                self._waiting, self._imports = made, imports
                self._changed.notify_all()
