"""Anthropic's Messages API, and compatible servers."""

from __future__ import annotations

from collections.abc import Callable

from hibernaut.adapters.model.anthropic import anthropic_messages, anthropic_replies
from hibernaut.adapters.model.context_windows import ContextWindows, Limits, ProviderPlace
from hibernaut.adapters.model.provider_client import ProviderCall, ProviderClient, fixed
from hibernaut.domain.redaction import bare_address
from hibernaut.ports.model import Delta, ModelReply, ModelRequest, OnOpen
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import ModelError
from hibernaut.schemas.llm_config import EmbeddingModelDescription, ModelDescription

OFFICIAL_URL = "https://api.anthropic.com"
VERSION = "2023-06-01"
"""The API version that these bodies are written for. Later ones refuse sampling parameters on all models (header
`anthropic-version`; the SDK's own moved to 2026-10-21 with release 2.0)."""
LIST_SECONDS = 5.0
USUAL_OUTPUT = (("opus-4-6", 21_000), ("sonnet-4-6", 21_000), ("opus", 16_384), ("sonnet", 16_384), ("", 8192))
"""Part of a model's name -> tokens that an agent writes at most unless it asks for more; the first part that fits counts. As in V1."""


class AnthropicModel:
    """One address that speaks the Messages API. Without `base_url` it is Anthropic's own."""

    def __init__(
        self, *, api_key: str | None, base_url: str | None = None, windows: ContextWindows, name: str = "anthropic"
    ) -> None:
        url = (base_url or OFFICIAL_URL).rstrip("/")
        self._windows = windows
        self._place = ProviderPlace(name, "anthropic", bare_address(url))
        self._client = ProviderClient(name, url, fixed({"X-Api-Key": api_key or "none", "anthropic-version": VERSION}))

    def complete(
        self, request: ModelRequest, on_delta: Callable[[Delta], None] | None = None, on_open: OnOpen | None = None
    ) -> ModelReply:
        body = self.payload(request)
        if on_delta is not None:
            body["stream"] = True
        with self._client.call() as call:
            if on_open is not None:
                on_open(call.hang_up)
            return self._answered(call, body, request.timeout, on_delta)

    def _answered(
        self, call: ProviderCall, body: JsonObject, seconds: float, on_delta: Callable[[Delta], None] | None
    ) -> ModelReply:
        with call.post("/v1/messages", body, seconds) as answer:
            request_id = answer.response.headers.get("request-id") or answer.response.headers.get("x-request-id")
            if on_delta is None or not answer.streams:
                return anthropic_replies.whole(self._place.name, answer.body(), request_id, sent=body)
            return anthropic_replies.streamed(self._place.name, answer.events(), on_delta, request_id, sent=body)

    def payload(self, request: ModelRequest) -> JsonObject:
        return anthropic_messages.payload(request)

    def models(self) -> list[ModelDescription]:
        """The models that the API lists, with the limits that it reports."""
        try:
            with self._client.call() as call, call.get("/v1/models?limit=1000", LIST_SECONDS) as answer:
                body = answer.body()
        except ModelError:
            return []
        rows: Json = body.get("data")
        named = (
            [row for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str)] if isinstance(rows, list) else []
        )
        return sorted((self._described(row) for row in named), key=lambda each: each.model)

    def embedding_models(self) -> list[EmbeddingModelDescription]:
        """Anthropic has none."""
        return []

    def _described(self, row: JsonObject) -> ModelDescription:
        known = self._windows.of(row["id"])
        window, output = row.get("max_input_tokens"), row.get("max_tokens")
        usual = next(tokens for part, tokens in USUAL_OUTPUT if part in row["id"])
        largest = output if isinstance(output, int) and output > 0 else known.output or usual
        seen = window if isinstance(window, int) and window > 0 else known.window
        display = row.get("display_name")
        limits_of = Limits(seen, min(largest, usual))
        return self._place.model(row["id"], limits_of, display if isinstance(display, str) else None)
