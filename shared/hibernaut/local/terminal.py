"""What commands write for people: colours on a terminal alone, and texts of others without characters that control it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TextIO

from hibernaut.wiring.settings import refuses_colours

DIM, BOLD, RED, CYAN = "2", "1", "31", "36"
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Characters that control a terminal or change the writing direction. Line feed and tab stay."""


class Paint:
    """Colours for one output: none if it is not a terminal, or the user refuses them (NO_COLOR)."""

    def __init__(self, out: TextIO) -> None:
        self.colours = out.isatty() and not refuses_colours()

    def __call__(self, text: str, code: str) -> str:
        """The text in a style."""
        return f"\033[{code}m{text}\033[0m" if self.colours and text else text


def harmless(text: str) -> str:
    """A text of a model, a tool or another user, without what would control the terminal."""
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def one_line(text: str, most: int) -> str:
    """A text in one line of at most so many characters."""
    line = harmless(" ".join(text.split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"


def table_of(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with columns as wide as their texts."""
    widths = [max(len(row[place]) for row in (head, *rows)) for place in range(len(head))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in (head, *rows)]
