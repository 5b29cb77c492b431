"""A request with a long history: accepted in one transaction, brought into the log page by page by its run, and never lost on the
way.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from hibernaut.schemas.errors import Unprocessable
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.schemas.tools.tool_rule import RequiresApprovalToolRule
from hibernaut.services.turns.inputs import MOST_MESSAGES
from hibernaut.store.runs.transaction_values import INPUT_PAGE
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.formats import ATTRIBUTE, SECOND, WRITTEN
from tests.support.memories import Killed
from tests.support.scripted_model import calls, in_turn, says
from tests.support.settled import check_settled
from tests.support.tables import CountingTable
from tests.support.world import TENANT, World, data_in

PAGES = 3
TEXTS = [f"line {number}" for number in range(PAGES * INPUT_PAGE - 7)]


def opened(folder: Path) -> tuple[World, str]:
    world = World(data_in(folder, in_turn(*[says("Read.")] * 9)))
    return world, world.make_agent()


def heard(world: World, agent_id: str) -> list[str]:
    return [row.text() for row in world.log(agent_id) if row.role == "user"]


def test_a_thousand_messages_are_taken_in_their_order_and_the_model_sees_all(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    texts = [f"line {number}" for number in range(MOST_MESSAGES)]
    run_id = world.accept(agent_id, *texts, otids=[f"otid-{number}" for number in range(MOST_MESSAGES)]).run_id
    assert world.advance(run_id) == "finished"
    assert heard(world, agent_id) == texts
    assert [row.text() for row in world.models.requests[0].messages if row.role == "user"] == texts
    check_settled(world, agent_id)


@pytest.mark.parametrize(("count", "size"), [(MOST_MESSAGES, 6_000), (6, 1_000_000)])
def test_six_megabytes_are_taken(tmp_path: Path, count: int, size: int) -> None:
    world, agent_id = opened(tmp_path)
    texts = [f"{number}:".ljust(size, "x") for number in range(count)]
    world.send(agent_id, *texts)
    assert heard(world, agent_id) == texts
    check_settled(world, agent_id)


@pytest.mark.parametrize("when", ["at once", "in the queue", "behind an answer"])
def test_input_that_waits_is_stored_at_most_twice_however_many_pages_it_has(tmp_path: Path, when: str) -> None:
    world, agent_id = waiting(tmp_path) if when == "behind an answer" else opened(tmp_path)
    texts = [f"{number}:".ljust(5_000, "x") for number in range(MOST_MESSAGES)]
    if when == "behind an answer":
        texts.pop()
        answered(world, agent_id, texts)
    if when == "in the queue":
        world.begin(agent_id, "before")
    if when != "behind an answer":
        world.begin(agent_id, *texts)
    world.workflow.drive()
    assert heard(world, agent_id)[-len(texts) :] == texts
    stored = sum(size for blob, size in world.data.blobs.stored.items() if "/RUN/" in blob)
    assert sum(map(len, texts)) < stored + INPUT_PAGE * 5_000
    assert stored < 2.2 * sum(map(len, texts)), "each message has some fields beside its text"
    assert not [blob for blob in world.data.blobs.kept if "/RUN/" in blob]
    check_settled(world, agent_id)


def test_a_run_whose_input_is_partly_in_the_log_has_a_format_that_older_releases_refuse(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    run_id = world.accept(agent_id, *TEXTS).run_id
    seen: list[tuple[object, object]] = []

    def looks(number: int, kind: str) -> None:
        if kind == "before write":
            item = world.data.table.get(keys.run(TENANT, run_id)) or {}
            seen.append((item.get(ATTRIBUTE), item.get("taken")))

    World(world.data, holder="host:2", wrap=lambda table: CountingTable(table, looks)).advance(run_id)
    assert seen[:3] == [(WRITTEN, None), (WRITTEN, None), (SECOND, INPUT_PAGE)], "the lease is taken, then two pages"
    assert seen[-1] == (WRITTEN, None)
    assert heard(world, agent_id) == TEXTS


def test_one_message_more_is_refused_and_nothing_is_stored(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    with pytest.raises(Unprocessable, match="1000"):
        world.accept(agent_id, *["text"] * (MOST_MESSAGES + 1))
    assert heard(world, agent_id) == []


def test_a_request_that_is_sent_again_attaches_by_its_first_messages(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    otids = [f"otid-{number}" for number in range(len(TEXTS))]
    first = world.accept(agent_id, *TEXTS, otids=otids)
    again = world.accept(agent_id, *TEXTS, otids=otids)
    assert (again.run_id, again.attached) == (first.run_id, True)


@pytest.mark.parametrize("writes", range(1, PAGES + 3))
def test_a_worker_that_dies_at_any_write_loses_and_doubles_no_message(tmp_path: Path, writes: int) -> None:
    plain, agent_id = opened(tmp_path)
    run_id = plain.accept(agent_id, *TEXTS).run_id
    seen = 0

    def dies(number: int, kind: str) -> None:
        nonlocal seen
        seen += kind == "before write"
        if seen == writes:
            raise Killed

    dying = World(plain.data, holder="host:2", wrap=lambda table: CountingTable(table, dies))
    with suppress(Killed):
        dying.advance(run_id)
    survivor = World(plain.data, holder="host:3")
    survivor.sweep()
    assert heard(survivor, agent_id) == TEXTS
    check_settled(survivor, agent_id)


@pytest.mark.parametrize("writes", range(1, PAGES + 2))
def test_a_run_that_is_cancelled_between_two_pages_keeps_what_was_said(tmp_path: Path, writes: int) -> None:
    plain, agent_id = opened(tmp_path)
    run_id = plain.accept(agent_id, *TEXTS).run_id
    seen = 0

    def cancels(number: int, kind: str) -> None:
        nonlocal seen
        seen += kind == "before write"
        if seen == writes and kind == "before write":
            plain.chain.termination.end(run_id, StopReason.CANCELLED)

    World(plain.data, holder="host:2", wrap=lambda table: CountingTable(table, cancels)).advance(run_id)
    assert plain.run(run_id).run.status is RunStatus.CANCELLED
    assert heard(plain, agent_id) == TEXTS
    check_settled(plain, agent_id)


def test_a_long_request_waits_behind_another_and_then_interrupts_one(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    world.begin(agent_id, "first")
    world.begin(agent_id, *TEXTS)
    world.accept(agent_id, *TEXTS, when_busy="interrupt")
    world.workflow.drive()
    world.sweep()
    assert sorted(heard(world, agent_id)) == sorted(["first", *TEXTS, *TEXTS])
    check_settled(world, agent_id)


def waiting(folder: Path) -> tuple[World, str]:
    """A world with an agent that waits for the approval of a call."""
    world = World(data_in(folder, in_turn(calls(("ring", {"x": "1"})), *[says("Read.")] * 9)))
    agent_id = world.make_agent(tools=("ring",), rules=[RequiresApprovalToolRule(tool_name="ring")])
    world.send(agent_id, "first")
    return world, agent_id


def answered(world: World, agent_id: str, texts: Sequence[str] = TEXTS) -> str:
    """The run that continues with an approval and a long history behind it; none of its steps is executed yet."""
    (call,) = next(row.tool_calls for row in world.log(agent_id) if row.role == "approval" and row.tool_calls)
    return world.answer(agent_id, {"type": "approval", "tool_call_id": call.id, "approve": True}, texts=texts).run_id


def check_answered(world: World, agent_id: str) -> None:
    """The returns of the calls stand before the history, and each message is there once."""
    assert heard(world, agent_id) == ["first", *TEXTS]
    roles = [row.role for row in world.log(agent_id)]
    assert roles.count("tool") == 1
    assert roles.index("tool") < [row.text() for row in world.log(agent_id)].index(TEXTS[0])
    check_settled(world, agent_id)


def test_an_answer_to_an_approval_takes_a_long_history_with_it(tmp_path: Path) -> None:
    world, agent_id = waiting(tmp_path)
    run_id = answered(world, agent_id)
    while world.advance(run_id) == "advance":
        pass
    check_answered(world, agent_id)
    assert [row.text() for row in world.models.requests[-1].messages if row.role == "user"] == ["first", *TEXTS]


@pytest.mark.parametrize("writes", range(1, PAGES + 5))
def test_a_worker_that_dies_behind_an_answer_loses_and_doubles_no_message(tmp_path: Path, writes: int) -> None:
    plain, agent_id = waiting(tmp_path)
    run_id = answered(plain, agent_id)
    seen = 0

    def dies(number: int, kind: str) -> None:
        nonlocal seen
        seen += kind == "before write"
        if seen == writes:
            raise Killed

    dying = World(plain.data, holder="host:2", wrap=lambda table: CountingTable(table, dies))
    with suppress(Killed):
        while dying.advance(run_id) == "advance":
            pass
    survivor = World(plain.data, holder="host:3")
    survivor.sweep()
    check_answered(survivor, agent_id)


@pytest.mark.parametrize("writes", range(PAGES + 5))
def test_a_run_that_is_cancelled_behind_an_answer_keeps_what_was_said(tmp_path: Path, writes: int) -> None:
    """Cancelled before its worker begins (0), and at each of its writes."""
    plain, agent_id = waiting(tmp_path)
    run_id = answered(plain, agent_id)
    seen = 0

    def cancels(number: int, kind: str) -> None:
        nonlocal seen
        seen += kind == "before write"
        if seen == writes and kind == "before write":
            plain.chain.termination.end(run_id, StopReason.CANCELLED)

    if writes == 0:
        plain.chain.termination.end(run_id, StopReason.CANCELLED)
    worker = World(plain.data, holder="host:2", wrap=lambda table: CountingTable(table, cancels))
    while worker.advance(run_id) == "advance":
        pass
    plain.sweep()
    assert plain.run(run_id).run.completed_at is not None
    check_answered(plain, agent_id)


def test_a_long_request_that_interrupts_an_approval_is_interrupted_itself(tmp_path: Path) -> None:
    world, agent_id = waiting(tmp_path)
    first = world.accept(agent_id, *TEXTS, when_busy="interrupt").run_id
    world.accept(agent_id, "last", when_busy="interrupt")
    world.workflow.drive()
    world.sweep()
    assert world.run(first).run.status is RunStatus.CANCELLED
    assert heard(world, agent_id) == ["first", *TEXTS, "last"]
    check_settled(world, agent_id)
