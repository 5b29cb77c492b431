"""The pause of an agent. It is ours: V1 has none."""

from pydantic import Field

from hibernaut.schemas.base import Moment, Schema, StrictSchema
from hibernaut.schemas.limits import Note


class PauseAgent(StrictSchema):
    """The body of a pause. `reason` is part of the error for each refused message."""

    reason: Note | None = Field(default=None)


class StoredPause(Schema):
    """The stored record: since when the agent is paused, by which API key, and why. `erasure_id`: the erasure of a person, which
    alone ends the pause.
    """

    paused_at: Moment
    key_id: str | None = None
    reason: str | None = None
    erasure_id: str | None = None


class AgentPause(Schema):
    """Whether an agent is paused, as the API shows it."""

    agent_id: str
    paused: bool
    paused_at: Moment | None = None
    key_id: str | None = None
    reason: str | None = None
