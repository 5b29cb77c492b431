"""The one agent loop, as a pure state machine: values in, values out. No I/O, no clock, no chance; time and ids come in as
values.

Theory of operation
-------------------
A *turn* is the in-memory state of a run between two actions. The driver repeats

    action = decide(turn)            the next action for the outside world
    turn = absorb(turn, outcome)     the outcome of that action

until the turn has *stepped*: one model call and all that follows from it is then complete, and its rows are written in one
transaction. For a stepped turn, `decide` names what follows the commit: `Finish`, or the first action of the next step.

    Ready ── CallModel ─▶ Replied ──▶ CallsPending ── RunTools ─▶ ToolsReturned ──▶ Stepped ──▶ Finish | (next step)
      │  ▲                   │          └───── AwaitApproval ─▶ Awaited ───────────────▲
      │  │                   └─ no calls ──────────────────────────────────────────────▲
      │  └─ Compacted ◀─ Compact (the window is too full, or the provider says so)
      ├──── Failed ────────────────────────────────────────────────────────────────────▶ Stepped with a failing stop reason
      └──── Finish ─▶ Finished ────────────────────────────────────────────────────────▶ Stepped (the run is out of steps or of
      budget)
    Resolving ── RunTools ─▶ ToolsReturned ─▶ Stepped (only the returns; the next step calls the model)

`TRANSITIONS` lists every legal transition; only `absorb` makes states. An outcome that does not belong to the action that
`decide` names raises `IllegalOutcome` and leaves the turn unchanged. Three outcomes come from outside the loop and belong to no
action: `Replayed` (the journaled reply of an earlier attempt), `Reopened` (an approval answer resolves the calls of an earlier
run) and `Interrupted` (the run was cancelled).

If one call of a reply needs an approval, or the client runs it, the run ends with all calls of the reply open. The answer starts
a new run, whose first outcome is `Reopened`: the calls get their returns. That does not count as a step.

Two families of agents are data for this machine (`domain.agents.agent_types`): with `heartbeats`, every step must call a tool,
the model asks for another step by `request_heartbeat`, and a reply without a call is an error. Without heartbeats, a text is the
answer and ends the turn, and every tool call leads to another step.

A step adds these rows to the log: one assistant row with the reply and all its calls; one tool row with a return for every call,
in order (invariant 6); and one user row with a heartbeat, if the agent must be prompted to continue. The ids and the time of the
rows come from the reply's `Stamp`, so a replay of the journal makes the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import assert_never

from hibernaut.domain.tools import tool_rules
from hibernaut.domain.turn import approvals, call_outcomes, step_rows
from hibernaut.domain.turn.actor import Call, CallResult
from hibernaut.domain.turn.model_requests import calls_of, plan
from hibernaut.domain.turn.policy_decisions import begun
from hibernaut.domain.turn.turn_values import (
    Action,
    AwaitApproval,
    Awaited,
    CallModel,
    CallsPending,
    Compact,
    Compacted,
    Failed,
    Finish,
    Finished,
    IllegalOutcome,
    Interrupted,
    Outcome,
    Ready,
    Reopened,
    Replayed,
    Replied,
    Resolving,
    RunTools,
    State,
    Stepped,
    ToolsReturned,
    Turn,
)
from hibernaut.domain.window import window
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.models.model_call import ModelReply
from hibernaut.schemas.runs.run import RunError
from hibernaut.schemas.runs.turn import Stamp
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.usage import Usage

MAX_COMPACTIONS = 3
"""The number of compactions after which a step gives up."""


def decide(turn: Turn) -> Action:
    """The next action. Pure: the same turn gives the same action."""
    match turn.state:
        case Ready():
            return _begin(turn)
        case CallsPending(calls=calls):
            approval_calls = tuple(call for call in calls if call.needs_approval)
            return AwaitApproval(approval_calls) if approval_calls else RunTools(calls)
        case Resolving(resolution=resolution):
            return RunTools(approvals.to_run(resolution))
        case Stepped(stop=stop):
            return decide(_next_step(turn)) if stop is None else Finish(stop)
        case _:
            assert_never(turn.state)


def absorb(turn: Turn, outcome: Outcome) -> Turn:
    """The turn after an outcome. Raises: IllegalOutcome if `TRANSITIONS` has no such transition."""
    state, kind = type(turn.state), type(outcome)
    transition = TRANSITIONS.get((state, None, kind))
    if transition is None and (state, kind) in _ANSWERED:
        transition = TRANSITIONS.get((state, type(decide(turn)), kind))
    if transition is None:
        raise IllegalOutcome(f"{kind.__name__} does not answer a turn that is {state.__name__}")
    return transition(turn, outcome)


def _begin(turn: Turn) -> Action:
    if turn.steps >= turn.max_steps:
        return Finish(StopReason.MAX_STEPS)
    if turn.out_of_budget:
        return Finish(StopReason.BUDGET_EXCEEDED)
    limit = int(turn.actor.config.context_window / turn.correction)
    size = window.tokens(turn.messages) + turn.fixed_tokens
    if turn.overflowed or (turn.compactions < MAX_COMPACTIONS and size > window.threshold(limit)):
        return Compact(window.goal(min(limit, size)) - turn.fixed_tokens)
    offered, choice, parallel = plan(turn.actor, turn.history, turn.last_return)
    return CallModel(offered, choice, parallel)


def _next_step(turn: Turn) -> Turn:
    """The turn at the beginning of the next step."""
    step = turn.stepped
    if step is None:
        return turn
    return replace(
        turn,
        messages=turn.messages + step.rows,
        steps=turn.steps + (not step.resolved),
        history=turn.history + step.called,
        last_return=step.last_return if step.called else turn.last_return,
        compactions=0,
        overflowed=False,
        state=Ready(),
    )


def _replied(turn: Turn, outcome: Replied) -> Turn:
    return _with_reply(turn, outcome.reply, outcome.stamp)


def _replayed(turn: Turn, outcome: Replayed) -> Turn:
    unjudged = replace(turn, actor=replace(turn.actor, policies=()))
    after = _with_reply(unjudged, outcome.reply, outcome.stamp)
    if not isinstance(after.state, CallsPending):
        return after
    decisions = {each.call_id: each for each in outcome.decisions}
    calls = tuple(begun(after.actor, call, decisions) for call in after.state.calls)
    return replace(after, state=replace(after.state, calls=calls))


def _with_reply(turn: Turn, reply: ModelReply, stamp: Stamp) -> Turn:
    if stamp.fallback is not None:
        turn = replace(turn, actor=replace(turn.actor, config=stamp.fallback))
    if reply.tool_calls:
        return replace(turn, state=CallsPending(reply, stamp, calls_of(turn.actor, reply, turn.history, turn.last_return)))
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
    return replace(turn, state=Stepped(rows, reply.usage, stop, stamp, error=error, logprobs=reply.logprobs))


def _reopened(turn: Turn, outcome: Reopened) -> Turn:
    return replace(turn, state=Resolving(outcome.resolution, outcome.stamp, outcome.followed))


def _returned(turn: Turn, outcome: ToolsReturned) -> Turn:
    replied, results = _open_reply(turn), outcome.results
    _check_order(results, replied.calls)
    executed = tuple(result.call.name for result in results if not result.call.refusal)
    continues, stop, reason = _continuation(turn, results, executed)
    if continues and turn.steps + 1 >= turn.max_steps:
        continues, stop = False, StopReason.MAX_STEPS
    actor, stamp = turn.actor, replied.stamp
    rows: tuple[Message, ...] = (
        step_rows.assistant(actor, replied.reply, stamp, replied.calls, continues=continues),
        step_rows.returns(actor, stamp, results),
    )
    if continues and reason:
        rows = (*rows, step_rows.heartbeat(actor, stamp, reason))
    last = next((result.text for result in reversed(results) if not result.call.refusal), turn.last_return)
    reason_to_stop = None if continues else stop
    outcomes = call_outcomes.of_results(results)
    step = Stepped(
        rows, replied.reply.usage, reason_to_stop, stamp, executed, last, logprobs=replied.reply.logprobs, outcomes=outcomes
    )
    return replace(turn, state=step)


def _awaited(turn: Turn, _: Awaited) -> Turn:
    replied = _open_reply(turn)
    rows = step_rows.request(turn.actor, replied.reply, replied.stamp, replied.calls)
    pending = approvals.pending_calls(turn.actor, replied.reply, replied.calls)
    stop = StopReason.REQUIRES_APPROVAL
    outcomes = call_outcomes.of_waiting(replied.calls)
    usage, logprobs = replied.reply.usage, replied.reply.logprobs
    step = Stepped(rows, usage, stop, replied.stamp, waiting=pending, logprobs=logprobs, outcomes=outcomes)
    return replace(turn, state=step)


def _interrupted(turn: Turn, outcome: Interrupted) -> Turn:
    """The interrupted turn: a return for every call, and no heartbeat, because the run does not continue."""
    replied = _open_reply(turn)
    _check_order(outcome.results, replied.calls)
    rows = (
        step_rows.assistant(turn.actor, replied.reply, replied.stamp, replied.calls),
        step_rows.returns(turn.actor, replied.stamp, outcome.results),
    )
    outcomes = call_outcomes.of_interrupted(outcome.results)
    step = Stepped(rows, replied.reply.usage, outcome.stop_reason, replied.stamp, error=outcome.error, outcomes=outcomes)
    return replace(turn, state=step)


def _open_reply(turn: Turn) -> CallsPending:
    if not isinstance(turn.state, CallsPending):
        raise IllegalOutcome(f"a turn that is {type(turn.state).__name__} has no reply with calls")
    return turn.state


def _check_order(results: tuple[CallResult, ...], calls: tuple[Call, ...]) -> None:
    if [result.call.id for result in results] != [call.id for call in calls]:
        raise IllegalOutcome(f"{len(results)} results do not answer these {len(calls)} calls one by one, in their order")


def _resolved(turn: Turn, outcome: ToolsReturned) -> Turn:
    open_calls, executed = turn.state, outcome.results
    if not isinstance(open_calls, Resolving):
        raise IllegalOutcome(f"a turn that is {type(open_calls).__name__} has nothing to resolve")
    resolution, stamp = open_calls.resolution, open_calls.stamp
    _check_order(executed, approvals.to_run(resolution))
    results = approvals.results_of(resolution, executed)
    names = tuple(result.call.name for result in executed if not result.call.refusal)
    answered_by_others = len(executed) < len(results)
    continues, stop, reason = _continuation(turn, results, names)
    if answered_by_others or open_calls.followed:
        continues, reason = True, reason or step_rows.WANTED
    rows: tuple[Message, ...] = (step_rows.returns(turn.actor, stamp, results),)
    if continues and reason and turn.actor.spec.heartbeats:
        rows = (*rows, step_rows.heartbeat(turn.actor, stamp, reason))
    last = next((result.text for result in reversed(executed) if not result.call.refusal), turn.last_return)
    outcomes = call_outcomes.of_resolution(resolution, results)
    reason_to_stop = None if continues else stop
    step = Stepped(rows, Usage(), reason_to_stop, stamp, names, last, resolved=True, outcomes=outcomes)
    return replace(turn, state=step)


def _continuation(turn: Turn, results: tuple[CallResult, ...], executed: tuple[str, ...]) -> tuple[bool, StopReason, str | None]:
    """Whether the run continues after these calls, the stop reason if not, and the text of the heartbeat row (RT 2.4, 2.11)."""
    rules = turn.actor.rules
    terminal = any(tool_rules.ends_run(rules, name) for name in executed)
    missing = _missing(turn, executed)
    if not turn.actor.spec.heartbeats:
        return bool(missing) or not terminal, StopReason.TOOL_RULE, None
    any_refused = any(result.call.refusal for result in results)
    any_failed = any(result.status == "error" for result in results)
    heartbeat_requested = any(result.call.request_heartbeat for result in results)
    if any_refused:
        return True, StopReason.END_TURN, step_rows.REFUSED
    if missing and (terminal or not heartbeat_requested):
        return True, StopReason.END_TURN, step_rows.must_call(missing)
    if terminal:
        return False, StopReason.TOOL_RULE if heartbeat_requested else StopReason.END_TURN, None
    if any_failed:
        return True, StopReason.END_TURN, step_rows.FAILED
    if any(tool_rules.has_child_like(rules, name) for name in executed):
        return True, StopReason.END_TURN, step_rows.CHILD_RULE
    if any(tool_rules.continues(rules, name) for name in executed):
        return True, StopReason.END_TURN, step_rows.CONTINUE_RULE
    return heartbeat_requested, StopReason.END_TURN, step_rows.WANTED


def _missing(turn: Turn, executed: tuple[str, ...]) -> list[str]:
    return tool_rules.uncalled_required(turn.actor.rules, (*turn.history, *executed), turn.actor.names)


def _compacted(turn: Turn, outcome: Compacted) -> Turn:
    if len(outcome.messages) >= len(turn.messages) and turn.overflowed:
        error = RunError(
            code="context_window_exceeded", message="The conversation does not fit the model's context window.", status=400
        )
        return _stop(turn, StopReason.CONTEXT_WINDOW_OVERFLOW_IN_SYSTEM_PROMPT, error)
    if len(outcome.messages) >= len(turn.messages):
        return replace(turn, compactions=MAX_COMPACTIONS)
    return replace(turn, messages=outcome.messages, compactions=turn.compactions + 1, overflowed=False)


def _failed(turn: Turn, outcome: Failed) -> Turn:
    if outcome.overflow and turn.compactions < MAX_COMPACTIONS:
        return replace(turn, overflowed=True)
    return _stop(turn, outcome.stop_reason, outcome.error, outcome.step_id)


def _finished(turn: Turn, _: Finished) -> Turn:
    action = decide(turn)
    if not isinstance(action, Finish):
        raise IllegalOutcome(f"a turn that asks for {type(action).__name__} is not finished")
    return _stop(turn, action.stop_reason)


def _stop(turn: Turn, reason: StopReason, error: RunError | None = None, step_id: str | None = None) -> Turn:
    return replace(turn, state=Stepped((), Usage(), reason, error=error, step_id=step_id))


TRANSITIONS: Mapping[tuple[type[State], type[Action] | None, type[Outcome]], Callable[..., Turn]] = {
    (Ready, CallModel, Replied): _replied,
    (Ready, CallModel, Failed): _failed,
    (Ready, Compact, Compacted): _compacted,
    (Ready, Finish, Finished): _finished,
    (Ready, None, Replayed): _replayed,
    (Ready, None, Reopened): _reopened,
    (CallsPending, RunTools, ToolsReturned): _returned,
    (CallsPending, AwaitApproval, Awaited): _awaited,
    (CallsPending, None, Interrupted): _interrupted,
    (Resolving, RunTools, ToolsReturned): _resolved,
}
"""Every legal transition: the state, the action that `decide` names (None: any), the outcome, and the function that makes the
next turn.
"""
_ANSWERED = frozenset((state, outcome) for state, action, outcome in TRANSITIONS if action is not None)
