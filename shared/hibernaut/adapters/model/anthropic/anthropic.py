"""Anthropic's Messages API through the `anthropic` SDK, and compatible servers.

The SDK is imported at the first call. It makes connections and errors, and tries once. The body is ours, because the SDK's typed
calls apply rules about long responses and old models. The environment provides no key, address or header.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from hibernaut.adapters.model.anthropic import anthropic_messages, anthropic_replies
from hibernaut.adapters.model.connections import Connections, ProviderCall
from hibernaut.adapters.model.context_windows import ContextWindows, Limits, ProviderPlace
from hibernaut.adapters.model.http_stream import HttpAnswer, limits
from hibernaut.adapters.model.provider_errors import model_error, read_refusal
from hibernaut.domain.redaction import bare_address
from hibernaut.ports.model import Delta, ModelReply, ModelRequest, OnOpen
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import ModelConnection, ModelError, ModelTimeout
from hibernaut.schemas.llm_config import EmbeddingModelDescription, ModelDescription

if TYPE_CHECKING:
    from ssl import SSLContext

    from anthropic import Anthropic
    from httpx2 import Request, Response

OFFICIAL_URL = "https://api.anthropic.com"
LIST_SECONDS = 5.0
USUAL_OUTPUT = (("opus-4-6", 21_000), ("sonnet-4-6", 21_000), ("opus", 16_384), ("sonnet", 16_384), ("", 8192))
"""Part of a model's name -> tokens that an agent writes at most unless it asks for more; the first part that fits counts. As in V1."""


class AnthropicModel:
    """One address that speaks the Messages API. Without `base_url` it is Anthropic's own."""

    def __init__(
        self, *, api_key: str | None, base_url: str | None = None, windows: ContextWindows, name: str = "anthropic"
    ) -> None:
        self._key = api_key
        self._url = (base_url or OFFICIAL_URL).rstrip("/")
        self._windows = windows
        self._place = ProviderPlace(name, "anthropic", bare_address(self._url))
        self._lines = Connections(self._dial)

    def complete(
        self, request: ModelRequest, on_delta: Callable[[Delta], None] | None = None, on_open: OnOpen | None = None
    ) -> ModelReply:
        body = self.payload(request)
        if on_delta is not None:
            body["stream"] = True
        with self._lines.call() as call:
            if on_open is not None:
                on_open(call.hang_up)
            return self._answered(call, body, request.timeout, on_delta)

    def _answered(
        self, call: ProviderCall[Anthropic], body: JsonObject, seconds: float, on_delta: Callable[[Delta], None] | None
    ) -> ModelReply:
        with self._ask(call, "/v1/messages", body, seconds) as answer:
            request_id = answer.response.headers.get("request-id") or answer.response.headers.get("x-request-id")
            if on_delta is None or not answer.streams:
                return anthropic_replies.whole(self._place.name, answer.body(), request_id, sent=body)
            return anthropic_replies.streamed(self._place.name, answer.events(), on_delta, request_id, sent=body)

    def payload(self, request: ModelRequest) -> JsonObject:
        return anthropic_messages.payload(request)

    def models(self) -> list[ModelDescription]:
        """The models that the API lists, with the limits that it reports."""
        try:
            with self._lines.call() as call, self._ask(call, "/v1/models", None, LIST_SECONDS) as answer:
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

    def _ask(self, call: ProviderCall[Anthropic], path: str, body: JsonObject | None, seconds: float) -> HttpAnswer:
        """POST the body, or GET a list, and return the unread response. Raises: ModelError if there is no response, or an error
        response.
        """
        from anthropic import APIConnectionError, APIStatusError, APITimeoutError, Stream
        from httpx2 import Response

        client, name = call.client, self._place.name
        deadline, wait = time.monotonic() + seconds, limits(seconds)
        # Requested as a stream, the body is left unread by the SDK, so that it is read here under the deadline.
        kind = Stream[object]
        sent: object
        try:
            if body is None:
                options = {"limit": 1000}
                sent = client.get(
                    path, cast_to=Response, options={"timeout": wait, "params": options}, stream=True, stream_cls=kind
                )
            else:
                sent = client.post(path, cast_to=Response, body=body, options={"timeout": wait}, stream=True, stream_cls=kind)
        except APITimeoutError as error:
            raise ModelTimeout(f"{name}: no answer in time") from error
        except APIConnectionError as error:
            raise ModelConnection(f"{name}: no connection to {bare_address(self._url)}") from error
        except APIStatusError as error:
            raise model_error(read_refusal(name, error.status_code, error.body, error.response.headers)) from None
        return HttpAnswer(name, cast("Response", sent), deadline, call.hang_up)

    def _dial(self, watch: Callable[[Request], None], tls: SSLContext) -> Anthropic:
        from anthropic import Anthropic, DefaultHttpxClient

        key = self._key or "none"
        return Anthropic(
            api_key=key,
            base_url=self._url,
            max_retries=0,
            open_telemetry=False,
            # Set here, these headers cannot come from ANTHROPIC_CUSTOM_HEADERS.
            default_headers={"X-Api-Key": key},
            http_client=DefaultHttpxClient(verify=tls, follow_redirects=False, event_hooks={"request": [watch]}),
        )
