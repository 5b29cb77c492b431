"""The window, which is the part of the log that the model sees: its size, and how it shrinks without a model (invariant 9).

Every compaction uses `cuts`, which keeps calls with their returns, and `narrowed`, which describes the remaining window as it is
stored: pinned messages and all messages after a cut.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hibernaut.domain.models.token_factors import LIKE_O200K, factors_of, kind_of
from hibernaut.domain.models.tokens import count
from hibernaut.schemas.agents.conversation import Head, Window
from hibernaut.schemas.messages.message import Message

FULL = 0.9
"""The share of the context window above which the window is compacted (RT 6.1)."""
REMAINING = 0.6
"""The share of the context window that remains when whole turns are dropped."""
LEAST, MOST = 0.8, 3.0
"""The range within which the ratio of the provider's token count to ours is believed."""
INCREDIBLE = 0.5
"""A reported size below this share of our count cannot be the whole request: some servers report only the tokens outside their
cache.
"""
ROW_TOKENS, CALL_TOKENS, IMAGE_TOKENS = 4, 8, 1000
"""The estimated tokens of a provider's formatting for each row and each call, and of one image."""


def tokens_of(row: Message) -> int:
    """The size of a row in tokens: the stored count, or a new count. Reasoning that no request sends back is not counted."""
    if row.tokens is not None:
        return row.tokens
    size = ROW_TOKENS
    for part in row.content:
        if part.type == "text":
            size += count(part.text)
        elif part.type == "reasoning" and (not part.is_native or part.signature or row.native is not None):
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
    """The total size of rows in tokens. It sums stored counts, because every step measures the whole window."""
    return sum([tokens_of(row) if row.tokens is None else row.tokens for row in messages])


def measured(messages: Sequence[Message]) -> None:
    """Store the token count on each row that has none."""
    for row in messages:
        if row.tokens is None:
            row.tokens = tokens_of(row)


def correction(our_tokens: int, reported_tokens: int) -> float:
    """The ratio of the provider's count of the newest request to ours; 1 if it is unknown or implausible."""
    return max(LEAST, min(MOST, reported_tokens / our_tokens)) if _is_credible(our_tokens, reported_tokens) else 1.0


def correction_for(head: Head, model: str, messages: Sequence[Message], fixed_tokens: int) -> float:
    """By how much the provider counts more than we do: learned from the newest request of this model.

    Before its first reply, also after a change of the model, it is expected by the model's family and the kind of each text.
    `fixed_tokens` are those of the tools, which are JSON.
    """
    if head.measured_with == model and _is_credible(head.counted, head.reported):
        return correction(head.counted, head.reported)
    factors = factors_of(model)
    if factors is LIKE_O200K:
        return 1.0
    size = sum(factors[kind_of(_row_text(row))] * tokens_of(row) for row in messages)
    whole = tokens(messages) + fixed_tokens
    return (size + factors["json"] * fixed_tokens) / whole if whole else 1.0


def _is_credible(our_tokens: int, reported_tokens: int) -> bool:
    return our_tokens > 0 and reported_tokens >= INCREDIBLE * our_tokens


def _row_text(row: Message) -> str:
    """The text that stands for a row: its text, or the longest of its returns or arguments."""
    other_texts = [answer.func_response or "" for answer in row.tool_returns]
    other_texts += [call.function.arguments for call in row.tool_calls or ()]
    return row.text() or max(other_texts, key=len, default="")


def threshold(context_window: int) -> int:
    """The size in tokens above which a window is compacted, for a model with this context window."""
    return int(FULL * context_window)


def goal(context_window: int) -> int:
    """The size in tokens to which whole turns are dropped, for a model with this context window."""
    return int(REMAINING * context_window)


def is_input(row: Message) -> bool:
    """Whether the row is input of a caller; heartbeats and other notices of the server are not."""
    return row.role in ("user", "system") and row.step_id is None


def cuts(rows: Sequence[Message]) -> list[int]:
    """The positions where a window may be cut, in order, including its end (`len(rows)`).

    A cut is possible where a turn or a step begins, never between a call and its return. The newest calls without a return
    remain, with all rows after them.
    """
    separates_call = _separating(rows)
    return [place for place in range(1, len(rows) + 1) if not separates_call[place] and _begins(rows, place)]


def turn_starts(rows: Sequence[Message]) -> list[int]:
    """The positions where a caller's input begins."""
    return [place for place in range(len(rows)) if is_input(rows[place]) and not _is_same_input(rows, place)]


def newest_input(rows: Sequence[Message], run_id: str | None = None) -> frozenset[str]:
    """The ids of a run's input messages; without a run, the ids of the newest input."""
    own = frozenset(row.id for row in rows if is_input(row) and row.run_id == run_id) if run_id else frozenset()
    starts = turn_starts(rows)
    if own or not starts:
        return own
    end = next((place for place in range(starts[-1], len(rows)) if not is_input(rows[place])), len(rows))
    return frozenset(row.id for row in rows[starts[-1] : end])


def without(rows: Sequence[Message], place: int, remaining_ids: Collection[str] = ()) -> tuple[Message, ...]:
    """The rows from a position on, and the earlier rows whose ids are in `remaining_ids`."""
    return (*(row for row in rows[:place] if row.id in remaining_ids), *rows[place:])


def drop_oldest_turns(messages: Sequence[Message], goal_tokens: int, run_id: str | None = None) -> tuple[Message, ...]:
    """The window without its oldest turns, at most `goal_tokens` long if possible.

    Whole turns are dropped first, except the newest; then the oldest steps of the newest turn, except its last step and the run's
    input; a summary is dropped last. The system message always remains.
    """
    summary, body = _apart(messages[1:])
    room = goal_tokens - tokens(messages[:1]) - tokens(summary)
    inputs = newest_input(body, run_id)
    starts = turn_starts(body)
    places = cuts(body)
    newest = next((place for place, row in enumerate(body) if row.id in inputs), -1)
    turn_places = [place for place in starts if place in places and place <= newest]
    last = max((place for place in places if place < len(body)), default=0)
    steps = [place for place in places if newest < place <= last]
    remaining = tuple(body)
    for place in [*turn_places, *steps]:
        if tokens(remaining) <= room:
            break
        remaining = without(body, place, inputs)
    if summary and tokens(remaining) > room:
        summary = ()
    return (*messages[:1], *summary, *remaining)


def narrowed(before: Window, messages: Sequence[Message], remaining: Sequence[Message], summary: str | None = None) -> Window:
    """The stored form of a window that contains only `remaining`: rows before the cut are pinned. `summary` is the id of a new
    summary.

    `messages` is the previous window; both sequences begin with the system message.
    """
    pinned, remaining_ids = set(before.pinned), {row.id for row in remaining}
    dropped_places = [place for place, row in enumerate(messages) if row.id not in pinned and row.id not in remaining_ids]
    last = dropped_places[-1] if dropped_places else -1
    before_cut = {row.id for row in messages[: last + 1]} | pinned
    pins = [row.id for row in remaining if row.id in before_cut]
    return Window(
        pinned=[*pins[:1], *([summary] if summary else []), *pins[1:]], cut=messages[last].id if dropped_places else before.cut
    )


def _apart(rows: Sequence[Message]) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """The summaries at the beginning, and the other rows."""
    first_other = next((place for place, row in enumerate(rows) if row.role != "summary"), len(rows))
    return tuple(rows[:first_other]), tuple(rows[first_other:])


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
    """Whether this row and the previous one belong to the same input."""
    return place > 0 and is_input(rows[place - 1]) and rows[place - 1].run_id == rows[place].run_id


def _separating(rows: Sequence[Message]) -> list[bool]:
    """For each position, whether it separates a call from its return. Providers may reuse a call id in two steps: the newest call
    counts.
    """
    separates = [False] * (len(rows) + 1)
    open_calls: dict[str, int] = {}
    newest = -1
    for place, row in enumerate(rows):
        for call in row.tool_calls or ():
            open_calls[call.id] = newest = place
        if row.role == "tool":
            for call_id in [each.tool_call_id for each in row.tool_returns] or [row.tool_call_id or ""]:
                if call_id in open_calls:
                    call_place = open_calls.pop(call_id)
                    separates[call_place + 1 : place + 1] = [True] * (place - call_place)
    if newest in open_calls.values():
        separates[newest + 1 :] = [True] * (len(rows) - newest)
    return separates
