"""The reply of a tool's process: sections of bytes, each with a tag and a length. Both ends share this module, which imports
nothing of Hibernaut.

The process that writes a reply has run the code of a stranger, and can write anything in its place. The reader therefore bounds
what it reads, parses JSON only where a value was promised, and only if it has few enough parts: a list of empty lists takes
twenty times the memory of its text.

    success:  VALUE or TEXT, then LABEL and BLOCK for each changed block
    failure:  ERROR, TRACEBACK
    END       closes every reply, so that a reply that was cut off is none
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

VALUE, TEXT, ERROR, TRACEBACK, LABEL, BLOCK, END = b"j", b"t", b"e", b"b", b"l", b"v", b"."
MOST_PARTS = 200_000
"""The largest number of parts of a JSON value; a value with more is its text."""
DEEPEST = 200
"""The largest nesting of a JSON value."""
_LENGTH = 4
_STRUCTURE = (b"[", b"{", b",", b":")

Section = tuple[bytes, bytes]


def framed(sections: Iterable[tuple[bytes, str]]) -> bytes:
    """The bytes of a reply. Lone surrogates become question marks."""
    parts = []
    for tag, text in (*sections, (END, "")):
        data = text.encode("utf-8", "replace")
        parts += [tag, len(data).to_bytes(_LENGTH, "big"), data]
    return b"".join(parts)


def sections_of(data: bytes, most: int) -> list[Section] | None:
    """The sections before the closing one; None if the bytes are not exactly one reply of at most `most` sections."""
    sections: list[Section] = []
    at = 0
    while len(sections) <= most:
        tag, length = data[at : at + 1], data[at + 1 : at + 1 + _LENGTH]
        at += 1 + _LENGTH
        end = at + int.from_bytes(length, "big")
        if len(length) < _LENGTH or end > len(data):
            return None
        if tag == END:
            return sections if end == len(data) == at else None
        sections.append((tag, data[at:end]))
        at = end
    return None


def is_small(text: bytes, most: int = MOST_PARTS) -> bool:
    """Whether a JSON text has at most `most` parts; commas within strings count too."""
    return sum(text.count(mark) for mark in _STRUCTURE) <= most


def parsed(text: bytes, most: int = MOST_PARTS) -> Any:
    """The value of a JSON text that a stranger wrote. Raises: ValueError if it has too many parts, or is no JSON that can be
    written again.
    """
    if not is_small(text, most):
        raise ValueError(f"it has more than {most} parts")
    try:
        value = json.loads(text)
        _check_depth(value)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        raise ValueError("it is no JSON value") from error
    return value


def _check_depth(value: Any) -> None:
    """Raises: ValueError."""
    level = [value]
    for _ in range(DEEPEST):
        level = [part for each in level for part in _parts(each)]
        if not level:
            return
    raise ValueError("it is nested too deeply")


def _parts(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
