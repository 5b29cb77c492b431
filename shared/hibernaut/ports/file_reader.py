"""Reading what others made: files in formats that need a parser, and patterns that may never end. Both are bounded in time and memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hibernaut.domain.files.file_texts import FileKind


class TooSlow(Exception):
    """It took longer than it may, and was stopped."""


class BadPattern(Exception):
    """No regular expression; the text says where."""


class FileReader(Protocol):
    """Whatever is read, it neither hangs nor harms the process that asks. Thread-safe."""

    def text(self, data: bytes, kind: FileKind, *, seconds: float) -> str:
        """The text of a file. Raises: Unreadable, also for what takes too long or too much memory; OSError where nothing can be started."""

    def matching(self, lines: Sequence[str], pattern: str, *, seconds: float, most: int) -> list[int]:
        """The indices of the first `most` lines in which the pattern is found, in whatever case. Raises: BadPattern, TooSlow, OSError."""


class NoFileReader:
    """Where nothing can be read."""

    def text(self, data: bytes, kind: FileKind, *, seconds: float) -> str:  # noqa: ARG002 - the port names them
        raise OSError("this deployment reads no files")

    def matching(self, lines: Sequence[str], pattern: str, *, seconds: float, most: int) -> list[int]:  # noqa: ARG002
        raise OSError("this deployment reads no files")


NO_READER = NoFileReader()
