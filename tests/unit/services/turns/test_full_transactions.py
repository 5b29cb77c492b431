"""A run can be ended however much there is to be written with its end: no transaction passes the table's limits (100 changes, 4
MB).
"""

from __future__ import annotations

from pathlib import Path

from hibernaut.domain.window.open_calls import INTERRUPTED
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.services.turns.run_termination import NOT_RUN
from hibernaut.store.runs.transaction_values import INPUT_PAGE
from tests.protocol.staged import meanwhile, opened, returns
from tests.support.scripted_model import calls, in_turn, says
from tests.support.settled import check_settled
from tests.support.sleepers import group_in, paired
from tests.support.world import World

CALLS = 30
LARGE = "x" * 60_000
"""A little less than what goes into a blob by itself."""


def rings(folder: Path, *, held: bool = False) -> tuple[World, str]:
    script = in_turn(calls(*(("ring", {"x": str(number)}) for number in range(CALLS))), says("done"))
    world, agent_id = opened(folder, script, held=held)
    return World(world.data, indexed=True), agent_id


def answered(world: World, agent_id: str, *texts: str) -> str:
    """The run of an answer that approves all, and brings these messages; it has not begun."""
    approvals = [{"type": "approval", "tool_call_id": f"call-{number}-ring", "approve": True} for number in range(CALLS)]
    run_id = world.answer(agent_id, *approvals, texts=texts).run_id
    world.workflow.started.clear()
    return run_id


def told(world: World, agent_id: str) -> set[str]:
    """What the log says of the calls."""
    return {text for text in (NOT_RUN, INTERRUPTED) for said in returns(world, agent_id) if text in said}


def test_an_answer_with_all_its_messages_is_cancelled_while_as_many_wait(tmp_path: Path) -> None:
    world, agent_id = rings(tmp_path, held=True)
    world.send(agent_id, "hello")
    run_id = answered(world, agent_id, *(f"more {number}" for number in range(INPUT_PAGE - 1)))
    world.accept(agent_id, *(f"later {number}" for number in range(INPUT_PAGE)))
    world.chain.termination.end(run_id, StopReason.CANCELLED)
    assert told(world, agent_id) <= {NOT_RUN, INTERRUPTED}
    world.workflow.drive()
    said = [row.text() for row in world.log(agent_id) if row.role == "user"]
    assert len(said) == 2 * INPUT_PAGE
    check_settled(world, agent_id)


def test_an_answer_with_large_messages_is_cancelled_while_as_many_wait(tmp_path: Path) -> None:
    world, agent_id = rings(tmp_path, held=True)
    world.send(agent_id, "hello")
    run_id = answered(world, agent_id, *[LARGE] * (INPUT_PAGE - 1))
    world.accept(agent_id, *[LARGE] * INPUT_PAGE)
    world.chain.termination.end(run_id, StopReason.CANCELLED)
    assert world.run(run_id).run.status is RunStatus.CANCELLED
    assert [row.text() for row in world.log(agent_id) if row.role == "user"][1:] == [LARGE] * (2 * INPUT_PAGE - 1)


def test_a_run_with_many_calls_is_interrupted_by_as_many_messages_as_a_request_may_have(tmp_path: Path) -> None:
    plain, agent_id = rings(tmp_path)
    run_id = plain.accept(agent_id, "hello").run_id
    texts = [f"now {number}" for number in range(INPUT_PAGE)]

    def interrupts() -> None:
        plain.accept(agent_id, *texts, otids=[plain.ids.token() for _ in texts], when_busy="interrupt")

    meanwhile(plain, interrupts, lambda: plain.run(run_id).journal != "").advance(run_id)
    assert plain.run(run_id).run.status is RunStatus.CANCELLED
    assert told(plain, agent_id) == {NOT_RUN, INTERRUPTED}
    plain.sweep()
    assert [row.text() for row in plain.log(agent_id) if row.role == "user"] == ["hello", *texts]
    check_settled(plain, agent_id)


def test_of_as_many_calls_as_there_is_room_for_it_is_said_that_they_were_not_made(tmp_path: Path) -> None:
    plain, agent_id = rings(tmp_path)
    run_id = plain.accept(agent_id, "hello").run_id
    ends = meanwhile(
        plain,
        lambda: plain.chain.termination.end(run_id, StopReason.CANCELLED),
        lambda: plain.run(run_id).journal != "",
    )
    ends.advance(run_id)
    assert told(plain, agent_id) == {NOT_RUN}
    check_settled(plain, agent_id)


def test_a_full_end_of_a_run_is_counted_as_a_turn_too(tmp_path: Path) -> None:
    plain, agent_id = rings(tmp_path)
    pair = paired(plain, agent_id, every=1, idle=60)
    run_id = plain.accept(agent_id, "hello").run_id
    texts = [f"now {number}" for number in range(INPUT_PAGE)]

    def interrupts() -> None:
        plain.accept(agent_id, *texts, otids=[plain.ids.token() for _ in texts], when_busy="interrupt")

    meanwhile(plain, interrupts, lambda: plain.run(run_id).journal != "").advance(run_id)
    assert plain.run(run_id).run.status is RunStatus.CANCELLED
    assert told(plain, agent_id) <= {NOT_RUN, INTERRUPTED}
    assert group_in(plain, pair).turns == 1
