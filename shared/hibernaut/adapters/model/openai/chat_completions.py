"""OpenAI's Chat Completions, and every server that speaks it: Ollama, vLLM, Groq, DeepSeek, … (`dialects`)."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from hibernaut.adapters.model.dialects import OPENAI, Dialect, dialect_at
from hibernaut.adapters.model.learned_traits import LearnedTraits, Say
from hibernaut.adapters.model.openai import chat_refusals, openai_messages, openai_replies
from hibernaut.adapters.model.openai.ollama_list import ollama_rows, warn_of_windows
from hibernaut.adapters.model.openai.openai_replies import ChatSent
from hibernaut.adapters.model.prices.context_windows import ContextWindows, Limits, ProviderPlace
from hibernaut.adapters.model.wire.connections import Dial
from hibernaut.adapters.model.wire.provider_client import Headers, ProviderCall, ProviderClient, dial_any, fixed
from hibernaut.domain.models.embedding_models import description, known
from hibernaut.domain.redaction import bare_address
from hibernaut.ports.model import Delta, ModelReply, ModelRequest, OnOpen
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import ModelError, NotImplementedHere
from hibernaut.schemas.models.llm_config import EmbeddingModelDescription, ModelDescription

if TYPE_CHECKING:
    from httpx2 import Client

logger = logging.getLogger(__name__)

OFFICIAL_URL = "https://api.openai.com/v1"
LIST_SECONDS = 5.0
LARGEST_LIST = 32 * 1024 * 1024
"""Bytes of a list of models. OpenRouter's, the longest in use, has two million."""

_CHAT_NAMES = re.compile(r"^(gpt-|chatgpt-|o\d)")
_OTHER_USES = re.compile(
    r"audio|babbage|dall-e|davinci|embed|image|instruct|moderation|realtime|rerank|search|sora|speech|transcribe|tts|whisper"
)
"""Names of OpenAI's own that are no chat models. On other servers such words are parts of chat models' names (`…-Instruct`)."""
_NEVER_CHATS = re.compile(
    r"(?:^|[/_-])(?:whisper|orpheus|tts|transcribe|embed(?:ding)?|rerank(?:er)?|guard|moderation)(?:[_.:-]|$)"
)
"""Whole words that stand in no chat model's name."""
_REPORTED_WINDOW = ("max_model_len", "context_window", "context_length", "max_context_length")
_OTHER_KINDS = frozenset(
    {"embedding", "embeddings", "image", "audio", "video", "rerank", "moderation", "transcribe", "tts", "vae"}
)
"""Values of `type` in a list that are no chat models (docs.together.ai/reference/models-1; lmstudio.ai/docs/developer/rest)."""


class OpenAIModel:
    """One address that speaks Chat Completions. Without `base_url` it is OpenAI's own; without `api_key` the request has a
    placeholder key, and with `headers` these instead. `dialect` is that of the address unless it is named.
    """

    def __init__(
        self,
        *,
        api_key: str | None,
        base_url: str | None = None,
        windows: ContextWindows,
        name: str = "openai",
        dialect: Dialect | None = None,
        headers: Headers | None = None,
        dial: Dial[Client] = dial_any,
    ) -> None:
        url = (base_url or OFFICIAL_URL).rstrip("/")
        self._dialect = dialect or dialect_at(url)
        self._embeds = dialect is None or dialect.embeds  # without a dialect it is what OPENAI_BASE_URL names
        self._windows = windows
        self._place = ProviderPlace(name, self._dialect.kind if dialect else "openai", bare_address(url))
        headers = headers or fixed({"Authorization": f"Bearer {api_key or 'none'}"})
        self._client = ProviderClient(name, url, headers, dial)
        self._root = ProviderClient(name, url.removesuffix(self._dialect.path), headers, dial)
        self._omitted = LearnedTraits(lambda _: chat_refusals.NOTHING, self._after)
        self._warned = False

    def complete(
        self, request: ModelRequest, on_delta: Callable[[Delta], None] | None = None, on_open: OnOpen | None = None
    ) -> ModelReply:
        """As the port says. After the server has refused a part of a request for a model, later requests to the model omit it; a
        refused effort or tool choice is omitted from requests with the same one.
        """

        values = _values(request)

        def ask(learned: chat_refusals.Omitted, say: Say | None) -> ModelReply:
            omitted = chat_refusals.of_request(learned, values)
            return self._complete(request, omitted, None if "stream" in omitted else say, on_open)

        def persistent(omitted: chat_refusals.Omitted) -> chat_refusals.Omitted:
            return chat_refusals.of_values(omitted, values)

        return self._omitted.complete(request.config.model, on_delta, ask, persistent=persistent)

    def _after(self, traits: chat_refusals.Omitted, refusal: ModelError, *, streams: bool) -> chat_refusals.Omitted:
        weaker = chat_refusals.after(traits, refusal, streams=streams)
        if weaker != traits:
            refused = ", ".join(sorted(weaker - traits))
            logger.warning("a part of a request was refused", extra={"provider": self._place.name, "part": refused})
        return weaker

    def _complete(
        self,
        request: ModelRequest,
        omitted: chat_refusals.Omitted,
        on_delta: Callable[[Delta], None] | None,
        on_open: OnOpen | None,
    ) -> ModelReply:
        body = openai_messages.payload(request, self._dialect, self._place.name)
        if on_delta is not None:
            body["stream"] = True
            if "stream_options" in self._dialect.takes:
                body["stream_options"] = {"include_usage": True}
        body = chat_refusals.without(body, omitted)
        with self._client.call() as call:
            if on_open is not None:
                on_open(call.hang_up)
            return self._answered(call, body, request.timeout, on_delta)

    def _answered(
        self, call: ProviderCall, body: JsonObject, seconds: float, on_delta: Callable[[Delta], None] | None
    ) -> ModelReply:
        with call.post("/chat/completions", body, seconds) as answer:
            request_id = answer.response.headers.get("x-request-id")
            sent_request = ChatSent(self._place.name, self._dialect, body)
            if on_delta is None or not answer.streams:
                return openai_replies.whole(sent_request, answer.body(), request_id)
            return openai_replies.streamed(sent_request, answer.events(), on_delta, request_id)

    def payload(self, request: ModelRequest) -> JsonObject:
        """As the port says."""
        body = openai_messages.payload(request, self._dialect, self._place.name)
        omitted = chat_refusals.of_request(self._omitted.of(request.config.model), _values(request))
        return chat_refusals.without(body, omitted)

    def models(self) -> list[ModelDescription]:
        """The chat models that the server lists; limits that it reports (vLLM, Groq, OpenRouter, LM Studio) take precedence."""
        found = [self._row(row) for row in self._listed() if self._chats(row)]
        return sorted(found, key=lambda each: each.model)

    def check(self) -> None:
        """As `ListsModels` says. If the list is public, `key_path` checks the key."""
        if self._dialect.listing == "none":
            raise NotImplementedHere(f"{self._place.name}: this provider lists no models, so its key shows at the first message")
        if self._dialect.listing == "tags":
            with self._root.call() as call:
                ollama_rows(call)
            return
        with self._client.call() as call, call.get(self._dialect.key_path or "/models", LIST_SECONDS) as answer:
            answer.json(LARGEST_LIST)

    def embedding_models(self) -> list[EmbeddingModelDescription]:
        """The listed embedding models with a known dimension."""
        if not self._embeds:
            return []
        names = sorted(row["id"] for row in self._listed(self._dialect.embedding_list))
        place = self._place
        return [
            description(place.name, name, facts.dimension, kind=place.kind, endpoint=place.endpoint)
            for name in names
            if (facts := known(name))
        ]

    def _row(self, row: JsonObject) -> ModelDescription:
        limits = self._windows.of(row["id"])
        window = next((row[name] for name in _REPORTED_WINDOW if isinstance(row.get(name), int) and row[name] > 0), limits.window)
        found = self._place.model(row["id"], Limits(window, limits.output))
        windows = {"trained_context_window": row.get("trained"), "context_window_assumed": row.get("assumed") is True}
        found = found.model_copy(update=windows)
        return (
            found if self._dialect.name == found.provider_type else found.model_copy(update={"provider_type": self._place.name})
        )

    def _chats(self, row: JsonObject) -> bool:
        """Whether the row is a chat model: on OpenAI's own list by its name, on other lists by the row's fields or by known
        names.
        """
        name, kind = row["id"], row.get("type")
        if self._dialect is OPENAI:
            return _CHAT_NAMES.match(name) is not None and _OTHER_USES.search(name) is None
        other = known(name) is not None or _NEVER_CHATS.search(name.lower()) is not None
        return not other and not (isinstance(kind, str) and kind in _OTHER_KINDS)

    def _listed(self, path: str = "/models") -> list[JsonObject]:
        if self._dialect.listing == "none":
            return []
        if self._dialect.listing == "tags":
            return self._ollamas()
        try:
            with self._client.call() as call, call.get(path, LIST_SECONDS) as answer:
                body = answer.json(LARGEST_LIST)
        except ModelError:
            return []
        rows = body.get("data") if isinstance(body, dict) else body
        return (
            [_named(row) for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str)]
            if isinstance(rows, list)
            else []
        )

    def _ollamas(self) -> list[JsonObject]:
        """Ollama's models. What limits their windows is logged once."""
        try:
            with self._root.call() as call:
                rows = ollama_rows(call)
        except ModelError:
            return []
        self._warned = self._warned or warn_of_windows(self._place.name, rows)
        return rows


def _named(row: JsonObject) -> JsonObject:
    """The row by the name that requests use: Gemini's list puts `models/` before it (ai.google.dev/gemini-api/docs/openai)."""
    return row | {"id": row["id"].removeprefix("models/")}


def _values(request: ModelRequest) -> chat_refusals.Values:
    """What a server may refuse for its value alone: the effort, and the kind of tool choice."""
    config = request.config
    return {"reasoning_effort": config.effort or config.reasoning_effort or "", "tool_choice": request.choice.mode}
