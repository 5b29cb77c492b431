"""Agents through the SDK (Letta V1 API, API 1.4, 2.2, 3 and 4)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from letta_client import (
    APIStatusError,
    AsyncLetta,
    BadRequestError,
    ConflictError,
    Letta,
    NotFoundError,
    UnprocessableEntityError,
)

from hibernaut.domain.models.model_settings import CHEAP_MODELS
from hibernaut.schemas.agents.agent import CreateAgentRequest
from tests.compat.conftest import HANDLE, Said, Served

MISSING = "00000000-0000-4000-8000-000000000000"
NewAgent = Callable[..., Any]

# Every field of the request but those that exclude each other, with what the reply shows for it.
FIELDS: dict[str, Any] = {
    "name": "Every Field",
    "agent_type": "letta_v1_agent",
    "system": "You are complete.",
    "description": "all of it",
    "metadata": {"deep": {"er": [1, None]}},
    "tags": ["one", "two"],
    "tool_rules": [{"type": "exit_loop", "tool_name": "memory_insert", "prompt_template": None}],
    "timezone": "Europe/Berlin",
    "message_buffer_autoclear": True,
    "enable_sleeptime": True,
    "hidden": True,
    "max_files_open": 3,
    "per_file_view_window_char_limit": 777,
    "project_id": "project-1",
    "template_id": "template-1",
    "base_template_id": "base-1",
    "identity_ids": [],
    "response_format": {"type": "json_object"},
    "approval_deadline": 3_600,
    "fallback_models": [{"model": "hibernaut/demo", "on": ["llm_timeout"]}],
}
TAKEN_IN = {
    "context_window_limit": 9_000,
    "max_tokens": 321,
    "embedding_chunk_size": 150,
    "parallel_tool_calls": True,
    "secrets": {"KEY": "value"},
    "memory_blocks": [{"label": "human", "value": "Ann"}],
    "compaction_settings": {"clip_chars": 99},
    "model_settings": {"provider_type": "openai", "temperature": 0.3},
    "initial_message_sequence": [{"role": "user", "content": "hello"}],
    "tools": ["archival_memory_insert"],
    "include_base_tool_rules": False,
    "include_multi_agent_tools": False,
    "include_default_source": False,
    "enable_reasoner": False,
    "reasoning": False,
    "max_reasoning_tokens": 0,
    "from_template": None,
    "template": False,
    "project": None,
    "memory_variables": {"a": "b"},
}


@pytest.mark.manifest("agents.create", "agents.retrieve")
def test_an_agent_is_made_and_read(client: Letta, new_agent: NewAgent) -> None:
    made = new_agent(name="Rex", memory_blocks=[{"label": "human", "value": "Ann"}, {"label": "persona", "value": "dog"}])
    read = client.agents.retrieve(made.id, include=["agent.blocks", "agent.tools", "agent.tags"])
    assert (read.name, read.agent_type, read.model) == ("Rex", "letta_v1_agent", "openai/test-model")
    assert [block.label for block in read.memory.blocks] == ["human", "persona"]
    assert all(block.description and block.limit == 100_000 for block in read.blocks)
    assert read.created_at == made.created_at
    with pytest.raises(NotFoundError, match=f"Agent with ID agent-{MISSING} not found"):
        client.agents.retrieve(f"agent-{MISSING}")
    with pytest.raises(UnprocessableEntityError) as malformed:
        client.agents.retrieve("agent-1")
    assert isinstance(malformed.value.body, dict)
    assert malformed.value.body["examples"] == ["agent-123e4567-e89b-42d3-8456-426614174000"]


@pytest.mark.manifest("agents.create.fields")
@pytest.mark.deployed
def test_every_field_of_the_request_is_stored_and_shown(http: httpx.Client) -> None:
    body = {"model": "openai/test-model", "embedding": "hibernaut/minilm", **FIELDS, **TAKEN_IN}
    exclusive = {"tool_ids", "source_ids", "folder_ids", "block_ids", "llm_config", "embedding_config"}
    deprecated = {"tool_exec_environment_variables", "include_base_tools"}
    assert set(CreateAgentRequest.model_fields) - exclusive - deprecated == set(body)
    state = http.post("/v1/agents/", json=body).json()
    assert {name: state[name] for name in FIELDS} == FIELDS
    assert (state["llm_config"]["context_window"], state["llm_config"]["max_tokens"]) == (9_000, 321)
    assert state["model_settings"]["temperature"] == state["llm_config"]["temperature"] == 0.3
    assert (state["embedding"], state["embedding_config"]["embedding_chunk_size"]) == ("hibernaut/minilm", 150)
    assert state["compaction_settings"]["clip_chars"] == 99
    assert [(one["key"], one["value"]) for one in state["secrets"]] == [("KEY", None)]
    assert state["secrets"] == state["tool_exec_environment_variables"]
    assert state["blocks"] == state["memory"]["blocks"]
    assert "archival_memory_insert" in [tool["name"] for tool in state["tools"]]
    assert len(state["message_ids"]) == 2
    assert http.get(f"/v1/agents/{state['id']}").json() == state


@pytest.mark.manifest("agents.create.configs")
def test_whole_configurations_are_taken_instead_of_handles(http: httpx.Client) -> None:
    llm = {"model": "m", "model_endpoint_type": "openai", "context_window": 5_000, "handle": "openai/m"}
    embedding = {"embedding_endpoint_type": "openai", "embedding_model": "e", "embedding_dim": 3}
    state = http.post("/v1/agents/", json={"llm_config": llm, "embedding_config": embedding}).json()
    assert {name: state["llm_config"][name] for name in llm} == llm
    assert {name: state["embedding_config"][name] for name in embedding} == embedding
    assert state["model"] == "openai/m"


@pytest.mark.manifest("agents.create.base_tools", "agents.create.rules")
@pytest.mark.parametrize(
    ("agent_type", "tools", "rules"),
    [
        ("letta_v1_agent", ["conversation_search", "memory_replace", "memory_insert"], 0),
        ("memgpt_v2_agent", ["send_message", "conversation_search", "memory_replace", "memory_insert"], 4),
        ("sleeptime_agent", ["memory_replace", "memory_insert", "memory_rethink", "memory_finish_edits"], 4),
        ("react_agent", [], 0),
        ("workflow_agent", [], 0),
    ],
)
def test_each_type_starts_with_its_tools_and_rules(new_agent: NewAgent, agent_type: str, tools: list[str], rules: int) -> None:
    agent = new_agent(agent_type=agent_type)
    assert [tool.name for tool in agent.tools] == tools
    assert len(agent.tool_rules) == rules
    assert [tool.name for tool in new_agent(agent_type=agent_type, include_base_tools=False).tools] == []


@pytest.mark.manifest("agents.create.first_messages")
def test_a_legacy_agent_starts_with_an_opening_unless_it_is_given_one(client: Letta, new_agent: NewAgent) -> None:
    booted = new_agent(agent_type="memgpt_agent")
    kinds = [message.message_type for message in client.agents.messages.list(booted.id, order="asc")]
    assert kinds == ["system_message", "reasoning_message", "assistant_message", "user_message"]
    assert len(new_agent(agent_type="memgpt_agent", initial_message_sequence=[]).message_ids) == 1
    assert len(new_agent(initial_message_sequence=[{"role": "user", "content": "hi"}]).message_ids) == 2


@pytest.mark.manifest("agents.create.bad_name", "agents.create.model_errors", "agents.create.unknown_parts")
def test_what_an_agent_cannot_be_made_of_is_named(client: Letta, new_agent: NewAgent) -> None:
    before = client.get("/v1/agents/count", cast_to=int)
    refused: list[tuple[type[APIStatusError], str, dict[str, Any]]] = [
        (BadRequestError, "invalid characters", {"name": "a/b"}),
        (BadRequestError, "provider/model-name", {"model": "noslash"}),
        (NotFoundError, "openai/test-model", {"model": "openai/unknown"}),
        (NotFoundError, "hibernaut/minilm", {"embedding": "hibernaut/unknown"}),
        (BadRequestError, "no_such_tool", {"tools": ["no_such_tool"]}),
        (NotFoundError, "not found", {"tool_ids": [f"tool-{MISSING}"]}),
        (NotFoundError, "not found", {"block_ids": [f"block-{MISSING}"]}),
        (NotFoundError, "not found", {"block_ids": ["x" * 5_000]}),
        (NotFoundError, "not found", {"tool_ids": [""]}),
        (BadRequestError, "xxx", {"tools": ["x" * 5_000]}),
        (NotFoundError, "not found", {"folder_ids": [f"source-{MISSING}"]}),
        (ConflictError, "human", {"memory_blocks": [{"label": "human", "value": ""}, {"label": "human", "value": ""}]}),
        (UnprocessableEntityError, "agent_type", {"agent_type": "odd"}),
    ]
    for error, text, fields in refused:
        with pytest.raises(error, match=text):
            new_agent(**fields)
    assert client.get("/v1/agents/count", cast_to=int) == before


@pytest.mark.manifest("agents.create.defaults")
def test_without_any_field_an_agent_has_a_name_and_the_default_model(client: Letta, http: httpx.Client) -> None:
    agent = client.agents.create()
    assert agent.name.isalpha()
    assert agent.embedding == "hibernaut/minilm"
    assert (agent.timezone, agent.metadata, agent.enable_sleeptime, agent.hidden) == ("UTC", None, None, None)
    assert agent.compaction_settings is not None
    assert agent.compaction_settings.mode == "sliding_window"
    assert agent.compaction_settings.model == agent.model
    project = http.post("/v1/agents", json={}, headers={"x-project-id": "project-7"}).json()
    assert project["project_id"] == "project-7"


@pytest.mark.manifest("agents.create.summarizer")
def test_an_agent_is_summarized_by_a_small_model_of_its_provider(new_agent: NewAgent) -> None:
    settings = {"model": "openai/gpt-9", "clip_chars": 9}
    assert new_agent(model=HANDLE).compaction_settings.model == CHEAP_MODELS["openai"]
    chosen = new_agent(model=HANDLE, compaction_settings=settings).compaction_settings
    assert (chosen.model, chosen.clip_chars) == ("openai/gpt-9", 9)


@pytest.mark.manifest("agents.secrets")
@pytest.mark.deployed
def test_the_values_of_secrets_are_shown_to_who_asks_for_them(client: Letta, http: httpx.Client, new_agent: NewAgent) -> None:
    agent = new_agent(secrets={"K": "v-planted"})
    asked = client.agents.retrieve(agent.id, include=["agent.secrets"])
    assert [(one.key, one.value) for one in asked.secrets or []] == [("K", "v-planted")]
    path = f"/v1/agents/{agent.id}"
    plain = [http.get(path), http.get("/v1/agents/"), http.patch(path, json={"description": "d"}), http.get(f"{path}/context")]
    assert not any("v-planted" in answer.text for answer in plain)
    assert [one["key"] for one in plain[0].json()["secrets"]] == ["K"]


@pytest.mark.manifest("agents.include")
def test_a_1_0_client_sees_only_the_relations_it_asks_for(client: Letta, http: httpx.Client, new_agent: NewAgent) -> None:
    agent = new_agent(tags=["seen"], secrets={"K": "v"})
    bare = client.agents.retrieve(agent.id)
    assert (bare.tools, bare.blocks, bare.memory.blocks, bare.tags, bare.secrets) == ([], [], [], [], [])
    assert bare.message_ids == agent.message_ids
    some = client.agents.retrieve(agent.id, include=["agent.tags", "agent.secrets"])
    assert (some.tags, [one.key for one in some.secrets or []], some.tools) == (["seen"], ["K"], [])
    whole = http.get(f"/v1/agents/{agent.id}").json()
    assert (len(whole["tools"]), len(whole["memory"]["blocks"]), whole["tags"]) == (3, 1, ["seen"])
    chosen = http.get(f"/v1/agents/{agent.id}", params={"include_relationships": ["memory"]}).json()
    assert (len(chosen["blocks"]), chosen["tools"], chosen["tags"]) == (1, [], ["seen"])
    blocks = client.agents.retrieve(agent.id, include=["agent.blocks"])
    assert (len(blocks.blocks), blocks.tools, blocks.tags) == (1, [], ["seen"]), "the tags come with the blocks"
    assert {"created_by_id", "last_updated_by_id"} <= whole["secrets"][0].keys()
    listed = http.get("/v1/agents/", params={"name": agent.name}).json()
    assert len(listed[0]["tools"]) == 3


@pytest.mark.manifest("agents.include.written_back")
def test_a_client_that_writes_back_what_it_reads_sees_all_relations_of_an_agent(client: Letta, new_agent: NewAgent) -> None:
    agent = new_agent(tags=["seen"])
    source = {"X-Letta-Source": "letta-code"}
    read = client.agents.retrieve(agent.id, extra_headers=source)
    assert ([tool.id for tool in read.tools], read.tags) == ([tool.id for tool in agent.tools], ["seen"])
    (listed,) = client.agents.list(name=agent.name, extra_headers=source).items
    assert (listed.tools, listed.tags) == ([], [])


@pytest.mark.manifest("agents.update", "agents.update.hidden", "agents.update.nulls")
def test_an_update_applies_what_is_not_null(client: Letta, new_agent: NewAgent) -> None:
    agent = new_agent(description="old", tags=["a"], secrets={"A": "1"})
    after = client.agents.update(agent.id, name="New name", description=None, tags=["b"], hidden=True, secrets={"B": "2"})
    assert (after.name, after.description, after.tags, after.hidden) == ("New name", "old", ["b"], True)
    assert [(one.key, one.value) for one in after.secrets or []] == [("B", None)]
    assert len(after.tools) == 3
    assert agent.id not in [one.id for one in client.agents.list(name="New name")]
    with pytest.raises(BadRequestError):
        client.agents.update(agent.id, name="a/b")
    with pytest.raises(NotFoundError):
        client.agents.update(f"agent-{MISSING}", name="x")


@pytest.mark.manifest("agents.update.model")
def test_model_fields_are_folded_into_the_configuration(client: Letta, new_agent: NewAgent) -> None:
    agent = new_agent()
    after = client.agents.update(
        agent.id, context_window_limit=7_000, model_settings={"provider_type": "openai", "temperature": 0.1}
    )
    assert (after.llm_config.context_window, after.llm_config.temperature) == (7_000, 0.1)
    moved = client.agents.update(agent.id, model="hibernaut/demo")
    assert (moved.model, moved.llm_config.context_window) == ("hibernaut/demo", 128_000)
    with pytest.raises(NotFoundError):
        client.agents.update(agent.id, model="openai/unknown")


@pytest.mark.manifest("agents.update.message_ids")
def test_the_messages_in_context_can_be_set(client: Letta, new_agent: NewAgent) -> None:
    agent = new_agent(initial_message_sequence=[{"role": "user", "content": f"{n}"} for n in range(3)])
    kept = [agent.message_ids[0], agent.message_ids[2]]
    after = client.agents.update(agent.id, extra_body={"message_ids": kept})
    assert after.message_ids == kept
    with pytest.raises(NotFoundError):
        client.agents.update(agent.id, extra_body={"message_ids": [kept[0], f"message-{MISSING}"]})
    with pytest.raises(BadRequestError):
        client.agents.update(agent.id, extra_body={"message_ids": [kept[1]]})
    with pytest.raises(NotFoundError):
        client.agents.update(agent.id, extra_body={"message_ids": [kept[0], "x" * 1_000]})


@pytest.mark.manifest("agents.delete")
@pytest.mark.deployed
def test_a_deleted_agent_is_gone_and_its_blocks_stay(client: Letta, new_agent: NewAgent) -> None:
    agent = new_agent(memory_blocks=[{"label": "human", "value": "Ann"}])
    client.agents.messages.create(agent.id, input="hi")
    assert client.agents.delete(agent.id) == {"message": f"Agent id={agent.id} successfully deleted"}
    assert client.blocks.retrieve(agent.blocks[0].id).value == "Ann"
    for gone in (client.agents.retrieve, client.agents.delete, client.agents.messages.list):
        with pytest.raises(NotFoundError):
            gone(agent.id)


@pytest.mark.manifest("agents.recompile", "agents.recompile.old")
@pytest.mark.deployed
def test_the_system_prompt_is_recompiled_on_demand(client: Letta, http: httpx.Client, new_agent: NewAgent) -> None:
    agent = new_agent()

    def stored() -> str:
        return str(client.agents.messages.list(agent.id).items[0].content)

    client.blocks.update(agent.blocks[0].id, value="Ann")
    # The body is a JSON text, which the SDK hands over as it came.
    text = json.loads(client.agents.recompile(agent.id, dry_run=True))
    assert "Ann" in text
    assert "Ann" not in stored()
    assert json.loads(client.agents.recompile(agent.id)) == text == stored()
    assert http.post(f"/v1/agents/{agent.id}/system-prompt/recompile").json() == text


@pytest.mark.manifest("agents.reset")
@pytest.mark.deployed
def test_a_reset_begins_anew_and_forgets_nothing(client: Letta, new_agent: NewAgent) -> None:
    agent = new_agent(agent_type="memgpt_agent")
    after = client.agents.messages.reset(agent.id)
    assert after is not None
    assert len(after.message_ids or []) == 1
    assert after.message_ids != agent.message_ids[:1]
    rows = {message.id for message in client.agents.messages.list(agent.id)}
    old_system, spoken, _, login = agent.message_ids
    assert {spoken, login, *(after.message_ids or [])} <= rows
    assert old_system not in rows
    opened = client.agents.messages.reset(agent.id, add_default_initial_messages=True)
    assert opened is not None
    assert len(opened.message_ids or []) == 4


@pytest.mark.manifest("agents.context")
@pytest.mark.deployed
def test_the_context_window_is_measured(http: httpx.Client, new_agent: NewAgent) -> None:
    agent = new_agent(memory_blocks=[{"label": "human", "value": "Ann"}])
    view = http.get(f"/v1/agents/{agent.id}/context").json()
    assert view["context_window_size_current"] == sum(size for name, size in view.items() if name.startswith("num_tokens"))
    assert (view["num_messages"], view["messages"][0]["role"]) == (1, "system")
    assert "Ann" in view["core_memory"]
    assert len(view["functions_definitions"]) == 3


@pytest.mark.manifest("agents.count", "agents.list.hidden")
def test_hidden_agents_are_counted_and_listed_where_they_are_asked_for(http: httpx.Client, new_agent: NewAgent) -> None:
    marked = {"tags": ["counted here"]}
    new_agent(**marked)
    hidden = new_agent(**marked, hidden=True)
    for shown, expected in ({}, 1), ({"show_hidden_agents": True}, 2):
        query = {"tags": "counted here", **shown}
        assert http.get("/v1/agents/count", params=query).json() == expected
        assert len(http.get("/v1/agents/", params=query).json()) == expected
    every = http.get("/v1/agents/count", params={"show_hidden_agents": True}).json()
    assert every > http.get("/v1/agents/count").json()
    assert hidden.id not in http.get("/v1/agents/").text


@pytest.mark.manifest("agents.core_memory", "agents.count")
def test_core_memory_and_the_count_have_routes_of_their_own(http: httpx.Client, new_agent: NewAgent) -> None:
    before = http.get("/v1/agents/count").json()
    agent = new_agent(memory_blocks=[{"label": "human", "value": "Ann"}])
    memory = http.get(f"/v1/agents/{agent.id}/core-memory").json()
    assert (memory["blocks"][0]["value"], memory["prompt_template"], memory["file_blocks"]) == ("Ann", "", [])
    assert http.get("/v1/agents/count").json() == before + 1


@pytest.mark.manifest("agents.create")
def test_the_asynchronous_sdk_does_the_same(served: Served) -> None:
    async def session() -> None:
        async with AsyncLetta(base_url=served.url, api_key=served.key, max_retries=0) as client:
            agent = await client.agents.create(name="Async")
            assert (await client.agents.retrieve(agent.id)).name == "Async"
            assert [one.id async for one in client.agents.list(name="Async")] == [agent.id]
            await client.agents.delete(agent.id)

    asyncio.run(session())


@pytest.mark.manifest("agents.create.sequence")
def test_a_given_system_message_is_in_the_window_like_every_other(client: Letta, new_agent: NewAgent, said: Said) -> None:
    given = [{"role": "system", "content": "The shop is closed."}, {"role": "user", "content": "Hello."}]
    agent = new_agent(model=HANDLE, initial_message_sequence=given)
    rows = client.agents.messages.list(agent.id, order="asc").items
    assert [one.message_type for one in rows] == ["system_message", "system_message", "user_message"]
    assert agent.message_ids == [one.id for one in rows]
    said.next({"content": "Tomorrow."})
    client.agents.messages.create(agent.id, input="When does it open?")
    assert "The shop is closed." in str(said.server.requests[-1].body["messages"][1:])


@pytest.mark.manifest("agents.create.sequence", "agents.rules.once")
def test_given_words_of_the_assistant_are_its_text_and_equal_rules_are_stored_once(client: Letta, new_agent: NewAgent) -> None:
    given = [{"role": "assistant", "content": "Hello, Ann."}, {"role": "user", "content": "Hello."}]
    rule = {"type": "exit_loop", "tool_name": "memory_insert"}
    agent = new_agent(initial_message_sequence=given, tool_rules=[rule, rule])
    shown = client.agents.messages.list(agent.id).items
    assert [one.message_type for one in shown] == ["system_message", "assistant_message", "user_message"]
    assert [one.content for one in shown[1:]] == ["Hello, Ann.", "Hello."]
    kinds = [(one.type, one.tool_name) for one in agent.tool_rules or []]
    assert kinds.count(("exit_loop", "memory_insert")) == 1
    assert len(client.agents.update(agent.id, tool_rules=[rule, rule]).tool_rules or []) == 1
