"""Chooses the wire of a configured provider and makes its adapter. A process imports the wires of its own providers alone."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from hibernaut.adapters.model.bedrock_endpoints import NAME as BEDROCK
from hibernaut.adapters.model.dialects import AZURE, GEMINI, OPENAI
from hibernaut.adapters.model.image_refusals import ImageTolerantModel
from hibernaut.adapters.model.prices.context_windows import ContextWindows
from hibernaut.adapters.model.prices.priced import PricedModel
from hibernaut.adapters.model.provider import CatalogueProvider
from hibernaut.adapters.model.provider_settings import ANTHROPIC, VERTEX, ProviderSettings, key_advice
from hibernaut.adapters.model.wire.connections import Dial
from hibernaut.adapters.model.wire.provider_client import dial_any
from hibernaut.adapters.model.wire.redacted import RedactedModel, redacted
from hibernaut.domain.redaction import Redaction
from hibernaut.ports.model import Model
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.models.model_call import CacheLife

if TYPE_CHECKING:
    from httpx2 import Client

RESPONSES = "responses"


class ListsModels(Model, Protocol):
    """A wire's adapter."""

    def check(self) -> None:
        """Ask the provider for its list of models, or for its view of the key. Raises: ModelError, NotImplementedHere."""


@immutable
class WireFactory:
    """Makes adapters. `openai_wire`: `responses` or `chat`, for whatever OPENAI_BASE_URL names; None: Responses at OpenAI's own
    address, Chat Completions at any other. `azure_wire`: the same for Azure; None: Chat Completions. `prompt_cache`: how long
    providers keep the prefix of a prompt, where one can say so. `redaction`: what is removed from errors and stored payloads.
    `dial`: makes the HTTP clients, and so decides which addresses may be reached.
    """

    redaction: Redaction
    openai_wire: str | None = None
    azure_wire: str | None = None
    prompt_cache: CacheLife = "5m"
    windows: ContextWindows = field(default_factory=ContextWindows)
    dial: Dial[Client] = dial_any

    def provider(self, settings: ProviderSettings) -> CatalogueProvider:
        """The provider behind these settings. Opens no connection."""
        return CatalogueProvider(
            settings.kind,
            settings.address,
            self.model(settings),
            official=settings.official,
            partial=settings.kind == VERTEX,
            check=lambda: self.check(settings),
        )

    def model(self, settings: ProviderSettings) -> Model:
        """The adapter, without the provider's lists. Opens no connection."""
        wire = RedactedModel(self.wire(settings), self.redaction, key_advice(settings))
        return PricedModel(ImageTolerantModel(wire), settings.kind, settings.address)

    def check(self, settings: ProviderSettings) -> None:
        """Try the key and the address. Raises: ModelError, NotImplementedHere; neither repeats a secret."""
        with redacted(self.redaction, key_advice(settings)):
            self.wire(settings).check()

    def _responds(self, settings: ProviderSettings) -> bool:
        """Whether the provider is called by the Responses API."""
        if settings.dialect is AZURE:
            return self.azure_wire == RESPONSES
        return settings.dialect is OPENAI and (self.openai_wire or (RESPONSES if settings.official else "chat")) == RESPONSES

    def wire(self, settings: ProviderSettings) -> ListsModels:
        """The adapter that speaks the wire format of the settings. Opens no connection."""
        key, url, dialect = settings.key, settings.url, settings.dialect
        if settings.kind == ANTHROPIC:
            from hibernaut.adapters.model.anthropic.anthropic import AnthropicModel

            return AnthropicModel(
                api_key=key, base_url=url, windows=self.windows, cache_life=self.prompt_cache, name=settings.name, dial=self.dial
            )
        if settings.kind == BEDROCK:
            from hibernaut.adapters.model.bedrock.bedrock import BedrockModel

            return BedrockModel(settings, windows=self.windows, cache_life=self.prompt_cache, dial=self.dial)
        if settings.kind == VERTEX:
            from hibernaut.adapters.model.google.vertex import VertexModel

            return VertexModel(settings, windows=self.windows, dial=self.dial)
        if dialect is GEMINI and not url.endswith("/openai"):
            from hibernaut.adapters.model.google.gemini import GeminiModel

            return GeminiModel(api_key=key, base_url=url, windows=self.windows, name=settings.name, dial=self.dial)
        dialect_or_none = None if dialect is OPENAI else dialect
        if self._responds(settings):
            from hibernaut.adapters.model.openai.responses import ResponsesModel

            return ResponsesModel(
                api_key=key, base_url=url, windows=self.windows, name=settings.name, dialect=dialect_or_none, dial=self.dial
            )
        from hibernaut.adapters.model.openai.chat_completions import OpenAIModel

        return OpenAIModel(
            api_key=key, base_url=url, windows=self.windows, name=settings.name, dialect=dialect_or_none, dial=self.dial
        )
