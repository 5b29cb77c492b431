"""Renders a conversation as text for a summariser, in pieces that each fit its window (RT 6.5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hibernaut.domain.models.tokens import count
from hibernaut.domain.tools.tool_returns import unpack, unwrapped
from hibernaut.domain.window.sent_messages import without_updates
from hibernaut.schemas.messages.message import Message

LONGEST_RETURN = 5_000
"""The largest part of one tool return in a transcript, in characters."""
MOST_PIECES = 8
"""The largest number of pieces, each of which costs one call of the summariser. A longer transcript is shortened."""
SHORTEST_LINE = 200
"""The shortest length to which lines are cut, in characters; if that is not enough, the middle of the conversation is left out.
"""


def pieces(rows: Sequence[Message], room: int) -> list[str]:
    """The transcript in pieces of at most `room` tokens, at most MOST_PIECES. Nothing is left out if it fits, but
    the server's updates of memory.
    """
    room, plain_rows = max(room, 1), [without_updates(row) for row in rows]
    longest: int | None = None
    while True:
        lines = [line for row in plain_rows for line in _lines(row, longest)]
        found = list(_packed(lines, room))
        if len(found) <= MOST_PIECES:
            return found
        if longest == SHORTEST_LINE:
            half = MOST_PIECES // 2
            return [*found[:half], *found[len(found) - half :]]
        longest = max(SHORTEST_LINE, max(len(line) for line in lines) // 2 if longest is None else longest // 2)


def _lines(row: Message, longest: int | None) -> Iterator[str]:
    """The lines `[role] text -> tool(arguments)` of a row, each cut in its middle to `longest` characters. A line break in a text
    is followed by two spaces, so that no text begins a line of its own.
    """
    if row.role == "tool":
        returns = [unpack(each.func_response or "") for each in row.tool_returns] or [unpack(row.text())]
        for text in returns:
            yield _clipped(_one_entry(f"[tool] {_clipped(text, LONGEST_RETURN)}"), longest)
        return
    images = sum(part.type == "image" for part in row.content)
    text = " ".join(part for part in (unwrapped(row), f"[{images} images]" if images else "") if part)
    calls = ", ".join(f"{call.function.name}({call.function.arguments})" for call in row.tool_calls or ())
    if text or calls:
        role = "assistant" if row.role == "approval" else row.role
        arrow = " -> " if text and calls else "-> " if calls else ""
        yield _clipped(_one_entry(f"[{role}] {text}{arrow}{calls}"), longest)


def _one_entry(text: str) -> str:
    return "\n  ".join(text.splitlines())


def _clipped(text: str, longest: int | None) -> str:
    if longest is None or len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]} [... {len(text) - 2 * half} characters left out ...] {text[-half:]}"


def _packed(lines: Sequence[str], room: int) -> Iterator[str]:
    """Lines joined into pieces of at most `room` tokens; a longer line is divided."""
    gathered: list[str] = []
    size = 0
    for line in lines:
        for part, tokens_of_part in _divided(line, room):
            if gathered and size + tokens_of_part > room:
                yield "\n".join(gathered)
                gathered, size = [], 0
            gathered.append(part)
            size += tokens_of_part
    if gathered:
        yield "\n".join(gathered)


def _divided(line: str, room: int) -> Iterator[tuple[str, int]]:
    """The parts of a line that fit, each with its size in tokens including the line break."""
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
