"""Questions to the person at the terminal."""

from __future__ import annotations

import sys
from contextlib import suppress

from hibernaut.local.profiles import CannotServe

WITHOUT_TERMINAL = "there is nobody to ask: --yes does it without a question"


def is_sure(question: str) -> bool:
    """Whether the person agrees. Raises: CannotServe if there is no terminal."""
    if not sys.stdin.isatty():
        raise CannotServe(WITHOUT_TERMINAL, 2)
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def read_line(prompt: str) -> str | None:
    """The next line of the standard input; None at its end. On a terminal there is a prompt, and a history of lines."""
    if not sys.stdin.isatty():
        line = sys.stdin.readline()
        return line.rstrip("\n") if line else None
    with suppress(ImportError):  # not on Windows
        import readline  # noqa: F401  input() edits lines with it
    try:
        return input(prompt)
    except EOFError:
        print()
        return None
