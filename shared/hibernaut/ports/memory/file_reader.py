"""Reading untrusted input: files that need a parser, and regular expressions that may never terminate. Every call is bounded in
time and memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hibernaut.domain.files.file_texts import FileKind


class TooSlow(Exception):
    """The call exceeded its time limit and was stopped."""


class BadPattern(Exception):
    """The pattern is not a valid regular expression; the message names the position."""


class FileReader(Protocol):
    """The reader of untrusted files and patterns. Bad input neither blocks nor harms the calling process. Thread-safe."""

    def text(self, data: bytes, kind: FileKind, *, seconds: float, address: str = "") -> str:
        """The text of a file. `address`: where a web page is from, by which its links are completed. Raises: Unreadable, also if
        the file exceeds the limits of time or memory; OSError if the reader cannot be started.
        """

    def matching(self, lines: Sequence[str], pattern: str, *, seconds: float, most: int) -> list[int]:
        """The indices of the first `most` lines that match the pattern, ignoring case. Raises: BadPattern, TooSlow, OSError."""


class NoFileReader:
    """The file reader of a deployment that reads no files: every call raises OSError."""

    def text(self, data: bytes, kind: FileKind, *, seconds: float, address: str = "") -> str:  # noqa: ARG002 - the port names them
        raise OSError("this deployment reads no files")

    def matching(self, lines: Sequence[str], pattern: str, *, seconds: float, most: int) -> list[int]:  # noqa: ARG002
        raise OSError("this deployment reads no files")


NO_READER = NoFileReader()
