"""The configured providers and their models: resolves handles `provider/model` and configurations (port `Models`).

A provider is configured by its key or address among the secrets. A key is sent only to the address that is configured with it: a
configuration with another address is called without a key. The lists of models are refreshed at most every five minutes; a
provider that cannot be reached keeps its last list.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from hibernaut.adapters.model.context_windows import ContextWindows, ProviderPlace
from hibernaut.adapters.model.default_model import PREFERRED, default_model
from hibernaut.adapters.model.demo.demo import PROVIDER as OWN
from hibernaut.adapters.model.demo.demo import DemoModel
from hibernaut.adapters.model.redacted import RedactedModel
from hibernaut.domain.models.model_settings import config_of_description
from hibernaut.domain.redaction import Redaction, bare_address
from hibernaut.ports.model import Model
from hibernaut.ports.secrets import Secrets
from hibernaut.schemas.errors import InvalidArgument, NotFound
from hibernaut.schemas.llm_config import EmbeddingModelDescription, LLMConfig, ModelDescription
from hibernaut.schemas.model_call import CacheLife

DEFAULT_HANDLE = f"{OWN}/demo"
DEFAULT_WINDOW_CAP = 128_000
"""Tokens that an agent sees at most, unless it asks for more: a larger window costs more with every step (run-time digest 1.5)."""
LIST_SECONDS, RETRY_SECONDS = 300.0, 30.0
MOST_FOREIGN = 64
# Inside the class, `list` is the port's method.
_Models: TypeAlias = list[ModelDescription]
_Embeddings: TypeAlias = list[EmbeddingModelDescription]
_ANTHROPIC, _OPENAI = "anthropic", "openai"


@dataclass(slots=True)
class _Provider:
    """A configured provider. `kind` is its wire format, `url` its address without a password, `known` its last list, which is
    refreshed at `stale_at`.
    """

    kind: str
    url: str
    model: Model
    known: list[ModelDescription] = field(default_factory=list)
    known_embeddings: list[EmbeddingModelDescription] = field(default_factory=list)
    stale_at: float = float("-inf")
    lock: threading.Lock = field(default_factory=threading.Lock)

    def refresh(self, now: Callable[[], float]) -> None:
        """Refresh the lists if they are stale; an empty response means an unreachable provider and changes nothing."""
        with self.lock:
            if now() < self.stale_at:
                return
            if models := self.model.models():
                self.known, self.known_embeddings = models, self.model.embedding_models()
            self.stale_at = now() + (LIST_SECONDS if models else RETRY_SECONDS)


class Catalogue:
    """The providers of a deployment. `extra` are additional ones by name (a benchmark's, a test's); `default_model` is a handle.

    `embeddings` are the embedding models that exist without a provider's list; `default_embedding` is the handle of one of them.
    `prompt_cache`: how long providers keep the prefix of a prompt, where one can say so.
    `only_configured`: addresses that only a caller names are refused. A server with remote clients needs this, because such an
    address may be inside its network.
    """

    def __init__(
        self,
        secrets: Secrets,
        *,
        default_model: str | None = None,
        embeddings: Sequence[EmbeddingModelDescription] = (),
        default_embedding: str | None = None,
        prompt_cache: CacheLife = "5m",
        only_configured: bool = False,
        extra: Mapping[str, Model] = MappingProxyType({}),
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._windows = ContextWindows()
        self._default = default_model
        self._embeddings = tuple(embeddings)
        self._default_embedding = default_embedding
        self._prompt_cache = prompt_cache
        self._only_configured = only_configured
        self._now = now
        self._foreign: dict[tuple[str, str], Model] = {}
        self._lock = threading.Lock()
        self._providers = {OWN: _Provider(OWN, "in this process", DemoModel())}
        self._providers |= {name: _Provider(name, "in this process", model) for name, model in extra.items()}
        openai_key, openai_url = secrets.get("OPENAI_API_KEY"), secrets.get("OPENAI_BASE_URL")
        anthropic_key, anthropic_url = secrets.get("ANTHROPIC_API_KEY"), secrets.get("ANTHROPIC_BASE_URL")
        self._redaction = Redaction((openai_key, anthropic_key), (openai_url, anthropic_url))
        if openai_key or openai_url:
            self._add(_OPENAI, openai_key, openai_url)
        if anthropic_key:
            self._add(_ANTHROPIC, anthropic_key, anthropic_url)

    def _add(self, kind: str, key: str | None, url: str | None) -> None:
        from hibernaut.adapters.model.anthropic import anthropic
        from hibernaut.adapters.model.openai import chat_completions

        official = chat_completions.OFFICIAL_URL if kind == _OPENAI else anthropic.OFFICIAL_URL
        self._providers[kind] = _Provider(kind, bare_address((url or official).rstrip("/")), self._adapter(kind, key, url))

    def _adapter(self, kind: str, key: str | None, url: str | None) -> Model:
        from hibernaut.adapters.model.anthropic.anthropic import AnthropicModel
        from hibernaut.adapters.model.openai.chat_completions import OpenAIModel

        adapter: Model
        if kind == _ANTHROPIC:
            adapter = AnthropicModel(api_key=key, base_url=url, windows=self._windows, cache_life=self._prompt_cache)
        else:
            adapter = OpenAIModel(api_key=key, base_url=url, windows=self._windows)
        return RedactedModel(adapter, self._redaction)

    def of(self, config: LLMConfig) -> Model:
        """The provider for a configuration.

        A configuration that came from a handle uses its provider's current address. Another one (a caller's deprecated
        `llm_config`) uses its `model_endpoint`: the provider that is configured with this address, or else the address without a
        key.
        """
        named = self._providers.get(_provider_of(config))
        endpoint = (config.model_endpoint or "").rstrip("/")
        address = bare_address(endpoint)
        if named is not None and (config.handle or not endpoint or address == named.url):
            return named.model
        for provider in self._providers.values():
            if endpoint and (provider.kind, provider.url) == (_wire(config), address):
                return provider.model
        if (
            not self._only_configured
            and endpoint.startswith(("http://", "https://"))
            and config.model_endpoint_type != OWN
            and not _is_official(endpoint)
        ):
            return self._at(_wire(config), endpoint)
        raise NotFound(f"NOT_FOUND: no provider is configured for {config.handle or config.model}")

    def _at(self, kind: str, endpoint: str) -> Model:
        """The adapter for an address that is not configured: without a key."""
        with self._lock:
            if (kind, endpoint) not in self._foreign:
                while len(self._foreign) >= MOST_FOREIGN:
                    self._foreign.pop(next(iter(self._foreign)))
                self._foreign[kind, endpoint] = self._adapter(kind, None, endpoint)
            return self._foreign[kind, endpoint]

    def config(self, handle: str) -> LLMConfig:
        """The configuration for a handle.

        Its window is capped, unlike that of the list. While a provider's list cannot be had, any model of it is taken at its word, with the limits of the data file.
        Raises: InvalidArgument, NotFound.
        """
        name, slash, model = handle.partition("/")
        if not slash or not name or not model:
            raise InvalidArgument("The model handle should be in the format provider/model-name")
        provider = self._providers.get(name)
        if provider is not None:
            provider.refresh(self._now)
            row = next((row for row in provider.known if row.handle == handle), None)
            if row is None and not provider.known:
                row = ProviderPlace(name, provider.kind, provider.url).model(model, self._windows.of(model))
            if row is not None:
                config = config_of_description(row)
                return config.model_copy(update={"context_window": min(config.context_window, DEFAULT_WINDOW_CAP)})
        handles = ", ".join(f"'{row.handle}'" for row in self.list())
        raise NotFound(f"NOT_FOUND: Handle {handle} not found, must be one of [{handles}]")

    def list(self) -> _Models:
        """All models of all providers, the default first."""
        rows = [row for provider in self._refreshed() for row in provider.known]
        default = self._default_handle()
        return sorted(rows, key=lambda row: row.handle != default)

    def list_embeddings(self) -> _Embeddings:
        """All embedding models, the default first."""
        own = {row.handle for row in self._embeddings}
        found = [row for provider in self._refreshed() for row in provider.known_embeddings if row.handle not in own]
        rows = [*self._embeddings, *found]
        return sorted(rows, key=lambda row: row.handle != self.default_embedding_handle())

    def _refreshed(self) -> Iterator[_Provider]:
        for provider in self._providers.values():
            provider.refresh(self._now)
            yield provider

    def default_handle(self) -> str:
        """The configured handle; else the default model of the first provider with a key or an address; else the demo's.

        Raises: InvalidArgument if the providers list no model.
        """
        if handle := self._default_handle():
            return handle
        asked = ", ".join(where for name, where in self.providers().items() if name in PREFERRED)
        raise InvalidArgument(
            f"There is no default model: {asked} lists none. Start that server, name a model, or set HIBERNAUT_DEFAULT_MODEL."
        )

    def _default_handle(self) -> str | None:
        asked = {name: provider for name, provider in self._providers.items() if name in PREFERRED}
        if self._default or not asked:
            return self._default or DEFAULT_HANDLE
        for name, provider in asked.items():
            provider.refresh(self._now)
            if model := default_model(name, provider.known, official=_is_official(provider.url)):
                return f"{name}/{model}"
        return None

    def default_embedding_handle(self) -> str | None:
        """The deployment's setting; None: no embedding."""
        return self._default_embedding

    def providers(self) -> Mapping[str, str]:
        """Provider name -> its address, without keys."""
        return {name: provider.url for name, provider in self._providers.items()}


def _provider_of(config: LLMConfig) -> str:
    return config.provider_name or (config.handle or "").partition("/")[0] or config.model_endpoint_type


def _wire(config: LLMConfig) -> str:
    """The wire format of an endpoint type: Anthropic's own types use the Messages API, all others OpenAI's."""
    return _ANTHROPIC if config.model_endpoint_type == _ANTHROPIC else _OPENAI


def _is_official(endpoint: str) -> bool:
    from hibernaut.adapters.model.anthropic import anthropic
    from hibernaut.adapters.model.openai import chat_completions

    return endpoint in (chat_completions.OFFICIAL_URL, anthropic.OFFICIAL_URL, f"{anthropic.OFFICIAL_URL}/v1")
