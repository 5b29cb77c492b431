"""Renders rows of the log as the LettaMessages of API 4.5, 5.2, 5.4 and 5.5. Knows one row at a time.

One row becomes one or more messages with its id: reasoning, then text, then calls. The caller decides which rows are rendered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict, assert_never

from hibernaut.domain.agents import group_turns
from hibernaut.domain.tools.tool_returns import as_text, json_object, unpack, unwrapped
from hibernaut.schemas.base import JsonObject, message_date
from hibernaut.schemas.content import (
    ImageContent,
    OmittedReasoningContent,
    ReasoningContent,
    RedactedReasoningContent,
    SummarizedReasoningContent,
    TextContent,
)
from hibernaut.schemas.ids import derived_otid
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.letta_message import (
    ApprovalRequestMessage,
    ApprovalResponseMessage,
    ApprovalReturn,
    AssistantMessage,
    CompactionStats,
    HiddenReasoningMessage,
    LettaMessage,
    ReasoningMessage,
    SummaryMessage,
    SystemMessage,
    ToolCallMessage,
    ToolReturnMessage,
    UserMessage,
    WireToolCall,
    WireToolReturn,
)
from hibernaut.schemas.messages.message import Message, ToolCall, ToolReturn
from hibernaut.schemas.runs.send import RequestConfig


@immutable
class Rendering:
    """The caller's options for rendering.

    `legacy`: the agent speaks by a tool, so its text is private reasoning. Then `use_assistant_message` shows a call of
    `assistant_tool` as an assistant message with the text of the argument `assistant_kwarg`, and omits its return (API 5.5).
    `text_is_reasoning` treats the text of any agent as reasoning. `types`: only messages of these types. A summary is shown as a
    summary message if `summaries` is set or `summary_message` is among the types, else as a user message, as the model reads it
    (API 5.3).
    """

    use_assistant_message: bool = True
    assistant_tool: str = "send_message"
    assistant_kwarg: str = "message"
    text_is_reasoning: bool = False
    types: frozenset[str] | None = None
    legacy: bool = False
    summaries: bool = False

    @classmethod
    def of(cls, config: RequestConfig | None, *, legacy: bool) -> Rendering:
        """The options of a run's request; without a filter by type, because the indices of events count all messages."""
        config = config or RequestConfig()
        return cls(
            use_assistant_message=config.use_assistant_message,
            assistant_tool=config.assistant_message_tool_name,
            assistant_kwarg=config.assistant_message_tool_kwarg,
            legacy=legacy,
        )

    def maps(self, tool: str | None) -> bool:
        """Whether calls of this tool are shown as assistant messages."""
        return self.legacy and self.use_assistant_message and tool == self.assistant_tool


def render(message: Message, rendering: Rendering) -> list[LettaMessage]:
    """The messages of one row, in order."""
    messages = _shown(message, rendering)
    return messages if rendering.types is None else [one for one in messages if one.message_type in rendering.types]


def _shown(message: Message, rendering: Rendering) -> list[LettaMessage]:
    if message.role in ("assistant", "tool") and group_turns.is_group(message.agent_id):
        return _in_group(message)
    match message.role:
        case "system":
            return [SystemMessage(content=message.text(), **_common(message))]
        case "user":
            return [UserMessage(content=_user_content(message), **_common(message))]
        case "summary":
            return [_summary(message, rendering)]
        case "assistant":
            return _assistant(message, rendering)
        case "tool":
            return _tool(message, rendering)
        case "approval":
            return _approval(message, rendering)
    assert_never(message.role)


class _RenderedFields(TypedDict):
    """The fields that all messages share."""

    id: str
    date: str
    name: str | None
    otid: str | None
    sender_id: str | None
    step_id: str | None
    is_err: bool | None
    run_id: str | None


def _common(message: Message, index: int = 0, *, name: str | None = None) -> _RenderedFields:
    """The fields that all messages share. The row's own otid belongs to its first message; the otids of the others are derived
    (API 5.2).
    """
    own = message.otid if index == 0 else None
    return {
        "id": message.id,
        "date": message_date(message.created_at),
        "name": name or (message.name if message.role == "user" else None),
        "otid": own or derived_otid(message.id, index),
        "sender_id": message.sender_id,
        "step_id": message.step_id,
        "is_err": message.is_err or None,
        "run_id": message.run_id,
    }


def _in_group(message: Message) -> list[LettaMessage]:
    """The sayings of a group's agents in a turn, each under the agent's name. The choice of the next speaker is not shown, unless
    it failed.
    """
    if message.role == "assistant":
        text = message.text()
        return [SystemMessage(content=text, **_common(message))] if text else []
    messages: list[LettaMessage] = []
    for one in group_turns.shown_sayings(message):
        common = _common(message, len(messages), name=one.name)
        common["sender_id"] = one.agent_id
        messages.append(SystemMessage(content=one.line, **common) if one.failed else AssistantMessage(content=one.text, **common))
    return messages


def _user_content(message: Message) -> str | list[TextContent | ImageContent]:
    parts = [part for part in message.content if isinstance(part, TextContent | ImageContent)]
    if not parts:
        return ""
    first = parts[0]
    return unwrapped(message) if len(parts) == 1 and isinstance(first, TextContent) else parts


def _summary(message: Message, rendering: Rendering) -> SummaryMessage | UserMessage:
    text = message.text()
    if not rendering.summaries and "summary_message" not in (rendering.types or ()):
        return UserMessage(content=text, **_common(message))
    packed = json_object(text) or {}
    stats = packed.get("compaction_stats")
    return SummaryMessage(
        summary=as_text(packed.get("message", text)),
        compaction_stats=CompactionStats.model_validate(stats) if isinstance(stats, dict) else None,
        **_common(message),
    )


def _assistant(message: Message, rendering: Rendering) -> list[LettaMessage]:
    messages = _thoughts_and_text(message, rendering)
    other_calls: list[ToolCall] = []
    for call in message.tool_calls or ():
        words = _words(call, rendering)
        if words is None:
            other_calls.append(call)
        else:
            messages.append(AssistantMessage(content=words, **_common(message, len(messages))))
    if other_calls:
        calls = _wire_calls(other_calls)
        messages.append(ToolCallMessage(tool_call=calls[0], tool_calls=calls, **_common(message, len(messages))))
    return messages


def _thoughts_and_text(message: Message, rendering: Rendering) -> list[LettaMessage]:
    """The row's reasoning, then its text; the text is reasoning too if it is private to the agent."""
    messages: list[LettaMessage] = []
    for part in message.content:
        thought = _thought(part, _common(message, len(messages)))
        if thought is not None:
            messages.append(thought)
    text = message.text()
    common = _common(message, len(messages))
    if text and (rendering.legacy or rendering.text_is_reasoning):
        messages.append(ReasoningMessage(reasoning=text, **common))
    elif text:
        messages.append(AssistantMessage(content=text, **common))
    return messages


def _thought(part: object, common: _RenderedFields) -> ReasoningMessage | HiddenReasoningMessage | None:
    match part:
        case ReasoningContent():
            source: Literal["reasoner_model", "non_reasoner_model"] = "reasoner_model" if part.is_native else "non_reasoner_model"
            return ReasoningMessage(source=source, reasoning=part.reasoning, signature=part.signature, **common)
        case SummarizedReasoningContent(summary=[_, *_]):
            reasoning = "\n\n".join(piece.text for piece in part.summary)
            return ReasoningMessage(source="reasoner_model", reasoning=reasoning, **common)
        case RedactedReasoningContent():
            return HiddenReasoningMessage(state="redacted", hidden_reasoning=part.data, **common)
        case OmittedReasoningContent() | SummarizedReasoningContent():
            return HiddenReasoningMessage(state="omitted", **common)
        case _:
            return None


def _words(call: ToolCall, rendering: Rendering) -> str | None:
    """The text of a call of the speaking tool; None for other calls and for unreadable arguments."""
    if not rendering.maps(call.function.name):
        return None
    words = (json_object(call.function.arguments) or {}).get(rendering.assistant_kwarg)
    return None if words is None else as_text(words)


def _wire_calls(calls: Sequence[ToolCall]) -> list[WireToolCall]:
    return [WireToolCall(name=call.function.name, arguments=call.function.arguments, tool_call_id=call.id) for call in calls]


def _tool(message: Message, rendering: Rendering) -> list[LettaMessage]:
    returns = [
        WireToolReturn(
            tool_return=_returned(one),
            status=one.status,
            tool_call_id=one.tool_call_id,
            stdout=one.stdout,
            stderr=one.stderr,
        )
        for one in message.tool_returns
    ] or [_old_return(message)]
    first = returns[0]
    # A refused message was not delivered, so the caller must see the error.
    if rendering.maps(message.name) and first.status == "success":
        return []
    return [
        ToolReturnMessage(
            tool_return=_plain(first.tool_return),
            status=first.status,
            tool_call_id=first.tool_call_id,
            stdout=first.stdout,
            stderr=first.stderr,
            tool_returns=returns,
            **_common(message, name=message.name if len(returns) == 1 else None),
        )
    ]


def _returned(one: ToolReturn) -> str | list[TextContent | ImageContent]:
    """A return as the caller sent it: text, or text and images."""
    text = unpack(one.func_response or "")
    return [*([TextContent(text=text)] if text else []), *one.images] if one.images else text


def _plain(returned: str | list[TextContent | ImageContent]) -> str:
    """The text of a return, for the deprecated field."""
    if isinstance(returned, str):
        return returned
    return "\n".join(part.text for part in returned if isinstance(part, TextContent))


def _old_return(message: Message) -> WireToolReturn:
    """The return of a row that has it only as text, as imported rows may."""
    text = message.text()
    failed = (json_object(text) or {}).get("status") == "Failed"
    return WireToolReturn(
        tool_return=unpack(text), status="error" if failed else "success", tool_call_id=message.tool_call_id or ""
    )


def _approval(message: Message, rendering: Rendering) -> list[LettaMessage]:
    if message.tool_calls:
        calls = _wire_calls(message.tool_calls)
        request = ApprovalRequestMessage(tool_call=calls[0], tool_calls=calls, **_common(message))
        request.otid = message.id  # the whole id, including its prefix (API 5.2)
        return [*_thoughts_and_text(message, rendering), request]
    items = [_answer(item) for item in message.approvals] if message.approvals is not None else None
    first = next((item for item in items or () if isinstance(item, ApprovalReturn)), None)
    answer = ApprovalResponseMessage(
        approvals=items,
        approve=first.approve if first else message.approve,
        approval_request_id=(first or items[0]).tool_call_id if items else message.approval_request_id,
        reason=first.reason if first else message.denial_reason,
        **_common(message),
    )
    answer.otid = message.otid  # an answer without one stays without one (API 5.1)
    return [answer]


def _answer(item: JsonObject) -> ApprovalReturn | WireToolReturn:
    if item.get("type") == "approval":
        return ApprovalReturn.model_validate(item)
    return WireToolReturn.model_validate(item)
