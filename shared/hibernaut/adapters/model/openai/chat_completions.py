"""OpenAI's Chat Completions, and compatible servers (Ollama, vLLM, LM Studio, Groq, DeepSeek, xAI…)."""

from __future__ import annotations

import re
from collections.abc import Callable

from hibernaut.adapters.model.context_windows import ContextWindows, Limits, ProviderPlace
from hibernaut.adapters.model.openai import openai_messages, openai_replies
from hibernaut.adapters.model.provider_client import ProviderCall, ProviderClient, fixed
from hibernaut.adapters.model.provider_errors import refuses_streams
from hibernaut.domain.models.embedding_models import description, known
from hibernaut.domain.redaction import bare_address
from hibernaut.ports.model import Delta, ModelReply, ModelRequest, OnOpen
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import ModelBadRequest, ModelError
from hibernaut.schemas.llm_config import EmbeddingModelDescription, ModelDescription

OFFICIAL_URL = "https://api.openai.com/v1"
LIST_SECONDS = 5.0

_CHAT_NAMES = re.compile(r"^(gpt-|chatgpt-|o\d)")
_OTHER_USES = re.compile(
    r"audio|babbage|dall-e|davinci|embed|image|instruct|moderation|realtime|rerank|search|sora|speech|transcribe|tts|whisper"
)
_REPORTED_WINDOW = ("max_model_len", "context_window", "context_length", "max_context_length")


class OpenAIModel:
    """One address that speaks Chat Completions. Without `base_url` it is OpenAI's own; without `api_key` the request has a
    placeholder key.
    """

    def __init__(
        self, *, api_key: str | None, base_url: str | None = None, windows: ContextWindows, name: str = "openai"
    ) -> None:
        url = (base_url or OFFICIAL_URL).rstrip("/")
        self._official = url == OFFICIAL_URL
        self._windows = windows
        self._place = ProviderPlace(name, "openai", bare_address(url))
        self._client = ProviderClient(name, url, fixed({"Authorization": f"Bearer {api_key or 'none'}"}))
        self._whole_only: set[str] = set()

    def complete(
        self, request: ModelRequest, on_delta: Callable[[Delta], None] | None = None, on_open: OnOpen | None = None
    ) -> ModelReply:
        """As the port says. After the server has refused to stream a model, whole replies are requested for that model."""
        model = request.config.model
        if model in self._whole_only:
            on_delta = None
        try:
            return self._complete(request, on_delta, on_open)
        except ModelBadRequest as error:
            if on_delta is None or not refuses_streams(error):
                raise
            reply = self._complete(request, None, on_open)
        self._whole_only.add(model)
        return reply

    def _complete(self, request: ModelRequest, on_delta: Callable[[Delta], None] | None, on_open: OnOpen | None) -> ModelReply:
        body = self.payload(request)
        if on_delta is not None:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        with self._client.call() as call:
            if on_open is not None:
                on_open(call.hang_up)
            return self._answered(call, body, request.timeout, on_delta)

    def _answered(
        self, call: ProviderCall, body: JsonObject, seconds: float, on_delta: Callable[[Delta], None] | None
    ) -> ModelReply:
        with call.post("/chat/completions", body, seconds) as answer:
            request_id = answer.response.headers.get("x-request-id")
            if on_delta is None or not answer.streams:
                return openai_replies.whole(self._place.name, answer.body(), request_id, sent=body)
            return openai_replies.streamed(self._place.name, answer.events(), on_delta, request_id, sent=body)

    def payload(self, request: ModelRequest) -> JsonObject:
        return openai_messages.payload(request, official=self._official)

    def models(self) -> list[ModelDescription]:
        """The chat models that the server lists; limits that it reports (vLLM, Groq, OpenRouter, LM Studio) take precedence."""
        found = []
        for row in self._listed():
            model = row["id"]
            if _OTHER_USES.search(model.lower()) or (self._official and not _CHAT_NAMES.match(model)):
                continue
            known = self._windows.of(model)
            window = next(
                (row[name] for name in _REPORTED_WINDOW if isinstance(row.get(name), int) and row[name] > 0), known.window
            )
            found.append(self._place.model(model, Limits(window, known.output)))
        return sorted(found, key=lambda each: each.model)

    def embedding_models(self) -> list[EmbeddingModelDescription]:
        """The listed embedding models whose dimension is known."""
        names = sorted(row["id"] for row in self._listed())
        place = self._place
        return [
            description(place.name, name, facts.dimension, kind=place.kind, endpoint=place.endpoint)
            for name in names
            if (facts := known(name))
        ]

    def _listed(self) -> list[JsonObject]:
        try:
            with self._client.call() as call, call.get("/models", LIST_SECONDS) as answer:
                body = answer.body()
        except ModelError:
            return []
        rows: Json = body.get("data")
        return [row for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str)] if isinstance(rows, list) else []
