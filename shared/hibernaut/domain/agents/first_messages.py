"""The first messages of an agent: the opening of the legacy types, or the caller's `initial_message_sequence` (RT 1.3).

The ids of the rows are parameters; nothing here stores a row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from hibernaut.domain.tools.tool_returns import login, pack, system_alert, user_message
from hibernaut.schemas.base import Json
from hibernaut.schemas.content import ImageContent, Part, TextContent
from hibernaut.schemas.ids import derived_otid
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.message import FunctionCall, Message, Role, ToolCall, ToolReturn
from hibernaut.schemas.runs.send import MessageCreate

SENT = "Sent message successfully."
"""The return of `send_message`; clients match on this text (API 5.2)."""

_FIRST_THOUGHT = "I am awake, and my memory is in place. I will say hello."
_FIRST_WORDS = "Hello, I am here and ready to talk."


@immutable
class Opening:
    """The agent and the time of the opening. `ids` yields fresh message ids in order, one for each row.

    `speaks_by_tool`: the agent's words are calls of `send_message`, not plain text.
    """

    agent_id: str
    ids: Iterable[str]
    now: datetime
    timezone: str
    model: str | None = None
    speaks_by_tool: bool = True


def boot_sequence(opening: Opening) -> list[Message]:
    """Three rows: a first call of `send_message`, its return, and the user's login event."""
    ids = iter(opening.ids)
    greeting = _send_message_rows(opening, ids, _FIRST_WORDS, thought=_FIRST_THOUGHT, returned=SENT)
    arrival = _row(opening, ids, "user", [TextContent(text=login(opening.now, opening.timezone))])
    return [*greeting, arrival.model_copy(update={"wrapped": True})]


def initial_sequence(messages: Sequence[MessageCreate], opening: Opening) -> list[Message]:
    """The rows of an `initial_message_sequence`: user and system messages are packed, assistant messages have the agent's
    form.
    """
    ids = iter(opening.ids)
    return [row for message in messages for row in _given(message, opening, ids)]


def _given(message: MessageCreate, opening: Opening, ids: Iterator[str]) -> list[Message]:
    content = [TextContent(text=message.content)] if isinstance(message.content, str) else message.content
    text = "\n".join(part.text for part in content if part.type == "text")
    if message.role == "assistant" and not opening.speaks_by_tool:
        return [_row(opening, ids, "assistant", [TextContent(text=text)])]
    if message.role == "assistant":
        return _send_message_rows(opening, ids, text, thought=None, returned=None)
    if message.role == "user":
        packed = user_message(text, message.name, opening.now, opening.timezone)
    else:
        packed = system_alert(text, opening.now, opening.timezone)
    images: list[Part] = [part for part in content if isinstance(part, ImageContent)]
    row = _row(opening, ids, message.role, [TextContent(text=packed), *images])
    about = {
        "wrapped": True,
        "name": message.name,
        # A system row without an otid would be a prompt, which no window shows.
        "otid": message.otid or (derived_otid(row.id, 0) if row.role == "system" else None),
        "sender_id": message.sender_id,
        "group_id": message.group_id,
    }
    return [row.model_copy(update=about)]


def _send_message_rows(opening: Opening, ids: Iterator[str], words: str, *, thought: str | None, returned: Json) -> list[Message]:
    call_row = _row(opening, ids, "assistant", [TextContent(text=thought)] if thought else [])
    call_id = f"call_{call_row.id[-36:].replace('-', '')[-24:]}"
    function = FunctionCall(name="send_message", arguments=json.dumps({"message": words}, ensure_ascii=False))
    packed_return = pack("success", returned, opening.now, opening.timezone)
    return_row = _row(opening, ids, "tool", [TextContent(text=packed_return)]).model_copy(
        update={
            "name": "send_message",
            "tool_call_id": call_id,
            "tool_returns": [ToolReturn(tool_call_id=call_id, status="success", func_response=packed_return)],
        }
    )
    return [call_row.model_copy(update={"tool_calls": [ToolCall(id=call_id, function=function)]}), return_row]


def _row(opening: Opening, ids: Iterator[str], role: Role, content: list[Part]) -> Message:
    return Message(
        id=next(ids),
        role=role,
        content=content,
        agent_id=opening.agent_id,
        model=opening.model if role == "assistant" else None,
        created_at=opening.now,
    )
