"""Calls of tools that may run beside others are made at once; each keeps its claim, and the order of the reply is that of the
returns (decision 57).
"""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from hibernaut.domain.window.open_calls import INTERRUPTED
from hibernaut.ports.tools.tool_runner import ToolJob, ToolOutcome
from hibernaut.schemas.stop import StopReason
from hibernaut.services.tool_calls.parallel_calls import MOST_AT_ONCE
from tests.protocol.staged import Died, returns, run_ids, settles
from tests.support.scripted_model import calls, in_turn, says
from tests.support.settled import check_settled
from tests.support.tables import CountingTable
from tests.support.world import BESIDE, World, data_in

PATIENCE = 60
"""Seconds after which a test that waits for another thread fails."""


def opened(folder: Path, *names: str) -> tuple[World, str]:
    """An agent whose model calls these tools in one reply; the n-th call has the argument n."""
    numbered = [
        (name, {"x": str(n)} if name != "memory_insert" else {"label": "human", "new_string": str(n)})
        for n, name in enumerate(names)
    ]
    world = World(data_in(folder, in_turn(calls(*numbered), says("done"))))
    return world, world.make_agent(blocks={"human": "Ann"}, tools=(BESIDE, "ring", "memory_insert"))


def told(world: World, agent_id: str) -> list[str]:
    """What the tools gave."""
    return [json.loads(text)["message"] for text in returns(world, agent_id)]


class Meeting:
    """What a tool does: wait until `count` calls are under way. `under_way`: the most that ever were."""

    def __init__(self, count: int) -> None:
        self._barrier = threading.Barrier(count)
        self._lock, self._now = threading.Lock(), 0
        self.under_way = 0

    def __call__(self, job: ToolJob) -> ToolOutcome:
        with self._lock:
            self._now += 1
            self.under_way = max(self.under_way, self._now)
        if job.name == BESIDE:
            self._barrier.wait(PATIENCE)
        with self._lock:
            self._now -= 1
        return ToolOutcome("success", f"{job.name} {job.args['x']}")


def test_calls_of_marked_tools_are_made_at_once_and_return_in_their_order(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, BESIDE, BESIDE, BESIDE)
    world.runner.does = Meeting(3)
    world.send(agent_id, "hello")
    assert told(world, agent_id) == [f"{BESIDE} 0", f"{BESIDE} 1", f"{BESIDE} 2"]
    check_settled(world, agent_id)


def test_an_unmarked_call_is_made_alone_and_in_its_place(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, "ring", BESIDE, BESIDE, "ring", "ring", BESIDE)
    meeting = world.runner.does = Meeting(2)
    alone = {"0", "3", "4", "5"}

    def does(job: ToolJob) -> ToolOutcome:
        if job.args["x"] == "5":
            return ToolOutcome("success", f"{BESIDE} 5")
        return meeting(job)

    world.runner.does = does
    world.send(agent_id, "hello")
    made = [args["x"] for _, args in world.runner.effects]
    assert [one for one in made if one in alone] == ["0", "3", "4", "5"]
    assert (made[0], set(made[1:3]), made[3:]) == ("0", {"1", "2"}, ["3", "4", "5"])
    assert meeting.under_way == 2
    assert [text.split()[1] for text in told(world, agent_id)] == ["0", "1", "2", "3", "4", "5"]


def test_more_calls_than_threads_are_all_made(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, *[BESIDE] * (2 * MOST_AT_ONCE))
    meeting = Meeting(MOST_AT_ONCE)
    world.runner.does = meeting
    world.send(agent_id, "hello")
    assert told(world, agent_id) == [f"{BESIDE} {n}" for n in range(2 * MOST_AT_ONCE)]
    assert meeting.under_way == MOST_AT_ONCE


def test_what_calls_write_into_memory_is_kept_in_the_order_of_the_calls(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, BESIDE, BESIDE, "memory_insert")

    def does(job: ToolJob) -> ToolOutcome:
        return ToolOutcome("success", blocks={"human": f"text {job.args['x']}"})

    world.runner.does = does
    world.send(agent_id, "hello")
    assert world.block(agent_id, "human").value.split("\n") == ["text 1", "2"]


@pytest.mark.parametrize("alone", [True, False])
def test_after_a_death_calls_that_had_ended_keep_their_results_and_the_others_are_not_made_again(
    tmp_path: Path, alone: bool
) -> None:
    """The first call has ended when the worker dies over the second one, which has begun; the third one may have."""
    world, agent_id = opened(tmp_path, BESIDE, BESIDE)
    begun, returned, recorded = (threading.Event() for _ in range(3))

    def does(job: ToolJob) -> ToolOutcome:
        if job.args["x"] == "0":
            begun.wait(PATIENCE)
            returned.set()
            return ToolOutcome("success", "ended")
        begun.set()
        recorded.wait(PATIENCE)
        raise Died

    def at(_number: int, kind: str) -> None:
        if kind == "after write" and returned.is_set():
            recorded.set()

    world.runner.does = does
    run_id = world.accept(agent_id, "hello").run_id
    with suppress(Died):
        World(world.data, alone=False, wrap=lambda table: CountingTable(table, at)).advance(run_id)
    world.runner.does = lambda job: ToolOutcome("success", f"again {job.args['x']}")
    if alone:
        world.reborn().sweep()
    settles(world)
    assert told(world, agent_id)[0] == "ended"
    assert INTERRUPTED in told(world, agent_id)[1]
    assert sorted(args["x"] for _, args in world.runner.effects) == ["0", "1"]
    check_settled(world, agent_id)


def test_a_run_that_is_cancelled_meanwhile_begins_no_further_call(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, *[BESIDE] * (MOST_AT_ONCE + 3))
    meeting = threading.Barrier(
        MOST_AT_ONCE, lambda: world.chain.termination.end(run_ids(world, agent_id)[0], StopReason.CANCELLED)
    )

    def does(job: ToolJob) -> ToolOutcome:
        meeting.wait(PATIENCE)
        return ToolOutcome("success", job.args["x"])

    world.runner.does = does
    run_id = world.accept(agent_id, "hello").run_id
    world.advance(run_id)
    settles(world)
    assert len(world.runner.effects) == MOST_AT_ONCE
    check_settled(world, agent_id)
