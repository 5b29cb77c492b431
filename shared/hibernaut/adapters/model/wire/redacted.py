"""Removes the deployment's secrets from a provider's errors, because some providers repeat a key, or an address with its
password.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from hibernaut.domain.redaction import Redaction
from hibernaut.ports.model import Delta, Model, ModelReply, ModelRequest, OnOpen
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import HibernautError, ModelAuthentication, ModelError
from hibernaut.schemas.models.llm_config import EmbeddingModelDescription, ModelDescription


@contextmanager
def redacted(redaction: Redaction, key_advice: str = "") -> Iterator[None]:
    """Remove the secrets from an error that leaves the context. `key_advice`: what to do if the provider has refused the key."""
    try:
        yield
    except HibernautError as error:
        refused = isinstance(error, ModelAuthentication) and error.exchange is not None and error.exchange.received
        error.detail = redaction.text(error.detail) + (f"; {key_advice}" if refused and key_advice else "")
        error.args = (error.detail,)
        if isinstance(error, ModelError) and error.exchange is not None:
            error.exchange = replace(error.exchange, redact=redaction.json)
        raise


class RedactedModel:
    """Wraps `model` and removes the secrets from its errors and from stored payloads. Replies pass unchanged. `key_advice`: as
    `redacted` has it.
    """

    def __init__(self, model: Model, redaction: Redaction, key_advice: str = "") -> None:
        self._model = model
        self._redaction = redaction
        self._key_advice = key_advice

    def complete(
        self, request: ModelRequest, on_delta: Callable[[Delta], None] | None = None, on_open: OnOpen | None = None
    ) -> ModelReply:
        """As the port says."""
        with redacted(self._redaction, self._key_advice):
            reply = self._model.complete(request, on_delta, on_open)
        if reply.exchange is None:
            return reply
        return replace(reply, exchange=replace(reply.exchange, redact=self._redaction.json))

    def payload(self, request: ModelRequest) -> JsonObject:
        """As the port says, without secrets."""
        payload: JsonObject = self._redaction.json(self._model.payload(request))
        return payload

    def models(self) -> list[ModelDescription]:
        """As the port says."""
        return self._model.models()

    def embedding_models(self) -> list[EmbeddingModelDescription]:
        """As the port says."""
        return self._model.embedding_models()
