"""The model configuration of an agent, merged from the fields of a request (Letta V1 API, API 2.2 and 4.12).

Knows the catalogue of models by its port. Stores nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.domain.models.model_settings import compaction_default, reasoning_defaults, with_settings
from hibernaut.ports.model import Models
from hibernaut.schemas.agents.agent import AgentType, CreateAgentRequest, StoredAgent, UpdateAgent
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.models.fallback import ModelFallback
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.schemas.models.model_settings import CompactionSettings, ModelSettings
from hibernaut.services.agents.agent_states import handle_of
from hibernaut.services.models.served_windows import within_server


@immutable
class ModelChoice:
    """A model configuration, and the caller's explicit settings that it was merged from, if any."""

    config: LLMConfig
    settings: ModelSettings | None


def chosen_model(request: CreateAgentRequest, models: Models) -> ModelChoice:
    """The model of a new agent. Raises: InvalidArgument, NotFound (the handle)."""
    if request.llm_config is not None and request.model is None:
        base = request.llm_config
    else:
        base = models.config(request.model or models.default_handle())
    reasoning = request.enable_reasoner if request.reasoning is None else request.reasoning
    changes: JsonObject = {} if reasoning is None else {"enable_reasoner": reasoning}
    if request.max_reasoning_tokens is not None:
        changes["max_reasoning_tokens"] = request.max_reasoning_tokens
    return _within(_folded(base.model_copy(update=changes), request, request.agent_type), models)


def changed_model(agent: StoredAgent, request: UpdateAgent, models: Models) -> ModelChoice:
    """The model after an update. Fields that the request omits stay, but a new model brings its own context window.

    Raises: InvalidArgument, NotFound (the handle).
    """
    base = agent.llm_config if request.llm_config is None else request.llm_config
    if request.model is not None:
        base = _taken_over(models.config(request.model), agent.llm_config)
    if request.reasoning is not None:
        base = base.model_copy(update={"enable_reasoner": request.reasoning})
    if base is agent.llm_config and not _folds(request):
        return ModelChoice(base, agent.explicit_model_settings)
    return _within(_folded(base, request, agent.agent_type), models)


def _within(choice: ModelChoice, models: Models) -> ModelChoice:
    return ModelChoice(within_server(choice.config, models), choice.settings)


def checked_fallbacks(fallbacks: Sequence[ModelFallback] | None, models: Models) -> list[ModelFallback]:
    """The fallback models with full handles. Raises: InvalidArgument (a handle, or a model that is named twice), NotFound (the
    handle).
    """
    rows = [row.model_copy(update={"model": models.config(row.model).handle or row.model}) for row in fallbacks or ()]
    handles = [row.model for row in rows]
    if twice := next((handle for handle in handles if handles.count(handle) > 1), None):
        raise InvalidArgument(
            f"INVALID_ARGUMENT: fallback_models names {twice} more than once; each model can be called once only."
        )
    return rows


def _taken_over(new: LLMConfig, old: LLMConfig) -> LLMConfig:
    """The new configuration with the smaller of both limits on the reply, so that the limit survives a change of model."""
    limits = [limit for limit in (new.max_tokens, old.max_tokens) if limit is not None]
    return new.model_copy(update={"max_tokens": min(limits)}) if limits else new


def _folds(request: CreateAgentRequest | UpdateAgent) -> bool:
    settings = (
        request.model_settings,
        request.context_window_limit,
        request.max_tokens,
        request.response_format,
        request.parallel_tool_calls,
    )
    return any(value is not None for value in settings)


def _folded(base: LLMConfig, request: CreateAgentRequest | UpdateAgent, agent_type: AgentType) -> ModelChoice:
    config = with_settings(base, request.model_settings) if request.model_settings else base
    changes: JsonObject = {
        "context_window": request.context_window_limit,
        "max_tokens": request.max_tokens,
        "response_format": request.response_format,
        "parallel_tool_calls": request.parallel_tool_calls,
    }
    config = config.model_copy(update={name: value for name, value in changes.items() if value is not None})
    simulated = isinstance(request, CreateAgentRequest) or request.reasoning is not None
    return ModelChoice(reasoning_defaults(config, agent_type, simulated=simulated), request.model_settings)


def chosen_compaction(request: CompactionSettings | None, config: LLMConfig) -> CompactionSettings:
    """The settings of the request over the defaults; the default summarizer is the provider's cheap model."""
    settings = request or CompactionSettings()
    return settings if settings.model else settings.model_copy(update={"model": _summarizer(config)})


def changed_compaction(agent: StoredAgent, request: UpdateAgent, config: LLMConfig) -> CompactionSettings:
    """The agent's settings overridden by those of the request. A new provider resets a default model, a new mode resets the
    prompt.
    """
    settings = agent.compaction_settings or CompactionSettings()
    if settings.model in (None, _summarizer(agent.llm_config)):
        settings = settings.model_copy(update={"model": _summarizer(config)})
    requested = request.compaction_settings
    if requested is None:
        return settings
    changes = {name: getattr(requested, name) for name in requested.model_fields_set if getattr(requested, name) is not None}
    if changes.get("mode", settings.mode) != settings.mode:
        settings = settings.model_copy(update={"prompt": None})
    return settings.model_copy(update=changes)


def _summarizer(config: LLMConfig) -> str:
    handle = handle_of(config)
    if config.provider_category == "byok":
        return handle  # A cheap model of the same name might be the deployment's, which this key does not pay.
    return compaction_default(handle.partition("/")[0], handle)
