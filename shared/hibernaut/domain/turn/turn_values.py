"""The values of the turn machine: what it asks of the world, what the world answers, and where a turn stands.

Frozen, without behaviour; `turn_machine` alone makes states.
"""

from __future__ import annotations

from dataclasses import dataclass

from hibernaut.domain.turn.actor import Actor, Call, CallResult
from hibernaut.schemas.approval import PendingCall, Resolution
from hibernaut.schemas.message import Message
from hibernaut.schemas.model_call import ModelReply, ToolChoice
from hibernaut.schemas.run import RunError
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.turn import Stamp
from hibernaut.schemas.usage import Usage

# what the world is asked to do


@dataclass(frozen=True, slots=True)
class CallModel:
    """Ask the model; `offered` are the names of the tools it may call."""

    offered: tuple[str, ...]
    choice: ToolChoice
    parallel: bool


@dataclass(frozen=True, slots=True)
class RunTools:
    """Run these calls, in order; those with a `refusal` are not run."""

    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class AwaitApproval:
    """A person must approve these calls before any call of the reply is run."""

    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Compact:
    """Make the window smaller: to at most `goal` tokens."""

    goal: int


@dataclass(frozen=True, slots=True)
class Finish:
    """End the run for this reason: nothing more may be asked of the world."""

    stop_reason: StopReason


Action = CallModel | RunTools | AwaitApproval | Compact | Finish


# what the world answered


@dataclass(frozen=True, slots=True)
class Replied:
    """The model's reply. `stamp` holds the ids of its rows, and the model that answered where it is not the agent's."""

    reply: ModelReply
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class Replayed:
    """The journaled reply of an earlier attempt. Its calls may have begun, so none of them waits for an approval any more."""

    reply: ModelReply
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class Reopened:
    """Calls of an earlier run stand open in the log, and this run's answer resolves them. `followed`: it brought messages as well."""

    resolution: Resolution
    stamp: Stamp
    followed: bool = False


@dataclass(frozen=True, slots=True)
class ToolsReturned:
    """One result for each call of RunTools, in order."""

    results: tuple[CallResult, ...]


@dataclass(frozen=True, slots=True)
class Compacted:
    """The window after compaction; as long as before where nothing more can leave it."""

    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """The model could not be asked. `overflow`: because the window does not fit."""

    stop_reason: StopReason
    error: RunError
    overflow: bool = False


@dataclass(frozen=True, slots=True)
class Awaited:
    """The request for an approval stands: the run ends, and its answer will be another run."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The run ends without another model call."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """Somebody ended the run while calls stood open. `results` has one for each call, in order."""

    results: tuple[CallResult, ...]
    stop_reason: StopReason | None
    error: RunError | None = None


Outcome = Replied | Replayed | Reopened | ToolsReturned | Awaited | Compacted | Failed | Finished | Interrupted


# where the turn stands


@dataclass(frozen=True, slots=True)
class Ready:
    """Nothing of the step has happened yet."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The model answered with calls."""

    reply: ModelReply
    stamp: Stamp
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Resolving:
    """Calls stand open in the log. `followed`: the answer brought further messages, which the model must see."""

    resolution: Resolution
    stamp: Stamp
    followed: bool = False


@dataclass(frozen=True, slots=True)
class Stepped:
    """The step is complete: its rows, what it used, and why the run stops (None: it goes on).

    `waiting` are the calls that stand open for an approval. `resolved`: no model was asked; calls of an earlier run got their returns.
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


State = Ready | Asked | Resolving | Stepped


@dataclass(frozen=True, slots=True)
class Turn:
    """`messages` is the window, the system message first; `steps` counts the committed steps; `history` the tools called in the run.

    `fixed_tokens` is the size of what is sent besides the messages (tool definitions); `correction` by how much the provider counts more
    than we do.
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
    state: State = Ready()

    @property
    def stepped(self) -> Stepped | None:
        return self.state if isinstance(self.state, Stepped) else None


class IllegalOutcome(TypeError):
    """An outcome that answers nothing that was asked; the turn is unchanged."""
