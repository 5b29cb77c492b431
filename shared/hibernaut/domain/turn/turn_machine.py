"""The one agent loop, as a pure state machine: values in, values out. No I/O, no clock, no chance; time and ids come in as values.

Theory of operation
-------------------
A *turn* is the in-memory state of a run between two actions. Whoever drives it repeats

    action = decide(turn)            what the world should do next
    turn = absorb(turn, outcome)     what the world answered

until the turn has *stepped*: one model call and all that follows from it is then complete, and its rows are written in one transaction.
What `decide` says of a stepped turn tells what comes after the commit: `Finish`, or the first action of the next step.

    Ready ── CallModel ─▶ Replied ──▶ Asked ── RunTools ─▶ ToolsReturned ──▶ Stepped ──▶ Finish | (next step)
      │  ▲                   │          └───── AwaitApproval ─▶ Awaited ────────▲
      │  │                   └─ no calls ───────────────────────────────────────▲
      │  └─ Compacted ◀─ Compact (the window is too full, or the provider says so)
      └──── Failed ─────────────────────────────────────────────────────────────▶ Stepped with a failing stop reason
    Resolving ── RunTools ─▶ ToolsReturned ─▶ Stepped (the returns alone; the model is asked in the step after)

A reply of which one call needs an approval, or is the client's to run, ends the run with all its calls open; the run that the answer
makes begins as `Resolving`: those calls get their returns first, which is no step of its own in any count.

Two families of agents are data for this machine (`domain.agents.agent_types`): with `heartbeats`, every step must call a tool, the model asks
for another step by `request_heartbeat`, and a reply without a call is an error; without, a text is the answer and ends the turn, and
every tool call leads to another step.

Which rows a step leaves: one assistant row with the reply and all its calls, one tool row with a return for every call, in order
(invariant 6), and, where the agent must be told to go on, one user row with a heartbeat. Ids and time of the rows are the reply's
`Stamp`, so a replay of the journal makes the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from hibernaut.domain.tools import tool_rules
from hibernaut.domain.turn import approvals, step_rows, window
from hibernaut.domain.turn.actor import Actor, Call, CallResult
from hibernaut.domain.turn.model_requests import calls_of, plan
from hibernaut.schemas.approval import PendingCall, Resolution
from hibernaut.schemas.message import Message
from hibernaut.schemas.model_call import ModelReply, ToolChoice
from hibernaut.schemas.run import RunError
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.turn import Stamp
from hibernaut.schemas.usage import Usage

MAX_COMPACTIONS = 3
"""How often one step may make room before it gives up."""


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
    stop_reason: StopReason


Action = CallModel | RunTools | AwaitApproval | Compact | Finish


# what the world answered


@dataclass(frozen=True, slots=True)
class Replied:
    reply: ModelReply
    stamp: Stamp


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


Outcome = Replied | ToolsReturned | Awaited | Compacted | Failed


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


def decide(turn: Turn) -> Action:
    """What comes next. Pure: the same turn gives the same action."""
    match turn.state:
        case Ready():
            return _begin(turn)
        case Asked(calls=calls):
            held = tuple(call for call in calls if call.needs_approval)
            return AwaitApproval(held) if held else RunTools(calls)
        case Resolving(resolution=resolution):
            return RunTools(approvals.to_run(resolution))
        case Stepped(stop=stop):
            return decide(_next_step(turn)) if stop is None else Finish(stop)
        case _:
            assert_never(turn.state)


def absorb(turn: Turn, outcome: Outcome) -> Turn:
    """The turn after what the world answered. Raises: IllegalOutcome where that was not asked for."""
    match turn.state, outcome:
        case Ready(), Replied():
            return _replied(turn, outcome)
        case Ready(), Compacted():
            return _compacted(turn, outcome)
        case Ready(), Failed():
            if outcome.overflow and turn.compactions < MAX_COMPACTIONS:
                return replace(turn, overflowed=True)
            return _stop(turn, outcome.stop_reason, outcome.error)
        case Asked(), ToolsReturned():
            return _returned(turn, turn.state, outcome.results)
        case Asked(), Awaited():
            return _awaited(turn, turn.state)
        case Resolving(), ToolsReturned():
            return _resolved(turn, turn.state, outcome.results)
        case _:
            raise IllegalOutcome(f"{type(outcome).__name__} does not answer a turn that is {type(turn.state).__name__}")


def _begin(turn: Turn) -> Action:
    if turn.steps >= turn.max_steps:
        return Finish(StopReason.MAX_STEPS)
    limit = int(turn.actor.config.context_window / turn.correction)
    size = window.tokens(turn.messages) + turn.fixed_tokens
    if turn.overflowed or (turn.compactions < MAX_COMPACTIONS and size > window.threshold(limit)):
        return Compact(window.goal(min(limit, size)) - turn.fixed_tokens)
    offered, choice, parallel = plan(turn.actor, turn.history, turn.last_return)
    return CallModel(offered, choice, parallel)


def _next_step(turn: Turn) -> Turn:
    """The turn as the next step finds it."""
    done = turn.stepped
    if done is None:
        return turn
    return replace(
        turn,
        messages=turn.messages + done.rows,
        steps=turn.steps + (not done.resolved),
        history=turn.history + done.called,
        last_return=done.last_return if done.called else turn.last_return,
        compactions=0,
        overflowed=False,
        state=Ready(),
    )


def _replied(turn: Turn, outcome: Replied) -> Turn:
    reply, stamp = outcome.reply, outcome.stamp
    if reply.tool_calls:
        return replace(turn, state=Asked(reply, stamp, calls_of(turn.actor, reply, turn.history, turn.last_return)))
    actor, missing = turn.actor, _missing(turn, ())
    rows = (step_rows.assistant(actor, reply, stamp, ()),) if reply.text or reply.reasoning else ()
    stop: StopReason | None = StopReason.END_TURN
    error = None
    if reply.finish_reason == "refusal":
        stop, error = StopReason.LLM_API_ERROR, RunError(code="llm_error", message="The model refused to answer.", status=500)
    elif reply.finish_reason == "length":
        stop = StopReason.MAX_TOKENS_EXCEEDED
    elif actor.spec.heartbeats:
        stop = StopReason.NO_TOOL_CALL
    elif missing and turn.steps + 1 < turn.max_steps:
        stop, rows = None, (*rows, step_rows.heartbeat(actor, stamp, step_rows.must_call(missing)))
    elif missing:
        stop = StopReason.MAX_STEPS
    return replace(turn, state=Stepped(rows, reply.usage, stop, stamp, error=error))


def _returned(turn: Turn, asked: Asked, results: tuple[CallResult, ...]) -> Turn:
    if [result.call.id for result in results] != [call.id for call in asked.calls]:
        raise IllegalOutcome("ToolsReturned must hold one result for each call, in their order")
    ran = tuple(result.call.name for result in results if not result.call.refusal)
    goes_on, stop, reason = _continuation(turn, results, ran)
    if goes_on and turn.steps + 1 >= turn.max_steps:
        goes_on, stop = False, StopReason.MAX_STEPS
    actor, stamp = turn.actor, asked.stamp
    rows: tuple[Message, ...] = (
        step_rows.assistant(actor, asked.reply, stamp, asked.calls, goes_on=goes_on),
        step_rows.returns(actor, stamp, results),
    )
    if goes_on and reason:
        rows = (*rows, step_rows.heartbeat(actor, stamp, reason))
    last = next((result.text for result in reversed(results) if not result.call.refusal), turn.last_return)
    return replace(turn, state=Stepped(rows, asked.reply.usage, None if goes_on else stop, stamp, ran, last))


def _awaited(turn: Turn, asked: Asked) -> Turn:
    if not any(call.needs_approval for call in asked.calls):
        raise IllegalOutcome("no call of the reply needs an approval")
    rows = step_rows.request(turn.actor, asked.reply, asked.stamp, asked.calls)
    waiting = approvals.pending_calls(turn.actor, asked.reply, asked.calls)
    stop = StopReason.REQUIRES_APPROVAL
    return replace(turn, state=Stepped(rows, asked.reply.usage, stop, asked.stamp, waiting=waiting))


def _resolved(turn: Turn, open_calls: Resolving, ran: tuple[CallResult, ...]) -> Turn:
    resolution, stamp = open_calls.resolution, open_calls.stamp
    if [result.call.id for result in ran] != [call.id for call in approvals.to_run(resolution)]:
        raise IllegalOutcome("ToolsReturned must hold one result for each call that was to be run, in their order")
    results = approvals.results_of(resolution, ran)
    called = tuple(result.call.name for result in ran if not result.call.refusal)
    answered_by_others = len(ran) < len(results)
    goes_on, stop, reason = _continuation(turn, results, called)
    if answered_by_others or open_calls.followed:
        goes_on, reason = True, reason or step_rows.WANTED
    rows: tuple[Message, ...] = (step_rows.returns(turn.actor, stamp, results),)
    if goes_on and reason and turn.actor.spec.heartbeats:
        rows = (*rows, step_rows.heartbeat(turn.actor, stamp, reason))
    last = next((result.text for result in reversed(ran) if not result.call.refusal), turn.last_return)
    return replace(turn, state=Stepped(rows, Usage(), None if goes_on else stop, stamp, called, last, resolved=True))


def _continuation(turn: Turn, results: tuple[CallResult, ...], ran: tuple[str, ...]) -> tuple[bool, StopReason, str | None]:
    """Whether the run goes on after these calls, why it stops if not, and what a heartbeat row says (run-time digest 2.4, 2.11)."""
    rules = turn.actor.rules
    terminal = any(tool_rules.ends_run(rules, name) for name in ran)
    missing = _missing(turn, ran)
    if not turn.actor.spec.heartbeats:
        return bool(missing) or not terminal, StopReason.TOOL_RULE, None
    refused = any(result.call.refusal for result in results)
    failed = any(result.status == "error" for result in results)
    wanted = any(result.call.request_heartbeat for result in results)
    if refused:
        return True, StopReason.END_TURN, step_rows.REFUSED
    if missing and (terminal or not wanted):
        return True, StopReason.END_TURN, step_rows.must_call(missing)
    if terminal:
        return False, StopReason.TOOL_RULE if wanted else StopReason.END_TURN, None
    if failed:
        return True, StopReason.END_TURN, step_rows.FAILED
    if any(tool_rules.has_child_like(rules, name) for name in ran):
        return True, StopReason.END_TURN, step_rows.CHILD_RULE
    if any(tool_rules.continues(rules, name) for name in ran):
        return True, StopReason.END_TURN, step_rows.CONTINUE_RULE
    return wanted, StopReason.END_TURN, step_rows.WANTED


def _missing(turn: Turn, ran: tuple[str, ...]) -> list[str]:
    return tool_rules.uncalled_required(turn.actor.rules, (*turn.history, *ran), turn.actor.names)


def _compacted(turn: Turn, outcome: Compacted) -> Turn:
    if len(outcome.messages) >= len(turn.messages) and turn.overflowed:
        error = RunError(
            code="context_window_exceeded", message="The conversation does not fit the model's context window.", status=400
        )
        return _stop(turn, StopReason.CONTEXT_WINDOW_OVERFLOW_IN_SYSTEM_PROMPT, error)
    if len(outcome.messages) >= len(turn.messages):
        return replace(turn, compactions=MAX_COMPACTIONS)
    return replace(turn, messages=outcome.messages, compactions=turn.compactions + 1, overflowed=False)


def _stop(turn: Turn, reason: StopReason, error: RunError | None = None) -> Turn:
    return replace(turn, state=Stepped((), Usage(), reason, error=error))
