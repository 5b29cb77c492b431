"""Windows of servers that cut a longer prompt without an error: an agent's window must not be larger, and its overview says so.

Ollama is such a server (`adapters/model/openai/ollama_list`). Others refuse a prompt that is too long, which leads to a
compaction.
"""

from __future__ import annotations

from hibernaut.ports.model import Models
from hibernaut.schemas.models.llm_config import LLMConfig, ModelDescription

CUTS = frozenset({"ollama"})
"""Endpoint types of these servers."""
_ADVICE = "Set OLLAMA_CONTEXT_LENGTH for Ollama, or num_ctx in the model's Modelfile, and load the model"


def served_model(config: LLMConfig, models: Models) -> ModelDescription | None:
    """The model as its server serves it now, if the server cuts longer prompts; None for other servers, and while it lists
    nothing.
    """
    if config.model_endpoint_type not in CUTS:
        return None
    rows = (row for row in models.list() if row.model_endpoint_type in CUTS and row.model == config.model)
    return next((row for row in rows if config.handle in (row.handle, None)), None)


def within_server(config: LLMConfig, models: Models) -> LLMConfig:
    """The configuration with a window that its server does not cut, as far as the server tells it."""
    served = served_model(config, models)
    if served is None or served.context_window_assumed or config.context_window <= served.max_context_window:
        return config
    return config.model_copy(update={"context_window": served.max_context_window})


def window_note(config: LLMConfig, models: Models) -> str | None:
    """What limits the model's window, and what to do; None: nothing is known to limit it."""
    served = served_model(config, models)
    if served is None:
        return None
    window, trained = served.max_context_window, served.trained_context_window
    if served.context_window_assumed:
        return (
            f"The server tells a model's window only while it has loaded the model. It may read only {window} tokens of a prompt and cut a longer "
            f"one without an error; the agent's window is {config.context_window} tokens. {_ADVICE}; then set the agent's context_window_limit."
        )
    if config.context_window > window:
        return (
            f"The server reads only {window} tokens of a prompt and cuts a longer one without an error, and the agent's window is "
            f"{config.context_window} tokens. {_ADVICE}; or set the agent's context_window_limit to {window}."
        )
    if trained is not None and window < trained:
        return (
            f"The server reads {window} of the {trained} tokens that the model was trained for. {_ADVICE}; then raise the agent's "
            "context_window_limit."
        )
    return None
