"""A message as stored in the log: one row, from which LettaMessages are rendered (Letta V1 API, API 4.12 "raw Message").

One assistant row holds the reply of one model call with all its tool calls; one tool row holds the returns of all these calls, in
order.
"""

from typing import Literal

from pydantic import Field

from hibernaut.schemas.base import JsonObject, Moment, Schema
from hibernaut.schemas.content import ImageContent, Part
from hibernaut.schemas.messages.frozen_prompt import FrozenPrompt
from hibernaut.schemas.messages.native import NativeReply

INTERNAL = frozenset({"tokens", "wrapped", "native", "frozen"})
"""The internal members of a row, which clients never receive."""

Role = Literal["system", "user", "assistant", "tool", "approval", "summary"]


class FunctionCall(Schema):
    """The function of a call. `arguments` is the JSON text of the model, possibly repaired."""

    name: str
    arguments: str


class ToolCall(Schema):
    """A tool call in OpenAI's form."""

    id: str
    type: Literal["function"] = "function"
    function: FunctionCall


class ToolReturn(Schema):
    """The return of one call. `func_response` is the text for the model, packed as JSON (RT 5.1); `images` are sent
    with it.
    """

    tool_call_id: str
    status: Literal["success", "error"]
    func_response: str | None = None
    stdout: list[str] | None = None
    stderr: list[str] | None = None
    images: list[ImageContent] = Field(default_factory=list)


class Message(Schema):
    """A row of a conversation's log.

    `tokens` is counted once, when a step creates or first reads the row (None until then). `wrapped`: the server put the caller's
    text into a JSON envelope, and shows it without the envelope (RT 14.1). `native`: the reply of an assistant row
    as its provider sent it. `frozen`: the form in which a model is sent a conversation's system message; None: its content.
    """

    id: str
    role: Role
    content: list[Part] = Field(default_factory=list)
    agent_id: str
    conversation_id: str | None = None
    name: str | None = None
    model: str | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None
    tool_returns: list[ToolReturn] = Field(default_factory=list)
    otid: str | None = None
    sender_id: str | None = None
    group_id: str | None = None
    batch_item_id: str | None = None
    run_id: str | None = None
    step_id: str | None = None
    approve: bool | None = None
    approval_request_id: str | None = None
    denial_reason: str | None = None
    approvals: list[JsonObject] | None = None
    is_err: bool | None = None
    created_at: Moment
    tokens: int | None = None
    wrapped: bool = False
    native: NativeReply | None = None
    frozen: FrozenPrompt | None = None

    def text(self) -> str:
        """The text parts, joined by line breaks."""
        return "\n".join(part.text for part in self.content if part.type == "text")
