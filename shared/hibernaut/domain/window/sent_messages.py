"""The window as it is sent to a model, which differs from the log: long tool returns are clipped, the system message is the
frozen one, and updates of memory are at the end of the messages that carry them.

The result depends on the rows alone, so a request begins with the bytes of the request before it (invariant 10).
"""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.domain.memory.memory_updates import OPENING, without_update
from hibernaut.domain.models.tokens import count_again
from hibernaut.domain.prompt_tags import names_update, without_update_tags
from hibernaut.domain.tools.tool_returns import cut_off
from hibernaut.domain.window.window import tokens_of
from hibernaut.schemas.content import Part, TextContent
from hibernaut.schemas.messages.frozen_prompt import FrozenPrompt, MemoryUpdate
from hibernaut.schemas.messages.message import Message

SHORTEST_CLIP, RETURN_SHARE, CHARACTERS_PER_TOKEN = 5_000, 0.2, 4
"""The longest tool return that is sent to a model: a share of its window at about four characters a token, but at least this many
characters.
"""
_TELLING = ("user", "system", "tool")
"""The roles whose messages can carry an update. A reply goes back as its model wrote it, and an approval is not sent."""
_BY_MODEL = ("assistant", "approval")
"""The roles whose messages are the model's own, or are not sent."""


def as_sent(messages: Sequence[Message], context_window: int, *, updated: bool = True) -> tuple[Message, ...]:
    """The rows as they are sent to a model with this window (RT 2.3). The log keeps the rows as they are.

    `updated` off leaves the updates of memory out, for a request whose system message has no memory.
    """
    longest = max(SHORTEST_CLIP, int(RETURN_SHARE * context_window * CHARACTERS_PER_TOKEN))
    frozen = messages[0].frozen if messages else None
    updates_by_message: dict[str, list[MemoryUpdate]] = {}
    for update in frozen.updates if frozen and updated else ():
        updates_by_message.setdefault(update.message_id, []).append(update)
    rows = [row if row.role in _BY_MODEL else _clipped_row(row, longest) for row in messages]
    if frozen is not None:
        rows[0] = _frozen(messages[0], frozen)
    if updates_by_message:
        rows = [_with_updates(row, updates_by_message.pop(row.id)) if row.id in updates_by_message else row for row in rows]
        rows[0] = _with_updates(rows[0], [update for updates in updates_by_message.values() for update in updates])
    return tuple(rows)


def after_drop(messages: Sequence[Message], remaining: Sequence[Message]) -> tuple[Message, ...]:
    """The remaining rows of a window as it was sent. The updates of dropped rows move to the system message, as in
    `as_sent`.
    """
    frozen, ids = remaining[0].frozen, {row.id for row in remaining}
    dropped_ids = {row.id for row in messages} - ids
    lost_updates = [update for update in frozen.updates if update.message_id in dropped_ids] if frozen else []
    if frozen is None or not lost_updates:
        return tuple(remaining)
    orphans = [update for update in frozen.updates if update.message_id not in ids]
    return (_with_updates(_frozen(remaining[0], frozen), orphans), *remaining[1:])


def message_for_update(messages: Sequence[Message], run_id: str) -> Message | None:
    """The newest message of a run that can carry an update, before the run has called its model; None if there is none."""
    return next((row for row in reversed(messages) if row.run_id == run_id and row.role in _TELLING), None)


def without_updates(row: Message) -> Message:
    """The row as its author wrote it, without what `as_sent` added."""
    if row.role == "tool" and row.tool_returns:
        if not any(OPENING in (each.func_response or "") for each in row.tool_returns):
            return row
        texts = [without_update(each.func_response or "") for each in row.tool_returns]
        return _with_returns(row, texts)
    content = [part for part in row.content if part.type != "text" or not part.text.startswith(OPENING)]
    return row if len(content) == len(row.content) else row.model_copy(update={"content": content})


def _frozen(row: Message, frozen: FrozenPrompt) -> Message:
    """The system message with its frozen text."""
    if not frozen.text or frozen.text == row.text():
        return row
    return row.model_copy(
        update={"content": [TextContent(text=frozen.text)], "tokens": frozen.tokens or count_again(frozen.text)}
    )


def _with_updates(row: Message, updates: Sequence[MemoryUpdate]) -> Message:
    """The row with these updates at its end."""
    if not updates:
        return row
    size = tokens_of(row) + sum(update.tokens for update in updates)
    text = "\n\n".join(update.text for update in updates)
    if row.role == "tool" and row.tool_returns:
        *earlier_returns, last = [each.func_response or "" for each in row.tool_returns]
        row = _with_returns(row, [*earlier_returns, f"{last}\n\n{text}"])
    elif row.role == "system" and row.otid is None:
        row = row.model_copy(update={"content": [TextContent(text=f"{row.text()}\n\n{text}")]})
    else:
        row = row.model_copy(update={"content": [*row.content, TextContent(text=text)]})
    return row.model_copy(update={"tokens": size})


def _clipped_row(row: Message, longest: int) -> Message:
    """The row of another author than the model: tool returns clipped, and without text that looks like an update of memory."""
    if row.role == "tool" and row.tool_returns:
        texts = [each.func_response or "" for each in row.tool_returns]
        if any([len(text) > longest for text in texts]):
            row = _clipped(row, longest)
            texts = [each.func_response or "" for each in row.tool_returns]
        if any(map(names_update, texts)):
            row = _with_returns(row, [without_update_tags(text) for text in texts])
        return row
    for part in row.content:  # nearly always one: each step looks at all rows of its window
        if part.type == "text" and names_update(part.text):
            return row.model_copy(update={"content": [_clean(part) for part in row.content]})
    return row


def _clean(part: Part) -> Part:
    return TextContent(text=without_update_tags(part.text)) if part.type == "text" else part


def _clipped(row: Message, longest: int) -> Message:
    texts = [each.func_response or "" for each in row.tool_returns]
    short = [text if len(text) <= longest else cut_off(text, longest) for text in texts]
    share = sum(map(len, short)) / sum(map(len, texts))
    return _with_returns(row, short).model_copy(update={"tokens": int(tokens_of(row) * share) + 1})


def _with_returns(row: Message, texts: Sequence[str]) -> Message:
    returns = [each.model_copy(update={"func_response": text}) for each, text in zip(row.tool_returns, texts, strict=True)]
    return row.model_copy(update={"tool_returns": returns, "content": [TextContent(text=text) for text in texts]})
