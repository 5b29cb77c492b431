"""Captured turns: only what is stored counts, and many messages are stored page by page, in their order."""

from __future__ import annotations

from pathlib import Path

import pytest

from hibernaut.schemas.errors import Busy, Unprocessable
from hibernaut.schemas.runs.capture import CaptureMessages
from hibernaut.services.sending.captures import Captures
from hibernaut.services.turns.inputs import MOST_MESSAGES
from hibernaut.store.runs.transaction_values import INPUT_PAGE
from tests.support.scripted_model import in_turn, says
from tests.support.settled import check_settled
from tests.support.tables import CountingTable
from tests.support.world import World, data_in


def opened(folder: Path) -> tuple[World, str]:
    world = World(data_in(folder, in_turn(*[says("Read.")] * 3)))
    return world, world.make_agent()


def turn(users: int, others: int = 0) -> CaptureMessages:
    messages = [
        *({"role": "assistant", "content": f"said {number}"} for number in range(others)),
        *({"role": "user", "content": f"line {number}"} for number in range(users)),
    ]
    reply = {"content": "The reply."}
    return CaptureMessages.model_validate({"provider": "p", "model": "m", "request_messages": messages, "response_dict": reply})


@pytest.mark.parametrize("users", [0, INPUT_PAGE - 1, INPUT_PAGE, 3 * INPUT_PAGE, MOST_MESSAGES])
def test_the_users_messages_and_the_reply_are_stored_in_their_order(tmp_path: Path, users: int) -> None:
    world, agent_id = opened(tmp_path)
    done = Captures(world.stores, world.host).capture(agent_id, turn(users, others=100))
    assert done.messages_created == users + 1
    stored = [(row.role, row.text()) for row in world.log(agent_id)][1:]
    assert stored == [*(("user", f"line {number}") for number in range(users)), ("assistant", "The reply.")]
    world.send(agent_id, "hello")
    check_settled(world, agent_id)


def test_one_message_more_is_refused_and_nothing_is_stored(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    before = len(world.log(agent_id))
    with pytest.raises(Unprocessable, match="1000"):
        Captures(world.stores, world.host).capture(agent_id, turn(MOST_MESSAGES + 1))
    assert len(world.log(agent_id)) == before


def test_a_run_between_two_pages_ends_the_capture_which_says_what_is_stored(tmp_path: Path) -> None:
    plain, agent_id = opened(tmp_path)
    writes = 0

    def comes_between(_number: int, kind: str) -> None:
        nonlocal writes
        writes += kind == "before write"
        if writes == 2:
            writes += 1
            plain.accept(agent_id, "hello")

    world = World(plain.data, wrap=lambda table: CountingTable(table, comes_between))
    with pytest.raises(Busy) as refused:
        Captures(world.stores, world.host).capture(agent_id, turn(2 * INPUT_PAGE))
    assert refused.value.detail.endswith(f"the first {INPUT_PAGE} of {2 * INPUT_PAGE + 1} are stored.")
    plain.sweep()
    assert [row.text() for row in plain.log(agent_id)][1 : INPUT_PAGE + 1] == [f"line {number}" for number in range(INPUT_PAGE)]
    check_settled(plain, agent_id)
