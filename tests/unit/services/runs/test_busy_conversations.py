"""Conversations that are busy, and conversations that something has left broken: queue, reject, interrupt, repair (API 7)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hibernaut.schemas.errors import Busy, InvalidArgument
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.schemas.tools.tool_rule import RequiresApprovalToolRule
from tests.support.scripted_model import calls, in_turn, says
from tests.support.settled import check_settled, check_valid
from tests.support.world import World, data_in

ASK = calls(("ring", {"x": "once"}))
RING = "call-0-ring"


def opened(folder: Path, *replies: object, rules: tuple[str, ...] = ("ring",)) -> tuple[World, str]:
    world = World(data_in(folder, in_turn(*replies, says("done"))))  # type: ignore[arg-type]
    held = [RequiresApprovalToolRule(tool_name=name) for name in rules]
    return world, world.make_agent(blocks={"human": "Ann"}, tools=("memory_insert", "ring", "chime"), rules=held)


def asked(folder: Path, *replies: object, rules: tuple[str, ...] = ("ring",), **options: object) -> tuple[World, str, str]:
    world, agent_id = opened(folder, *(replies or (ASK,)), rules=rules)
    return world, agent_id, world.send(agent_id, "hello", **options)


def test_a_busy_conversation_queues_rejects_or_is_interrupted(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    first = world.accept(agent_id, "first").run_id
    assert world.accept(agent_id, "second").waits
    with pytest.raises(Busy) as refused:
        world.accept(agent_id, "third", when_busy="reject")
    assert refused.value.run_id == first
    run_id = world.begin(agent_id, "now", when_busy="interrupt")
    world.workflow.drive()
    assert world.run(first).run.status is RunStatus.CANCELLED
    assert [row.text() for row in world.log(agent_id) if row.role == "user"] == ["first", "now", "second"]
    assert world.run(run_id).run.stop_reason == StopReason.END_TURN
    check_settled(world, agent_id)


def test_an_interrupting_request_that_is_sent_again_attaches(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    world.accept(agent_id, "first")
    run_id = world.accept(agent_id, "now", when_busy="interrupt", digest="d").run_id
    again = world.accept(agent_id, "now", when_busy="interrupt", digest="d", retry=1)
    assert (again.run_id, again.attached) == (run_id, True)


def orphaned(folder: Path) -> tuple[World, str]:
    """A log that ends with a call which nobody will ever answer, as an import may bring it."""
    world, agent_id, _run_id = asked(folder)
    head = world.head(agent_id)
    after = head.model_copy(update={"pending": None, "version": head.version + 1})
    world.stores.writer.write(world.stores.conversations.change_head(head, after, "by hand"))
    return world, agent_id


def test_the_next_message_repairs_a_call_that_nobody_will_answer(tmp_path: Path) -> None:
    world, agent_id = orphaned(tmp_path)
    run_id = world.send(agent_id, "hello?")
    assert [row.role for row in world.log(agent_id)] == ["system", "user", "approval", "tool", "user", "assistant"]
    assert world.run(run_id).run.stop_reason == StopReason.END_TURN
    check_valid(world.log(agent_id))


def test_a_repair_says_what_it_did_and_finds_nothing_the_second_time(tmp_path: Path) -> None:
    world, agent_id = orphaned(tmp_path)
    done = world.chain.repairs.repair(agent_id)
    assert (done.changed, done.closed_calls) == (True, [RING])
    again = world.chain.repairs.repair(agent_id)
    assert (again.changed, again.closed_calls) == (False, [])
    check_valid(world.log(agent_id))


def test_a_repair_leaves_alone_what_is_in_order(tmp_path: Path) -> None:
    world, agent_id, run_id = asked(tmp_path)
    report = world.chain.repairs.repair(agent_id)
    assert not report.changed
    assert report.pending_approval == world.log(agent_id)[-1].id
    assert world.head(agent_id).pending == run_id


def test_a_repair_releases_a_conversation_from_a_run_that_is_not_there(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    first = world.accept(agent_id, "first")
    second = world.accept(agent_id, "second")
    state = world.run(first.run_id)
    lost = state.run.model_copy(update={"status": RunStatus.FAILED})
    world.stores.writer.write(world.stores.runs.change(replace(state, run=lost), (), None))
    report = world.chain.repairs.repair(agent_id)
    assert (report.released_run, report.waiting) == (first.run_id, 1)
    world.workflow.drive()
    assert world.run(second.run_id).run.stop_reason == StopReason.END_TURN
    assert world.head(agent_id).owner is None


@pytest.mark.parametrize("otid", ["", "  ", "a\nb", "\x00"])
def test_a_malformed_otid_is_refused_and_nothing_is_written(otid: str, tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    with pytest.raises(InvalidArgument, match="printable"):
        world.accept(agent_id, "hello", otids=[otid])
    assert [row.role for row in world.log(agent_id)] == ["system"]
