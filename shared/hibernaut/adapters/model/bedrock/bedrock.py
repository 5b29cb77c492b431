"""Claude on Amazon Bedrock, in one region and with one identity, and the list of its models."""

from __future__ import annotations

from collections.abc import Callable

from hibernaut.adapters.model.bedrock import control_url
from hibernaut.adapters.model.bedrock.bedrock_list import BedrockModelList
from hibernaut.adapters.model.bedrock.claude import ClaudeOnBedrock, is_claude
from hibernaut.adapters.model.bedrock.signing import headers_of
from hibernaut.adapters.model.context_windows import ContextWindows, ProviderPlace
from hibernaut.adapters.model.provider_client import ProviderClient
from hibernaut.adapters.model.provider_settings import ProviderSettings
from hibernaut.ports.model import Delta, ModelReply, ModelRequest, OnOpen
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import ModelError
from hibernaut.schemas.llm_config import EmbeddingModelDescription, ModelDescription
from hibernaut.schemas.model_call import CacheLife


class BedrockModel:
    """The account behind `settings`. Opens no connection and reads no credentials before the first call."""

    def __init__(self, settings: ProviderSettings, *, windows: ContextWindows, cache_life: CacheLife = "5m") -> None:
        headers = headers_of(settings)
        self._control = ProviderClient(settings.name, control_url(settings.url), headers)
        place = ProviderPlace(settings.name, settings.kind, settings.address)
        self._list = BedrockModelList(place, windows, settings.allowed)
        self._claude = ClaudeOnBedrock(ProviderClient(settings.name, settings.url, headers), cache_life)

    def complete(
        self, request: ModelRequest, on_delta: Callable[[Delta], None] | None = None, on_open: OnOpen | None = None
    ) -> ModelReply:
        return self._claude.complete(request, on_delta, on_open)

    def payload(self, request: ModelRequest) -> JsonObject:
        return self._claude.payload(request)

    def models(self) -> list[ModelDescription]:
        """The models that can be invoked; none if the lists cannot be read."""
        try:
            with self._control.call() as call:
                return [row for row in self._list.fetch(call) if is_claude(row.model)]
        except ModelError:
            return []

    def embedding_models(self) -> list[EmbeddingModelDescription]:
        """None: the embedder knows Bedrock's embedding models without a list."""
        return []
