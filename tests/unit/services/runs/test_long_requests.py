"""A request with a long history: accepted in one transaction, brought into the log page by page by its run, and never lost on the way."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from hibernaut.schemas.errors import Unprocessable
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.services.turns.inputs import MOST_MESSAGES
from hibernaut.store.runs.transaction_values import INPUT_PAGE
from tests.support.memories import Killed
from tests.support.scripted_model import in_turn, says
from tests.support.settled import check_settled
from tests.support.tables import CountingTable
from tests.support.world import World, data_in

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
