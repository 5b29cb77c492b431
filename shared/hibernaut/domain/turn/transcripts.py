"""A conversation as a text to be summarised, in pieces that each fit a summariser's window (run-time digest 6.5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hibernaut.domain.models.tokens import count
from hibernaut.domain.tools.tool_returns import unpack, unwrapped
from hibernaut.schemas.message import Message

LONGEST_RETURN = 5_000
"""Characters of one tool return that a summariser is shown."""
MOST_PIECES = 8
"""Pieces that a transcript is read in. What is longer still is thinned out: each costs a call of the summariser."""
SHORTEST_LINE = 200
"""Characters to which a line is thinned out at most; then the middle of the conversation is left out."""


def pieces(rows: Sequence[Message], room: int) -> list[str]:
    """The transcript of rows in pieces of at most `room` tokens, no more than MOST_PIECES. Nothing is left out where it fits."""
    room = max(room, 1)
    longest: int | None = None
    while True:
        lines = [line for row in rows for line in _lines(row, longest)]
        found = list(_packed(lines, room))
        if len(found) <= MOST_PIECES:
            return found
        if longest == SHORTEST_LINE:
            half = MOST_PIECES // 2
            return [*found[:half], *found[len(found) - half :]]
        longest = max(SHORTEST_LINE, max(len(line) for line in lines) // 2 if longest is None else longest // 2)


def _lines(row: Message, longest: int | None) -> Iterator[str]:
    """A row's lines `[role] text -> tool(arguments)`, each cut in its middle to `longest` characters."""
    if row.role == "tool":
        returns = [unpack(each.func_response or "") for each in row.tool_returns] or [unpack(row.text())]
        for text in returns:
            yield _clipped(f"[tool] {_clipped(text, LONGEST_RETURN)}", longest)
        return
    images = sum(part.type == "image" for part in row.content)
    text = " ".join(part for part in (unwrapped(row), f"[{images} images]" if images else "") if part)
    made = ", ".join(f"{call.function.name}({call.function.arguments})" for call in row.tool_calls or ())
    if text or made:
        role = "assistant" if row.role == "approval" else row.role
        yield _clipped(f"[{role}] {text}{' -> ' if text and made else '-> ' if made else ''}{made}", longest)


def _clipped(text: str, longest: int | None) -> str:
    if longest is None or len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]} [... {len(text) - 2 * half} characters left out ...] {text[-half:]}"


def _packed(lines: Sequence[str], room: int) -> Iterator[str]:
    """Lines put together for as long as there is room; a line that is longer than that is divided."""
    held: list[str] = []
    used = 0
    for line in lines:
        for part, needed in _divided(line, room):
            if held and used + needed > room:
                yield "\n".join(held)
                held, used = [], 0
            held.append(part)
            used += needed
    if held:
        yield "\n".join(held)


def _divided(line: str, room: int) -> Iterator[tuple[str, int]]:
    """The line in parts that fit, each with its size and one for the line's end."""
    whole = count(line) + 1
    if whole <= room:
        yield line, whole
        return
    step = max(1, len(line) * room // (whole + room // 8))
    begin = 0
    while begin < len(line):
        end = begin + step
        while (size := count(line[begin:end]) + 1) > room and end - begin > 1:
            end = begin + (end - begin) * 3 // 4
        yield line[begin:end], size
        begin = end
