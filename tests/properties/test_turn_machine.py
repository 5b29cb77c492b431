"""The turn machine alone: values in, values out, whatever the model says."""

from __future__ import annotations

import ast
import copy
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.agents.agent_types import spec_of
from hibernaut.domain.tools.builtin.builtin_tools import builtin_tools
from hibernaut.domain.turn import turn_machine
from hibernaut.domain.turn.actor import Actor, Call, CallResult
from hibernaut.domain.turn.approvals import to_run
from hibernaut.domain.turn.turn_machine import TRANSITIONS, absorb, decide
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
from hibernaut.ports.model import ModelReply
from hibernaut.schemas.agents.agent import AgentType
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.schemas.runs.approval import PendingCall, Resolution, Verdict
from hibernaut.schemas.runs.run import RunError
from hibernaut.schemas.runs.turn import Stamp
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.tools.tool import Tool
from hibernaut.schemas.tools.tool_rule import (
    ChildToolRule,
    ContinueToolRule,
    InitToolRule,
    MaxCountPerStepToolRule,
    RequiredBeforeExitToolRule,
    RequiresApprovalToolRule,
    TerminalToolRule,
    ToolRule,
)
from hibernaut.services.steps.model_step import failure_of
from tests.support.replies import FAILURES, TOOLS, replies
from tests.support.settled import check_valid

NOW = datetime(2026, 3, 1, tzinfo=UTC)
RULES: list[ToolRule] = [
    TerminalToolRule(tool_name="send_message"),
    ContinueToolRule(tool_name="memory_insert"),
    InitToolRule(tool_name="memory_insert"),
    ChildToolRule(tool_name="ring", children=["send_message"]),
    MaxCountPerStepToolRule(tool_name="ring", max_count_limit=1),
    RequiredBeforeExitToolRule(tool_name="memory_replace"),
    RequiresApprovalToolRule(tool_name="ring"),
]


def stamp(step: int) -> Stamp:
    return Stamp(step_id=f"step-{step}", assistant_id=f"a{step}", tool_id=f"b{step}", heartbeat_id=f"c{step}", at=NOW)


def row(role: str, text_tokens: int = 10) -> Message:
    return Message(id=f"m-{role}", role=role, agent_id="agent-1", run_id="run-1", created_at=NOW, tokens=text_tokens)  # type: ignore[arg-type]


@st.composite
def turns(draw: st.DrawFn) -> Turn:
    kind = draw(st.sampled_from([AgentType.LETTA_V1, AgentType.MEMGPT]))
    attached = (*(builtin_tools()[name] for name in TOOLS if name != "ring"), Tool(id="tool-ring", name="ring", json_schema={}))
    actor = Actor(
        agent_id="agent-1",
        conversation_id=None,
        run_id="run-1",
        spec=spec_of(kind),
        config=LLMConfig(model="m", model_endpoint_type="openai", context_window=1000, parallel_tool_calls=draw(st.booleans())),
        rules=tuple(draw(st.lists(st.sampled_from(RULES), max_size=3))),
        tools=attached,
        client_tools=frozenset(draw(st.sampled_from([(), ("ring",)]))),
        timezone="UTC",
    )
    size = draw(st.sampled_from([10, 2000]))
    return Turn(actor, (row("system"), row("user", size)), steps=0, max_steps=draw(st.integers(1, 4)))


OPEN = Resolution(
    step_id="step-0",
    verdicts=[Verdict(call=PendingCall(id="open", name="ring", arguments="{}", shown="{}"), decision="run")],
)


def results(calls: tuple[Call, ...]) -> ToolsReturned:
    return ToolsReturned(
        tuple(CallResult(call, "error" if call.refusal else "success", call.refusal or "done", "done") for call in calls)
    )


def answered(turn: Turn, step: int, data: st.DataObject) -> Turn:
    """The turn after what the world makes of its next wish."""
    match decide(turn):
        case CallModel():
            said = data.draw(st.one_of(replies(), replies(), FAILURES))
            return absorb(turn, Replied(said, stamp(step)) if isinstance(said, ModelReply) else failure_of(said))
        case RunTools(calls=calls):
            return absorb(turn, results(calls))
        case AwaitApproval():
            return absorb(turn, Awaited())
        case Compact():
            kept = turn.messages if data.draw(st.booleans()) else (turn.messages[0],)
            return absorb(turn, Compacted(kept))
        case Finish():
            return absorb(turn, Finished())


@given(turns(), st.data())
def test_every_turn_ends_and_what_it_leaves_is_a_valid_log_at_every_step(turn: Turn, data: st.DataObject) -> None:
    log = list(turn.messages)
    for step in range(turn.max_steps + 1):
        for _ in range(12):
            turn = answered(turn, step, data)
            if turn.stepped is not None:
                break
        done = turn.stepped
        assert done is not None, "a step does not come to its end"
        log += done.rows
        check_valid(log, waits=bool(done.waiting))
        if done.stop is not None:
            assert decide(turn) == Finish(done.stop)
            return
        turn = replace(
            turn, messages=tuple(log), steps=step + 1, history=(*turn.history, *done.called), compactions=0, state=Ready()
        )
    raise AssertionError("the run goes on beyond its last step")


@given(turns(), st.data())
def test_deciding_and_absorbing_are_pure(turn: Turn, data: st.DataObject) -> None:
    for step in range(6):
        before = copy.deepcopy(turn)
        assert decide(turn) == decide(before)
        after = answered(turn, step, data)
        assert turn == before, "absorbing changed the turn that it was given"
        if after.stepped is not None:
            return
        turn = after


ANSWERS: dict[type[Action], tuple[type[Outcome], ...]] = {
    CallModel: (Replied, Failed),
    RunTools: (ToolsReturned,),
    AwaitApproval: (Awaited,),
    Compact: (Compacted,),
    Finish: (Finished,),
}
"""Which outcomes answer which action, told apart from the machine's own table."""
FROM_OUTSIDE: dict[type[State], tuple[type[Outcome], ...]] = {
    Ready: (Replayed, Reopened),
    CallsPending: (Interrupted,),
    Resolving: (),
    Stepped: (),
}


def outcomes_for(turn: Turn) -> list[Outcome]:
    """One outcome of each kind; those that hold results hold the ones that fit this turn."""
    calls: tuple[Call, ...] = ()
    if isinstance(turn.state, CallsPending):
        calls = turn.state.calls
    elif isinstance(turn.state, Resolving):
        calls = to_run(turn.state.resolution)
    return [
        Replied(ModelReply(text="hi"), stamp(0)),
        Replayed(ModelReply(text="hi"), stamp(0)),
        Reopened(OPEN, stamp(0)),
        results(calls),
        Interrupted(results(calls).results, StopReason.CANCELLED),
        Compacted((row("system"),)),
        Failed(StopReason.ERROR, RunError(code="c", message="m")),
        Awaited(),
        Finished(),
    ]


@given(turns(), st.data())
def test_only_what_was_asked_for_is_absorbed_and_all_else_leaves_the_turn_unchanged(turn: Turn, data: st.DataObject) -> None:
    """Every pair of a turn and an outcome."""
    if data.draw(st.booleans()):
        turn = absorb(turn, Reopened(OPEN, stamp(0)))
    for step in range(data.draw(st.integers(0, 3))):
        if turn.stepped is None:
            turn = answered(turn, step, data)
    asked_for = () if turn.stepped is not None else ANSWERS[type(decide(turn))]
    before = copy.deepcopy(turn)
    for outcome in outcomes_for(turn):
        if isinstance(outcome, (*asked_for, *FROM_OUTSIDE[type(turn.state)])):
            assert isinstance(absorb(turn, outcome), Turn)
        else:
            with pytest.raises(IllegalOutcome):
                absorb(turn, outcome)
        assert turn == before


def test_the_table_names_every_state_and_outcome() -> None:
    """A kind that is added to the machine without a transition is found here."""
    assert {state for state, _, _ in TRANSITIONS} == {Ready, CallsPending, Resolving}
    assert {outcome for _, _, outcome in TRANSITIONS} == set(get_args(Outcome))
    assert {action for _, action, _ in TRANSITIONS if action} == set(get_args(Action))


def test_no_module_but_the_machine_makes_a_state() -> None:
    """States are made by `absorb` alone: a state made elsewhere would skip the table."""
    root = Path(turn_machine.__file__).parents[2]
    made = {
        f"{file.relative_to(root)}:{node.lineno}"
        for file in root.rglob("*.py")
        if file.name not in {"turn_machine.py", "turn_values.py"}
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"CallsPending", "Resolving", "Stepped", "Ready"}
    }
    assert made == set()


def test_results_in_another_order_than_the_calls_are_refused() -> None:
    calls = (Call("one", "ring", {}), Call("two", "ring", {}))
    with pytest.raises(IllegalOutcome):
        absorb(asked_for(calls), results(tuple(reversed(calls))))
    assert absorb(asked_for(calls), results(calls)).stepped is not None


def asked_for(calls: tuple[Call, ...]) -> Turn:
    config = LLMConfig(model="m", model_endpoint_type="openai", context_window=10**5)
    actor = Actor("agent-1", None, "run-1", spec_of(AgentType.LETTA_V1), config, (), (), frozenset(), "UTC")
    return Turn(actor, (row("system"), row("user")), steps=0, max_steps=9, state=CallsPending(ModelReply(), stamp(0), calls))


@pytest.mark.parametrize("outcome", ["a text", None, 7])
def test_what_is_no_outcome_at_all_is_a_type_error(outcome: object) -> None:
    with pytest.raises(TypeError):
        absorb(asked_for(()), outcome)  # type: ignore[arg-type]
