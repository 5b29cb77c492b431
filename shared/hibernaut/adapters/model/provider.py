"""A configured provider: its adapter, and the lists of its models, which are refreshed when they are stale."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from hibernaut.adapters.model.prices.context_windows import ContextWindows, ProviderPlace
from hibernaut.domain.models.model_settings import config_of_description
from hibernaut.ports.model import Model
from hibernaut.schemas.errors import ModelError, ModelTimeout, NotImplementedHere
from hibernaut.schemas.models.llm_config import EmbeddingModelDescription, LLMConfig, ModelDescription

LIST_SECONDS, RETRY_SECONDS = 300.0, 60.0
DEFAULT_WINDOW_CAP = 128_000
"""Tokens that an agent sees at most, unless it asks for more: a larger window costs more with every step (RT 1.5).
"""


@dataclass(slots=True)
class CatalogueProvider:
    """`kind` is V1's endpoint type, `url` the address without a password, `known` the last list, which is refreshed at `stale_at`
    (seconds of the caller's clock). `official`: the address is the provider's own. `partial`: it has models that its list omits.
    `check` tries the key and the address; it raises ModelError, or NotImplementedHere. `fault`: why the last list is empty,
    without secrets; empty if it is not, or nobody knows. Thread-safe.
    """

    kind: str
    url: str
    model: Model
    official: bool = False
    partial: bool = False
    check: Callable[[], None] = lambda: None
    fault: str = ""
    known: list[ModelDescription] = field(default_factory=list)
    known_embeddings: list[EmbeddingModelDescription] = field(default_factory=list)
    stale_at: float = float("-inf")
    lock: threading.Lock = field(default_factory=threading.Lock)

    def refresh(self, now: Callable[[], float]) -> None:
        """Refresh the lists if they are stale; an empty response means an unreachable provider and changes nothing. Only the
        first lists are waited for: while a thread refreshes later ones, all others go on with the last.
        """
        if now() < self.stale_at or not self.lock.acquire(blocking=self.stale_at == float("-inf")):
            return
        try:
            if now() >= self.stale_at:
                self.stale_at = now() + (LIST_SECONDS if self._answers() else RETRY_SECONDS)
        finally:
            self.lock.release()

    def _answers(self) -> bool:
        """Ask for the lists. Whether one of them has a row. A provider that is silent is not waited for once more."""
        models = self.model.models()
        failure = None if models else self._failure()
        self.fault = str(failure or "")
        embeddings = [] if isinstance(failure, ModelTimeout) else self.model.embedding_models()
        self.known, self.known_embeddings = models or self.known, embeddings or self.known_embeddings
        return bool(models or embeddings)

    def _failure(self) -> ModelError | None:
        try:
            self.check()
        except NotImplementedHere:
            return None
        except ModelError as error:
            return error
        return None

    def description(self, name: str, model: str, windows: ContextWindows, now: Callable[[], float]) -> ModelDescription | None:
        """A model of this provider, with a handle that begins with `name`; None if the provider does not list it. While the list
        is unavailable, and if the list is partial, every name is accepted, with the limits of the data file.
        """
        self.refresh(now)
        row = next((row for row in self.known if row.model == model), None)
        if row is None and (self.partial or not self.known):
            return ProviderPlace(name, self.kind, self.url).model(model, windows.of(model))
        return row


def capped_config(row: ModelDescription) -> LLMConfig:
    """The configuration for a listed model, with the default window of an agent."""
    config = config_of_description(row)
    return config.model_copy(update={"context_window": min(config.context_window, DEFAULT_WINDOW_CAP)})
