"""A run: one request to an agent, from its input to its stop reason (Letta V1 API, API 4.8)."""

from typing import Literal

from pydantic import Field

from hibernaut.schemas.access.budget import RunBudgets
from hibernaut.schemas.aws_use import AwsUse
from hibernaut.schemas.base import JsonObject, Moment, Schema
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.approval import Resolution
from hibernaut.schemas.runs.callback_address import shown_callback
from hibernaut.schemas.runs.send import ClientSkill, ClientTool, RequestConfig
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.schemas.stored import Stored
from hibernaut.schemas.usage import CalledUsage, Usage

CompactionTrigger = Literal["context_window_limit", "context_window_exceeded"]
"""Why the window is compacted: it is too full by our count, or the provider refused the request as too long."""


class Run(Schema):
    """The wire form. Durations are in nanoseconds."""

    id: str
    agent_id: str
    status: RunStatus = RunStatus.CREATED
    created_at: Moment
    completed_at: Moment | None = None
    conversation_id: str | None = None
    base_template_id: str | None = None
    background: bool | None = None
    metadata: JsonObject | None = None
    request_config: RequestConfig | None = None
    stop_reason: StopReason | None = None
    callback_url: str | None = None
    callback_sent_at: Moment | None = None
    callback_status_code: int | None = None
    callback_error: str | None = None
    ttft_ns: int | None = None
    total_duration_ns: int | None = None


class RunOptions(Schema):
    """The options of the request for this run only. `approval_deadline` (seconds, a time, or None for no limit) applies if it was
    set.
    """

    max_steps: int
    override_model: str | None = None
    override_system: str | None = None
    client_tools: list[ClientTool] | None = None
    client_skills: list[ClientSkill] | None = None
    include_compaction_messages: bool = False
    return_logprobs: bool = False
    top_logprobs: int | None = None
    return_token_ids: bool = False
    stream_tokens: bool = False
    approval_deadline: int | Moment | None = None
    approval_deadline_given: bool = False


class RunError(Schema):
    """The error of a failed run for its caller: `code` is a code of `schemas.errors`, `status` the HTTP status of a blocking
    reply.
    """

    code: str
    message: str
    status: int = 500
    detail: str | None = None


class InputDigest(Schema):
    """What a request gave to its run: the number of its inputs, and a SHA-256 hash of all of them in hexadecimal."""

    count: int
    sha256: str


class StoredRun(Stored, Run):
    """The stored record: the wire form and the state of the run's steps.

    `tool_history` are the names of the tools called so far, for the tool rules; `last_return` is the text of the newest return.
    `input` holds the messages of a queued run, or of a run that must first `resolve` the open calls of the log. `input_digest`:
    that of the request, if an otid names its run; None also for a run of an older release.
    `first_message`/`last_message` bound the run's messages in the log. `compactions` counts the compactions of the current step;
    `compact_for` is the reason for a compaction before the next model call (None: not needed). `usage` is that of the steps,
    `summaries` that of the compactions between them. `speaks_by_tool` says whether the agent answers by `send_message`; None
    until a step has committed. `logprobs` are those of the newest reply, if the request asked for them. `key_id`: the API key of
    the request. `budgets`: those that apply to the run; None: none do. `aws`: the run's use of AWS; None: not on AWS.
    `event_types`: the events of the run with subscribers; None: no subscribers.
    `traceparent`: the span of the caller, if the request named one. `sleeptime_group`: the group that counts the run as a turn of
    its agent, set by the run's first committed step; `sleeptime_run_ids`: the runs of sleep-time agents that started at its end.
    `memory_versions`: the versions of blocks and of its agent that the run wrote, as [first, last] pairs by id.
    `called`: the usage of the runs that answered a group's calls; it is counted at those runs, and shown at the group's run.
    `cancelled_step`: the step in which the run was cancelled, if its group calls may have started other runs, which must be
    cancelled too.
    """

    options: RunOptions
    steps: int = 0
    tool_history: list[str] = Field(default_factory=list)
    last_return: str | None = None
    usage: Usage = Field(default_factory=Usage)
    summaries: Usage = Field(default_factory=Usage)
    context_tokens: int | None = None
    first_message: str | None = None
    last_message: str | None = None
    tools_used: list[str] = Field(default_factory=list)
    input: list[Message] = Field(default_factory=list)
    input_digest: InputDigest | None = None
    resolve: Resolution | None = None
    compactions: int = 0
    compact_for: CompactionTrigger | None = None
    speaks_by_tool: bool | None = None
    error: RunError | None = None
    logprobs: JsonObject | None = None
    key_id: str | None = None
    budgets: RunBudgets | None = None
    aws: AwsUse | None = None
    event_types: list[str] | None = None
    traceparent: str | None = None
    sleeptime_group: str | None = None
    sleeptime_run_ids: list[str] = Field(default_factory=list)
    memory_versions: dict[str, list[list[int]]] = Field(default_factory=dict)
    called: CalledUsage | None = None
    cancelled_step: int | None = None

    def wire(self) -> Run:
        """The form that clients see. Its `callback_url` lacks what may be secret; other fields are shared with the record."""
        shown = {name: getattr(self, name) for name in Run.model_fields}
        return Run.model_construct(**{**shown, "callback_url": shown_callback(self.callback_url)})


class TakeUp(Schema):
    """A step that another attempt resumed after the death of the worker with its lease.

    `step` counts from 1. `attempt`: the number of the attempt that resumed it. `reason`: the lease had expired; the process with
    the lease has ended, because the only host restarted; or the workflow reported the death. `lease_until`: the end of the dead
    worker's lease. `reply_stored`: the model's reply was journaled, so that the model was not called again. `sweeps`: the number
    of times that the sweep had resumed the run.
    """

    at: Moment
    step: int
    attempt: int
    reason: Literal["lease_expired", "process_gone", "death_reported"]
    lease_until: Moment
    reply_stored: bool = False
    sweeps: int = 0


class RunMetrics(Schema):
    """The metrics of a run. Times are in nanoseconds; `tools_used` are tool ids.

    Extensions of Hibernaut: `attempts`: how often a worker acquired, renewed or awaited the lease of a step; `sweeps`: how often
    the sweep resumed the run;
    `take_ups`: the newest 20 resumptions after a death.
    """

    attempts: int = 0
    sweeps: int = 0
    take_ups: list[TakeUp] = Field(default_factory=list)

    id: str
    agent_id: str | None = None
    run_start_ns: int | None = None
    run_ns: int | None = None
    num_steps: int | None = None
    tools_used: list[str] | None = None
    base_template_id: str | None = None
    template_id: str | None = None
    project_id: str | None = None
