"""Bedrock's embedding models by a provider of a tenant's own: signed with its credentials, at an address that the dial may
reach.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hibernaut.adapters.embedder.hosted.bedrock import SECONDS
from hibernaut.adapters.model.bedrock.signing import headers_of
from hibernaut.adapters.model.bedrock_endpoints import ACCEPT, path_of
from hibernaut.adapters.model.provider_settings import ProviderSettings, key_advice
from hibernaut.adapters.model.wire.connections import Dial
from hibernaut.adapters.model.wire.provider_client import ProviderClient
from hibernaut.ports.memory.embedder import EmbedderFailed
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import ModelAuthentication, ModelBadRequest, ModelError, ModelPermission

if TYPE_CHECKING:
    from httpx2 import Client


class SignedInvoke:
    """Calls the models of the provider behind `settings`. Reads no credentials of the process."""

    def __init__(self, settings: ProviderSettings, dial: Dial[Client]) -> None:
        self._client = ProviderClient(settings.name, settings.url, headers_of(settings), dial)
        self._advice = key_advice(settings)

    def __call__(self, model: str, body: JsonObject) -> JsonObject:
        """As `Invoke` says. The error does not repeat the provider's text, which may quote the request."""
        try:
            with self._client.call() as call, call.post(path_of(model, "invoke"), body, SECONDS, ACCEPT) as answer:
                return answer.body()
        except ModelError as error:
            advice = f"; {self._advice}" if isinstance(error, ModelAuthentication | ModelPermission) else ""
            raise EmbedderFailed(
                f"{model}: {error.code}{advice}", retryable=error.retryable, of_texts=isinstance(error, ModelBadRequest)
            ) from error
