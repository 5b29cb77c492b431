"""Agents as they were, and forks from there."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.schemas.agents.agent import CreateAgentRequest, UpdateAgent
from hibernaut.schemas.agents.agent_version import ForkAgent
from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.memory.block import BlockUpdate
from hibernaut.schemas.memory.version_faults import VersionExpired
from hibernaut.services.agents.agent_creation import AgentCreation
from hibernaut.services.agents.agent_forks import AgentForks
from hibernaut.services.agents.agent_history import AgentHistory
from hibernaut.services.agents.agent_updates import AgentUpdates
from hibernaut.services.agents.agent_windows import AgentWindows
from hibernaut.services.memory.memory_audit import MemoryAudit
from hibernaut.services.records import records_over
from tests.support.histories import Histories
from tests.support.scripted_model import Streamed, calls, in_turn, says


class Past(Histories):
    """A world with the histories of agents too."""

    def __init__(self, folder: Path, *replies: object) -> None:
        script = in_turn(*replies)  # type: ignore[arg-type]

        def asked(request: ModelRequest, number: int) -> ModelReply | Streamed:
            self.world.clock.sleep(1)
            return script(request, number)

        super().__init__(folder, asked)
        world = self.world
        self.records = records_over(self.stores, world.clock, world.ids)
        self.agents = AgentHistory(self.stores, self.records)
        models, prompts = world.chain.models, world.chain.prompts
        self.creation = AgentCreation(self.records, models=models, prompts=prompts)
        self.forks = AgentForks(self.records, self.agents, creation=self.creation, prompts=prompts)
        self.updates = AgentUpdates(
            self.records,
            models=models,
            windows=AgentWindows(self.records, models=models, prompts=prompts),
            creation=self.creation,
        )

    def agent(self, **fields: object) -> str:
        fields = {
            "model": "test/scripted",
            "include_base_tools": False,
            "memory_blocks": [{"label": "human", "value": "Ann."}],
            **fields,
        }
        return self.creation.create(CreateAgentRequest.model_validate(fields), key_id="key-1").id

    def say(self, agent: str, text: str) -> str:
        """The id of the last message after a run; an hour passes before it, and a second before each of its steps."""
        self.wait()
        self.world.send(agent, text)
        return self.world.log(agent)[-1].id

    def memory(self, agent: str, message_id: str) -> str:
        (block,) = self.agents.past(agent, message_id=message_id).blocks
        assert block.block is not None
        return block.block.value


OSLO = calls(("memory_insert", {"label": "human", "new_string": "Lives in Oslo."}))
BERGEN = calls(("memory_replace", {"label": "human", "old_string": "Oslo", "new_string": "Bergen"}))
TOOLS = ["memory_insert", "memory_replace"]


def test_an_agent_is_seen_with_the_settings_and_the_memory_of_a_message(tmp_path: Path) -> None:
    past = Past(tmp_path, says("Hello."), OSLO, says("Oslo, noted."), BERGEN, says("Bergen, noted."))
    agent = past.agent(tools=TOOLS, system="Be kind.")
    first, second = past.say(agent, "hi"), past.say(agent, "I live in Oslo.")
    past.wait()
    past.updates.update(agent, UpdateAgent(system="Be brief.", tags=["reviewed"]), key_id="key-2")
    third = past.say(agent, "No, Bergen.")
    assert [past.memory(agent, each) for each in (first, second, third)] == [
        "Ann.",
        "Ann.\nLives in Oslo.",
        "Ann.\nLives in Bergen.",
    ]
    seen = [past.agents.past(agent, message_id=each).version for each in (second, third)]
    assert [each.settings["system"] for each in seen if each.settings] == ["Be kind.", "Be brief."]
    assert [tool.name for tool in past.agents.past(agent, message_id=first).tools] == TOOLS
    changed = past.agents.diff(agent, 2)
    assert {each.field for each in changed.changes} == {"system", "tags"}
    assert seen[1].by is not None
    assert seen[1].by.key_id == "key-2"


def test_the_step_of_a_message_counts_with_its_last_row_only(tmp_path: Path) -> None:
    past = Past(tmp_path, OSLO, says("Noted."))
    agent = past.agent(tools=TOOLS)
    past.say(agent, "I live in Oslo.")
    system, user, reply, returned, text = past.world.log(agent)
    assert [past.memory(agent, row.id) for row in (user, returned, text)] == [
        "Ann.",
        "Ann.\nLives in Oslo.",
        "Ann.\nLives in Oslo.",
    ]
    assert (system.role, reply.role, returned.role) == ("system", "assistant", "tool")


def test_no_version_of_an_agent_holds_a_secret(tmp_path: Path) -> None:
    past = Past(tmp_path)
    agent = past.agent(secrets={"TOKEN": "hush-hush"})
    past.wait()
    past.updates.update(agent, UpdateAgent(secrets={"TOKEN": "still-hush"}))
    place = past.stores.agents.history(agent)
    kept = str([past.table.get(place.key(number)) for number in (1, 2)])
    assert "hush" not in kept + past.agents.past(agent, at=past.world.clock.now()).model_dump_json()
    assert [report.fault for report in MemoryAudit(past.stores).check()] == [None, None]


def test_a_fork_begins_with_the_memory_and_the_messages_of_then_and_goes_its_own_way(tmp_path: Path) -> None:
    past = Past(tmp_path, OSLO, says("Oslo, noted."), BERGEN, says("Bergen, noted."), says("Still Oslo."))
    agent = past.agent(tools=TOOLS, secrets={"TOKEN": "x"}, tags=["a", "b"], name="Ada")
    then = past.say(agent, "I live in Oslo.")
    past.say(agent, "No, Bergen.")
    past.wait()
    fork = past.forks.fork(agent, ForkAgent(message_id=then), key_id="key-9")
    assert (fork.name, fork.tags, past.stores.secrets.values(fork.id, fork.secrets)) == ("Ada fork", ["a", "b"], {"TOKEN": "x"})
    (block,) = past.records.blocks_of(fork)
    assert block.value == "Ann.\nLives in Oslo."
    assert block.id not in past.records.agent(agent).block_ids
    texts = [row.text() for row in past.world.log(fork.id)]
    assert texts[1:] == [row.text() for row in past.world.log(agent)][1:5]
    assert "Lives in Oslo." in texts[0]
    past.world.send(fork.id, "Where do I live?")
    assert past.world.log(fork.id)[-1].text() == "Still Oslo."
    assert len(past.world.log(agent)) == 9
    past.blocks.update(block.id, BlockUpdate(value="changed"))
    assert past.world.block(agent, "human").value == "Ann.\nLives in Bergen."
    assert {report.fault for report in MemoryAudit(past.stores).check()} == {None}


def test_a_fork_at_a_message_before_the_summary_has_what_the_summary_replaced(tmp_path: Path) -> None:
    past = Past(tmp_path, *(says(f"Answer {number}.") for number in range(4)), says("They talked."), says("Yes."), says("Yes."))
    agent = past.agent()
    said = [past.say(agent, f"Question {number}.") for number in range(4)]
    past.world.chain.compactions.on_request(agent)
    summary = past.world.head(agent).window.pinned[1]
    before, after = (past.forks.fork(agent, ForkAgent(message_id=one)).id for one in (said[-1], summary))
    asked = []
    for fork in (before, after):
        past.world.send(fork, "Do you remember?")
        asked.append(str(past.world.models.requests[-1].messages))
    assert ["Question 0." in texts for texts in asked] == [True, False]
    assert ["They talked." in texts for texts in asked] == [False, True]


def test_a_fork_at_a_call_that_has_no_return_yet_leaves_the_call_and_its_edit_out(tmp_path: Path) -> None:
    past = Past(tmp_path, OSLO, says("Noted."))
    agent = past.agent(tools=TOOLS)
    past.say(agent, "I live in Oslo.")
    reply = past.world.log(agent)[2]
    fork = past.forks.fork(agent, ForkAgent(message_id=reply.id, name="before"))
    assert [row.role for row in past.world.log(fork.id)] == ["system", "user"]
    assert past.world.block(fork.id, "human").value == "Ann."


def test_a_block_that_was_deleted_or_detached_since_is_there_again(tmp_path: Path) -> None:
    past = Past(tmp_path, says("Hello."), says("Here."))
    agent = past.agent(memory_blocks=[{"label": "human", "value": "Ann."}, {"label": "plans", "value": "Travel."}])
    then = past.say(agent, "hi")
    past.wait()
    plans = past.world.block(agent, "plans")
    past.blocks.delete(plans.id)
    fork = past.forks.fork(agent, ForkAgent(message_id=then))
    assert [block.value for block in past.records.blocks_of(fork)] == ["Ann.", "Travel."]


def test_what_is_not_there_is_told_and_makes_nothing(tmp_path: Path) -> None:
    past = Past(tmp_path, says("Hello."))
    agent, other = past.agent(), past.agent()
    then = past.say(agent, "hi")
    for wanted, message in ((other, then), (agent, "message-00000000-0000-4000-8000-000000000000")):
        with pytest.raises(NotFound):
            past.forks.fork(wanted, ForkAgent(message_id=message))
    past.wait(timedelta(days=60))
    past.updates.update(agent, UpdateAgent(system="Be brief."))
    past.wait(timedelta(days=60))
    past.blocks.update(past.world.block(agent, "human").id, BlockUpdate(value="changed"))
    assert past.memory(agent, then) == "Ann.", "the value was replaced lately"
    past.wait(timedelta(days=91))
    past.blocks.update(past.world.block(agent, "human").id, BlockUpdate(value="again"))
    with pytest.raises(VersionExpired):
        past.forks.fork(agent, ForkAgent(message_id=then))
    assert len(past.stores.agents.rows()) == 2


def test_the_versions_of_settings_go_with_the_agent(tmp_path: Path) -> None:
    past = Past(tmp_path)
    agent = past.agent()
    past.updates.update(agent, UpdateAgent(system="Be brief."))
    found = past.agents.page(agent, after=None, before=None, limit=10, descending=True)
    assert [(each.version, each.change, each.fields) for each in found] == [(2, "updated", ["system"]), (1, "created", [])]
    past.stores.deletion.agent(agent)
    assert past.stores.versions.newest(past.stores.agents.history(agent)) is None
