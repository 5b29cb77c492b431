"""What tool policies promise, for every policy, call and reply."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.tools import tool_policy
from hibernaut.domain.tools.tool_policy import JudgedCall, deciding, fits, hidden_from_code, mismatch
from hibernaut.domain.turn.turn_machine import absorb, decide
from hibernaut.domain.turn.turn_values import AwaitApproval, CallsPending, Replayed, Replied, RunTools, Turn
from hibernaut.schemas.base import Json
from hibernaut.schemas.tools.tool_policy import ArgumentCondition, CallRate, PolicyAction, ToolPolicy
from tests.properties.test_turn_machine import NOW, stamp, turns
from tests.support.replies import TOOLS, replies

TEXTS = st.text("ab*", max_size=6)
LEAVES: st.SearchStrategy[Json] = st.one_of(TEXTS, st.integers(-2, 2), st.booleans(), st.none())
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
)
ARGS = st.dictionaries(st.sampled_from(["a", "b", "to"]), VALUES, max_size=3)
ACTIONS: st.SearchStrategy[PolicyAction] = st.sampled_from(["allow", "deny", "ask"])
CONDITIONS = st.builds(
    ArgumentCondition,
    path=st.sampled_from(["", "to", "a", "a.b", "to.a"]),
    matches=st.lists(TEXTS, min_size=1, max_size=2),
    negate=st.booleans(),
    ignore_case=st.booleans(),
)


@st.composite
def policies(draw: st.DrawFn, names: tuple[str, ...] = ("mail", "web"), **fixed: object) -> ToolPolicy:
    action = draw(ACTIONS)
    fields: dict[str, object] = {
        "id": f"tool-policy-{draw(st.integers(0, 9))}",
        "name": "A policy",
        "action": action,
        "tools": draw(st.lists(st.sampled_from([*names, "*", "m*"]), min_size=1, max_size=2)),
        "agent_tags": draw(st.sampled_from([None, ["b*"]])),
        "arguments": draw(st.lists(CONDITIONS, max_size=2)),
        "waives_approval": action == "allow" and draw(st.booleans()),
        "enabled": draw(st.booleans()),
        "created_at": NOW,
        "updated_at": NOW,
        **fixed,
    }
    return ToolPolicy.model_validate(fields)


CALLS = st.builds(JudgedCall, tool=st.sampled_from(["mail", "web"]), args=ARGS, tags=st.sampled_from([(), ("boss",)]).map(tuple))


@given(st.text("ab*", max_size=8), st.text("ab", max_size=12))
def test_a_pattern_fits_as_its_regular_expression_does(pattern: str, text: str) -> None:
    expression = ".*".join(re.escape(part) for part in pattern.split("*"))
    assert fits(pattern, text) is (re.fullmatch(expression, text, re.DOTALL) is not None)


def test_a_match_is_a_search_and_no_backtracking() -> None:
    """A million characters against the worst pattern for backtracking: a thousand searches that go on where the last one
    ended.
    """
    assert not fits("*a" * 100 + "*b", "a" * 1_000_000)


@given(st.lists(policies(), max_size=5), CALLS)
def test_the_first_policy_that_matches_always_decides(listed: list[ToolPolicy], call: JudgedCall) -> None:
    matching = [policy for policy in listed if mismatch(policy, call) is None]
    assert deciding(listed, call) is (matching[0] if matching else None)
    assert all(policy.enabled for policy in matching)


@given(policies(enabled=True, agent_tags=None, tools=["*"]), ARGS, LEAVES)
def test_a_further_value_never_hides_a_call_from_a_denial_nor_lets_it_pass(
    policy: ToolPolicy, args: dict[str, Json], more: Json
) -> None:
    """A model that adds a recipient to a list gets neither around a denial nor in by an allowance."""
    held = [args["to"]] if "to" in args and not isinstance(args["to"], list) else args.get("to", [])
    few, many = JudgedCall("mail", {**args, "to": held}), JudgedCall("mail", {**args, "to": [*held, more]})
    before, after = mismatch(policy, few) is None, mismatch(policy, many) is None
    empty = not list(tool_policy._texts({"to": held}, ["to"], folded=False))
    if not empty and policy.action == "allow":
        assert before or not after
    elif not empty:
        assert after or not before


@given(st.lists(policies(), max_size=4), CALLS)
def test_what_is_left_to_code_is_never_denied_asked_or_counted(listed: list[ToolPolicy], call: JudgedCall) -> None:
    """Code may call the tool with any arguments, these among them."""
    if not hidden_from_code(listed, replace(call, args={})):
        decided = deciding(listed, call)
        assert decided is None or (decided.action == "allow" and decided.rate is None)


LISTED = st.lists(policies(names=TOOLS, agent_tags=None), max_size=4)


def judged(turn: Turn, listed: list[ToolPolicy]) -> Turn:
    return replace(turn, actor=replace(turn.actor, policies=tuple(listed)))


@given(turns(), LISTED, replies())
def test_a_denied_call_never_runs_and_an_asked_one_never_without_its_answer(
    turn: Turn, listed: list[ToolPolicy], reply: object
) -> None:
    plain = absorb_reply(turn, reply)
    after = absorb_reply(judged(turn, listed), reply)
    if not isinstance(after.state, CallsPending) or not isinstance(plain.state, CallsPending):
        return
    wish = decide(after)
    for before, call in zip(plain.state.calls, after.state.calls, strict=True):
        judged_call = JudgedCall(call.name, call.args)
        decided = deciding(listed, judged_call) if before.refusal is None else None
        assert (call.decision.policy_id if call.decision else None) == (decided.id if decided else None)
        match decided.action if decided else None:
            case "deny":
                assert call.refusal is not None
            case "ask":
                assert isinstance(wish, AwaitApproval)
                assert call in wish.calls
            case "allow" if decided and decided.waives_approval:
                assert call.refusal is None
                assert call.needs_approval is (call.name in turn.actor.client_tools)
            case _:  # without a policy, and where one allows without a waiver, the agent's own rules stand
                assert (call.refusal, call.needs_approval) == (before.refusal, before.needs_approval)


@given(turns(), LISTED, LISTED, replies())
def test_a_repeated_step_decides_as_the_first_one_whatever_the_policies_are_now(
    turn: Turn, then: list[ToolPolicy], now: list[ToolPolicy], reply: object
) -> None:
    first = absorb_reply(judged(turn, then), reply)
    if not isinstance(first.state, CallsPending) or not isinstance(decide(first), RunTools):
        return
    kept = tuple(call.decision for call in first.state.calls if call.decision is not None)
    again = absorb(judged(turn, now), Replayed(first.state.reply, stamp(0), kept))
    assert isinstance(again.state, CallsPending)
    assert again.state.calls == first.state.calls


def absorb_reply(turn: Turn, reply: object) -> Turn:
    """The turn after this reply of its model; as it is if it does not ask for one."""
    from hibernaut.domain.turn.turn_values import CallModel
    from hibernaut.ports.model import ModelReply

    assert isinstance(reply, ModelReply)
    return absorb(turn, Replied(reply, stamp(0))) if isinstance(decide(turn), CallModel) else turn


@given(st.integers(1, 5), st.integers(1, 100), st.integers(0, 10_000))
def test_windows_follow_each_other_without_a_gap(calls: int, seconds: int, moment: int) -> None:
    from datetime import timedelta

    from hibernaut.store.access.tool_policies import window_of

    rate = CallRate(calls=calls, seconds=seconds)
    at = NOW + timedelta(seconds=moment)
    begins, ends = window_of(rate, at)
    assert begins <= at.timestamp() < ends
    assert window_of(rate, at + timedelta(seconds=seconds))[0] == ends
