"""Tool policies around the calls of a run: what is not called, what a repeated step decides, how often a tool may be called, and
what is recorded.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hibernaut.domain.tools.builtin.builtin_tools import builtin_tools
from hibernaut.domain.turn.actor import Call
from hibernaut.schemas.tools.tool_policy import CallRate, CreateToolPolicy, ToolPolicy
from hibernaut.services.tool_calls.call_policies import digest_of
from hibernaut.services.tools.tool_policies import CallQuery, ToolPolicies
from hibernaut.store.table.remembered_record import FRESH_SECONDS
from tests.support.scripted_model import calls, in_turn, nothing, says
from tests.support.tables import all_items
from tests.support.world import World, data_in

RING = ("ring", {"x": "front"})


def policy(world: World, action: str, **fields: object) -> ToolPolicy:
    request = {"name": f"{action} it", "action": action, "tools": ["ring"], **fields}
    return ToolPolicies(world.stores, world.host).create(CreateToolPolicy.model_validate(request))


def world_of(folder: Path, *replies: object) -> tuple[World, str]:
    world = World(data_in(folder, in_turn(*replies)))  # type: ignore[arg-type]
    return world, world.make_agent(tools=("ring",), tags=("door",))


def returns(world: World, agent_id: str) -> list[str]:
    return [each.func_response for row in world.log(agent_id) for each in row.tool_returns]


def recorded(world: World) -> list[tuple[str, str, str | None, str | None]]:
    found = ToolPolicies(world.stores, world.host).calls(CallQuery(limit=50)).rows
    return [(each.tool, each.outcome, each.status, each.policy_name) for each in reversed(found)]


def test_a_denied_call_is_not_made_and_the_model_reads_why(tmp_path: Path) -> None:
    world, agent_id = world_of(tmp_path, calls(RING), says("I see."))
    policy(world, "deny", message="Nobody rings at night.", arguments=[{"path": "x", "matches": ["fr*"]}])
    world.send(agent_id, "Ring.")
    assert world.runner.effects == []
    assert "Nobody rings at night." in returns(world, agent_id)[0]
    assert recorded(world) == [("ring", "denied", "error", "deny it")]


def test_a_policy_asks_by_the_approvals_that_exist_and_the_record_has_both(tmp_path: Path) -> None:
    world, agent_id = world_of(tmp_path, calls(RING), says("Thanks."))
    policy(world, "ask", agent_tags=["do*"])
    world.send(agent_id, "Ring.")
    request = world.log(agent_id)[-1]
    assert (request.role, world.runner.effects) == ("approval", [])
    world.answer(agent_id, {"type": "approval", "tool_call_id": request.tool_calls[0].id, "approve": True})
    world.workflow.drive()
    assert world.runner.effects == [("ring", {"x": "front"})]
    assert recorded(world) == [("ring", "asked", None, "ask it"), ("ring", "approved", "success", "ask it")]


class Died(BaseException):
    """The worker has died."""


@pytest.mark.parametrize("place", ["before tool", "after tool"])
def test_a_repeated_step_keeps_the_decision_of_its_first_attempt(tmp_path: Path, place: str) -> None:
    """A denial that comes between two attempts does not turn a call that was begun into one that was denied."""
    world, agent_id = world_of(tmp_path, calls(RING), says("Done."))
    allowed = policy(world, "allow")

    def dies(at: str) -> None:
        if at == place:
            raise Died

    world.runner.at = dies
    with suppress(Died):
        world.advance(world.accept(agent_id, "Ring.").run_id)
    world.runner.at = nothing
    ToolPolicies(world.stores, world.host).delete(allowed.id)
    policy(world, "deny")
    world.reborn().sweep()
    assert "denies" not in returns(world, agent_id)[0]
    assert recorded(world)[0][1:] == ("allowed", "error", "allow it"), "the claim says that the call may have been made"


def test_another_process_follows_a_change_within_seconds(tmp_path: Path) -> None:
    world, agent_id = world_of(tmp_path, calls(RING), says("One."), calls(RING), says("Two."))
    world.send(agent_id, "Ring.")
    policy(World(world.data), "deny")
    world.clock.sleep(FRESH_SECONDS + 1)
    world.send(agent_id, "Ring.")
    assert len(world.runner.effects) == 1


def test_a_rate_denies_what_is_above_it_and_says_when_to_try_again(tmp_path: Path) -> None:
    world, agent_id = world_of(tmp_path, calls(RING), calls(RING), calls(RING), says("Enough."), calls(RING), says("Again."))
    policy(world, "allow", rate={"calls": 2, "seconds": 3600, "per": "agent"})
    world.send(agent_id, "Ring three times.")
    assert len(world.runner.effects) == 2
    assert "Try it again in " in returns(world, agent_id)[-1]
    world.clock.sleep(3600)
    world.send(agent_id, "And now?")
    assert len(world.runner.effects) == 3
    assert [outcome for _, outcome, _, _ in recorded(world)] == ["allowed", "allowed", "limited", "allowed"]


def test_a_call_that_is_repeated_by_another_attempt_is_counted_once(tmp_path: Path) -> None:
    world, agent_id = world_of(tmp_path, calls(RING), says("Done."), calls(RING), says("Done."))
    policy(world, "allow", rate={"calls": 2, "seconds": 86_400, "per": "tenant"})

    def dies(at: str) -> None:
        if at == "before tool":
            raise Died

    world.runner.at = dies
    with suppress(Died):
        world.advance(world.accept(agent_id, "Ring.").run_id)
    world.runner.at = nothing
    again = world.reborn()
    again.sweep()
    again.send(agent_id, "Ring.")
    assert len(again.runner.effects) == 1, "the first call was claimed and never made"
    assert [outcome for _, outcome, _, _ in recorded(again)] == ["allowed", "allowed"]


def test_calls_that_could_be_made_at_once_are_counted_one_by_one(tmp_path: Path) -> None:
    three = calls(*(("ring", {"x": str(number)}) for number in range(3)))
    world, agent_id = world_of(tmp_path, three, says("Done."))
    tool = world.stores.tools.by_name(["ring"])["ring"]
    beside = tool.model_copy(update={"enable_parallel_execution": True})
    world.stores.writer.write(*world.stores.tools.change(tool, beside, "token"), token="token")
    policy(world, "allow", rate={"calls": 2, "seconds": 86_400, "per": "tenant"})
    world.send(agent_id, "Ring three times.")
    assert len(world.runner.effects) == 2
    assert [outcome for _, outcome, _, _ in recorded(world)] == ["allowed", "allowed", "limited"]


def test_a_tenant_without_policies_has_no_records(tmp_path: Path) -> None:
    world, agent_id = world_of(tmp_path, calls(RING), says("Done."))
    world.send(agent_id, "Ring.")
    assert recorded(world) == []
    assert not any("CALLS#" in key.pk or "CALLRATE" in key.pk for key in all_items(world.data.table))


def test_a_record_has_a_digest_and_nothing_that_was_said(tmp_path: Path) -> None:
    world, agent_id = world_of(tmp_path, calls(("ring", {"x": "the blue door"})), says("Done."))
    made = policy(world, "allow")
    run = world.send(agent_id, "Ring.")
    (found,) = ToolPolicies(world.stores, world.host).calls(CallQuery()).rows
    assert (found.arguments_digest, found.run_id, found.agent_id) == (digest_of({"x": "the blue door"}), run, agent_id)
    assert (found.policy_id, found.call_id) == (made.id, world.log(agent_id)[2].tool_calls[0].id)
    assert "blue" not in found.model_dump_json()


def test_pages_of_records_follow_each_other_within_a_step(tmp_path: Path) -> None:
    many = calls(*(("ring", {"x": str(number)}) for number in range(5)))
    world, agent_id = world_of(tmp_path, many, many, says("Done."))
    policy(world, "deny")
    world.send(agent_id, "Ring.")
    policies, found, after = ToolPolicies(world.stores, world.host), list[str](), None
    while page := policies.calls(CallQuery(limit=3, after=after)).rows:
        found += [each.id for each in page]
        after = found[-1]
    assert len(found) == len(set(found)) == 10
    assert policies.calls(CallQuery(outcome="allowed")).rows == []


def test_code_gets_no_tool_that_a_policy_may_deny(tmp_path: Path) -> None:
    world = World(data_in(tmp_path, in_turn(calls(("run_code", {"code": "ring('x')", "language": "python"})), says("Done."))))
    agent_id = world.make_agent(tools=("run_code", "ring", "knock"))
    seen: list[list[str]] = []
    plain = world.runner.does

    def looks(job):  # type: ignore[no-untyped-def]
        seen.append(job.args["sources"])
        return plain(job)

    world.runner.does = looks
    policy(world, "deny", arguments=[{"path": "x", "matches": ["never"]}])
    world.send(agent_id, "Run it.")
    assert seen == [["def knock(x): ..."]]
    assert "run_code" in builtin_tools()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a", "b"])), max_size=25), st.integers(1, 3))
def test_no_window_ever_has_more_calls_than_its_rate(tmp_path_factory, moves: list[tuple[int, str]], most: int) -> None:  # type: ignore[no-untyped-def]
    world = World(data_in(tmp_path_factory.mktemp("rate"), in_turn(says("Hi."))))
    rate, counts = CallRate(calls=most, seconds=4), dict[tuple[int, str], int]()
    for number, (wait, subject) in enumerate(moves):
        world.clock.sleep(wait)
        now = world.clock.now()
        if world.stores.call_rates.count(("p", subject), (str(number),), rate, now, world.ids.token()):
            window = (int(now.timestamp()) // 4, subject)
            counts[window] = counts.get(window, 0) + 1
    assert all(count <= most for count in counts.values())


def test_calls_at_the_same_moment_share_a_rate(tmp_path: Path) -> None:
    world = World(data_in(tmp_path, in_turn(says("Hi."))))
    rate, barrier, admitted = CallRate(calls=3, seconds=60), threading.Barrier(8), list[bool]()

    def counts(number: int) -> None:
        barrier.wait()
        admitted.append(world.stores.call_rates.count(("p",), (str(number),), rate, world.clock.now(), world.ids.token()))

    threads = [threading.Thread(target=counts, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(admitted) == [False] * 5 + [True] * 3


def test_a_call_has_no_decision_unless_a_policy_matches() -> None:
    assert Call("call-1", "ring", {}).decision is None
