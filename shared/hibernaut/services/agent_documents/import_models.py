"""The models of imported agents: those of the file where this deployment has them, and its defaults where it has not.

An agent file names a model by its handle, in `llm_config.handle` or as provider and model. A handle that is known here keeps the
settings of the file; its address, provider and form of endpoint are this deployment's. Any other model is replaced by the default
model, and any other embedding by the default embedding. A note says so.
"""

from __future__ import annotations

from pydantic import ValidationError

from hibernaut.domain.agent_files.notes import ImportNotes
from hibernaut.ports.model import Models
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import InvalidArgument, NotFound
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.models.fallback import ModelFallback
from hibernaut.schemas.models.llm_config import EmbeddingConfig, LLMConfig
from hibernaut.services.models.served_windows import within_server

_OF_THE_DEPLOYMENT = (
    "model",
    "model_endpoint_type",
    "model_endpoint",
    "provider_name",
    "provider_category",
    "handle",
    "model_wrapper",
)
"""The fields that say where a model is reached."""


@immutable
class ImportModels:
    """Chooses models for the agents of one file. `model`, `embedding`: handles that replace all of the file."""

    models: Models
    notes: ImportNotes
    model: str | None
    embedding: str | None

    def llm_config(self, raw: JsonObject, place: str) -> LLMConfig:
        """The model of an agent. Raises: InvalidArgument, NotFound (the handle of the request)."""
        if self.model is not None:
            return self.models.config(self.model)
        raw_config = raw.get("llm_config")
        fields = {name: one for name, one in raw_config.items() if one is not None} if isinstance(raw_config, dict) else {}
        handle = _text(raw.get("model")) or _handle(fields, "model", "model_endpoint_type")
        served = self._served_config(handle)
        if served is None:
            served = self.models.config(self.models.default_handle())
            text = f"The model {handle or '(none)'} is not served here; the agent has {served.handle}."
            self.notes.add("replaced", "model", place, text)
            fields = {name: one for name, one in fields.items() if name in ("temperature", "parallel_tool_calls")}
        settings = {
            name: one for name, one in fields.items() if name not in _OF_THE_DEPLOYMENT and name in LLMConfig.model_fields
        }
        return self._merged(served, settings, place)

    def _merged(self, served: LLMConfig, settings: JsonObject, place: str) -> LLMConfig:
        try:
            config = LLMConfig.model_validate({**served.model_dump(), **settings})
        except ValidationError:
            self.notes.add(
                "repaired", "llm_config", place, "Settings of models that are not valid were replaced by the model's own."
            )
            return served
        within = within_server(config, self.models)
        if within.context_window < config.context_window:
            text = f"The window of {config.context_window} tokens is more than the model's server reads; the agent has {within.context_window}."
            self.notes.add("repaired", "llm_config", place, text)
        return within

    def _served_config(self, handle: str | None) -> LLMConfig | None:
        try:
            return self.models.config(handle) if handle else None
        except (NotFound, InvalidArgument):
            return None

    def serves(self, handle: str) -> bool:
        """Whether the model is served here."""
        return self._served_config(handle) is not None

    def embedding_config(self, raw: JsonObject, place: str) -> EmbeddingConfig | None:
        """The embedding of an agent or a folder; None if the file names none, or this deployment has none. Raises: NotFound (the
        handle of the request).
        """
        if self.embedding is not None:
            return self.models.embedding(self.embedding)
        raw_config = raw.get("embedding_config")
        fields = raw_config if isinstance(raw_config, dict) else {}
        handle = _text(raw.get("embedding")) or _handle(fields, "embedding_model", "embedding_endpoint_type")
        if handle is None:
            return None
        size = fields.get("embedding_chunk_size", raw.get("embedding_chunk_size"))
        served = self._known_embedding(handle)
        if served is None:
            default = self.models.default_embedding_handle()
            served = self.models.embedding(default) if default is not None else None
            effect = f"it has {default}" if default is not None else "its memory is found by words"
            self.notes.add("replaced", "embedding", place, f"The embedding {handle} is not served here; {effect}.")
        if served is None or not isinstance(size, int) or isinstance(size, bool) or size <= 0:
            return served
        return served.model_copy(update={"embedding_chunk_size": size})

    def _known_embedding(self, handle: str) -> EmbeddingConfig | None:
        try:
            return self.models.embedding(handle)
        except (NotFound, InvalidArgument):
            return None

    def fallbacks(self, raw: Json, place: str) -> list[ModelFallback]:
        """The fallback models that are served here."""
        fallbacks = []
        for one in raw if isinstance(raw, list) else []:
            try:
                fallback = ModelFallback.model_validate(one)
                self.models.config(fallback.model)
            except (ValidationError, NotFound, InvalidArgument):
                self.notes.add("left_out", "fallback_model", place, "Fallback models that are not served here were left out.")
                continue
            fallbacks.append(fallback)
        return fallbacks


def _handle(fields: JsonObject, model: str, provider: str) -> str | None:
    """The handle of a configuration: the stored one, or its provider and model."""
    if handle := _text(fields.get("handle")):
        return handle
    name, provider_name = _text(fields.get(model)), _text(fields.get("provider_name")) or _text(fields.get(provider))
    return f"{provider_name}/{name}" if name and provider_name else None


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None
