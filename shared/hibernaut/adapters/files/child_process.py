"""Reads files and matches patterns in a child process of this machine, which is killed at its time limit.

A thread could not be stopped, and a parser that uses up the memory would end the server. One process for each job, about 40 ms.
"""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from hibernaut.domain.files.file_texts import FileKind, Unreadable
from hibernaut.domain.files.text_encodings import decoded
from hibernaut.ports.memory.file_reader import BadPattern, TooSlow
from hibernaut.schemas.base import Json, JsonObject

MEMORY = 1024 * 1024 * 1024
"""The limit of a child's address space in bytes."""
CPU_SECONDS, CPU_SECONDS_PER_MB = 10, 10
"""The base limit of CPU seconds for a job, and the additional limit for each megabyte of its data: a small file cannot occupy a
worker for long.
"""
_CHILD = Path(__file__).with_name("child.py")
# Isolated, without `site` (the parent passes its path), UTF-8.
_FLAGS = ("-I", "-S", "-X", "utf8", "-W", "ignore")


class ChildFileReader:
    """The `FileReader` of every profile. Thread-safe."""

    def __init__(self, memory: int = MEMORY, cpu_seconds: int = CPU_SECONDS) -> None:
        self._memory = memory
        self._cpu_seconds = cpu_seconds

    def text(self, data: bytes, kind: FileKind, *, seconds: float, address: str = "") -> str:
        """As the port says. Raises: Unreadable, OSError."""
        if kind is FileKind.TEXT:
            return decoded(data)
        try:
            reply = self._run({"work": kind.value, "address": address}, data, seconds)
        except TooSlow:
            raise Unreadable("The file took too many seconds to be read for its size.") from None
        match reply:
            case {"text": str(text)}:
                return text
            case {"unreadable": str(why)}:
                raise Unreadable(why)
            case _:
                raise Unreadable("The file could not be read: its parser failed, or needed too much memory.")

    def matching(self, lines: Sequence[str], pattern: str, *, seconds: float, most: int) -> list[int]:
        """As the port says. Raises: BadPattern, TooSlow, OSError."""
        match self._run({"work": "grep", "pattern": pattern, "most": most}, "\n".join(lines).encode("utf-8", "replace"), seconds):
            case {"found": list(found)}:
                return [int(index) for index in found]
            case {"pattern": str(why)}:
                raise BadPattern(why)
            case _:
                raise TooSlow

    def _run(self, job: JsonObject, data: bytes, seconds: float) -> Json:
        """The child's reply; None if the child died. Raises: TooSlow at the limit of time or CPU time, OSError."""
        path = [entry for entry in sys.path if Path(entry).is_absolute()]
        cpu = min(self._cpu_seconds + CPU_SECONDS_PER_MB * len(data) // 1024**2, math.ceil(seconds) + 2)
        head = json.dumps({**job, "path": path, "memory": self._memory, "cpu": cpu}).encode()
        try:
            done = subprocess.run(  # our own interpreter on our own script
                [sys.executable, *_FLAGS, str(_CHILD)],
                input=head + b"\n" + data,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=seconds,
                env={},
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise TooSlow from None
        if done.returncode == -signal.SIGXCPU:
            raise TooSlow
        try:
            return json.loads(done.stdout)
        except (ValueError, RecursionError):
            return None
