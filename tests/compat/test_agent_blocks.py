"""An agent's core memory through the SDK (Letta V1 API, API 2.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from letta_client import ConflictError, Letta, NotFoundError

from tests.compat.conftest import Said

NewAgent = Callable[..., Any]


@pytest.mark.manifest("agents.blocks.retrieve", "agents.blocks.update", "agents.blocks.list")
def test_blocks_are_read_and_changed_by_their_labels(client: Letta, new_agent: NewAgent) -> None:
    agent = new_agent(memory_blocks=[{"label": "human", "value": "Ann", "limit": 5}, {"label": "system/notes", "value": ""}])
    assert client.agents.blocks.retrieve("human", agent_id=agent.id).value == "Ann"
    after = client.agents.blocks.update("system/notes", agent_id=agent.id, value="kept")
    assert (after.value, client.agents.blocks.retrieve("system/notes", agent_id=agent.id)) == ("kept", after)
    assert client.agents.blocks.update("human", agent_id=agent.id, value="longer than five").value == "longer than five"
    listed = client.agents.blocks.list(agent.id, order="asc")
    assert [block.label for block in listed] == ["human", "system/notes"]
    with pytest.raises(NotFoundError, match=f"No block with label 'x' found for agent '{agent.id}'"):
        client.agents.blocks.retrieve("x", agent_id=agent.id)


@pytest.mark.manifest("agents.blocks.attach", "agents.blocks.detach")
@pytest.mark.deployed
def test_a_block_is_attached_once_and_detached_once(client: Letta, new_agent: NewAgent) -> None:
    agent, block = new_agent(), client.blocks.create(label="notes", value="")
    for _ in range(2):
        state = client.agents.blocks.attach(block.id, agent_id=agent.id)
        assert [one.label for one in state.blocks] == ["human", "notes"]
    with pytest.raises(ConflictError):
        client.agents.blocks.attach(client.blocks.create(label="notes", value="").id, agent_id=agent.id)
    assert [one.label for one in client.agents.blocks.detach(block.id, agent_id=agent.id).blocks] == ["human"]
    with pytest.raises(NotFoundError):
        client.agents.blocks.detach(block.id, agent_id=agent.id)
    with pytest.raises(NotFoundError):
        client.agents.blocks.attach("block-00000000-0000-4000-8000-000000000000", agent_id=agent.id)


@pytest.mark.manifest("agents.prompt.follows")
def test_the_model_sees_every_change_in_the_next_run(client: Letta, said: Said, new_agent: NewAgent) -> None:
    agent, block = new_agent(), client.blocks.create(label="notes", value="the sky is green")
    client.agents.blocks.attach(block.id, agent_id=agent.id)
    client.agents.update(agent.id, system="You are changed.")
    client.blocks.update(agent.blocks[0].id, value="Ann")
    client.agents.messages.create(agent.id, input="hi")
    system = str(said.server.requests[-1])
    assert all(text in system for text in ("the sky is green", "You are changed.", "Ann"))
