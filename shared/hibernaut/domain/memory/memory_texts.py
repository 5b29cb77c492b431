"""The text operations of the memory tools: replace, insert, and refuse harmful input (RT 5.3).

Text in, text out. Knows no tool and no label. A refusal is addressed to the model: what is wrong, and how to correct it.
"""

from __future__ import annotations

import re

from hibernaut.domain.memory.system_prompt import LINE_NUMBER_WARNING

SHOWN = 2_000
"""The number of characters of a block's value that a refusal quotes, so that the model sees the current value."""
NAMED = 20
"""The number of lines that a refusal names."""

_NUMBERED = re.compile(r"^[ +-]?[ \t]*\d+→", re.MULTILINE)
_WARNINGS = tuple(LINE_NUMBER_WARNING.rstrip(".").split(". "))


class Refused(Exception):
    """The edit is refused. The message is for the model."""


def unnumbered(text: str, argument: str) -> str:
    """The unchanged text. Raises: Refused if it contains line numbers or the warning about them."""
    if _NUMBERED.search(text) or any(warning in text for warning in _WARNINGS):
        raise Refused(
            f"Not edited: `{argument}` holds line numbers (such as 1→) or the warning about them. They only orient you and are "
            "no part of the block. Write the text without them."
        )
    return text


def replaced_everywhere(value: str, old: str, new: str, most: int) -> str:
    """The value with all occurrences replaced. `most`: characters of a result that is longer than the value.

    Raises: Refused if there is no occurrence, or too many: the length is counted before a text of it is made.
    """
    if not old or old not in value:
        raise _not_found(value, "old_content")
    longer = value.count(old) * (len(new) - len(old))
    if longer > 0 and len(value) + longer > most:
        raise Refused(f"Not edited: the block would hold {len(value) + longer} characters, and its limit is {most}. Write less.")
    return value.replace(old, new)


def replaced_once(value: str, old: str, new: str) -> str:
    """The value with the only occurrence replaced; tabs also match the spaces that they stand for.

    The empty text occurs once in an empty block. Raises: Refused if there is no occurrence, or more than one.
    """
    if not old and value:
        raise Refused("Not edited: `old_string` is empty. Name the passage to replace, or insert text at a line instead.")
    if old not in value and old.expandtabs() in value.expandtabs():
        value, old, new = value.expandtabs(), old.expandtabs(), new.expandtabs()
    match value.count(old):
        case 0:
            raise _not_found(value, "old_string")
        case 1:
            return value.replace(old, new)
        case count:
            places = ", ".join(str(line) for line in _lines_of(value, old, NAMED))
            more = ", …" if count > NAMED else ""
            raise Refused(
                f"Not edited: `old_string` stands {count} times in the block, in lines {places}{more}. "
                "Give more of the text around the one that you mean, so that it is unique."
            )


def inserted(value: str, new: str, after: int) -> str:
    """`new` inserted after line `after`, counted from 1; 0 is the top, -1 the end. Raises: Refused if there is no such line."""
    lines = value.split("\n") if value else []
    last = max(len(lines), 1)  # an empty block is shown as one empty line
    if not -1 <= after <= last:
        raise Refused(
            f"Not edited: there is no line {after}. `insert_line` goes from 0 (the top) to {last}, the last line of the block; "
            "-1 stands for the end."
        )
    place = len(lines) if after == -1 else after
    return "\n".join([*lines[:place], new, *lines[place:]])


def _lines_of(value: str, part: str, most: int) -> list[int]:
    """The lines in which the first `most` occurrences begin, counted from 1."""
    lines: list[int] = []
    line, seen, at = 1, 0, value.find(part)
    while at >= 0 and len(lines) < most:
        line, seen = line + value.count("\n", seen, at), at
        lines.append(line)
        at = value.find(part, at + len(part))
    return lines


def _not_found(value: str, argument: str) -> Refused:
    return Refused(
        f"Not edited: `{argument}` does not stand in the block. Copy the passage exactly as it is written there, "
        f"with its spaces and line breaks. {quoted(value)}"
    )


def quoted(value: str) -> str:
    """A sentence that quotes the current value of a block up to a limit."""
    if not value:
        return "The block is empty."
    remainder = f" (and {len(value) - SHOWN} characters more)" if len(value) > SHOWN else ""
    return f"The block now reads:\n{value[:SHOWN]}{remainder}"
