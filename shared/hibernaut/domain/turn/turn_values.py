"""The values of the turn machine: its actions, their outcomes, and the states of a turn.

Frozen and without behaviour; only `turn_machine` makes states.
"""

from __future__ import annotations

from hibernaut.domain.turn.actor import Actor, Call, CallResult
from hibernaut.domain.turn.call_outcomes import ToolCallOutcome
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.models.model_call import ModelReply, ToolChoice
from hibernaut.schemas.runs.approval import PendingCall, Resolution
from hibernaut.schemas.runs.run import RunError
from hibernaut.schemas.runs.turn import Stamp
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.tools.tool_policy import CallDecision
from hibernaut.schemas.usage import Usage

# actions


@immutable
class CallModel:
    """Call the model; `offered` are the names of the tools that it may call."""

    offered: tuple[str, ...]
    choice: ToolChoice
    parallel: bool


@immutable
class RunTools:
    """Run these calls, in order; calls with a `refusal` are not run."""

    calls: tuple[Call, ...]


@immutable
class AwaitApproval:
    """A person must approve these calls before any call of the reply runs."""

    calls: tuple[Call, ...]


@immutable
class Compact:
    """Compact the window to at most `goal` tokens."""

    goal: int


@immutable
class Finish:
    """End the run for this reason; no action may follow."""

    stop_reason: StopReason


Action = CallModel | RunTools | AwaitApproval | Compact | Finish


# outcomes


@immutable
class Replied:
    """The model's reply. `stamp` holds the ids of its rows, and the fallback model if that one answered."""

    reply: ModelReply
    stamp: Stamp


@immutable
class Replayed:
    """The journaled reply of an earlier attempt. Its calls may have begun, so none of them waits for an approval any more.
    `decisions`: those of tool policies, as they were when the reply came.
    """

    reply: ModelReply
    stamp: Stamp
    decisions: tuple[CallDecision, ...] = ()


@immutable
class Reopened:
    """The open calls of an earlier run, which this run's approval answer resolves. `followed`: the request contains messages as
    well.
    """

    resolution: Resolution
    stamp: Stamp
    followed: bool = False


@immutable
class ToolsReturned:
    """One result for each call of RunTools, in order."""

    results: tuple[CallResult, ...]


@immutable
class Compacted:
    """The window after compaction; unchanged if nothing more can be removed."""

    messages: tuple[Message, ...]


@immutable
class Failed:
    """The model call failed. `overflow`: because the window is too long. `step_id`: the step that its trace names."""

    stop_reason: StopReason
    error: RunError
    overflow: bool = False
    step_id: str | None = None


@immutable
class Awaited:
    """The approval request is recorded: the run ends, and the answer starts another run."""


@immutable
class Finished:
    """The run ends without another model call."""


@immutable
class Interrupted:
    """The run was cancelled while calls were open. `results` has one result for each call, in order."""

    results: tuple[CallResult, ...]
    stop_reason: StopReason | None
    error: RunError | None = None


Outcome = Replied | Replayed | Reopened | ToolsReturned | Awaited | Compacted | Failed | Finished | Interrupted


# states


@immutable
class Ready:
    """Nothing of the step has happened yet."""


@immutable
class CallsPending:
    """The model replied with calls."""

    reply: ModelReply
    stamp: Stamp
    calls: tuple[Call, ...]


@immutable
class Resolving:
    """Calls of an earlier run are open in the log. `followed`: the answer came with further messages, which the model must
    see.
    """

    resolution: Resolution
    stamp: Stamp
    followed: bool = False


@immutable
class Stepped:
    """The step is complete: its rows, its usage, and why the run stops (None: it continues).

    `waiting` are the calls that wait for an approval. `resolved`: the step called no model; calls of an earlier run got their
    returns. `step_id`: the id of a step without a stamp, if it has one already. `outcomes`: the outcome of each call.
    """

    rows: tuple[Message, ...]
    usage: Usage
    stop: StopReason | None
    stamp: Stamp | None = None
    called: tuple[str, ...] = ()
    last_return: str | None = None
    error: RunError | None = None
    waiting: tuple[PendingCall, ...] = ()
    resolved: bool = False
    step_id: str | None = None
    logprobs: JsonObject | None = None
    outcomes: tuple[ToolCallOutcome, ...] = ()


State = Ready | CallsPending | Resolving | Stepped


@immutable
class Turn:
    """A turn. `messages` is the window with the system message first, `steps` the number of committed steps, `history` the tools
    called in the run.

    `fixed_tokens` is the size of everything that is sent besides the messages (tool definitions); `correction` is the ratio of
    the provider's token count to ours. `out_of_budget`: no model may be called for this run any more.
    """

    actor: Actor
    messages: tuple[Message, ...]
    steps: int
    max_steps: int
    history: tuple[str, ...] = ()
    last_return: str | None = None
    fixed_tokens: int = 0
    correction: float = 1.0
    compactions: int = 0
    overflowed: bool = False
    out_of_budget: bool = False
    state: State = Ready()

    @property
    def stepped(self) -> Stepped | None:
        return self.state if isinstance(self.state, Stepped) else None


class IllegalOutcome(TypeError):
    """The outcome does not belong to the current action; the turn is unchanged."""
