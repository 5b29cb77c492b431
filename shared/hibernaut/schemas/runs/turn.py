"""The records of a step in progress: the journaled reply, and the claims of outside calls."""

from typing import Literal

from pydantic import ConfigDict, Field

from hibernaut.schemas.base import Json, JsonObject, Moment, Schema
from hibernaut.schemas.content import ImageContent, Part
from hibernaut.schemas.messages.native import NativeReply
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.schemas.models.model_call import FinishReason
from hibernaut.schemas.runs.events import DeltaType
from hibernaut.schemas.tools.tool_policy import CallDecision
from hibernaut.schemas.usage import CalledUsage, Usage


class JournaledCall(Schema):
    """A call as the model wrote it; `arguments` is the raw text."""

    id: str
    name: str
    arguments: str


class Stamp(Schema):
    """The ids and the time of a step's rows. They are assigned once, before the model call, and reused by every replay of its
    reply.

    `streamed`: followers have received the reply piece by piece under these ids; `shown` are the types of the streamed messages.
    `fallback` is the model that replaced the configured one.
    """

    step_id: str
    assistant_id: str
    approval_id: str = ""
    tool_id: str
    heartbeat_id: str
    at: Moment
    streamed: bool = False
    shown: list[DeltaType] = Field(default_factory=list)
    fallback: LLMConfig | None = None


class FailedCall(Schema):
    """A model call of a step that failed. `model`: the handle, or the name. `code`: that of the error. `waited`: the seconds
    until the same model was called again; null: it was not.
    """

    model: str
    code: str
    waited: float | None = None


class Journal(Schema):
    """A reply with tool calls, written before the calls run. `mark` is the run's `journal` attribute while the journal is valid.

    Times are in nanoseconds since 1970, durations in nanoseconds. `decisions`: what tool policies have decided about the calls.
    """

    mark: str
    stamp: Stamp
    text: str = ""
    reasoning: list[Part] = Field(default_factory=list)
    calls: list[JournaledCall]
    finish_reason: FinishReason = "tool_calls"
    usage: Usage = Field(default_factory=Usage)
    model: str = ""
    request_id: str | None = None
    native: NativeReply | None = None
    logprobs: JsonObject | None = None
    step_start_ns: int = 0
    llm_start_ns: int = 0
    llm_ns: int = 0
    decisions: list[CallDecision] = Field(default_factory=list)
    failed_calls: list[FailedCall] = Field(default_factory=list)


class ClaimedResult(Schema):
    """The result of an outside call. `used`: what the runs that answered a call of a group have used. `images` are shown to the
    model beside the text.
    `spent_ns`: how long the call took, in nanoseconds; None for a call of agents, and for one whose end is not known.
    """

    status: Literal["success", "error"]
    value: Json = None
    error: str | None = None
    stdout: list[str] = Field(default_factory=list)
    stderr: list[str] = Field(default_factory=list)
    blocks: JsonObject = Field(default_factory=dict)
    used: CalledUsage | None = None
    images: list[ImageContent] = Field(default_factory=list)
    spent_ns: int | None = None


class AwaitedReply(Schema):
    """The awaited reply of one agent to a call.

    `dispatched` (stored as `asked`): the call has begun to send its message. `run_id`: the run that accepted it. `error`: the
    reason why nothing was sent.
    """

    model_config = ConfigDict(serialize_by_alias=True)

    agent_id: str
    dispatched: bool = Field(default=False, validation_alias="asked", serialization_alias="asked")
    run_id: str | None = None
    error: str | None = None


class Claim(Schema):
    """A started outside call. After `deadline` the call cannot be running any more; `holder` is the process that started it.

    `awaits`: the replies of other agents that the call waits for until then, without a worker.
    """

    call_id: str
    name: str
    holder: str
    deadline: Moment
    result: ClaimedResult | None = None
    awaits: list[AwaitedReply] = Field(default_factory=list)
