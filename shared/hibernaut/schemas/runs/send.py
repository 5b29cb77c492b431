"""The requests that send input to an agent: messages, answers to approvals, and options of the response (Letta V1 API, digest
4.6).
"""

from typing import Annotated, Literal

from pydantic import AliasChoices, Discriminator, Field, Tag

from hibernaut.schemas.base import Json, JsonObject, Moment, Schema, Whole
from hibernaut.schemas.content import InputPart
from hibernaut.schemas.json_schema import ParametersSchema
from hibernaut.schemas.limits import Name, Note, Offered, Small, Text, Url
from hibernaut.schemas.messages.letta_message import ApprovalItem, MessageType, WireToolReturn

DEFAULT_MAX_STEPS = 50


class MessageCreate(Schema):
    """A caller's message. The server makes an `otid` if it has none."""

    type: Literal["message"] | None = "message"
    role: Literal["user", "system", "assistant"]
    content: str | list[InputPart]
    name: Name | None = None
    otid: Note | None = None
    sender_id: Name | None = None
    batch_item_id: Name | None = None
    group_id: Name | None = None


class ApprovalCreate(Schema):
    """The answer to a pending approval; the last three fields are the deprecated form for a single call."""

    type: Literal["approval"] = "approval"
    approvals: list[ApprovalItem] | None = None
    otid: Note | None = None
    group_id: Name | None = None
    approve: bool | None = None
    approval_request_id: Name | None = None
    reason: Note | None = None


class ToolReturnCreate(Schema):
    """Results of client-side tools, a short form of an approval answer."""

    type: Literal["tool_return"] = "tool_return"
    tool_returns: list[WireToolReturn]
    otid: Note | None = None
    group_id: Name | None = None


def _kind(value: Json) -> str:
    """An item without `type` is an approval if it has one of the approval's keys, else a message (API 5.1)."""
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    if kind is None and isinstance(value, dict) and ("approve" in value or "approval_request_id" in value):
        return "approval"
    return kind or "message"


InputMessage = Annotated[
    Annotated[MessageCreate, Tag("message")]
    | Annotated[ApprovalCreate, Tag("approval")]
    | Annotated[ToolReturnCreate, Tag("tool_return")],
    Discriminator(_kind),
]


class ClientTool(Schema):
    """A tool that the client runs; `parameters` is a JSON schema."""

    name: str
    description: str | None = None
    parameters: JsonObject | None = None


class ClientToolCreate(ClientTool):
    """A client tool in a request, with validated parameters."""

    parameters: ParametersSchema | None = None


class ClientSkill(Schema):
    """A skill that the client offers to the agent."""

    name: str
    description: str
    location: str


WhenBusy = Literal["queue", "reject", "interrupt"]
"""What happens to a message for a conversation that another run owns: it is queued, it is refused, or it cancels the other run.
"""


class LettaRequest(Schema):
    """The fields that all requests for sending share. The last two are extensions of Hibernaut.

    `approval_deadline`: the time limit for approvals that this run requests: seconds, a time, or null for none; if absent, the
    agent's setting applies. `when_busy` absent: the route's default applies.
    """

    messages: list[InputMessage] | None = None
    input: str | list[InputPart] | None = None
    max_steps: Whole = Field(default=DEFAULT_MAX_STEPS, ge=1)
    use_assistant_message: bool = True
    assistant_message_tool_name: Name = "send_message"
    assistant_message_tool_kwarg: Name = "message"
    include_return_message_types: Small[list[MessageType]] | None = None
    enable_thinking: Name | bool = True
    client_tools: Offered[list[ClientToolCreate]] | None = None
    client_skills: Offered[list[ClientSkill]] | None = None
    override_model: Name | None = None
    include_compaction_messages: bool = False
    return_logprobs: bool = False
    top_logprobs: Whole | None = None
    return_token_ids: bool = False
    override_system: Text | None = Field(default=None, validation_alias=AliasChoices("override_system", "system"))
    when_busy: WhenBusy | None = None
    approval_deadline: Whole | Moment | None = None


class LettaStreamingRequest(LettaRequest):
    """The body of POST /v1/agents/{id}/messages and /messages/stream."""

    streaming: bool = False
    stream_tokens: bool = False
    include_pings: bool = True
    background: bool = False


class LettaAsyncRequest(LettaRequest):
    """The body of POST /v1/agents/{id}/messages/async."""

    callback_url: Url | None = None


class ConversationMessageRequest(LettaRequest):
    """The body of POST /v1/conversations/{id}/messages, which streams by default."""

    agent_id: Name | None = None
    streaming: bool = True
    stream_tokens: bool = False
    include_pings: bool = True
    background: bool = False


class RetrieveStreamRequest(Schema):
    """The body of POST /v1/runs/{id}/stream and /v1/conversations/{id}/stream. The last two fields are accepted and ignored."""

    agent_id: Name | None = None
    run_id: Name | None = None
    otid: Note | None = None
    starting_after: Whole = Field(default=0, ge=0)
    include_pings: bool | None = True
    poll_interval: float | None = 0.1
    batch_size: Whole | None = 100


class RequestConfig(Schema):
    """The options of a request that its run stores (API 4.8)."""

    use_assistant_message: bool = True
    assistant_message_tool_name: str = "send_message"
    assistant_message_tool_kwarg: str = "message"
    include_return_message_types: list[MessageType] | None = None
