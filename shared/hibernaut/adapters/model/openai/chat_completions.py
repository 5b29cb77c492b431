"""OpenAI's Chat Completions through the `openai` SDK, and compatible servers (Ollama, vLLM, LM Studio, Groq, DeepSeek, xAI…).

The SDK is imported at the first call. It makes connections and errors, tries once, and gets the finished body: its typed `create`
walks every argument, which for 3,000 messages costs 400 ms of CPU time instead of 4. The environment provides no key, address or
header.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from hibernaut.adapters.model.connections import Connections, ProviderCall
from hibernaut.adapters.model.context_windows import ContextWindows, Limits, ProviderPlace
from hibernaut.adapters.model.http_stream import HttpAnswer, limits
from hibernaut.adapters.model.openai import openai_messages, openai_replies
from hibernaut.adapters.model.provider_errors import model_error, read_refusal, refuses_streams
from hibernaut.domain.models.embedding_models import description, known
from hibernaut.domain.redaction import bare_address
from hibernaut.ports.model import Delta, ModelReply, ModelRequest, OnOpen
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import ModelBadRequest, ModelConnection, ModelError, ModelTimeout
from hibernaut.schemas.llm_config import EmbeddingModelDescription, ModelDescription

if TYPE_CHECKING:
    from ssl import SSLContext

    from httpx2 import Request, Response
    from openai import OpenAI

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
        self._key = api_key
        self._url = (base_url or OFFICIAL_URL).rstrip("/")
        self._official = self._url == OFFICIAL_URL
        self._windows = windows
        self._place = ProviderPlace(name, "openai", bare_address(self._url))
        self._lines = Connections(self._dial)
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
        with self._lines.call() as call:
            if on_open is not None:
                on_open(call.hang_up)
            return self._answered(call, body, request.timeout, on_delta)

    def _answered(
        self, call: ProviderCall[OpenAI], body: JsonObject, seconds: float, on_delta: Callable[[Delta], None] | None
    ) -> ModelReply:
        with self._ask(call, "/chat/completions", body, seconds) as answer:
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
            with self._lines.call() as call, self._ask(call, "/models", None, LIST_SECONDS) as answer:
                body = answer.body()
        except ModelError:
            return []
        rows: Json = body.get("data")
        return [row for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str)] if isinstance(rows, list) else []

    def _ask(self, call: ProviderCall[OpenAI], path: str, body: JsonObject | None, seconds: float) -> HttpAnswer:
        """POST the body, or GET a list, and return the unread response. Raises: ModelError if there is no response, or an error
        response.
        """
        from httpx2 import Response
        from openai import APIConnectionError, APIStatusError, APITimeoutError, Stream

        client, name = call.client, self._place.name
        deadline, wait = time.monotonic() + seconds, limits(seconds)
        # Requested as a stream, the body is left unread by the SDK, so that it is read here under the deadline.
        kind = Stream[object]
        sent: object
        try:
            if body is None:
                sent = client.get(path, cast_to=Response, options={"timeout": wait}, stream=True, stream_cls=kind)
            else:
                sent = client.post(path, cast_to=Response, body=body, options={"timeout": wait}, stream=True, stream_cls=kind)
        except APITimeoutError as error:
            raise ModelTimeout(f"{name}: no answer in time") from error
        except APIConnectionError as error:
            raise ModelConnection(f"{name}: no connection to {bare_address(self._url)}") from error
        except APIStatusError as error:
            raise model_error(read_refusal(name, error.status_code, error.body, error.response.headers)) from None
        return HttpAnswer(name, cast("Response", sent), deadline, call.hang_up)

    def _dial(self, watch: Callable[[Request], None], tls: SSLContext) -> OpenAI:
        from openai import DefaultHttpxClient, Omit, OpenAI

        key = self._key or "none"
        # Set here, these headers cannot come from OPENAI_CUSTOM_HEADERS, OPENAI_ORG_ID or OPENAI_PROJECT_ID.
        headers = {"Authorization": f"Bearer {key}", "OpenAI-Organization": Omit(), "OpenAI-Project": Omit()}
        return OpenAI(
            api_key=key,
            base_url=self._url,
            max_retries=0,
            default_headers=cast("dict[str, str]", headers),
            http_client=DefaultHttpxClient(verify=tls, follow_redirects=False, event_hooks={"request": [watch]}),
        )
