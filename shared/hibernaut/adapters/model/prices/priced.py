"""Adds to a provider's replies what they cost. A reply is priced once, when it arrives; what is stored is not priced again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from hibernaut.adapters.model.prices.price_list import price_list
from hibernaut.ports.model import Delta, Model, ModelReply, ModelRequest, OnOpen
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.models.llm_config import EmbeddingModelDescription, ModelDescription


def utc_now() -> datetime:
    """The current time, by which prices are chosen."""
    return datetime.now(UTC)


class PricedModel:
    """Wraps `model`, which `provider` serves at `address` (None: the provider's own). The cost is None where the price list does
    not know the model, and where the provider reports no usage.
    """

    def __init__(self, model: Model, provider: str, address: str | None, now: Callable[[], datetime] = utc_now) -> None:
        self._model = model
        self._provider = provider
        self._address = address
        self._now = now

    def complete(
        self, request: ModelRequest, on_delta: Callable[[Delta], None] | None = None, on_open: OnOpen | None = None
    ) -> ModelReply:
        """As the port says."""
        reply = self._model.complete(request, on_delta, on_open)
        prices = price_list()
        billed_by = prices.provider(self._provider, self._address)
        if billed_by is None or not reply.usage.has_tokens:
            return reply
        cost = prices.cost(billed_by, request.config.model, reply.usage, self._now())
        if cost is None:
            return reply
        return replace(reply, usage=reply.usage.model_copy(update={"cost": cost, "price_list_date": prices.date}))

    def payload(self, request: ModelRequest) -> JsonObject:
        """As the port says."""
        return self._model.payload(request)

    def models(self) -> list[ModelDescription]:
        """As the port says."""
        return self._model.models()

    def embedding_models(self) -> list[EmbeddingModelDescription]:
        """As the port says."""
        return self._model.embedding_models()
