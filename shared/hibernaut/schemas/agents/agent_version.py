"""Versions of an agent's settings, an agent as it was, and a fork from there. All of it is ours."""

from pydantic import Field, model_validator

from hibernaut.schemas.base import JsonObject, Moment, Schema, StrictSchema
from hibernaut.schemas.ids import MessageId
from hibernaut.schemas.limits import Name
from hibernaut.schemas.memory.version import BlockVersion, RecordVersion


class AgentVersion(RecordVersion):
    """A version of an agent's settings. `settings`: the agent's record without secrets; null in lists."""

    agent_id: str
    settings: JsonObject | None = None


class PastTool(Schema):
    """A tool that the agent had. Tools have no versions: this is the tool as it is now. `exists` false: it was deleted since."""

    id: str
    name: str | None = None
    exists: bool = True


class PastAgent(Schema):
    """An agent as it was at a time: its settings, its blocks with their values, and its tools. `message_id`: the message that
    named the time.
    """

    agent_id: str
    at: Moment
    message_id: str | None = None
    version: AgentVersion
    blocks: list[BlockVersion] = Field(default_factory=list)
    tools: list[PastTool] = Field(default_factory=list)


class ForkAgent(StrictSchema):
    """The body of a fork: the last message that the new agent knows, and the name of the new agent (null: the agent's, with
    `fork`).
    """

    message_id: MessageId
    name: Name | None = None


class PastMoment(Schema):
    """A point in the history of an agent: the time of a message, or a time; without both, now."""

    message_id: MessageId | None = None
    at: Moment | None = None

    @model_validator(mode="after")
    def _one(self) -> "PastMoment":
        if self.message_id is not None and self.at is not None:
            raise ValueError("`message_id` and `at` are mutually exclusive")
        return self
