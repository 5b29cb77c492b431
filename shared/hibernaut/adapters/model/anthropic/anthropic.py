"""Anthropic's Messages API, and compatible servers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from hibernaut.adapters.model.anthropic import OFFICIAL_URL, anthropic_replies
from hibernaut.adapters.model.anthropic.anthropic_list import AnthropicModelList
from hibernaut.adapters.model.anthropic.anthropic_messages import BETAS, MessagesRequest, MessagesServer, request_of
from hibernaut.adapters.model.anthropic.anthropic_replies import Origin
from hibernaut.adapters.model.prices.context_windows import ContextWindows, ProviderPlace
from hibernaut.adapters.model.wire.connections import Dial
from hibernaut.adapters.model.wire.provider_client import ProviderCall, ProviderClient, dial_any, fixed
from hibernaut.domain.redaction import bare_address
from hibernaut.ports.model import Delta, ModelReply, ModelRequest, OnOpen
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import ModelError
from hibernaut.schemas.models.llm_config import EmbeddingModelDescription, ModelDescription
from hibernaut.schemas.models.model_call import CacheLife

if TYPE_CHECKING:
    from httpx2 import Client

VERSION = "2023-06-01"
"""The API version that these bodies are written for (header `anthropic-version`).

2026-10-21 has the same Messages API without `temperature`, `top_p` and `top_k` (page "Versions"). The older version serves all
models, keeps the temperature of agents on Claude 4.6 and earlier, and is the one that compatible servers and all of Bedrock know.
"""


class AnthropicModel:
    """One address that speaks the Messages API. Without `base_url` it is Anthropic's own. `now` is in seconds."""

    def __init__(
        self,
        *,
        api_key: str | None,
        base_url: str | None = None,
        windows: ContextWindows,
        name: str = "anthropic",
        cache_life: CacheLife = "5m",
        dial: Dial[Client] = dial_any,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        url = (base_url or OFFICIAL_URL).rstrip("/")
        self._name = name
        self._cache_life = cache_life
        place = ProviderPlace(name, "anthropic", bare_address(url))
        self._list = AnthropicModelList(place, windows, official=url == OFFICIAL_URL, now=now)
        headers = fixed({"X-Api-Key": api_key or "none", "anthropic-version": VERSION})
        self._client = ProviderClient(name, url, headers, dial)

    def complete(
        self, request: ModelRequest, on_delta: Callable[[Delta], None] | None = None, on_open: OnOpen | None = None
    ) -> ModelReply:
        with self._client.call() as call:
            if on_open is not None:
                on_open(call.hang_up)
            self._list.look(call, request.config.model)
            return self._answered(call, self._request(request), request.timeout, on_delta)

    def _answered(
        self, call: ProviderCall, messages_request: MessagesRequest, seconds: float, on_delta: Callable[[Delta], None] | None
    ) -> ModelReply:
        body = messages_request.body if on_delta is None else messages_request.body | {"stream": True}
        origin = Origin(self._name, body["model"])
        headers = {"anthropic-beta": ",".join(messages_request.betas)} if messages_request.betas else {}
        with call.post("/v1/messages", body, seconds, headers) as answer:
            request_id = answer.response.headers.get("request-id") or answer.response.headers.get("x-request-id")
            if on_delta is None or not answer.streams:
                return anthropic_replies.whole(origin, answer.body(), request_id, sent=body)
            return anthropic_replies.streamed(origin, answer.events(), on_delta, request_id, sent=body)

    def _request(self, request: ModelRequest) -> MessagesRequest:
        model = request.config.model
        betas = BETAS if self._list.takes_betas(model) else frozenset[str]()
        server = MessagesServer(self._name, betas, self._cache_life)
        return request_of(request, self._list.traits(model), server)

    def payload(self, request: ModelRequest) -> JsonObject:
        return self._request(request).body

    def models(self) -> list[ModelDescription]:
        """The models that the API lists, with the limits that it reports."""
        try:
            with self._client.call() as call:
                return self._list.fetch(call)
        except ModelError:
            return []

    def check(self) -> None:
        """As `ListsModels` says."""
        with self._client.call() as call:
            self._list.fetch(call)

    def embedding_models(self) -> list[EmbeddingModelDescription]:
        """Anthropic has none."""
        return []
