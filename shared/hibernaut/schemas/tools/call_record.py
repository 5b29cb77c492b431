"""The record of a tool call: its caller, its policy and its outcome, without arguments and results. An extension of Hibernaut."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from hibernaut.schemas.base import Moment, Schema
from hibernaut.schemas.stored import Stored
from hibernaut.schemas.tools.tool_policy import PolicyOutcome

CallSource = Literal["run", "api"]
"""The origin of the call. `run`: a model; `api`: a request."""
RecordCursor = Annotated[str, StringConstraints(pattern=r"^calls-[0-9a-f-]{36}\.[0-9]{1,4}$")]


class RecordedCall(Schema):
    """One call. `arguments_digest`: SHA-256 of the arguments as JSON with sorted names. `policy_id` null: no policy matched."""

    call_id: str | None = None
    tool: str
    server: str | None = None
    outcome: PolicyOutcome
    policy_id: str | None = None
    policy_name: str | None = None
    arguments_digest: str
    status: Literal["success", "error"] | None = None


class StoredCalls(Stored):
    """The calls that one transaction recorded. `key_id`: the API key of the request behind them."""

    id: str
    at: Moment
    source: CallSource = "run"
    agent_id: str | None = None
    conversation_id: str | None = None
    run_id: str | None = None
    step_id: str | None = None
    key_id: str | None = None
    calls: list[RecordedCall] = Field(default_factory=list)


class ToolCallRecord(RecordedCall):
    """A recorded call as the API shows it. `id` serves as a cursor."""

    id: str
    at: Moment
    source: CallSource
    agent_id: str | None = None
    conversation_id: str | None = None
    run_id: str | None = None
    step_id: str | None = None
    key_id: str | None = None
