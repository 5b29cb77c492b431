"""What the model reads of memory, run by run: the prompt stays as it is through a run, and follows memory at the next."""

from __future__ import annotations

from pathlib import Path

from hibernaut.ports.model import ModelReply, ModelRequest
from tests.support.scripted_model import calls, in_turn, says
from tests.support.world import World, data_in

PUT_AWAY = calls(("archival_memory_insert", {"content": "Ann likes tea.", "tags": ["drinks"]}))


def test_what_was_put_away_is_counted_in_the_prompt_of_the_next_run_and_not_before(tmp_path: Path) -> None:
    prompts: list[str] = []
    answers = in_turn(PUT_AWAY, says("done"))

    def watched(request: ModelRequest, number: int) -> ModelReply:
        prompts.append(request.system)
        return answers(request, number)

    world = World(data_in(tmp_path, watched))
    agent_id = world.make_agent(blocks={"human": "Ann"}, tools=("archival_memory_insert",))
    world.send(agent_id, "I like tea")
    world.send(agent_id, "hello")
    world.clock.sleep(60)
    world.send(agent_id, "hello again")
    first, same, second, third = prompts
    assert first == same
    assert "drinks" not in first
    assert "- 1 total memories" in second
    assert "drinks" in second
    assert third == second
