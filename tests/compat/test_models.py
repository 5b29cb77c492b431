"""The lists of models (API 2.13)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from letta_client import Letta

from tests.compat.conftest import HANDLE, Make, Said, serving_embedded
from tests.contracts.model.kit.bedrock import CLAUDES, ClaudeOnBedrockServer, variables
from tests.contracts.model.kit.plays import reply
from tests.support.ollama_server import ScriptedOllama
from tests.support.provider_servers import ScriptedOpenAI


@pytest.mark.manifest("models.list")
@pytest.mark.deployed
def test_all_models_are_listed_with_the_default_first(client: Letta) -> None:
    models = client.models.list()
    assert models[0].handle == "hibernaut/demo"
    assert HANDLE in [model.handle for model in models]
    scripted = next(model for model in models if model.handle == HANDLE)
    assert (scripted.name, scripted.provider_name, scripted.provider_type) == ("test-model", "openai", "openai")
    assert scripted.api_model_type == "llm"
    assert scripted.max_context_window > 0


@pytest.mark.manifest("models.list.filters")
def test_models_are_found_by_their_provider(client: Letta) -> None:
    assert [model.handle for model in client.models.list(provider_name="openai")] == [HANDLE]
    assert [model.handle for model in client.models.list(provider_type="hibernaut")] == ["hibernaut/demo"]
    assert client.models.list(provider_category=["byok"]) == []


@pytest.mark.manifest("models.list.limits")
def test_a_model_is_listed_with_the_window_that_its_provider_reports(tmp_path: Path) -> None:
    reported = [{"id": "wide", "context_length": 1_000_000}, {"id": "gpt-4.1-mini"}]
    with ScriptedOpenAI(models=reported) as wide, serving_embedded(tmp_path, wide) as server, Letta(base_url=server.url) as sdk:
        rows = {model.handle: model for model in sdk.models.list(provider_name="openai")}
        agents = [sdk.agents.create(model="openai/wide", **limit) for limit in ({}, {"context_window_limit": 500_000})]
    assert (rows["openai/wide"].context_window, rows["openai/wide"].max_context_window) == (1_000_000, 1_000_000)
    assert (rows["openai/gpt-4.1-mini"].context_window, rows["openai/gpt-4.1-mini"].max_tokens) == (1_000_000, 32_768)
    assert [agent.llm_config.context_window for agent in agents] == [128_000, 500_000]


@pytest.mark.manifest("models.ollama.window")
def test_an_agents_window_is_at_most_what_ollama_reads(tmp_path: Path) -> None:
    with ScriptedOllama() as ollama, ScriptedOpenAI() as other:
        ollama.shows, ollama.loaded = {"llama3.3": {"model_info": {"llama.context_length": 131_072}}}, {"llama3.3": 8192}
        with (
            serving_embedded(tmp_path, other, more={"OLLAMA_BASE_URL": ollama.address}) as server,
            Letta(base_url=server.url) as sdk,
        ):
            agent = sdk.agents.create(model="ollama/llama3.3", context_window_limit=100_000)
            smaller = sdk.agents.update(agent.id, context_window_limit=4000)
            wider = sdk.agents.update(agent.id, context_window_limit=100_000)
            context: Any = sdk.get(f"/v1/agents/{agent.id}/context", cast_to=object)
    assert [one.llm_config.context_window for one in (agent, smaller, wider)] == [8192, 4000, 8192]
    assert context["context_window_note"].startswith("The server reads 8192 of the 131072 tokens that the model was trained for.")


@pytest.mark.manifest("models.bedrock")
def test_an_agent_with_a_model_of_bedrock_replies_without_a_key(tmp_path: Path) -> None:
    handle = "bedrock/eu.anthropic.claude-sonnet-5"
    with (
        ScriptedOpenAI() as other,
        ClaudeOnBedrockServer(CLAUDES[1]) as bedrock,
        serving_embedded(tmp_path, other, more=variables(bedrock.address)) as server,
        Letta(base_url=server.url) as sdk,
    ):
        bedrock.plays(reply("Hello from Bedrock."))
        listed = {model.handle: model.provider_type for model in sdk.models.list(provider_name="bedrock")}
        agent = sdk.agents.create(model=handle)
        answer = sdk.agents.messages.create(agent.id, input="hi")
        settings = sdk.agents.retrieve(agent.id).model_settings
    assert listed[handle] == "bedrock"
    assert answer.messages[-1].content == "Hello from Bedrock."
    assert dict(settings or {})["provider_type"] == "bedrock"
    assert bedrock.broken == []


@pytest.mark.manifest("models.embedding")
def test_embedding_models_are_listed(client: Letta) -> None:
    first = client.models.embeddings.list()[0]
    assert first.handle == "hibernaut/minilm"
    assert first.embedding_dim == 384


@pytest.mark.manifest("models.embedding.types")
def test_an_endpoint_type_of_v1_that_embeds_nothing_leaves_search_by_words(client: Letta) -> None:
    config: Any = {"embedding_model": "m", "embedding_dim": 8, "embedding_endpoint": "http://127.0.0.1:9/v1"}
    for kind in ("pinecone", "anthropic"):
        archive = client.archives.create(name=kind, extra_body={"embedding_config": config | {"embedding_endpoint_type": kind}})
        client.archives.passages.create(archive.id, text=f"The key of {kind} hangs behind the clock.")
        found = client.passages.search(query="behind the clock", archive_id=archive.id)
        assert [row.passage.text for row in found] == [f"The key of {kind} hangs behind the clock."]


@pytest.mark.manifest("agents.update.model.fresh")
def test_a_changed_model_does_not_keep_the_old_ones_settings(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent(agent_type="memgpt_v2_agent")
    assert agent.llm_config.put_inner_thoughts_in_kwargs
    settings: Any = {"provider_type": "openai", "temperature": 0.1}
    after = client.agents.update(agent.id, model=agent.model, model_settings=settings)
    assert (after.llm_config.put_inner_thoughts_in_kwargs, after.llm_config.temperature) == (False, 0.1)
    said.next({"content": None, "tool_calls": [{"id": "call_1", "name": "send_message", "arguments": {"message": "Hi."}}]})
    reply = client.agents.messages.create(agent.id, input="Hello")
    assert [message.message_type for message in reply.messages] == ["assistant_message"]
