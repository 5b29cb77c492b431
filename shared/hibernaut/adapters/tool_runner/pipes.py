"""Serves the pipes of a child process until it ends or its time limit is reached. Knows bytes and limits, no tools.

Output beyond a limit is read and discarded, so that it neither fills our memory nor blocks the child.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import RawIOBase

from hibernaut.adapters.tool_runner.recall import Recall

_CHUNK = 65_536
_DRAINED_CHUNKS = 32
"""More than a pipe's buffer: a remaining process that keeps writing is not read forever."""
_GRACE = 3.0
"""Seconds that a child has to end itself before it is killed."""
_LOOK_AGAIN = 0.05
_FIRST_LOOK = 0.0005
"""The longest interval in seconds between checks for the child's exit, and the first one after all its pipes are closed."""


@dataclass(slots=True)
class Inflow:
    """The bytes of one pipe up to `limit`; `total` counts all received bytes. `strict`: beyond the limit the child is ended."""

    pipe: RawIOBase
    limit: int
    strict: bool = False
    captured: bytearray = field(default_factory=bytearray)
    total: int = 0

    def move(self) -> bool:
        """Read once; False at the end."""
        chunk = self.pipe.read(_CHUNK)
        if chunk is None:
            return True
        self.total += len(chunk)
        self.captured += chunk[: max(0, self.limit - len(self.captured))]
        return bool(chunk)

    def drain(self) -> None:
        """Read the pipe's remaining buffer after its writers have died."""
        for _ in range(_DRAINED_CHUNKS):
            before = self.total
            if not self.move() or self.total == before:
                return


@dataclass(slots=True)
class Outflow:
    """The bytes to write to one pipe."""

    pipe: RawIOBase
    rest: memoryview

    def move(self) -> bool:
        """Write once; False if nothing remains or the reader has closed the pipe."""
        try:
            written = self.pipe.write(self.rest[:_CHUNK])
        except BrokenPipeError:
            return False
        self.rest = self.rest[written or 0 :]
        return bool(self.rest)


def serve(
    process: subprocess.Popen[bytes],
    outflow: Outflow,
    inflows: Sequence[Inflow],
    timeout: float,
    recall: Recall | None = None,
) -> bool:
    """Serve the child's pipes until it ends; then its process group is dead and its pipes are closed.

    The child must lead a process group of its own. Returns whether it ended by itself within `timeout` seconds, and soon after
    its `recall` if that has one.
    """
    deadline = time.monotonic() + timeout
    with selectors.DefaultSelector() as selector, contextlib.ExitStack() as pipes:
        flows: list[tuple[Inflow | Outflow, int]] = [(inflow, selectors.EVENT_READ) for inflow in inflows]
        for flow, event in ((outflow, selectors.EVENT_WRITE), *flows):
            os.set_blocking(flow.pipe.fileno(), False)
            selector.register(flow.pipe, event, flow)
            pipes.callback(flow.pipe.close)
        try:
            return _served_in_time(process, selector, deadline, recall)
        finally:
            _end(process)
            process.wait()
            for inflow in inflows:
                if not inflow.pipe.closed:
                    inflow.drain()


def _served_in_time(
    process: subprocess.Popen[bytes], selector: selectors.BaseSelector, deadline: float, recall: Recall | None
) -> bool:
    pause = _FIRST_LOOK
    while not _ended(process):
        end = deadline if recall is None else min(deadline, recall.deadline())
        remaining = end - time.monotonic()
        if remaining <= 0:
            return False
        waiting = bool(selector.get_map())
        for key, _ in selector.select(min(remaining, _LOOK_AGAIN if waiting else pause)):
            flow: Inflow | Outflow = key.data
            more = flow.move()
            if isinstance(flow, Inflow) and flow.strict and flow.total > flow.limit:
                return True
            if not more:
                selector.unregister(flow.pipe)
                flow.pipe.close()
        if not waiting:
            pause = min(2 * pause, _LOOK_AGAIN)
    return True


def _ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether the child has exited; if the system allows it, it is not reaped yet, so that its group's id is not reused."""
    if hasattr(os, "waitid"):
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return process.poll() is not None


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the child, which ends what it has started, and kill its process group; no error if they are gone."""
    deadline, pause = time.monotonic() + _GRACE, _FIRST_LOOK
    if not _ended(process):
        process.terminate()
        while not _ended(process) and time.monotonic() < deadline:
            time.sleep(pause)
            pause = min(2 * pause, _LOOK_AGAIN)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
