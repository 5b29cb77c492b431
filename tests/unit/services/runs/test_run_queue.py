"""Senders that come at any moment: they wait, are handed the conversation, attach to what was accepted before, or are told no."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from hibernaut.ports.storage.table import Change, OutcomeUnknown, Table
from hibernaut.schemas.errors import Busy, Conflict, InvalidArgument
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.services.sending.sending import MOST_WAITING
from hibernaut.store.runs.transaction_values import INPUT_PAGE
from tests.support.scripted_model import calls, in_turn, says
from tests.support.settled import check_settled
from tests.support.tables import CountingTable, LosesResponses, PassesOn, RevealsSlowly
from tests.support.world import World, data_in

RING = calls(("ring", {"x": "twice"}))
WRITES = range(2, 9)
"""The writes of a run with one call, behind the one that accepts it."""


def opened(folder: Path, *replies: object) -> tuple[World, str]:
    world = World(data_in(folder, in_turn(*replies, says("done"))))  # type: ignore[arg-type]
    return world, world.make_agent(blocks={"human": "Ann"}, tools=("memory_insert", "ring"))


@pytest.mark.parametrize("at", WRITES)
def test_a_sender_that_comes_at_any_moment_of_a_run_gets_its_turn(at: int, tmp_path: Path) -> None:
    plain, agent_id = opened(tmp_path, RING)
    writes: list[int] = []

    def comes(number: int, kind: str) -> None:
        if kind == "before write":
            writes.append(number)
            if len(writes) == at:
                plain.accept(agent_id, "me too")

    world = World(plain.data, wrap=lambda table: CountingTable(table, comes))
    world.send(agent_id, "hello")
    assert len(writes) >= at
    assert [row.text() for row in world.log(agent_id) if row.role == "user"] == ["hello", "me too"]
    check_settled(world, agent_id)


@pytest.mark.parametrize("at", WRITES)
def test_a_waiting_run_that_is_cancelled_at_any_moment_leaves_no_trace_in_the_log_and_holds_up_nobody(
    at: int, tmp_path: Path
) -> None:
    plain, agent_id = opened(tmp_path, RING)
    writes: list[int] = []

    def gives_up(number: int, kind: str) -> None:
        if kind == "before write":
            writes.append(number)
            if len(writes) == at:
                plain.chain.termination.end(waiting[0], StopReason.CANCELLED)

    run_id = plain.accept(agent_id, "hello").run_id
    waiting = [plain.accept(agent_id, "never mind").run_id, plain.accept(agent_id, "me too").run_id]
    world = World(plain.data, wrap=lambda table: CountingTable(table, gives_up))
    world.sending.start(run_id)
    for house in (world, plain):
        house.workflow.drive()
    states = [world.run(one).run.status for one in waiting]
    assert states[0] in (RunStatus.CANCELLED, RunStatus.COMPLETED)
    assert states[1] is RunStatus.COMPLETED
    check_settled(world, agent_id)


def test_nobody_is_left_in_the_queue_whose_place_in_it_was_not_yet_in_sight(tmp_path: Path) -> None:
    """A run ends between the items of the transaction by which a sender is put into the queue: the head counts him already."""
    plain, agent_id = opened(tmp_path)
    run_id = plain.accept(agent_id, "hello").run_id
    slow: list[Table] = []
    ended: list[str] = []

    def ends() -> None:
        world = World(plain.data, wrap=lambda _: slow[0])
        if world.head(agent_id).waiting and not ended:
            with suppress(Conflict):
                ended.append(world.advance(run_id))

    def wrap(table: Table) -> Table:
        slow.append(RevealsSlowly(table, meanwhile=ends))
        return slow[0]

    World(plain.data, wrap=wrap).accept(agent_id, "me too")
    plain.sweep()
    assert [row.text() for row in plain.log(agent_id) if row.role == "user"] == ["hello", "me too"]
    check_settled(plain, agent_id)


def test_who_is_queued_and_hears_nothing_of_it_is_not_queued_again_though_his_turn_has_come_meanwhile(tmp_path: Path) -> None:
    """The answer to the write is lost, and before it is asked for again the run has ended: nothing bears the writer's mark any
    more.
    """
    plain, agent_id = opened(tmp_path)
    first = plain.begin(agent_id, "hello")
    assert first

    class Loses(PassesOn):
        lost = False

        def write(self, *changes: Change) -> None:
            super().write(*changes)
            if not self.lost:
                self.lost = True
                plain.workflow.drive()
                raise OutcomeUnknown("the answer is lost")

    accepted = World(plain.data, alone=False, wrap=Loses).accept(agent_id, "me too")
    assert not accepted.attached
    plain.sweep()
    assert [row.text() for row in plain.log(agent_id) if row.role == "user"] == ["hello", "me too"]
    check_settled(plain, agent_id)


def test_who_is_accepted_and_hears_nothing_of_it_is_not_accepted_again_though_he_was_interrupted_meanwhile(
    tmp_path: Path,
) -> None:
    plain, agent_id = opened(tmp_path)

    class Loses(PassesOn):
        lost = False

        def write(self, *changes: Change) -> None:
            super().write(*changes)
            if not self.lost:
                self.lost = True
                plain.accept(agent_id, "stop", when_busy="interrupt")
                raise OutcomeUnknown("the answer is lost")

    World(plain.data, alone=False, wrap=Loses).accept(agent_id, "hello")
    plain.sweep()
    assert [row.text() for row in plain.log(agent_id) if row.role == "user"] == ["hello", "stop"]
    check_settled(plain, agent_id)


@pytest.mark.parametrize("otids", [("a", "b"), ("a",)])
def test_a_new_message_beside_one_that_was_accepted_before_is_refused_and_not_lost_in_silence(
    otids: tuple[str, ...], tmp_path: Path
) -> None:
    world, agent_id = opened(tmp_path)
    run_id = world.send(agent_id, "hello", otids=["a"])
    with pytest.raises(InvalidArgument, match=run_id):
        world.accept(agent_id, "hello", "and this", otids=otids)
    assert world.accept(agent_id, "hello", otids=["a"]).run_id == run_id


def test_a_message_without_an_otid_that_came_with_one_that_has_one_is_recognised_by_the_body(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    sent = [world.accept(agent_id, "hello", "and this", otids=["a"], digest="body") for _ in range(2)]
    assert (sent[0].run_id, sent[1].attached) == (sent[1].run_id, True)


def test_the_queue_keeps_its_order(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    world.begin(agent_id, "first")
    for number in range(5):
        world.begin(agent_id, f"number {number}", f"and {number}")
    world.workflow.drive()
    said = [row.text() for row in world.log(agent_id) if row.role == "user"]
    assert said == ["first", *(text for number in range(5) for text in (f"number {number}", f"and {number}"))]
    check_settled(world, agent_id)


def test_a_full_queue_says_no_and_nothing_is_lost(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    world.begin(agent_id, "first")
    for number in range(MOST_WAITING):
        world.accept(agent_id, f"number {number}")
    with pytest.raises(Busy):
        world.accept(agent_id, "one too many")
    world.workflow.drive()
    assert sum(row.role == "user" for row in world.log(agent_id)) == MOST_WAITING + 1
    check_settled(world, agent_id)


def test_ending_a_run_twice_and_after_its_end_changes_nothing(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    run_id = world.begin(agent_id, "hello")
    for _ in range(2):
        world.chain.termination.end(run_id, StopReason.CANCELLED)
    assert world.run(run_id).run.status is RunStatus.CANCELLED
    ended = world.send(agent_id, "again")
    world.chain.termination.end(ended, StopReason.CANCELLED)
    assert world.run(ended).run.status is RunStatus.COMPLETED
    check_settled(world, agent_id)


def test_a_retry_attaches_to_the_run_of_the_request_alive_or_ended(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    first = world.accept(agent_id, "hello", digest="d")
    assert world.accept(agent_id, "hello", digest="d", retry=1) == type(first)(first.run_id, attached=True)
    world.sweep()
    assert world.accept(agent_id, "hello", digest="d", retry=2).run_id == first.run_id
    assert world.accept(agent_id, "hello", digest="d").run_id != first.run_id, "the same text again is another request"
    world.sweep()
    check_settled(world, agent_id)


def test_a_late_original_attaches_to_the_run_of_its_own_retry_once(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    retry = world.accept(agent_id, "hello", digest="d", retry=1).run_id
    assert world.accept(agent_id, "hello", digest="d").run_id == retry
    assert world.accept(agent_id, "hello", digest="d").run_id != retry
    world.sweep()
    check_settled(world, agent_id)


def test_a_late_original_attaches_though_the_answer_to_its_mark_is_lost(tmp_path: Path) -> None:
    plain, agent_id = opened(tmp_path)
    retry = plain.accept(agent_id, "hello", digest="d", retry=1).run_id
    world = World(plain.data, wrap=lambda table: LosesResponses(table, after={1}))
    assert world.accept(agent_id, "hello", digest="d").run_id == retry


@pytest.mark.parametrize("later", [0, 1000])
def test_of_two_retries_at_once_one_makes_the_run_and_the_other_attaches(later: int, tmp_path: Path) -> None:
    """Also where an old mark stands in the way (`later` is beyond its life)."""
    plain, agent_id = opened(tmp_path)
    if later:
        plain.send(agent_id, "hello", digest="d")
        plain.clock.sleep(later)
    runs: list[str] = []

    def overtaken(number: int, kind: str) -> None:
        if kind == "before write" and not runs:
            runs.append(plain.accept(agent_id, "hello", digest="d", retry=1).run_id)

    world = World(plain.data, wrap=lambda table: CountingTable(table, overtaken))
    runs.append(world.accept(agent_id, "hello", digest="d", retry=2).run_id)
    assert len(set(runs)) == 1
    world.sweep()
    check_settled(world, agent_id)


@pytest.mark.parametrize("otid", ["otid-1", "very long " * 1000])
def test_an_otid_is_taken_once(tmp_path: Path, otid: str) -> None:
    world, agent_id = opened(tmp_path)
    first = world.accept(agent_id, "hello", digest="d", otids=[otid])
    again = world.accept(agent_id, "hello", digest="other", otids=[otid])
    assert (again.run_id, again.attached) == (first.run_id, True)
    world.sweep()
    check_settled(world, agent_id)


def test_a_full_page_of_large_messages_gets_its_turn_behind_another(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, RING)
    otids = [f"otid-{number}" for number in range(INPUT_PAGE)]
    world.begin(agent_id, "hello")
    world.begin(agent_id, *(["x" * 70_000] * 2), *(["y" * 60_000] * (INPUT_PAGE - 2)), otids=otids)
    world.workflow.drive()
    assert sum(row.role == "user" for row in world.log(agent_id)) == INPUT_PAGE + 1
    check_settled(world, agent_id)
