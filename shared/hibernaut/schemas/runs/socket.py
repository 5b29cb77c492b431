"""The messages of a WebSocket client, one JSON object each (docs/websockets.md). The bodies have the form of the REST bodies."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from hibernaut.schemas.base import JsonObject, Schema, Whole
from hibernaut.schemas.ids import AgentId, pattern
from hibernaut.schemas.messages.letta_message import ApprovalItem

RequestId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._:-]{1,64}$")]
"""The client's name for a request: every message that answers it carries it."""
ConversationName = Annotated[str, StringConstraints(pattern=f"{pattern('conv')}|{pattern('agent')}")]
"""A conversation's id, or the id of an agent for its default conversation."""
AnyRunId = Annotated[str, StringConstraints(max_length=64)]
"""The text of a run's id; the use cases judge its form."""


class SocketRequest(Schema):
    """What every action has."""

    request_id: RequestId


class PlacedRequest(SocketRequest):
    """An action at one place: the default conversation of an agent, or a conversation."""

    agent_id: AgentId | None = None
    conversation_id: ConversationName | None = None

    @model_validator(mode="after")
    def _has_one_place(self) -> "PlacedRequest":
        if (self.agent_id is None) == (self.conversation_id is None):
            raise ValueError("exactly one of agent_id and conversation_id was expected")
        return self


class SendAction(PlacedRequest):
    """Send messages and follow their run. `body`: that of POST /v1/agents/{id}/messages/stream, or of POST
    /v1/conversations/{id}/messages.
    """

    action: Literal["send"]
    body: JsonObject


class ApproveAction(PlacedRequest):
    """Answer a pending approval and follow the run that goes on."""

    action: Literal["approve"]
    approvals: list[ApprovalItem]
    otid: str | None = None
    stream_tokens: bool = False
    include_pings: bool = True


class FollowAction(SocketRequest):
    """Follow a run: the one with this id; or of a conversation the one that took the message with this otid, else the current
    one.

    `starting_after`: the number of the last event that the client has.
    """

    action: Literal["follow"]
    run_id: AnyRunId | None = None
    conversation_id: ConversationName | None = None
    otid: str | None = None
    starting_after: Whole = Field(default=0, ge=0)
    include_pings: bool = True

    @model_validator(mode="after")
    def _names_a_run(self) -> "FollowAction":
        if (self.run_id is None) == (self.conversation_id is None):
            raise ValueError("exactly one of run_id and conversation_id was expected")
        return self


class UnfollowAction(SocketRequest):
    """End the follow that the request `follow` began. The run goes on."""

    action: Literal["unfollow"]
    follow: RequestId


class CancelAction(PlacedRequest):
    """Cancel runs. `run_ids`: of an agent, these alone; else all that have not ended."""

    action: Literal["cancel"]
    run_ids: list[AnyRunId] | None = Field(default=None, max_length=100)


class PingAction(SocketRequest):
    """Ask for a pong. Keeps an idle connection open."""

    action: Literal["ping"]


StreamAction = SendAction | ApproveAction | FollowAction
"""The actions that are answered by the events of a run."""
SocketAction = Annotated[StreamAction | UnfollowAction | CancelAction | PingAction, Field(discriminator="action")]
