"""The two faces of a model's configuration (Letta V1 API, API 4.12; RT 1.5 and 11.2)."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from hibernaut.domain.models.model_settings import (
    compaction_default,
    config_of_description,
    reasoning_defaults,
    settings_of,
    with_settings,
)
from hibernaut.schemas.agents.agent import AgentType
from hibernaut.schemas.models.llm_config import LLMConfig, ModelDescription
from hibernaut.schemas.models.model_settings import AnthropicSettings, AnthropicThinking, ModelSettings, OpenAISettings

READ: TypeAdapter[ModelSettings] = TypeAdapter(ModelSettings)
KINDS = sorted(
    [
        "openai",
        "sglang",
        "anthropic",
        "google_ai",
        "google_vertex",
        "azure",
        "xai",
        "groq",
        "deepseek",
        "together",
        "bedrock",
        "openrouter",
        "baseten",
        "moonshot",
        "moonshot_coding",
        "zai",
        "chatgpt_oauth",
        "hibernaut",
    ]
)


def config(kind: str = "openai", model: str = "gpt-4o-mini", **fields: Any) -> LLMConfig:
    return LLMConfig(model=model, model_endpoint_type=kind, context_window=32_000, **fields)


def test_a_bare_handle_shows_the_settings_that_the_sdk_expects() -> None:
    bare = reasoning_defaults(config(max_tokens=16384, parallel_tool_calls=None), AgentType.LETTA_V1)
    assert settings_of(bare).model_dump() == {
        "max_output_tokens": 16384,
        "parallel_tool_calls": True,
        "provider_type": "openai",
        "temperature": 1.0,
        "reasoning": {"reasoning_effort": "minimal"},
        "response_format": None,
        "strict": False,
    }


def test_explicit_settings_bring_their_class_defaults() -> None:
    changed = with_settings(config(max_tokens=16384), OpenAISettings())
    assert (changed.temperature, changed.reasoning_effort, changed.strict, changed.parallel_tool_calls) == (
        0.7,
        "high",
        True,
        True,
    )
    assert changed.max_tokens == 16384
    assert with_settings(config(max_tokens=16384), OpenAISettings(max_output_tokens=4096)).max_tokens == 4096


@pytest.mark.parametrize("kind", KINDS)
def test_settings_survive_the_way_into_the_configuration_and_back(kind: str) -> None:
    given = READ.validate_python(
        {"provider_type": kind, "temperature": 0.3, "max_output_tokens": 777, "parallel_tool_calls": False}
        | {"reasoning": {"reasoning_effort": "low"}, "strict": True, "thinking": {"type": "enabled", "budget_tokens": 2000}}
        | {"thinking_config": {"include_thoughts": False, "thinking_budget": 2000}, "tool_call_parser": "hermes"}
    )
    if kind == "zai":  # its thinking is stored with the explicit settings only
        given = given.model_copy(update={"thinking": None})
    assert settings_of(with_settings(config(kind), given)) == given


def test_an_unknown_endpoint_type_is_shown_in_openais_form() -> None:
    assert settings_of(config("ollama", "llama3")).provider_type == "openai"


def test_anthropic_settings_carry_thinking_both_ways() -> None:
    off = with_settings(config("anthropic", "claude-sonnet-4-5"), AnthropicSettings(thinking=AnthropicThinking(type="disabled")))
    assert off.enable_reasoner is False
    shown = settings_of(off)
    assert isinstance(shown, AnthropicSettings)
    assert shown.thinking.type == "disabled"


@pytest.mark.parametrize(
    ("model", "effort", "verbosity"),
    [
        ("gpt-5.2", "none", "medium"),
        ("gpt-5-mini", "minimal", "medium"),
        ("gpt-5-codex", "medium", "medium"),
        ("o3", "medium", None),
    ],
)
def test_openais_reasoning_models_always_reason(model: str, effort: str, verbosity: str | None) -> None:
    made = reasoning_defaults(config("openai", model, enable_reasoner=False), AgentType.LETTA_V1)
    assert (made.enable_reasoner, made.reasoning_effort, made.verbosity) == (True, effort, verbosity)


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-5-chat-latest"])
def test_a_model_that_cannot_reason_is_not_asked_to(model: str) -> None:
    made = reasoning_defaults(config("openai", model, put_inner_thoughts_in_kwargs=True), AgentType.LETTA_V1)
    assert (made.enable_reasoner, made.reasoning_effort, made.put_inner_thoughts_in_kwargs) == (False, None, False)


def test_anthropics_thinking_follows_the_toggle() -> None:
    on = reasoning_defaults(config("anthropic", "claude-sonnet-4-6"), AgentType.LETTA_V1)
    assert (on.enable_reasoner, on.max_reasoning_tokens, on.effort) == (True, 1024, "medium")
    off = reasoning_defaults(config("anthropic", "claude-sonnet-4-6", enable_reasoner=False), AgentType.LETTA_V1)
    assert (off.enable_reasoner, off.max_reasoning_tokens) == (False, 0)
    old = reasoning_defaults(config("anthropic", "claude-3-5-haiku-20241022"), AgentType.LETTA_V1)
    assert old.enable_reasoner is False


def test_gemini_pro_cannot_be_told_not_to_think() -> None:
    made = reasoning_defaults(config("google_ai", "gemini-2.5-pro", enable_reasoner=False), AgentType.LETTA_V1)
    assert (made.enable_reasoner, made.max_reasoning_tokens) == (True, 1024)
    assert reasoning_defaults(config("google_ai", "gemini-2.0-flash"), AgentType.LETTA_V1).enable_reasoner is False


def test_an_older_agent_type_asks_for_thoughts_as_an_argument_where_the_model_has_none() -> None:
    asked = reasoning_defaults(config("openai", "gpt-4o"), AgentType.MEMGPT_V2)
    assert (asked.put_inner_thoughts_in_kwargs, asked.enable_reasoner) == (True, False)
    not_asked = reasoning_defaults(config("openai", "gpt-4o", enable_reasoner=False), AgentType.MEMGPT_V2)
    assert not_asked.put_inner_thoughts_in_kwargs is False
    native = reasoning_defaults(config("openai", "gpt-5-mini"), AgentType.MEMGPT_V2)
    assert (native.put_inner_thoughts_in_kwargs, native.enable_reasoner) == (False, True)


def test_a_listed_model_becomes_a_configuration() -> None:
    listed = ModelDescription(
        **config(max_tokens=5).model_dump(), name="gpt-4o-mini", provider_type="openai", max_context_window=128_000
    )
    assert config_of_description(listed) == config(max_tokens=5)


def test_the_summary_is_written_by_the_providers_cheap_model() -> None:
    assert compaction_default("anthropic", "anthropic/claude-opus-4-6") == "anthropic/claude-haiku-4-5"
    assert compaction_default("hibernaut", "hibernaut/demo") == "hibernaut/demo"
