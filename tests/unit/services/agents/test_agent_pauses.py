"""A paused agent refuses messages and loses none that it accepted before."""

from __future__ import annotations

from pathlib import Path

import pytest

from hibernaut.schemas.agents.pause import PauseAgent
from hibernaut.schemas.errors import AgentPaused, NotFound
from hibernaut.schemas.stop import RunStatus
from hibernaut.services.agents.agent_pauses import AgentPauses
from hibernaut.services.records import records_over
from tests.support.scripted_model import calls, in_turn, says
from tests.support.tables import CountingTable
from tests.support.world import World, data_in


def pauses_of(world: World) -> AgentPauses:
    return AgentPauses(records_over(world.stores, world.clock, world.ids), world.stores.pauses)


def world_in(folder: Path, *replies: str) -> World:
    return World(data_in(folder, in_turn(*(says(reply) for reply in replies))))


def test_a_paused_agent_refuses_messages_until_it_is_resumed(tmp_path: Path) -> None:
    world = world_in(tmp_path, "Hello.", "Back again.")
    agent, other = world.make_agent(), world.make_agent()
    pauses = pauses_of(world)
    told = pauses.pause(agent, PauseAgent(reason="holidays"), key_id="key-1")
    assert (told.paused, told.paused_at, told.key_id) == (True, world.clock.now(), "key-1")
    with pytest.raises(AgentPaused, match=r"is paused since .* \(holidays\)"):
        world.send(agent, "Anybody there?")
    assert [row.role for row in world.log(agent)] == ["system"]
    world.send(other, "And you?")
    assert pauses.resume(agent).paused is False
    world.send(agent, "And now?")
    assert world.log(agent)[-1].text() == "Back again."


def test_what_was_accepted_before_the_pause_goes_on_in_its_order(tmp_path: Path) -> None:
    world = world_in(tmp_path, "One.", "Two.")
    agent = world.make_agent()
    first = world.begin(agent, "first")
    queued = world.accept(agent, "second", when_busy="queue")
    pauses_of(world).pause(agent, PauseAgent())
    world.workflow.drive()
    assert [world.run(run).run.status for run in (first, queued.run_id)] == [RunStatus.COMPLETED] * 2


def test_a_re_sent_message_of_before_the_pause_attaches_to_its_run(tmp_path: Path) -> None:
    world = world_in(tmp_path, "One.")
    agent = world.make_agent()
    run = world.send(agent, "first", otids=["otid-1"])
    pauses_of(world).pause(agent, PauseAgent())
    again = world.accept(agent, "first", otids=["otid-1"])
    assert (again.run_id, again.attached) == (run, True)


def test_an_interrupting_message_does_not_end_the_run_of_a_paused_agent(tmp_path: Path) -> None:
    world = World(data_in(tmp_path, in_turn(calls(("knock", {"x": "a"})), says("Done."))))
    agent = world.make_agent(tools=("knock",))
    run = world.begin(agent, "go")
    pauses_of(world).pause(agent, PauseAgent())
    with pytest.raises(AgentPaused):
        world.accept(agent, "stop", when_busy="interrupt")
    world.workflow.drive()
    assert world.run(run).run.status is RunStatus.COMPLETED


def test_the_pause_is_read_in_the_request_that_reads_the_conversation(tmp_path: Path) -> None:
    data, made = data_in(tmp_path, in_turn(says("Hello."))), []
    world = World(data, wrap=lambda table: CountingTable(table, lambda _, kind: made.append(kind)))
    agent = world.make_agent()
    made.clear()
    world.accept(agent, "hi")
    reads = ["before get_many", "before get_many"]  # the conversation's head with the pause; the end of its log
    assert [kind for kind in made if kind.startswith("before")] == [*reads, "before write"]


def test_pausing_twice_keeps_the_first_time_and_resuming_twice_is_no_error(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    agent, pauses = world.make_agent(), pauses_of(world)
    first = pauses.pause(agent, PauseAgent(reason="one"))
    world.clock.sleep(60)
    assert pauses.pause(agent, PauseAgent(reason="two")) == first == pauses.get(agent)
    assert pauses.resume(agent) == pauses.resume(agent) == pauses.get(agent)
    for call in (pauses.get, pauses.resume, lambda missing: pauses.pause(missing, PauseAgent())):
        with pytest.raises(NotFound):
            call("agent-00000000-0000-4000-8000-000000000000")
