"""Gemini on Vertex AI: Gemini's wire at an address of a project and a location, with an access token instead of a key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hibernaut.adapters.certificates import certificates
from hibernaut.adapters.google_credentials import ADVICE, GoogleTokens, NoGoogleToken
from hibernaut.adapters.model.google import gemini_messages
from hibernaut.adapters.model.google.gemini import completed, generates, listed
from hibernaut.adapters.model.prices.context_windows import ContextWindows, ProviderPlace
from hibernaut.adapters.model.provider_settings import OWN_KEY_ADVICE, ProviderSettings
from hibernaut.adapters.model.wire.connections import Dial
from hibernaut.adapters.model.wire.json_fields import text_of
from hibernaut.adapters.model.wire.provider_client import OutgoingRequest, ProviderClient, dial_any
from hibernaut.domain.models.embedding_models import VERTEX_MODELS, description, known
from hibernaut.ports.model import Delta, ModelReply, ModelRequest, OnOpen
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import ModelAuthentication, ModelConnection, ModelError
from hibernaut.schemas.models.llm_config import EmbeddingModelDescription, ModelDescription

if TYPE_CHECKING:
    from httpx2 import Client

LIST = "/v1beta1/publishers/google/models?pageSize=200"
"""Version 1 has no list; that of v1beta1 leaves out models in preview (googleapis/google-cloud-node#6962)."""


class VertexModel:
    """The models of Google in one project and location."""

    def __init__(self, settings: ProviderSettings, *, windows: ContextWindows, dial: Dial[Client] = dial_any) -> None:
        self._windows = windows
        self._place = ProviderPlace(settings.name, settings.kind, settings.address)
        advice = OWN_KEY_ADVICE if settings.own else ADVICE
        headers = _Authorization(settings.name, GoogleTokens(settings.key, client=lambda: _token_client(dial), advice=advice))
        self._client = ProviderClient(settings.name, settings.url, headers, dial)
        self._root = ProviderClient(settings.name, settings.url.removesuffix(urlsplit(settings.url).path), headers, dial)

    def complete(
        self, request: ModelRequest, on_delta: Callable[[Delta], None] | None = None, on_open: OnOpen | None = None
    ) -> ModelReply:
        """As the port says."""
        return completed(self._client, request, self.payload(request), on_delta, on_open)

    def payload(self, request: ModelRequest) -> JsonObject:
        """As the port says."""
        return gemini_messages.payload(request, provider=self._place.name, vertex=True)

    def models(self) -> list[ModelDescription]:
        """The listed models of Gemini that generate text. The list tells no limits, and not every model."""
        try:
            names = self._listed()
        except ModelError:
            return []
        return [self._place.model(name, self._windows.of(name)) for name in sorted(names) if generates(name)]

    def check(self) -> None:
        """As `ListsModels` says."""
        self._listed()

    def embedding_models(self) -> list[EmbeddingModelDescription]:
        """The models that the embedder serves, from the table: the list does not tell what embeds."""
        place = self._place
        return [
            description(place.name, model, facts.dimension, kind=place.kind, endpoint=place.endpoint)
            for model in VERTEX_MODELS
            if (facts := known(model))
        ]

    def _listed(self) -> set[str]:
        with self._root.call() as call:
            names = {text_of(row, "name").rpartition("/")[2] for row in listed(call, LIST, "publisherModels")}
        return {name for name in names if name.startswith("gemini-")}


def _token_client(dial: Dial[Client]) -> Client:
    """A client for the token service, with the same permitted addresses as the calls."""
    return dial(lambda _: None, certificates())


class _Authorization:
    """The header of each request, with a token of its moment. Raises: ModelAuthentication, ModelConnection."""

    def __init__(self, provider: str, tokens: GoogleTokens) -> None:
        self._provider = provider
        self._tokens = tokens

    def __call__(self, _: OutgoingRequest) -> Mapping[str, str]:
        try:
            return self._tokens.headers()
        except NoGoogleToken as error:
            kind = ModelConnection if error.retryable else ModelAuthentication
            raise kind(f"{self._provider}: {error}") from error
