"""A model's configuration has two forms: `LLMConfig` is stored, `ModelSettings` is the form of the newer API (Letta V1 API,
API 4.12).

Knows the mapping between the forms and which models can reason; does not know which models exist.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, assert_never

from hibernaut.schemas.agents.agent import AgentType
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.models.llm_config import LLMConfig, ModelDescription
from hibernaut.schemas.models.model_settings import (
    AnthropicSettings,
    AnthropicThinking,
    AzureSettings,
    BasetenSettings,
    BedrockSettings,
    ChatGPTReasoning,
    ChatGPTSettings,
    DeepseekSettings,
    GeminiThinking,
    GoogleAISettings,
    GoogleVertexSettings,
    GroqSettings,
    HibernautSettings,
    ModelSettings,
    MoonshotCodingSettings,
    MoonshotSettings,
    OpenAIReasoning,
    OpenAISettings,
    OpenRouterSettings,
    SGLangSettings,
    TogetherSettings,
    XAISettings,
    ZaiSettings,
)

if TYPE_CHECKING:
    from hibernaut.domain.models.anthropic_models import AnthropicTraits

SMALLEST_BUDGET = 1024
CHEAP_MODELS = {
    "anthropic": "anthropic/claude-haiku-4-5",
    "openai": "openai/gpt-5.4-mini",
    "google_ai": "google_ai/gemini-3.5-flash-lite",
}
"""Handles of summarisers by provider. V1's are gpt-5-mini, which OpenAI shuts down on 2026-12-11
(openai/types/shared/chat_model.py), and gemini-2.5-flash, whose requests Google routes to gemini-3.5-flash-lite from 2026-12-01
on (ai.google.dev/gemini-api/docs/deprecations).
"""

_OPENAI_REASONING = re.compile(r"^(o\d|gpt-(?:[5-9]|1\d)(?=$|[.-])(?!.*-chat))")
_GEMINI_REASONING = re.compile(r"gemini-(2\.5|[3-9])")
_GEMINI_FORCED = re.compile(r"gemini-(2\.5-pro|[3-9])")

_SWITCHED = frozenset({"zai", "openrouter", "baseten", "deepseek", "moonshot", "moonshot_coding", "minimax"})
"""Providers whose models reason by default and whose reasoning `enable_reasoner` switches off. V1 has the first three only, but
it sends nothing to the others, whose models therefore reason there too.
"""

_PLAIN = {
    kind.model_fields["provider_type"].default: kind
    for kind in (
        AzureSettings,
        XAISettings,
        GroqSettings,
        DeepseekSettings,
        TogetherSettings,
        BedrockSettings,
        OpenRouterSettings,
        MoonshotSettings,
        MoonshotCodingSettings,
        ZaiSettings,
    )
}


def is_openai_reasoning(model: str) -> bool:
    """Whether the model belongs to the o series, or is GPT-5 or later (except chat variants): it accepts an effort and no
    temperature.
    """
    return bool(_OPENAI_REASONING.match(model))


def config_of_description(description: ModelDescription) -> LLMConfig:
    """The configuration of an agent that uses a listed model."""
    return LLMConfig.model_validate(description.model_dump(include=set(LLMConfig.model_fields)))


def settings_of(config: LLMConfig) -> ModelSettings:
    """The settings that are equivalent to a configuration.

    A configuration without a value for parallel calls (null) counts as allowing them, as for an agent made from a bare handle
    (API 4.12, *Derived example*). An endpoint type without settings of its own is shown as OpenAI settings, because it uses
    that wire format.
    """
    temperature = 1.0 if config.temperature is None else config.temperature
    common: JsonObject = {"temperature": temperature, "parallel_tool_calls": config.parallel_tool_calls is not False}
    if config.max_tokens is not None:
        common["max_output_tokens"] = config.max_tokens
    budget = max(config.max_reasoning_tokens, SMALLEST_BUDGET)
    match config.model_endpoint_type:
        case "hibernaut":
            return HibernautSettings(**common)
        case "anthropic":
            return AnthropicSettings(
                **common,
                thinking=AnthropicThinking(type="enabled" if config.enable_reasoner else "disabled", budget_tokens=budget),
                response_format=config.response_format,
                verbosity=config.verbosity,
                effort=config.effort,
                strict=config.strict,
            )
        case "google_ai" | "google_vertex" as vendor:
            gemini = GoogleAISettings if vendor == "google_ai" else GoogleVertexSettings
            thinking = GeminiThinking(include_thoughts=config.enable_reasoner, thinking_budget=budget)
            return gemini(**common, thinking_config=thinking, response_schema=config.response_format)
        case "baseten":
            return BasetenSettings(**common)
        case "chatgpt_oauth":
            return ChatGPTSettings(**common, reasoning=ChatGPTReasoning(reasoning_effort=config.reasoning_effort or "medium"))
        case other if other in _PLAIN:
            return _PLAIN[other](**common, response_format=config.response_format)
        case other:
            reasoning = OpenAIReasoning(reasoning_effort=config.reasoning_effort or "minimal")
            further: JsonObject = {"reasoning": reasoning, "response_format": config.response_format, "strict": config.strict}
            if other == "sglang":
                return SGLangSettings(**common, **further, tool_call_parser=config.tool_call_parser)
            return OpenAISettings(**common, **further)


def shown_settings(explicit: ModelSettings | None, config: LLMConfig) -> ModelSettings:
    """The settings of an agent as clients see them: those that it was given, with the limit on the reply that applies. A client
    that writes them back changes nothing.
    """
    if explicit is None:
        return settings_of(config)
    return explicit if config.max_tokens is None else explicit.model_copy(update={"max_output_tokens": config.max_tokens})


def with_settings(config: LLMConfig, settings: ModelSettings) -> LLMConfig:
    """The configuration with the caller's settings applied. An omitted setting gets its class's default (API 4.12, *Explicit
    settings*), except `max_output_tokens`, for which the model's limit remains (RT 1.5).
    """
    changes: JsonObject = {"temperature": settings.temperature, "parallel_tool_calls": settings.parallel_tool_calls}
    if "max_output_tokens" in settings.model_fields_set:
        changes["max_tokens"] = settings.max_output_tokens
    return config.model_copy(update=changes | _distinct(settings))


def _distinct(settings: ModelSettings) -> JsonObject:
    match settings:
        case OpenAISettings() | SGLangSettings():
            changes = {
                "reasoning_effort": settings.reasoning.reasoning_effort,
                "response_format": settings.response_format,
                "strict": settings.strict,
            }
            return changes | ({"tool_call_parser": settings.tool_call_parser} if settings.provider_type == "sglang" else {})
        case AnthropicSettings():
            return {
                "enable_reasoner": settings.thinking.type == "enabled",
                "max_reasoning_tokens": settings.thinking.budget_tokens,
                "response_format": settings.response_format,
                "verbosity": settings.verbosity,
                "effort": settings.effort,
                "strict": settings.strict,
            }
        case GoogleAISettings() | GoogleVertexSettings():
            return {
                "enable_reasoner": settings.thinking_config.include_thoughts,
                "max_reasoning_tokens": settings.thinking_config.thinking_budget,
                "response_format": settings.response_schema,
            }
        case ChatGPTSettings():
            return {"reasoning_effort": settings.reasoning.reasoning_effort}
        case BasetenSettings() | HibernautSettings():
            return {}
        case (
            AzureSettings()
            | XAISettings()
            | GroqSettings()
            | DeepseekSettings()
            | TogetherSettings()
            | BedrockSettings()
            | OpenRouterSettings()
            | MoonshotSettings()
            | MoonshotCodingSettings()
            | ZaiSettings()
        ):
            return {"response_format": settings.response_format}
        case _:
            assert_never(settings)


def reasoning_defaults(config: LLMConfig, agent_type: AgentType, *, simulated: bool = True) -> LLMConfig:
    """The configuration with reasoning adapted to the model (RT 1.5, *Reasoning normalisation*).

    `enable_reasoner` is the caller's choice. Only `letta_v1_agent` uses native reasoning by the rules below. For the other types,
    a model without native reasoning writes its thoughts as an argument of each call (`put_inner_thoughts_in_kwargs`) if
    `simulated` is set: for a new agent, and for a change of model only if the request contains `reasoning`.
    """
    native = _has_reasoning(config)
    if agent_type is not AgentType.LETTA_V1:
        if simulated and config.enable_reasoner and not native:
            return _without_reasoning(config).model_copy(update={"put_inner_thoughts_in_kwargs": True})
        return _with_native(config, native=native)
    return _with_native(config.model_copy(update={"put_inner_thoughts_in_kwargs": False}), native=native)


def standing_in(config: LLMConfig, own: LLMConfig, agent_type: AgentType) -> LLMConfig:
    """The configuration of a fallback model, with the output form of the agent's own configuration."""
    wishes: JsonObject = {
        "enable_reasoner": own.enable_reasoner,
        "parallel_tool_calls": own.parallel_tool_calls,
        "response_format": own.response_format,
    }
    return reasoning_defaults(config.model_copy(update=wishes), agent_type)


def _with_native(config: LLMConfig, *, native: bool) -> LLMConfig:
    match config.model_endpoint_type:
        case "openai" if native:
            changes: JsonObject = {"enable_reasoner": True}
            changes["reasoning_effort"] = config.reasoning_effort or _openai_effort(config.model)
            if config.model.startswith("gpt-"):
                changes["verbosity"] = config.verbosity or "medium"
            return config.model_copy(update=changes)
        case "google_ai" | "google_vertex" if _GEMINI_FORCED.search(config.model):
            return _with_budget(config.model_copy(update={"enable_reasoner": True}))
        case _ if native and config.enable_reasoner:
            from hibernaut.domain.models.anthropic_models import (
                traits_of,
            )  # at its first use: the table of Claude's models takes milliseconds

            return _with_budget(config.model_copy(update={"effort": config.effort or traits_of(config.model).usual_effort}))
        case _:
            return _without_reasoning(config)


def _claude(model: str) -> AnthropicTraits:
    """What a model of Claude takes. The table is imported at its first use: it takes milliseconds, and other models need none."""
    from hibernaut.domain.models.anthropic_models import traits_of

    return traits_of(model)


def _with_budget(config: LLMConfig) -> LLMConfig:
    return config.model_copy(update={"max_reasoning_tokens": max(config.max_reasoning_tokens, SMALLEST_BUDGET)})


def _without_reasoning(config: LLMConfig) -> LLMConfig:
    return config.model_copy(update={"enable_reasoner": False, "max_reasoning_tokens": 0})


def _has_reasoning(config: LLMConfig) -> bool:
    match config.model_endpoint_type:
        case "openai":
            return is_openai_reasoning(config.model)
        case "anthropic" | "bedrock":
            return _claude(config.model).reasons
        case "google_ai" | "google_vertex":
            return bool(_GEMINI_REASONING.search(config.model))
        case kind:
            return kind in _SWITCHED


def _openai_effort(model: str) -> Literal["none", "minimal", "low", "medium"]:
    """The least effort of the general models, as V1 has it for those of its time; medium for Codex and the o series.

    GPT-5.1 put `none` in the place of `minimal` (openai-agents-python#2089). Of GPT-6, some models take no `none`
    (BerriAI/litellm-docs#1173).
    """
    if not model.startswith("gpt-") or "codex" in model:
        return "medium"
    if re.match(r"gpt-5(-|$)", model):
        return "minimal"
    return "none" if model.startswith("gpt-5.") else "low"


def compaction_default(provider: str, handle: str) -> str:
    """The handle of the summariser for an agent with this handle: its provider's cheap model, else its own (RT 1.5)."""
    return CHEAP_MODELS.get(provider, handle)
