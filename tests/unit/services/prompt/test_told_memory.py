"""Memory that others change: between runs, beside a run, and around workers that die. In the end the model knows the current
value, and what it was sent stays the beginning of what it is sent.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest

from hibernaut.schemas.agents.conversation_record import CreateConversation
from hibernaut.schemas.memory.block import BlockUpdate
from hibernaut.schemas.stop import StopReason
from hibernaut.store.conversations.conversations import prompt_hash
from hibernaut.wiring.api_services import Services, services_over
from tests.support.conversations import begin_in
from tests.support.deletions import Died
from tests.support.memory_reader import read_blocks, texts_of
from tests.support.scripted_model import calls, in_turn, nothing, says, serialized
from tests.support.world import World, data_in

RING = calls(("ring", {"x": "a"}))
INSERT = calls(("memory_insert", {"label": "human", "new_string": "tea"}))


def services_of(world: World) -> Services:
    return services_over(world.stores, world.host, world.chain)


def edit(world: World, agent_id: str, value: str, label: str = "human") -> None:
    services_of(world).blocks.update(world.block(agent_id, label).id, BlockUpdate(value=value))


def known(world: World) -> dict[str, str]:
    """The blocks as the model knows them from its newest request."""
    return read_blocks(texts_of(world.models.payload(world.models.requests[-1])))


def check_prefixes(world: World) -> None:
    for before, after in pairwise(serialized(world.models, world.models.requests)):
        assert after.startswith(before[:-1]), f"the prefix has changed:\n{before}\n{after}"


def test_an_agent_knows_what_another_wrote_into_a_block_that_both_have(tmp_path: Path) -> None:
    world = World(data_in(tmp_path, in_turn(says("yes"), INSERT, says("kept"), says("yes"))))
    first = world.make_agent(blocks={"human": "Ann"}, tools=("memory_insert",))
    second = world.make_agent(blocks=[world.block(first, "human")], tools=("memory_insert",))
    world.send(first, "hello")
    world.send(second, "I like tea")
    world.send(first, "what do I like?")
    assert known(world) == {"human": "Ann\ntea"}


def test_a_conversation_is_told_of_its_private_copy_and_not_of_the_original(tmp_path: Path) -> None:
    world = World(data_in(tmp_path, in_turn(INSERT, says("kept"), says("yes"))))
    agent_id = world.make_agent(blocks={"human": "Ann", "persona": "Ada"}, tools=("memory_insert",))
    made = services_of(world).conversations.openings.create(agent_id, CreateConversation(isolated_block_labels=["human"]))
    begin_in(world, agent_id, made.id, "I like tea")
    world.workflow.drive()
    edit(world, agent_id, "Bob")
    edit(world, agent_id, "Eve", "persona")
    begin_in(world, agent_id, made.id, "what do I like?")
    world.workflow.drive()
    assert known(world) == {"human": "Ann\ntea", "persona": "Eve"}
    check_prefixes(world)


def test_a_fork_begins_with_the_current_memory(tmp_path: Path) -> None:
    world = World(data_in(tmp_path, in_turn(says("yes"))))
    agent_id = world.make_agent(blocks={"human": "Ann"})
    edit(world, agent_id, "Bob")
    world.send(agent_id, "hello")
    fork = services_of(world).conversations.openings.fork(agent_id)
    begin_in(world, agent_id, fork.id, "and now?")
    world.workflow.drive()
    assert known(world) == {"human": "Bob"}
    assert "memory_update" not in serialized(world.models, world.models.requests)[-1]


@pytest.mark.parametrize("place", ["before model", "after model", "before tool", "after tool"])
def test_a_second_attempt_tells_what_the_first_one_told(place: str, tmp_path: Path) -> None:
    world = World(data_in(tmp_path, in_turn(says("yes"), RING, RING, says("rung"))))
    agent_id = world.make_agent(blocks={"human": "Ann"}, tools=("ring",))
    world.send(agent_id, "hello")
    edit(world, agent_id, "Bob")

    def strikes(where: str) -> None:
        if where == place:
            raise Died

    world.models.at = world.runner.at = strikes
    with suppress(Died):
        world.send(agent_id, "ring")
    world.models.at = world.runner.at = nothing
    world.clock.sleep(7200)
    later = world.reborn()
    later.sweep()
    assert later.run(later.log(agent_id)[-1].run_id or "").ended
    assert known(later) == {"human": "Bob"}
    check_prefixes(later)


def test_a_run_that_is_cancelled_behind_its_first_reply_has_told_its_update(tmp_path: Path) -> None:
    world = World(data_in(tmp_path, in_turn(says("yes"), RING, says("rung"))))
    agent_id = world.make_agent(blocks={"human": "Ann"}, tools=("ring",))
    world.send(agent_id, "hello")
    edit(world, agent_id, "Bob")
    run_id = world.accept(agent_id, "ring").run_id

    def strikes(where: str) -> None:
        if where == "before tool":
            raise Died

    world.runner.at = strikes
    with suppress(Died):
        world.advance(run_id)
    world.runner.at = nothing
    world.clock.sleep(7200)
    world.chain.termination.end(run_id, StopReason.CANCELLED)
    assert world.run(run_id).run.stop_reason is StopReason.CANCELLED
    compiled, system = world.head(agent_id).compiled, world.log(agent_id)[0]
    assert compiled is not None
    assert compiled.text == prompt_hash(system), "the head and the row of its system message belong together"
    world.send(agent_id, "and now?")
    assert known(world) == {"human": "Bob"}
    check_prefixes(world)
    assert serialized(world.models, world.models.requests)[-1].count("<memory_update>") == 1, "told once"


def test_turns_that_are_dropped_without_a_summary_leave_their_updates_behind(tmp_path: Path) -> None:
    """No summariser answers, the window is full, and the message that told of the edit leaves it."""
    data = data_in(tmp_path, in_turn(says("yes")), context_window=6_000)
    world = World(data)
    agent_id = world.make_agent(blocks={"human": "Ann"})
    edit(world, agent_id, "Bob")
    for number in range(6):
        world.send(agent_id, f"{number} " + "rain " * 700)
    run_id = world.begin(agent_id, "who am I? " + "rain " * 1_500)
    while world.chain.turns.advance(run_id, drop=True).next == "advance":
        pass
    request = world.models.requests[-1]
    assert not any(row.text().startswith("0 rain") for row in request.messages), "the message that told of it is gone"
    assert known(world) == {"human": "Bob"}
    asked = request.system
    world.send(agent_id, "and now?")
    assert world.models.requests[-1].system == asked
    assert known(world) == {"human": "Bob"}
