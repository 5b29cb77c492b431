"""Amazon Bedrock in one region, with one identity: chooses the wire of each model by its id, and lists the models.

A process imports the wires of the models that it calls, and no others.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, Protocol, assert_never

from hibernaut.adapters.model.bedrock.bedrock_list import BedrockModelList
from hibernaut.adapters.model.bedrock.signing import headers_of
from hibernaut.adapters.model.bedrock_endpoints import control_url
from hibernaut.adapters.model.prices.context_windows import ContextWindows, ProviderPlace
from hibernaut.adapters.model.provider_settings import ProviderSettings
from hibernaut.adapters.model.wire.connections import Dial
from hibernaut.adapters.model.wire.provider_client import ProviderClient, dial_any
from hibernaut.ports.model import Delta, ModelReply, ModelRequest, OnOpen
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import ModelError
from hibernaut.schemas.models.llm_config import EmbeddingModelDescription, ModelDescription
from hibernaut.schemas.models.model_call import CacheLife

if TYPE_CHECKING:
    from httpx2 import Client

OPENAI_PATH = "/openai/v1"
"""Where the runtime speaks OpenAI's APIs (docs.aws.amazon.com/bedrock/latest/userguide/inference-responses-api.html)."""
_OPENAI = re.compile(r"(?:[a-z-]+\.)?openai\.(gpt-oss)?")
Kind = Literal["claude", "chat", "responses", "converse"]


class BedrockWire(Protocol):
    """What each wire of Bedrock does, as the port `Model` says."""

    def complete(
        self, request: ModelRequest, on_delta: Callable[[Delta], None] | None = None, on_open: OnOpen | None = None
    ) -> ModelReply: ...

    def payload(self, request: ModelRequest) -> JsonObject: ...


def wire_of(model: str) -> Kind:
    """The wire of a model, by its id or by that of an inference profile.

    gpt-oss has Chat Completions at the runtime, and Responses only at the other endpoint (user guide, "Responses API"). OpenAI's
    other models take tools with reasoning by Responses alone (aws-samples/sample-apj-sup-sa#230).
    """
    if "anthropic.claude" in model:
        return "claude"
    found = _OPENAI.match(model)
    return "converse" if found is None else "chat" if found[1] else "responses"


class BedrockModel:
    """The account behind `settings`. Opens no connection and reads no credentials before the first call. Thread-safe."""

    def __init__(
        self,
        settings: ProviderSettings,
        *,
        windows: ContextWindows,
        cache_life: CacheLife = "5m",
        dial: Dial[Client] = dial_any,
    ) -> None:
        self._settings = settings
        self._windows = windows
        self._cache_life = cache_life
        self._dial = dial
        self._headers = headers_of(settings)
        self._runtime = ProviderClient(settings.name, settings.url, self._headers, dial)
        self._control = ProviderClient(settings.name, control_url(settings.url), self._headers, dial)
        place = ProviderPlace(settings.name, settings.kind, settings.address)
        self._list = BedrockModelList(place, windows, settings.allowed)
        self._wires: dict[Kind, BedrockWire] = {}
        self._lock = threading.Lock()

    def complete(
        self, request: ModelRequest, on_delta: Callable[[Delta], None] | None = None, on_open: OnOpen | None = None
    ) -> ModelReply:
        return self._wire(request.config.model).complete(request, on_delta, on_open)

    def payload(self, request: ModelRequest) -> JsonObject:
        return self._wire(request.config.model).payload(request)

    def models(self) -> list[ModelDescription]:
        """The models that can be invoked; none if the lists cannot be read."""
        try:
            with self._control.call() as call:
                return self._list.fetch(call)
        except ModelError:
            return []

    def check(self) -> None:
        """As `ListsModels` says."""
        with self._control.call() as call:
            self._list.fetch(call)

    def embedding_models(self) -> list[EmbeddingModelDescription]:
        """None: the embedder knows Bedrock's embedding models without a list."""
        return []

    def _wire(self, model: str) -> BedrockWire:
        kind = wire_of(model)
        with self._lock:
            if kind not in self._wires:
                self._wires[kind] = self._create_wire(kind)
            return self._wires[kind]

    def _create_wire(self, kind: Kind) -> BedrockWire:
        openai, name, windows = self._settings.url + OPENAI_PATH, self._settings.name, self._windows
        match kind:
            case "claude":
                from hibernaut.adapters.model.bedrock.claude import ClaudeOnBedrock

                return ClaudeOnBedrock(self._runtime, self._cache_life)
            case "converse":
                from hibernaut.adapters.model.bedrock.converse import ConverseModel

                return ConverseModel(self._runtime)
            case "chat":
                from hibernaut.adapters.model.dialects import BEDROCK
                from hibernaut.adapters.model.openai.chat_completions import OpenAIModel

                return OpenAIModel(
                    api_key=None,
                    base_url=openai,
                    windows=windows,
                    name=name,
                    dialect=BEDROCK,
                    headers=self._headers,
                    dial=self._dial,
                )
            case "responses":
                from hibernaut.adapters.model.openai.responses import ResponsesModel

                return ResponsesModel(
                    api_key=None, base_url=openai, windows=windows, name=name, headers=self._headers, dial=self._dial
                )
            case _:
                assert_never(kind)
