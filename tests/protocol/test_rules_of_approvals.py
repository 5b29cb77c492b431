"""The rules by which calls wait for a person: each in the shortest story that goes wrong without it."""

from __future__ import annotations

from pathlib import Path

from hibernaut.ports.storage.table import Item, Key
from hibernaut.schemas.stop import StopReason
from hibernaut.store.table import keys
from tests.protocol.staged import RING, NotedWaits, answers, meanwhile, opened, returns, settles
from tests.support.scripted_model import in_turn, says
from tests.support.settled import check_settled, check_valid
from tests.support.tables import PassesOn
from tests.support.world import TENANT, World

SCRIPT = in_turn(RING, says("done"))
YES = {"type": "approval", "tool_call_id": "call-0-ring", "approve": True}


def asked(folder: Path, **options: object) -> tuple[World, str, str]:
    """A house whose agent waits for an approval; the run that asked."""
    world, agent_id = opened(folder, SCRIPT, held=True)
    run_id = world.send(agent_id, "hello", **options)
    assert world.run(run_id).run.stop_reason is StopReason.REQUIRES_APPROVAL
    return world, agent_id, run_id


def test_rule_approval_holds_the_queue(tmp_path: Path) -> None:
    """Somebody waits when the run before him ends by asking for an approval: his message comes after the answer's returns."""
    world, agent_id = opened(tmp_path, SCRIPT, held=True)
    world.begin(agent_id, "hello")
    world.accept(agent_id, "me too")
    world.workflow.drive()
    head = world.head(agent_id)
    check_valid(world.log(agent_id), waits=True)
    assert (head.owner, head.waiting) == (None, 1)
    world.sending.start(answers(world, agent_id).run_id)
    world.workflow.drive()
    assert [row.text() for row in world.log(agent_id) if row.role == "user"] == ["hello", "me too"]
    check_settled(world, agent_id)


def test_rule_answer_keeps_its_input(tmp_path: Path) -> None:
    """What is said beside an answer follows the returns of the calls."""
    world, agent_id, _ = asked(tmp_path)
    run_id = answers(world, agent_id, text="and hurry").run_id
    check_valid(world.log(agent_id), waits=True)
    assert [row.text() for row in world.run(run_id).run.input] == ["and hurry"]
    world.sending.start(run_id)
    world.workflow.drive()
    rows = [row.role for row in world.log(agent_id)]
    assert rows[-3:] == ["tool", "user", "assistant"]
    check_settled(world, agent_id)


def test_rule_end_resolves_open_calls(tmp_path: Path) -> None:
    """The run of an answer is cancelled before its first step: the approved calls have their returns all the same."""
    world, agent_id, _ = asked(tmp_path)
    run_id = answers(world, agent_id, text="and hurry").run_id
    world.chain.termination.end(run_id, StopReason.CANCELLED)
    assert world.runner.effects == []
    assert len(returns(world, agent_id)) == 1
    check_settled(world, agent_id)
    assert world.run(world.send(agent_id, "still there?")).run.stop_reason is StopReason.END_TURN


def test_rule_pending_approval_is_swept(tmp_path: Path) -> None:
    """Nobody's workflow keeps the deadline: the sweep does."""
    world, agent_id, _ = asked(tmp_path, approval_deadline=3600)
    world.clock.sleep(3500)
    settles_nothing = World(world.data, holder="host:2", alone=False)
    settles_nothing.engines.sweep.run()
    assert world.head(agent_id).pending is not None
    settles(world)
    assert world.head(agent_id).pending is None
    check_settled(world, agent_id)


def test_rule_token_is_read_after_consuming(tmp_path: Path) -> None:
    """The workflow's wait gets its name when the answer is about to consume what it waits for."""
    plain, agent_id, run_id = asked(tmp_path)
    world = meanwhile(plain, lambda: plain.chain.approvals.wait(run_id, "the wait"), lambda: True)
    waits = NotedWaits()
    noting = World(plain.data, workflow=waits, wrap=lambda _: world.all_stores._table)
    answers(noting, agent_id)
    assert waits.ended == ["the wait"]


def test_an_answer_that_is_overtaken_by_the_same_answer_attaches_to_its_run(tmp_path: Path) -> None:
    """The other one comes between this one's look at the conversation and its look at what is asked there."""
    plain, agent_id, run_id = asked(tmp_path)
    first: list[str] = []

    class Overtakes(PassesOn):
        def get(self, key: Key) -> Item | None:
            if key == keys.approval(TENANT, run_id) and not first:
                first.append("")
                first[0] = answers(plain, agent_id).run_id
            return super().get(key)

    second = World(plain.data, alone=False, wrap=Overtakes).answer(agent_id, YES)
    assert (second.run_id, second.attached) == (first[0], True)


def test_a_wait_that_comes_after_the_answer_is_ended_by_whoever_names_it(tmp_path: Path) -> None:
    world, agent_id, run_id = asked(tmp_path)
    answers(world, agent_id)
    waits = NotedWaits()
    World(world.data, workflow=waits).chain.approvals.wait(run_id, "late")
    assert waits.ended == ["late"]
