"""Gemini's `generateContent`, at Google's API or at a compatible address. The key is sent as `x-goog-api-key`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import quote

from hibernaut.adapters.model.google import gemini_messages, gemini_replies
from hibernaut.adapters.model.prices.context_windows import ContextWindows, Limits, ProviderPlace
from hibernaut.adapters.model.wire.connections import Dial
from hibernaut.adapters.model.wire.json_fields import as_list, text_of
from hibernaut.adapters.model.wire.provider_client import ProviderCall, ProviderClient, dial_any, fixed
from hibernaut.domain.models.embedding_models import description, known
from hibernaut.domain.redaction import bare_address
from hibernaut.ports.model import Delta, ModelReply, ModelRequest, OnOpen
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import ModelError
from hibernaut.schemas.models.llm_config import EmbeddingModelDescription, ModelDescription

if TYPE_CHECKING:
    from httpx2 import Client

OFFICIAL_URL = "https://generativelanguage.googleapis.com/v1beta"
LIST_SECONDS = 5.0
MOST_PAGES = 10
"""Pages that are read of a list."""
_TOKEN = re.compile(r"[\w.=~-]+")
_OTHER_USES = re.compile(r"embedding|imagen|veo|tts|image|live|audio|aqa|robotics|computer-use")


class GeminiModel:
    """One address that speaks `generateContent`. Without `base_url` it is Google's own."""

    def __init__(
        self,
        *,
        api_key: str | None,
        base_url: str | None = None,
        windows: ContextWindows,
        name: str = "google_ai",
        dial: Dial[Client] = dial_any,
    ) -> None:
        url = (base_url or OFFICIAL_URL).rstrip("/")
        self._windows = windows
        self._place = ProviderPlace(name, "google_ai", bare_address(url))
        self._client = ProviderClient(name, url, fixed({"x-goog-api-key": api_key or "none"}), dial)

    def complete(
        self, request: ModelRequest, on_delta: Callable[[Delta], None] | None = None, on_open: OnOpen | None = None
    ) -> ModelReply:
        """As the port says."""
        return completed(self._client, request, self.payload(request), on_delta, on_open)

    def payload(self, request: ModelRequest) -> JsonObject:
        """As the port says."""
        return gemini_messages.payload(request, provider=self._place.name)

    def models(self) -> list[ModelDescription]:
        """The listed models that generate text, with the limits that the API reports."""
        try:
            rows = self._listed()
        except ModelError:
            return []
        found = [self._described(row) for row in rows if _generates_text(row)]
        return sorted(found, key=lambda each: each.model)

    def check(self) -> None:
        """As `ListsModels` says."""
        self._listed()

    def embedding_models(self) -> list[EmbeddingModelDescription]:
        """The listed embedding models with a known dimension."""
        try:
            rows = self._listed()
        except ModelError:
            return []
        place, names = self._place, sorted(row["name"].removeprefix("models/") for row in rows if _embeds(row))
        return [
            description(place.name, name, facts.dimension, kind=place.kind, endpoint=place.endpoint)
            for name in names
            if (facts := known(name))
        ]

    def _listed(self) -> list[JsonObject]:
        with self._client.call() as call:
            return listed(call, "/models?pageSize=1000", "models")

    def _described(self, row: JsonObject) -> ModelDescription:
        model = row["name"].removeprefix("models/")
        limits_of_model = self._windows.of(model)
        window, output, display = row.get("inputTokenLimit"), row.get("outputTokenLimit"), row.get("displayName")
        limits = Limits(
            window if isinstance(window, int) and window > 0 else limits_of_model.window,
            output if isinstance(output, int) and output > 0 else limits_of_model.output,
        )
        return self._place.model(model, limits, display if isinstance(display, str) else None)


def completed(
    client: ProviderClient,
    request: ModelRequest,
    body: JsonObject,
    on_delta: Callable[[Delta], None] | None,
    on_open: OnOpen | None,
) -> ModelReply:
    """The reply to a request with this body, as `Model.complete` says."""
    with client.call() as call:
        if on_open is not None:
            on_open(call.hang_up)
        return _answered(call, request, body, on_delta)


def _answered(
    call: ProviderCall, request: ModelRequest, body: JsonObject, on_delta: Callable[[Delta], None] | None
) -> ModelReply:
    """The reply to one call, streamed if there is somebody to tell. Raises: ModelError."""
    name, model = call.name, request.config.model
    method = "generateContent" if on_delta is None else "streamGenerateContent?alt=sse"
    with call.post(f"/models/{quote(model, safe='')}:{method}", body, request.timeout) as answer:
        if on_delta is None or not answer.streams:
            return gemini_replies.whole(name, model, answer.body(), sent=body)
        return gemini_replies.streamed(name, model, answer.events(), on_delta, sent=body)


def listed(call: ProviderCall, path: str, member: str) -> list[JsonObject]:
    """The rows of a list of Google, over MOST_PAGES pages. `path` has a query. Raises: ModelError."""
    rows: list[JsonObject] = []
    page = ""
    for _ in range(MOST_PAGES):
        with call.get(path + page, LIST_SECONDS) as answer:
            body = answer.body()
        rows += [row for row in as_list(body.get(member)) if isinstance(row, dict)]
        token = text_of(body, "nextPageToken")
        if not _TOKEN.fullmatch(token):
            break
        page = f"&pageToken={token}"
    return rows


def generates(name: str) -> bool:
    """Whether a generating model with this name generates text."""
    return _OTHER_USES.search(name) is None


def _embeds(row: JsonObject) -> bool:
    name, methods = row.get("name"), row.get("supportedGenerationMethods")
    return isinstance(name, str) and isinstance(methods, list) and "embedContent" in methods


def _generates_text(row: JsonObject) -> bool:
    name, methods = row.get("name"), row.get("supportedGenerationMethods")
    if not isinstance(name, str) or not isinstance(methods, list):
        return False
    return "generateContent" in methods and generates(name)
