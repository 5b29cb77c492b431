"""What a server's list of models tells: limits, and what each model takes. Keeps the newest list.

Fields of `ModelInfo` and `ModelCapabilities` (anthropic 2.12.0). Servers that only speak the wire format list names alone, or
nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import get_args

from hibernaut.adapters.model.prices.context_windows import ContextWindows, Limits, ProviderPlace
from hibernaut.adapters.model.wire.provider_client import ProviderCall
from hibernaut.domain.models.anthropic_models import LEVELS, NEWEST, PLAIN, AnthropicTraits, ThinkingType, is_listed, traits_of
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import ModelError
from hibernaut.schemas.models.llm_config import ModelDescription

LIST_PATH = "/v1/models?limit=1000"
LIST_SECONDS = 5.0
LOOK_SECONDS = 300.0
"""Seconds between two looks for a model that the list did not have."""
_TYPES: tuple[ThinkingType, ...] = get_args(ThinkingType)


class AnthropicModelList:
    """The models of one server. `official`: it is Anthropic's own. Thread-safe."""

    def __init__(
        self, place: ProviderPlace, windows: ContextWindows, *, official: bool, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._place = place
        self._windows = windows
        self._official = official
        self._now = now
        self._lock = threading.Lock()
        self._fetched_at = float("-inf")
        self._traits: dict[str, AnthropicTraits] = {}
        self._capable: frozenset[str] = frozenset()

    def fetch(self, call: ProviderCall) -> list[ModelDescription]:
        """The models that the server lists now, by name. Raises: ModelError."""
        with self._lock:
            return self._fetched(call)

    def look(self, call: ProviderCall, model: str) -> None:
        """Fetch the list if this model is unknown and the last fetch is long ago. Servers without a list cause no error."""
        with self._lock:
            if not self._knows(model) and self._now() >= self._fetched_at + LOOK_SECONDS:
                with suppress(ModelError):
                    self._fetched(call)

    def traits(self, model: str) -> AnthropicTraits:
        """What the server says that the model takes; else what the table says."""
        return self._traits.get(model) or traits_of(model)

    def takes_betas(self, model: str) -> bool:
        """Whether beta headers reach Anthropic's API: at its own address, and where the list tells of capabilities, as only its
        own does.
        """
        return self._official or model in self._capable

    def _knows(self, model: str) -> bool:
        return model in self._traits or (self._official and is_listed(model))

    def _fetched(self, call: ProviderCall) -> list[ModelDescription]:
        self._fetched_at = self._now()
        with call.get(LIST_PATH, LIST_SECONDS) as answer:
            rows: Json = answer.body().get("data")
        named = (
            [row for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str)] if isinstance(rows, list) else []
        )
        if named:
            self._traits = {row["id"]: traits_in(row) for row in named}
            self._capable = frozenset(row["id"] for row in named if isinstance(row.get("capabilities"), dict))
        return sorted((self._described(row) for row in named), key=lambda each: each.model)

    def _described(self, row: JsonObject) -> ModelDescription:
        limits_of_model, traits = self._windows.of(row["id"]), self._traits[row["id"]]
        display = row.get("display_name")
        limits = Limits(
            _size(row, "max_input_tokens") or limits_of_model.window,
            min(traits.max_tokens or limits_of_model.output or traits.usual_output, traits.usual_output),
        )
        return self._place.model(row["id"], limits, display if isinstance(display, str) else None)


def traits_in(row: JsonObject) -> AnthropicTraits:
    """The traits in a row of the list; missing ones come from the table."""
    traits = replace(traits_of(row["id"]), max_tokens=_size(row, "max_tokens"))
    offered = row.get("capabilities")
    if not isinstance(offered, dict):
        return traits
    if traits_of(row["id"]) is PLAIN:
        traits = replace(NEWEST, max_tokens=traits.max_tokens)
    thinking, effort = offered.get("thinking"), offered.get("effort")
    if isinstance(thinking, dict):
        types = thinking.get("types")
        kinds = frozenset(kind for kind in _TYPES if _supported(types, kind)) if _is_supported(thinking) else frozenset()
        traits = replace(traits, thinking=kinds)
    if isinstance(effort, dict):
        levels = frozenset(level for level in LEVELS if _supported(effort, level)) if _is_supported(effort) else frozenset()
        traits = replace(traits, efforts=levels)
    if isinstance(offered.get("structured_outputs"), dict):
        traits = replace(traits, structured=_supported(offered, "structured_outputs"))
    return traits


def _supported(fields: Json, name: str) -> bool:
    return isinstance(fields, dict) and _is_supported(fields.get(name))


def _is_supported(capability: Json) -> bool:
    return isinstance(capability, dict) and capability.get("supported") is True


def _size(row: JsonObject, name: str) -> int | None:
    value = row.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
