"""The model of a conversation, after its record was stored and read, and the settings of agents as clients see them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from hibernaut.domain.models.model_settings import shown_settings
from hibernaut.schemas.agents.agent import AgentType, CreateAgentRequest, StoredAgent, UpdateAgent
from hibernaut.schemas.agents.conversation_record import StoredConversation
from hibernaut.schemas.models.model_settings import ModelSettings
from hibernaut.services.agents.agent_models import changed_model, chosen_model
from hibernaut.services.models.conversation_model import chosen
from tests.support.scripted_model import in_turn, says
from tests.support.world import World, data_in
from tests.unit.services.agents.test_agent_models import Offered

PLAIN = {"provider_type": "openai", "temperature": 0.1}


def an_agent(folder: Path, agent_type: AgentType = AgentType.LETTA_V1, **fields: Any) -> StoredAgent:
    world = World(data_in(folder, in_turn(says("Hi."))))
    agent = world.stores.agents.get(world.make_agent(kind=agent_type))
    assert agent is not None
    request = CreateAgentRequest.model_validate({"agent_type": agent_type, **fields})
    model = chosen_model(request, Offered())
    return agent.model_copy(update={"llm_config": model.config, "explicit_model_settings": model.settings})


def read_again(agent: StoredAgent, **fields: Any) -> StoredConversation:
    now = agent.created_at
    record = StoredConversation.model_validate(
        {"id": "conv-1", "agent_id": agent.id, "created_at": now, "updated_at": now, **fields}
    )
    return StoredConversation.model_validate_json(record.model_dump_json())


@pytest.mark.parametrize("model", [None, "openai/wide"])
@pytest.mark.parametrize(("given", "sent"), [({}, 16_384), ({"max_output_tokens": 4096}, 4096), ({"max_output_tokens": 7}, 7)])
def test_a_conversations_settings_limit_replies_only_if_they_have_a_limit(
    tmp_path: Path, model: str | None, given: dict[str, int], sent: int
) -> None:
    agent = an_agent(tmp_path)
    config = chosen(agent, read_again(agent, model=model, model_settings=PLAIN | given), Offered())
    assert (config.max_tokens, config.temperature) == (sent, 0.1)


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize("fields", [{"model": "openai/wide"}, {"model_settings": PLAIN}, {"context_window_limit": 9_000}])
def test_thoughts_are_arguments_in_a_conversation_where_they_are_for_its_agent(
    tmp_path: Path, changed: bool, fields: dict[str, Any]
) -> None:
    agent = an_agent(tmp_path, AgentType.MEMGPT_V2)
    assert agent.llm_config.put_inner_thoughts_in_kwargs
    if changed:
        config = changed_model(agent, UpdateAgent(model="openai/wide"), Offered()).config
        agent = agent.model_copy(update={"llm_config": config})
    in_conversation = chosen(agent, read_again(agent, **fields), Offered()).put_inner_thoughts_in_kwargs
    assert in_conversation is agent.llm_config.put_inner_thoughts_in_kwargs is not changed


def test_settings_that_are_read_and_written_back_change_no_limit(tmp_path: Path) -> None:
    agent = an_agent(tmp_path, model_settings=PLAIN)
    shown = shown_settings(agent.explicit_model_settings, agent.llm_config)
    assert shown.max_output_tokens == agent.llm_config.max_tokens == 16_384
    written = TypeAdapter(ModelSettings).validate_json(shown.model_dump_json()).model_copy(update={"temperature": 0.2})
    config = changed_model(agent, UpdateAgent(model_settings=written), Offered()).config
    assert (config.max_tokens, config.temperature) == (16_384, 0.2)


def test_a_limit_beside_the_settings_is_the_one_that_is_shown(tmp_path: Path) -> None:
    agent = an_agent(tmp_path, model_settings=PLAIN, max_tokens=9)
    assert shown_settings(agent.explicit_model_settings, agent.llm_config).max_output_tokens == 9
