"""The window: the part of the log that the model sees, its size, and how it is made smaller without a model (invariant 9)."""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.schemas.message import Message

FULL = 0.9
"""The share of the context window above which the window is compacted (run-time digest 6.1)."""
KEPT = 0.6
"""The share of the context window that is left after compaction."""
CHARACTERS_PER_TOKEN = 4
"""The estimate where no tokenizer has counted: of English text, on the safe side together with FULL."""
ROW_TOKENS = 8
"""What a provider's wrapping adds to each row."""


def estimate(text: str) -> int:
    """Tokens of a text, estimated."""
    return len(text) // CHARACTERS_PER_TOKEN + 1


def tokens_of(row: Message) -> int:
    """The size of a row in tokens: as stored with it, else estimated."""
    if row.tokens is not None:
        return row.tokens
    size = ROW_TOKENS
    for part in row.content:
        if part.type == "text":
            size += estimate(part.text)
        elif part.type == "reasoning":
            size += estimate(part.reasoning)
        elif part.type == "image":
            size += 1000
    for call in row.tool_calls or ():
        size += estimate(call.function.name) + estimate(call.function.arguments)
    for answer in row.tool_returns:
        size += estimate(answer.func_response or "") if row.role != "tool" else 0
    return size


def tokens(messages: Sequence[Message]) -> int:
    """The size of rows together: a sum of stored counts, because this is asked of the whole window in each step."""
    return sum([tokens_of(row) if row.tokens is None else row.tokens for row in messages])


def threshold(context_window: int) -> int:
    return int(FULL * context_window)


def goal(context_window: int) -> int:
    return int(KEPT * context_window)


def drop_oldest_turns(messages: Sequence[Message], goal_tokens: int, pinned: int = 1) -> tuple[Message, ...]:
    """The window without its oldest turns, so that it has at most `goal_tokens` where that is possible.

    A turn begins at a caller's message and goes with all that follows it, so a call never loses its return. The first `pinned`
    rows and the newest turn always stay.
    """
    kept, body = list(messages[:pinned]), list(messages[pinned:])
    starts = [place for place, row in enumerate(body) if _begins_turn(row, body[place - 1] if place else None)]
    size = tokens(messages)
    cut = 0
    for start in starts:
        if size <= goal_tokens:
            break
        if start > cut:
            size -= tokens(body[cut:start])
            cut = start
    return (*kept, *body[cut:])


def _begins_turn(row: Message, before: Message | None) -> bool:
    """A caller's message behind something that is not one: heartbeats and other rows inside a run do not begin a turn."""
    return row.role in ("user", "system") and row.step_id is None and (before is None or before.run_id != row.run_id)
