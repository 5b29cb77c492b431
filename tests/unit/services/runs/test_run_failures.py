"""What is too large, broken or gone: the run ends, or its model is told, and nobody else is held up (invariant 7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.ports.storage.table import Delete
from hibernaut.ports.tools.tool_runner import ToolJob, ToolOutcome
from hibernaut.schemas.errors import ContextWindowExceeded, NotFound
from hibernaut.schemas.runs.events import DeltaEvent
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.services.tool_calls.tool_execution import NOT_STARTED, TOO_MUCH
from hibernaut.store.table import keys
from tests.support.scripted_model import calls, in_turn, says
from tests.support.settled import check_events, check_settled
from tests.support.tables import CountingTable
from tests.support.world import TENANT, World, data_in

RING = calls(("ring", {"x": "twice"}))
TOOLS = ("memory_insert", "archival_memory_insert", "ring")


def opened(folder: Path, *replies: object, **model: object) -> tuple[World, str]:
    world = World(data_in(folder, in_turn(*replies, says("done")), **model))  # type: ignore[arg-type]
    return world, world.make_agent(blocks={"human": "Ann"}, tools=TOOLS)


def test_a_step_with_more_changes_than_a_transaction_holds_is_told_to_the_model_and_its_calls_outside_stand(
    tmp_path: Path,
) -> None:
    many = [("archival_memory_insert", {"content": f"fact {number}"}) for number in range(120)]
    world, agent_id = opened(tmp_path, calls(*many, ("ring", {}), ("memory_insert", {"label": "human", "new_string": "Oslo"})))
    run_id = world.send(agent_id, "hello")
    returned = world.log(agent_id)[3].tool_returns
    assert [TOO_MUCH in (answer.func_response or "") for answer in returned] == [*([True] * 120), False, True]
    assert world.block(agent_id, "human").value == "Ann"
    assert world.run(run_id).run.status is RunStatus.COMPLETED
    check_settled(world, agent_id)


def test_as_many_passages_as_fit_are_put_away_in_one_step(tmp_path: Path) -> None:
    many = [("archival_memory_insert", {"content": f"fact {number}"}) for number in range(60)]
    world, agent_id = opened(tmp_path, calls(*many))
    world.send(agent_id, "hello")
    agent = world.stores.agents.get(agent_id)
    assert agent is not None
    assert world.stores.archives.totals(agent_id).count == 60
    check_settled(world, agent_id)


def test_a_reply_with_more_calls_than_a_transaction_holds_can_be_cancelled_before_they_are_made(tmp_path: Path) -> None:
    plain, agent_id = opened(tmp_path, calls(*([("ring", {})] * 150)))

    def cancels(number: int, kind: str) -> None:
        state = plain.run(run_id) if kind == "before write" else None
        if state is not None and state.journal and not state.ended:
            plain.chain.termination.end(run_id, StopReason.CANCELLED)

    run_id = plain.accept(agent_id, "hello").run_id
    World(plain.data, wrap=lambda table: CountingTable(table, cancels)).advance(run_id)
    assert plain.runner.effects == []
    assert len(plain.log(agent_id)[3].tool_returns) == 150
    check_settled(plain, agent_id)


def test_very_large_texts_and_results_are_kept(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, RING, says("z" * 700_000))
    world.runner.does = lambda _: ToolOutcome("success", "y" * 5_000_000)
    world.send(agent_id, "x" * 900_000)
    assert len(world.log(agent_id)[1].text()) == 900_000
    assert len(world.log(agent_id)[-1].text()) == 700_000
    check_settled(world, agent_id)


def test_a_step_that_fails_by_a_mistake_of_ours_is_tried_again_at_once_and_then_the_run_is_closed(tmp_path: Path) -> None:
    def script(request: ModelRequest, number: int) -> ModelReply:
        raise ZeroDivisionError

    world = World(data_in(tmp_path, script), alone=False)
    agent_id = world.make_agent()
    began = world.clock.now()
    run_id = world.send(agent_id, "hello")
    assert (world.run(run_id).run.stop_reason, len(world.models.requests)) == (StopReason.ERROR, 3)
    assert (world.clock.now() - began).total_seconds() < 1
    check_settled(world, agent_id)


def test_a_cage_that_cannot_be_made_is_an_error_return(tmp_path: Path) -> None:
    def cannot(job: ToolJob) -> ToolOutcome:
        raise OSError("no process left")

    world, agent_id = opened(tmp_path, RING)
    world.runner.does = cannot
    run_id = world.send(agent_id, "hello")
    assert NOT_STARTED in (world.log(agent_id)[3].tool_returns[0].func_response or "")
    assert world.run(run_id).run.status is RunStatus.COMPLETED
    check_settled(world, agent_id)


def test_a_conversation_that_does_not_fit_the_model_whatever_is_dropped_fails_and_the_next_run_tries_again(
    tmp_path: Path,
) -> None:
    world, agent_id = opened(tmp_path, *[ContextWindowExceeded("too long")] * 2, says("now it fits"))
    failed = world.send(agent_id, "hello")
    assert world.run(failed).run.stop_reason is StopReason.CONTEXT_WINDOW_OVERFLOW_IN_SYSTEM_PROMPT
    run_id = world.send(agent_id, "again")
    assert world.run(run_id).run.status is RunStatus.COMPLETED
    check_settled(world, agent_id)


@pytest.mark.parametrize("at", range(1, 8))
def test_a_run_whose_agent_is_taken_away_under_it_ends(at: int, tmp_path: Path) -> None:
    plain, agent_id = opened(tmp_path, RING)
    writes: list[int] = []

    def deleted(number: int, kind: str) -> None:
        if kind == "before write":
            writes.append(number)
            if len(writes) == at:
                plain.data.table.write(Delete(keys.agent(TENANT, agent_id)), Delete(keys.head(TENANT, agent_id)))

    run_id = plain.accept(agent_id, "hello").run_id
    world = World(plain.data, wrap=lambda table: CountingTable(table, deleted))
    world.sending.start(run_id)
    world.workflow.drive()
    last = plain.reborn()
    last.sweep()
    assert last.run(run_id).ended
    if at < 6:
        assert last.stores.runs.events(run_id, 0, last.clock.now())[-1][0] == last.run(run_id).last_seq


def test_a_run_that_streamed_before_its_conversation_was_taken_away_ends(tmp_path: Path) -> None:
    """The pieces have numbers that the run's record does not know yet."""
    world, agent_id = opened(tmp_path)
    run_id = world.accept(agent_id, "hello", stream_tokens=True).run_id
    piece = DeltaEvent(message_type="assistant_message", message_id="m", step_id="s", index=0, text="Hel", at=world.clock.now())
    world.stores.writer.write(world.stores.runs.put_events(run_id, 1, [piece, piece], world.clock.now()))
    world.stores.writer.write(Delete(keys.head(TENANT, agent_id)))
    world.chain.termination.end(run_id, StopReason.ERROR)
    assert world.run(run_id).run.status is RunStatus.FAILED
    events = world.stores.runs.events(run_id, 0, world.clock.now())
    assert [number for number, _ in events] == [1, 2, 3, 4, 5]
    assert world.run(run_id).last_seq == 5


def test_a_run_that_cannot_be_closed_keeps_no_other_from_it(tmp_path: Path) -> None:
    """The first run's system message is gone, so that its journaled reply cannot be put into the log."""
    world, broken = opened(tmp_path, RING)
    whole = world.make_agent()
    run_id = world.accept(broken, "hello").run_id

    class Died(BaseException):
        pass

    def dies(job: ToolJob) -> ToolOutcome:
        raise Died

    world.runner.does = dies
    with pytest.raises(Died):
        world.advance(run_id)
    world.data.table.write(Delete(keys.message(TENANT, broken, world.log(broken)[0].id)))
    others = [world.accept(whole, "hello").run_id]
    world.clock.sleep(25 * 3600)
    world.reborn().sweep()
    assert all(world.run(one).ended for one in others)
    check_events(world, whole)
    with pytest.raises(NotFound):
        world.chain.termination.end("run-unknown", StopReason.ERROR)
