"""Keeps all processes of one tool within their limits, and ends what the tool leaves behind. Knows processes; must not know
tools.

The limits of a single process are the kernel's (`setrlimit`). Their sum is not, so that it is looked at ten times a second.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
from typing import NamedTuple, NoReturn

from hibernaut.adapters.tool_runner.cage.exits import FILES_EXIT, LAST_OF_TOOL, MEMORY_EXIT, PROCESSES_EXIT

MOST_FILES = 50_000
"""The largest number of files and folders of a call."""
_BY_SIGNAL = 128
INTERVAL = 100
"""Milliseconds between two looks."""
_PAGE = resource.getpagesize()


class CallLimits(NamedTuple):
    """The limits of all processes of a call together: bytes of memory, number, bytes of files."""

    memory: int
    processes: int
    files: int


class Keeper:
    """The processes of one tool. The keeper is process 1 of their namespace, or adopts whatever loses its parent. `folder`: where
    the tool's files are, if the file system itself has no limit.
    """

    def __init__(self, tool: int, limits: CallLimits, *, folder: str | None) -> None:
        self.tool = tool
        self._limits = limits
        self._folder = folder
        self.code: int | None = None
        """The code to exit with, None while the tool runs."""

    def watch(self) -> int:
        """Wait for the tool's end or for a limit; the code to exit with."""
        ends = select.poll()
        ends.register(os.pidfd_open(self.tool), select.POLLIN)
        while self.code is None:
            ends.poll(INTERVAL)
            self.look()
        return self.code

    def look(self) -> None:
        """Collect what has ended, and compare the rest with the limits."""
        self._collect()
        if self._folder is not None and _is_larger(self._folder, self._limits.files):
            self.code = FILES_EXIT
        if self.code is not None:
            return
        found, memory = _descendants(), self._limits.memory
        if len(found) > self._limits.processes:
            self.code = PROCESSES_EXIT
        elif sum(map(_resident, found)) > memory and sum(map(_exact, found)) > memory:
            self.code = MEMORY_EXIT

    def end(self) -> None:
        """Kill and collect all remaining processes. Not necessary in process 1, because the kernel does it."""
        while found := _descendants():
            for process in found:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(process, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
            self._collect()

    def _collect(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                process, status = os.waitpid(-1, os.WNOHANG)
                if process == 0:
                    return
                if process == self.tool and self.code is None:
                    self.code = code_of(status)


def code_of(status: int) -> int:
    """The exit code that stands for the end of a tool's process."""
    if os.WIFSIGNALED(status):
        return _BY_SIGNAL + os.WTERMSIG(status)
    return min(os.WEXITSTATUS(status), LAST_OF_TOOL)


def exit_with(code: int) -> NoReturn:
    """End this process as the tool's ended: by its signal, or with its code."""
    if code >= _BY_SIGNAL:
        number = code - _BY_SIGNAL
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(code)


def _is_larger(folder: str, most: int) -> bool:
    """Whether the files below a folder have more bytes than that, or are more than a call may have."""
    size, number, rest = 0, 0, [folder]
    while rest:
        with contextlib.suppress(OSError), os.scandir(rest.pop()) as entries:
            for entry in entries:
                found = entry.stat(follow_symlinks=False)
                size, number = size + 512 * found.st_blocks, number + 1
                if size > most or number > MOST_FILES:
                    return True
                if entry.is_dir(follow_symlinks=False):
                    rest.append(entry.path)
    return False


def _descendants() -> list[int]:
    """The processes that this one has started, and theirs, by their numbers in `/proc`; none where there is no `/proc`."""
    try:
        found, rest = [], [int(os.readlink("/proc/self"))]
    except OSError:
        return []
    while rest:
        children = _children(rest.pop())
        found += children
        rest += children
    return found


def _children(process: int) -> list[int]:
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{process}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{process}/task/{task}/children", "rb") as children:
                found += [int(each) for each in children.read().split()]
    return found


def _resident(process: int) -> int:
    with contextlib.suppress(OSError), open(f"/proc/{process}/statm", "rb") as statistics:
        return int(statistics.read().split()[1]) * _PAGE
    return 0


def _exact(process: int) -> int:
    """The process's share of its pages without files; its resident size where it does not let itself be looked into."""
    try:
        with open(f"/proc/{process}/smaps_rollup", "rb") as shares:
            lines = [line.split() for line in shares if line.startswith((b"Pss_Anon:", b"Pss_Shmem:"))]
    except ProcessLookupError:
        return 0
    except OSError:
        return _resident(process)
    return sum(int(line[1]) * 1024 for line in lines)
