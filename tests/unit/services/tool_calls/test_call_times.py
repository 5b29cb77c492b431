"""How long each call of a step took is kept with the step, also when another worker commits it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from hibernaut.ports.tools.tool_runner import ToolJob, ToolOutcome
from tests.protocol.staged import Died, settles
from tests.support.scripted_model import calls, in_turn, says
from tests.support.world import World, data_in

SECOND = 10**9


def opened(folder: Path) -> tuple[World, str]:
    """An agent whose model calls `ring` twice and a memory tool once, in one reply. A ring takes as many seconds as its argument
    says.
    """
    script = calls(("ring", {"x": "3"}), ("ring", {"x": "5"}), ("memory_insert", {"label": "human", "new_string": "Rang."}))
    world = World(data_in(folder, in_turn(script, says("done"))))
    world.runner.does = lambda job: rings(world, job)
    return world, world.make_agent(blocks={"human": "Ann"}, tools=("ring", "memory_insert"))


def rings(world: World, job: ToolJob) -> ToolOutcome:
    world.clock.sleep(int(job.args["x"]))
    return ToolOutcome("success", "rang")


def times_of(world: World, run_id: str) -> list[tuple[str, int]]:
    """The calls of the run's first step, with their times in seconds."""
    first = next(iter(world.stores.steps.of_run(run_id)))
    return [(one.tool_call_id, one.execution_ns // SECOND) for one in first.call_times]


def test_each_call_has_its_own_time(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    run_id = world.send(agent_id, "hello")
    assert times_of(world, run_id) == [("call-0-ring", 3), ("call-1-ring", 5), ("call-2-memory_insert", 0)]


def test_a_call_that_a_dead_worker_made_keeps_the_time_that_it_took(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)

    def does(job: ToolJob) -> ToolOutcome:
        if job.args["x"] == "5":
            raise Died
        return rings(world, job)

    world.runner.does = does
    run_id = world.accept(agent_id, "hello").run_id
    with suppress(Died):
        World(world.data, alone=False).advance(run_id)
    world.reborn().sweep()
    settles(world)
    assert times_of(world, run_id) == [("call-0-ring", 3), ("call-2-memory_insert", 0)]
