"""A request's fields folded into one model configuration."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from hibernaut.domain.models.embedding_models import description, offered
from hibernaut.ports.model import Model
from hibernaut.schemas.agents.agent import CreateAgentRequest, UpdateAgent
from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.memory.folder import CreateFolder
from hibernaut.schemas.memory.passage import CreateArchive
from hibernaut.schemas.models.llm_config import EmbeddingConfig, EmbeddingModelDescription, LLMConfig, ModelDescription
from hibernaut.services.agents.agent_models import changed_model, chosen_compaction, chosen_model
from hibernaut.services.models.embedding_choice import chosen_embedding
from tests.support.house import House

CAPPED = {"model": "gpt-4o-mini", "model_endpoint_type": "openai", "context_window": 128_000, "max_tokens": 16_384}


class Offered:
    """A catalogue of two models, one with short replies, and of one embedding, which is the default."""

    def of(self, config: LLMConfig) -> Model:
        raise NotFound(config.model)

    def config(self, handle: str) -> LLMConfig:
        short = {"max_tokens": 100} if handle == "openai/short" else {}
        return LLMConfig.model_validate({**CAPPED, "handle": handle, **short})

    def __init__(self, embedding: str | None = None) -> None:
        self._embedding = embedding

    def list_embeddings(self) -> list[EmbeddingModelDescription]:
        return [description("hibernaut", "minilm", 384, kind="hibernaut", endpoint=None)] if self._embedding else []

    def embedding(self, handle: str) -> EmbeddingConfig:
        return offered(handle, self.list_embeddings())

    def list(self) -> list[ModelDescription]:
        return []

    def default_handle(self) -> str:
        return "openai/wide"

    def default_embedding_handle(self) -> str | None:
        return self._embedding

    def providers(self) -> Mapping[str, str]:
        return {}


def chosen(**fields: object) -> LLMConfig:
    return chosen_model(CreateAgentRequest.model_validate(fields), Offered()).config


def test_a_window_is_no_wider_than_128k_unless_it_is_asked_for() -> None:
    assert (chosen().handle, chosen().context_window) == ("openai/wide", 128_000)
    assert chosen(context_window_limit=900_000).context_window == 900_000
    assert chosen(context_window_limit=10).context_window == 10


def test_settings_are_folded_in_and_single_fields_win_over_them() -> None:
    settings = {"provider_type": "openai", "temperature": 0.2, "max_output_tokens": 7, "parallel_tool_calls": False}
    assert (chosen(model_settings=settings).temperature, chosen(model_settings=settings).max_tokens) == (0.2, 7)
    config = chosen(model_settings=settings, max_tokens=9, parallel_tool_calls=True, response_format={"type": "json_object"})
    assert (config.max_tokens, config.parallel_tool_calls) == (9, True)
    assert config.response_format is not None


def test_without_embeddings_an_agent_has_none_and_an_unknown_one_is_refused() -> None:
    assert chosen_embedding(CreateAgentRequest(), Offered()) is None
    with pytest.raises(NotFound, match="hibernaut/minilm"):
        chosen_embedding(CreateAgentRequest(embedding="hibernaut/minilm"), Offered())


@pytest.mark.parametrize("kind", [CreateAgentRequest, CreateArchive, CreateFolder])
def test_null_is_no_embedding_and_nothing_is_the_default(
    kind: type[CreateAgentRequest] | type[CreateArchive] | type[CreateFolder],
) -> None:
    offered = Offered("hibernaut/minilm")

    def embedding(**fields: object) -> EmbeddingConfig | None:
        return chosen_embedding(kind.model_validate({"name": "Ada", **fields}), offered)

    assert embedding() == embedding(embedding="hibernaut/minilm")
    assert embedding() is not None
    for said in ({"embedding": None}, {"embedding_config": None}, {"embedding": None, "embedding_config": None}):
        assert embedding(**said) is None
    assert embedding(embedding=None, embedding_config=embedding()) == embedding()


def test_thoughts_are_simulated_for_a_new_agent_and_not_for_a_changed_model(house: House) -> None:
    legacy = {"agent_type": "memgpt_agent", "include_base_tools": False}
    agent = house.agent(**legacy)
    made = chosen_model(CreateAgentRequest.model_validate(legacy), Offered()).config
    assert made.put_inner_thoughts_in_kwargs
    settings = {"provider_type": "openai", "temperature": 0.2}
    before = agent.model_copy(update={"llm_config": made})

    def changed(**fields: object) -> LLMConfig:
        return changed_model(before, UpdateAgent.model_validate(fields), Offered()).config

    assert not changed(model="openai/wide").put_inner_thoughts_in_kwargs
    assert not changed(model="openai/wide", model_settings=settings).put_inner_thoughts_in_kwargs
    assert changed(model="openai/wide", reasoning=True).put_inner_thoughts_in_kwargs
    assert changed(model_settings=settings).put_inner_thoughts_in_kwargs, "without a model its configuration stays"


def test_the_providers_cheap_model_summarises(house: House) -> None:
    assert chosen_compaction(None, chosen()).model == "openai/gpt-5.4-mini"
    assert house.agent().compaction_settings == chosen_compaction(None, house.agent().llm_config)


def test_a_new_model_keeps_a_limit_on_replies_as_far_as_it_can(house: House) -> None:
    agent = house.agent(max_tokens=500)
    moved = changed_model(agent, UpdateAgent(model="openai/wide"), Offered()).config
    assert (moved.handle, moved.max_tokens, moved.context_window) == ("openai/wide", 500, 128_000)
    assert changed_model(agent, UpdateAgent(model="openai/short"), Offered()).config.max_tokens == 100
    assert changed_model(agent, UpdateAgent(name="x"), Offered()).config is agent.llm_config


def test_settings_are_forgotten_when_something_else_changes_the_model(house: House) -> None:
    settings = {"provider_type": "hibernaut", "temperature": 0.2}
    agent = house.agent(model_settings=settings)
    assert agent.explicit_model_settings is not None
    assert changed_model(agent, UpdateAgent(name="x"), Offered()).settings == agent.explicit_model_settings
    for change in (UpdateAgent(max_tokens=3), UpdateAgent(reasoning=True), UpdateAgent(model="openai/wide")):
        assert changed_model(agent, change, Offered()).settings is None
