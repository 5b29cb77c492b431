"""The window: the part of the log that the model sees, its size, and how it is made smaller without a model (invariant 9).

Every way to make it smaller goes through `cuts`, which keeps calls with their returns, and `narrowed`, which says how what is left is
stored: pinned messages and everything after a cut.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hibernaut.domain.models.tokens import count
from hibernaut.domain.tools.tool_returns import cut_off
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.conversation import Window
from hibernaut.schemas.message import Message

FULL = 0.9
"""The share of the context window above which the window is compacted (run-time digest 6.1)."""
KEPT = 0.6
"""The share of the context window that is left where whole turns are dropped."""
LEAST, MOST = 0.8, 3.0
"""How far the size of a request is believed to differ from our count of it."""
INCREDIBLE = 0.5
"""Less than this share of our count cannot be the whole request: some servers report only what their cache did not have."""
ROW_TOKENS, CALL_TOKENS, IMAGE_TOKENS = 4, 8, 1000
"""What a provider's wrapping adds to each row and each call; what an image counts for."""


SHORTEST_CLIP, RETURN_SHARE, CHARACTERS_PER_TOKEN = 5_000, 0.2, 4
"""A model is sent this much of one tool return: a share of its window, of which a token is about four characters, but no fewer characters."""


def tokens_of(row: Message) -> int:
    """The size of a row in tokens: as stored with it, else counted."""
    if row.tokens is not None:
        return row.tokens
    size = ROW_TOKENS
    for part in row.content:
        if part.type == "text":
            size += count(part.text)
        elif part.type == "reasoning":
            size += count(part.reasoning)
        elif part.type == "image":
            size += IMAGE_TOKENS
    for call in row.tool_calls or ():
        size += CALL_TOKENS + count(call.function.name) + count(call.function.arguments)
    for answer in row.tool_returns:
        size += IMAGE_TOKENS * len(answer.images)
        size += count(answer.func_response or "") if row.role != "tool" or not row.content else 0
    return size


def tokens(messages: Sequence[Message]) -> int:
    """The size of rows together: a sum of stored counts, because this is asked of the whole window in each step."""
    return sum([tokens_of(row) if row.tokens is None else row.tokens for row in messages])


def measured(messages: Sequence[Message]) -> None:
    """Give each row that nobody has counted its size, once and for all."""
    for row in messages:
        if row.tokens is None:
            row.tokens = tokens_of(row)


def as_sent(messages: Sequence[Message], context_window: int) -> tuple[Message, ...]:
    """The rows as a model with this window is sent them: tool returns that would fill it alone are clipped (run-time digest 2.3).

    The log keeps them whole.
    """
    longest = max(SHORTEST_CLIP, int(RETURN_SHARE * context_window * CHARACTERS_PER_TOKEN))
    return tuple(_clipped(row, longest) if row.role == "tool" and _is_long(row, longest) else row for row in messages)


def correction(counted: int, reported: int) -> float:
    """By how much a provider's own count of the newest request differed from ours; 1 where it is not known or cannot be."""
    if counted <= 0 or reported < INCREDIBLE * counted:
        return 1.0
    return max(LEAST, min(MOST, reported / counted))


def threshold(context_window: int) -> int:
    return int(FULL * context_window)


def goal(context_window: int) -> int:
    return int(KEPT * context_window)


def is_input(row: Message) -> bool:
    """Whether a caller sent the row: heartbeats and what else the server says within a step do not count."""
    return row.role in ("user", "system") and row.step_id is None


def cuts(rows: Sequence[Message]) -> list[int]:
    """The places before which a window may be cut off, in order, its end (`len(rows)`) among them.

    Rows may part where a turn or a step begins, never between a call and its return. The newest calls that nobody has answered stay
    with all that follows them.
    """
    held = _held(rows)
    return [place for place in range(1, len(rows) + 1) if not held[place] and _begins(rows, place)]


def turn_starts(rows: Sequence[Message]) -> list[int]:
    """The places where a caller's messages begin."""
    return [place for place in range(len(rows)) if is_input(rows[place]) and not _is_same_input(rows, place)]


def newest_input(rows: Sequence[Message], run_id: str | None = None) -> frozenset[str]:
    """The ids of the messages that a run was sent; of the newest ones that anybody sent, where it has none."""
    own = frozenset(row.id for row in rows if is_input(row) and row.run_id == run_id) if run_id else frozenset()
    starts = turn_starts(rows)
    if own or not starts:
        return own
    end = next((place for place in range(starts[-1], len(rows)) if not is_input(rows[place])), len(rows))
    return frozenset(row.id for row in rows[starts[-1] : end])


def without(rows: Sequence[Message], place: int, stays: Collection[str] = ()) -> tuple[Message, ...]:
    """The rows from a place on, and those before it that stay."""
    return (*(row for row in rows[:place] if row.id in stays), *rows[place:])


def drop_oldest_turns(messages: Sequence[Message], goal_tokens: int, run_id: str | None = None) -> tuple[Message, ...]:
    """The window without its oldest turns, so that it has at most `goal_tokens` where that is possible.

    First whole turns go, each with all that follows it, but for the newest; then the oldest steps of that one, but for its newest step
    and what the run was sent; a summary goes last. The system message always stays.
    """
    summary, body = _apart(messages[1:])
    room = goal_tokens - tokens(messages[:1]) - tokens(summary)
    inputs = newest_input(body, run_id)
    starts = turn_starts(body)
    places = cuts(body)
    newest = next((place for place, row in enumerate(body) if row.id in inputs), -1)
    whole = [place for place in starts if place in places and place <= newest]
    last = max((place for place in places if place < len(body)), default=0)
    steps = [place for place in places if newest < place <= last]
    kept = tuple(body)
    for place in [*whole, *steps]:
        if tokens(kept) <= room:
            break
        kept = without(body, place, inputs)
    if summary and tokens(kept) > room:
        summary = ()
    return (*messages[:1], *summary, *kept)


def narrowed(before: Window, messages: Sequence[Message], kept: Sequence[Message], summary: str | None = None) -> Window:
    """How a window is stored of which only `kept` is left: rows that stand before the cut are pinned. `summary`: the id of a new one.

    `messages` is the window as it was; both begin with the system message.
    """
    pinned, stays = set(before.pinned), {row.id for row in kept}
    gone = [place for place, row in enumerate(messages) if row.id not in pinned and row.id not in stays]
    last = gone[-1] if gone else -1
    before_cut = {row.id for row in messages[: last + 1]} | pinned
    pins = [row.id for row in kept if row.id in before_cut]
    return Window(pinned=[*pins[:1], *([summary] if summary else []), *pins[1:]], cut=messages[last].id if gone else before.cut)


def _is_long(row: Message, longest: int) -> bool:
    return any(len(each.func_response or "") > longest for each in row.tool_returns)


def _clipped(row: Message, longest: int) -> Message:
    texts = [each.func_response or "" for each in row.tool_returns]
    short = [text if len(text) <= longest else cut_off(text, longest) for text in texts]
    returns = [each.model_copy(update={"func_response": text}) for each, text in zip(row.tool_returns, short, strict=True)]
    share = sum(map(len, short)) / sum(map(len, texts))
    sent = {"tool_returns": returns, "content": [TextContent(text=text) for text in short]}
    return row.model_copy(update={**sent, "tokens": int(tokens_of(row) * share) + 1})


def _apart(rows: Sequence[Message]) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """The summaries at the head, and the rest."""
    said = next((place for place, row in enumerate(rows) if row.role != "summary"), len(rows))
    return tuple(rows[:said]), tuple(rows[said:])


def _begins(rows: Sequence[Message], place: int) -> bool:
    if place == len(rows):
        return True
    row, before = rows[place], rows[place - 1]
    if is_input(row):
        return not _is_same_input(rows, place)
    if row.role == "approval" and row.tool_calls:
        return before.role != "assistant" or before.step_id != row.step_id
    return row.role == "assistant"


def _is_same_input(rows: Sequence[Message], place: int) -> bool:
    """Whether the row before came with this one."""
    return place > 0 and is_input(rows[place - 1]) and rows[place - 1].run_id == rows[place].run_id


def _held(rows: Sequence[Message]) -> list[bool]:
    """For each place, whether a call before it has its return behind it. Providers may give one id in two steps: the newest call counts."""
    held = [False] * (len(rows) + 1)
    asked: dict[str, int] = {}
    newest = -1
    for place, row in enumerate(rows):
        for call in row.tool_calls or ():
            asked[call.id] = newest = place
        if row.role == "tool":
            for call_id in [each.tool_call_id for each in row.tool_returns] or [row.tool_call_id or ""]:
                if call_id in asked:
                    begun = asked.pop(call_id)
                    held[begun + 1 : place + 1] = [True] * (place - begun)
    if newest in asked.values():
        held[newest + 1 :] = [True] * (len(rows) - newest)
    return held
