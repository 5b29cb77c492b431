"""The rules of the run protocol, each in the shortest story that goes wrong without it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.ports.storage.table import Key, OutcomeUnknown, Table
from hibernaut.ports.tools.tool_runner import ToolJob, ToolOutcome
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.services.tool_calls.tool_execution import INTERRUPTED
from hibernaut.services.turns.run_termination import NOT_RUN
from tests.support.held import Worker
from tests.support.scripted_model import Script, calls, in_turn, nothing, says
from tests.support.settled import check_settled
from tests.support.tables import CountingTable, LosesResponses, RevealsSlowly
from tests.support.world import World, data_in

INSERT = calls(("memory_insert", {"label": "human", "new_string": "Oslo"}))
RING = calls(("ring", {"x": "twice"}))
TOOLS = ("memory_insert", "memory_replace", "ring")


def opened(folder: Path, script: Script) -> tuple[World, str]:
    world = World(data_in(folder, script))
    return world, world.make_agent(blocks={"human": "Ann"}, tools=TOOLS)


def takes_over(world: World) -> World:
    """Another process that finds every lease and claim past its time."""
    world.clock.sleep(1000)
    other = World(world.data, holder="host:2", alone=False)
    other.engines.sweep.run()
    return other


@pytest.mark.parametrize("zombies", [says("the zombie's answer"), calls(("ring", {"x": "the zombie's"}))], ids=["text", "call"])
def test_only_the_newest_attempt_journals_and_commits(zombies: ModelReply, tmp_path: Path) -> None:
    """The first attempt gets its reply after the second has journaled another one and run its tools."""

    def script(request: ModelRequest, number: int) -> ModelReply:
        if number == 1:
            world.clock.sleep(1000)
            newest.start(lambda: newest.world.chain.turns.advance(run_id))
            return zombies
        return RING if number == 2 else says("done")

    world, agent_id = opened(tmp_path, script)
    newest = Worker(world.data, "host:2", lambda place: place == "after tool", 1)
    world.runner.at = newest.point
    run_id = world.begin(agent_id, "hello")
    world.workflow.drive()
    newest.end()
    world.reborn().sweep()
    assert world.runner.effects == [("ring", {"x": "twice"})]
    assert [row.role for row in world.log(agent_id)] == ["system", "user", "assistant", "tool", "assistant"]
    check_settled(world, agent_id)


def test_while_a_worker_may_be_at_the_step_no_other_takes_it(tmp_path: Path) -> None:
    """Neither another process, nor a doubled start in the same one; a house that is alone knows that the others are dead."""
    answers: list[str] = []

    def script(request: ModelRequest, number: int) -> ModelReply:
        if number == 1:
            answers.append(World(world.data, holder="host:2", alone=False).advance(run_id))
            answers.append(world.advance(run_id))
            world.engines.sweep.run(everything=True)
        return says("done")

    world, agent_id = opened(tmp_path, script)
    run_id = world.begin(agent_id, "hello")
    world.workflow.drive()
    assert answers == ["busy", "busy"]
    assert len(world.models.requests) == 1
    check_settled(world, agent_id)


def test_a_reply_is_journaled_before_its_tools_run_and_not_asked_for_again(tmp_path: Path) -> None:
    class Died(BaseException):
        pass

    def dies(job: ToolJob) -> ToolOutcome:
        raise Died

    world, agent_id = opened(tmp_path, in_turn(RING, says("done")))
    world.runner.does = dies
    with pytest.raises(Died):
        world.send(agent_id, "hello")
    assert len(world.models.requests) == 1
    world.reborn().sweep()
    assert len(world.models.requests) == 2, "the journaled reply was asked for again"
    returned = world.log(agent_id)[3].tool_returns[0]
    assert (returned.status, len(world.runner.effects)) == ("error", 1)
    assert INTERRUPTED in (returned.func_response or "")
    check_settled(world, agent_id)


def test_a_call_is_begun_once_and_the_other_attempt_takes_its_result(tmp_path: Path) -> None:
    """The second attempt comes while the first has the result in hand and has not committed."""
    world, agent_id = opened(tmp_path, in_turn(RING, says("done")))

    def overtaken(place: str) -> None:
        if place == "after tool":
            world.runner.at = nothing
            states.append(takes_over(world))

    states: list[World] = []
    world.runner.at = overtaken
    world.send(agent_id, "hello")
    states[0].workflow.drive()
    assert len(world.runner.effects) == 1
    assert "did ring" in (world.log(agent_id)[3].tool_returns[0].func_response or "")
    check_settled(world, agent_id)


def test_while_another_may_be_at_a_call_the_step_waits_for_the_claims_deadline(tmp_path: Path) -> None:
    class Died(BaseException):
        pass

    def dies(job: ToolJob) -> ToolOutcome:
        raise Died

    world, agent_id = opened(tmp_path, in_turn(RING, says("done")))
    world = World(world.data, holder="host:1", alone=False)
    world.runner.does = dies
    run_id = world.begin(agent_id, "hello")
    with pytest.raises(Died):
        world.workflow.drive()
    other = World(world.data, holder="host:2", alone=False)
    assert other.advance(run_id) == "busy", "the claim's deadline is not over"
    world.clock.sleep(200)
    other.engines.sweep.run()
    other.workflow.drive()
    assert len(world.runner.effects) == 1
    check_settled(other, agent_id)


def test_no_call_is_begun_once_the_run_was_cancelled(tmp_path: Path) -> None:
    def cancelled(number: int, kind: str) -> None:
        state = plain.run(run_ids[0]) if run_ids else None
        if kind == "before write" and state is not None and state.journal and not state.ended:
            plain.chain.termination.end(run_ids[0], StopReason.CANCELLED)

    plain, agent_id = opened(tmp_path, in_turn(RING, says("done")))
    run_ids: list[str] = []
    world = World(plain.data, wrap=lambda table: CountingTable(table, cancelled))
    run_ids.append(world.begin(agent_id, "hello"))
    world.workflow.drive()
    assert world.runner.effects == []
    assert NOT_RUN in (plain.log(agent_id)[3].tool_returns[0].func_response or "")
    assert plain.run(run_ids[0]).run.status is RunStatus.CANCELLED
    check_settled(plain, agent_id)


@pytest.mark.parametrize("held_before", [2, 3], ids=["journal", "claim"])
def test_an_end_does_not_deny_a_call_that_was_begun_after_it_had_looked(held_before: int, tmp_path: Path) -> None:
    """The ending has read that nothing is journaled, or claimed; the call is claimed and made; only then the ending is
    written.
    """
    plain, agent_id = opened(tmp_path, in_turn(RING, says("done")))
    run_id = plain.begin(agent_id, "hello")
    worker = Worker(plain.data, "host:1", lambda place: place in ("before write", "after tool"), held_before, 4)
    ender = Worker(plain.data, "host:2", lambda place: place == "before write", 1)
    plain.runner.at = worker.point
    worker.start(lambda: worker.world.advance(run_id))
    ender.start(lambda: ender.world.chain.termination.end(run_id, StopReason.CANCELLED))
    worker.on()
    assert len(plain.runner.effects) == 1
    ender.end()
    worker.end()
    returned = plain.log(agent_id)[3].tool_returns[0].func_response or ""
    assert INTERRUPTED in returned
    check_settled(plain, agent_id)


def test_a_claim_belongs_to_its_step_though_the_provider_gives_the_same_id_again(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, in_turn(RING, RING, says("done")))
    world.send(agent_id, "hello")
    assert len(world.runner.effects) == 2
    check_settled(world, agent_id)


@pytest.mark.parametrize("lost", range(1, 12))
def test_a_write_whose_answer_is_lost_has_still_been_made_once(lost: int, tmp_path: Path) -> None:
    plain, agent_id = opened(
        tmp_path, in_turn(calls(("memory_insert", {"label": "human", "new_string": "Oslo"}), ("ring", {})), says("done"))
    )
    world = World(plain.data, wrap=lambda table: LosesResponses(table, after={lost}))
    run_id = world.send(agent_id, "hello")
    assert world.block(agent_id, "human").value.count("Oslo") == 1
    assert (len(world.runner.effects), len(world.models.requests), world.run(run_id).run.steps) == (1, 2, 2)
    check_settled(world, agent_id)


@pytest.mark.parametrize("lost", range(1, 12))
def test_a_write_that_never_arrived_is_made_again(lost: int, tmp_path: Path) -> None:
    plain, agent_id = opened(
        tmp_path, in_turn(calls(("memory_insert", {"label": "human", "new_string": "Oslo"}), ("ring", {})), says("done"))
    )
    world = World(plain.data, wrap=lambda table: LosesResponses(table, before={lost}))
    world.send(agent_id, "hello")
    assert (len(world.runner.effects), len(world.models.requests)) == (1, 2)
    check_settled(world, agent_id)


def test_a_commit_whose_answer_is_lost_is_known_again_though_a_sender_has_come_meanwhile(tmp_path: Path) -> None:
    """The queue's own write covers the head's token; the run still bears it."""
    plain, agent_id = opened(tmp_path, in_turn(RING, says("done"), says("done too")))

    class Commits(LosesResponses):
        def write(self, *changes: object) -> None:
            try:
                super().write(*changes)  # type: ignore[arg-type]
            except OutcomeUnknown:
                plain.accept(agent_id, "me too")
                raise

    world = World(plain.data, wrap=lambda table: Commits(table, after={6}))
    world.send(agent_id, "hello")
    assert len(world.models.requests) == 3
    check_settled(world, agent_id)


def shared(folder: Path, script: Script) -> tuple[World, str, str]:
    """Two agents with one block between them."""
    world = World(data_in(folder, script))
    first = world.make_agent(blocks={"human": "Ann likes tea"}, tools=("memory_insert", "memory_replace"))
    agent = world.stores.agents.get(first)
    assert agent is not None
    block = world.stores.blocks.get(agent.block_ids[0])
    assert block is not None
    return world, first, world.make_agent(blocks=[block], tools=("memory_insert", "memory_replace"))


def test_two_agents_that_edit_one_block_at_once_both_do_and_no_model_is_asked_again(tmp_path: Path) -> None:
    meeting = threading.Barrier(2, timeout=30)

    def script(request: ModelRequest, number: int) -> ModelReply:
        if request.messages[-1].role != "user":
            return says("done")
        meeting.wait()
        return calls(("memory_insert", {"label": "human", "new_string": request.messages[-1].text()}))

    world, first, second = shared(tmp_path, script)
    at_once = [
        threading.Thread(target=World(world.data, holder=f"host:{n}").send, args=(agent, f"edit {n}"))
        for n, agent in enumerate((first, second))
    ]
    for thread in at_once:
        thread.start()
    for thread in at_once:
        thread.join(60)
    assert sorted(world.block(first, "human").value.splitlines()) == ["Ann likes tea", "edit 0", "edit 1"]
    assert len(world.models.requests) == 4
    check_settled(world, first, second)


def test_a_replacement_that_no_longer_fits_after_anothers_edit_becomes_an_error_return(tmp_path: Path) -> None:
    replace = calls(("memory_replace", {"label": "human", "old_string": "tea", "new_string": "coffee"}))
    plain, first, second = shared(tmp_path, in_turn(replace, replace, says("done"), says("done")))
    met: list[str] = []

    def meanwhile(number: int, kind: str) -> None:
        state = plain.run(run_id) if kind == "before write" else None
        if state is not None and state.journal and not met:
            met.append(plain.send(second, "you too"))

    run_id = plain.accept(first, "hello").run_id
    world = World(plain.data, holder="host:2", wrap=lambda table: CountingTable(table, meanwhile))
    assert world.advance(run_id) == "advance"
    assert plain.block(first, "human").value == "Ann likes coffee"
    assert [row.tool_returns[0].status for row in plain.log(first) if row.role == "tool"] == ["error"]
    assert len(plain.models.requests) == 3, "the model was asked again after the conflict"
    plain.sweep()
    check_settled(plain, first, second)


def orders() -> list[Callable[[list[Key]], list[Key]]]:
    def forwards(found: list[Key]) -> list[Key]:
        return list(found)

    def backwards(found: list[Key]) -> list[Key]:
        return list(reversed(found))

    def rows_last(found: list[Key]) -> list[Key]:
        return sorted(found, key=lambda key: (key.sk.startswith("MSG#"), key.sk))

    def last_row_first(found: list[Key]) -> list[Key]:
        rows = sorted(key for key in found if key.sk.startswith("MSG#"))
        return [*rows[-1:], *(key for key in found if not key.sk.startswith("MSG#")), *rows[:-1]]

    return [forwards, backwards, rows_last, last_row_first]


@pytest.mark.parametrize("order", orders(), ids=lambda order: order.__name__)
def test_no_torn_picture_of_a_transaction_is_ever_worked_on(order: Callable[[list[Key]], list[Key]], tmp_path: Path) -> None:
    """Whoever looks in the middle of a transaction gets the log before it, or after it, or nothing yet."""
    plain, agent_id = opened(tmp_path, in_turn(INSERT, INSERT, says("done")))
    pictures: list[tuple[str, ...]] = []

    def look() -> None:
        fresh = World(plain.data, wrap=lambda _: slow[0])
        head = fresh.stores.conversations.head(agent_id)
        assert head is not None
        loaded = fresh.stores.conversations._snapshot(head)
        if loaded is not None:
            pictures.append(tuple(row.role for row in loaded.messages))
            shown = loaded.head.compiled
            assert shown is not None

    slow: list[Table] = []

    def wrap(table: Table) -> Table:
        slow.append(RevealsSlowly(table, order=order, meanwhile=look))  # type: ignore[arg-type]
        return slow[0]

    world = World(plain.data, wrap=wrap)
    world.send(agent_id, "hello", "and this")
    world.send(agent_id, "bye")
    whole = ["system", "user", "user", "assistant", "tool", "assistant", "tool", "assistant", "user", "assistant"]
    allowed = {tuple(whole[:length]) for length in (1, 3, 5, 7, 8, 9, 10)}
    assert set(pictures) <= allowed
    assert len(set(pictures)) >= 5
    check_settled(world, agent_id)


def test_a_system_message_that_is_not_yet_rewritten_is_not_taken_for_the_heads(tmp_path: Path) -> None:
    """The run's first step rewrites the system row in place: head and tail may agree while the old text is still in sight."""
    plain, agent_id = opened(tmp_path, in_turn(INSERT, says("done"), INSERT, says("done")))
    plain.send(agent_id, "hello")
    seen: list[bool] = []

    def look() -> None:
        conversations = World(plain.data, wrap=lambda _: slow[0]).stores.conversations
        head = conversations.head(agent_id)
        assert head is not None
        loaded = conversations._snapshot(head)
        if loaded is not None:
            seen.append(("Oslo" in loaded.messages[0].text()) == (len(head.newest) == 2))

    slow: list[Table] = []

    def system_last(found: list[Key]) -> list[Key]:
        return sorted(found, key=lambda key: (key.sk == f"MSG#{plain.log(agent_id)[0].id}", key.sk))

    def wrap(table: Table) -> Table:
        slow.append(RevealsSlowly(table, order=system_last, meanwhile=look))  # type: ignore[arg-type]
        return slow[0]

    world = World(plain.data, wrap=wrap)
    run_id = world.begin(agent_id, "again")
    seen.clear()
    world.advance(run_id)
    assert seen
    assert all(seen)
