"""The configured providers and their models: resolves handles `provider/model` and configurations (port `Models`).

A provider is configured by its key or address among the secrets, by the names of its dialect; any number of them live side by
side. A key is sent only to the address that is configured with it; a configuration with another address is called without a key.
OpenAI's models use Responses at OpenAI's own address and Chat Completions at any other, unless `OPENAI_WIRE` names the API. The
lists of models are refreshed at most every five minutes; an unreachable provider keeps its last list.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from hibernaut.adapters.model.anthropic import OFFICIAL_URL as ANTHROPIC_URL
from hibernaut.adapters.model.bedrock_endpoints import NAME as BEDROCK
from hibernaut.adapters.model.default_model import default_model
from hibernaut.adapters.model.demo.demo import PROVIDER as OWN
from hibernaut.adapters.model.demo.demo import DemoModel
from hibernaut.adapters.model.dialects import DIALECTS
from hibernaut.adapters.model.provider import CatalogueProvider, capped_config
from hibernaut.adapters.model.provider_settings import (
    ANTHROPIC,
    VERTEX,
    ProviderSettings,
    configured,
    provider_aliases,
    redaction_of,
)
from hibernaut.adapters.model.wire.connections import Dial
from hibernaut.adapters.model.wire_factory import WireFactory
from hibernaut.domain.models.embedding_models import offered
from hibernaut.domain.redaction import bare_address
from hibernaut.ports.memory.embedder import NO_EMBEDDINGS, EmbeddingOffer
from hibernaut.ports.model import Model
from hibernaut.ports.storage.secrets import Secrets
from hibernaut.schemas.errors import InvalidArgument, NotFound
from hibernaut.schemas.models.llm_config import EmbeddingConfig, EmbeddingModelDescription, LLMConfig, ModelDescription
from hibernaut.schemas.models.model_call import CacheLife

if TYPE_CHECKING:
    from httpx2 import Client

DEFAULT_HANDLE = f"{OWN}/demo"
MOST_FOREIGN = 64
# Inside the class, `list` is the port's method.
_Models: TypeAlias = list[ModelDescription]
_Embeddings: TypeAlias = list[EmbeddingModelDescription]
MOST_NAMED = 50
"""Handles in an error's text."""


class Catalogue:
    """The providers of a deployment. `extra` are additional ones by name (a benchmark's, a test's); `default_model` is a handle.

    `embeddings` names the embedding models that exist without a provider's list, and the default one. The secrets are read at the
    first question about a provider, so that a store of keys that does not respond stops nothing else.
    `prompt_cache`: how long providers keep the prefix of a prompt, where one can say so.
    `dial` makes the HTTP clients for addresses that only a caller names, and so decides which of them may be reached: such an
    address may be inside the server's network. None: they are refused. Addresses that are configured are reached without it.
    """

    def __init__(
        self,
        secrets: Secrets,
        *,
        default_model: str | None = None,
        embeddings: EmbeddingOffer = NO_EMBEDDINGS,
        prompt_cache: CacheLife = "5m",
        dial: Dial[Client] | None = None,
        extra: Mapping[str, Model] = MappingProxyType({}),
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._default = default_model
        self._embeddings = embeddings
        self._secrets = secrets
        self._prompt_cache = prompt_cache
        self._extra = dict(extra)
        self._dial = dial
        self._now = now
        self._foreign: dict[tuple[str, str], Model] = {}
        self._lock = threading.Lock()
        self._reading = threading.Lock()
        self._read: tuple[WireFactory, dict[str, CatalogueProvider]] | None = None
        self._addresses: Mapping[str, str] = MappingProxyType({})
        self._aliases: Mapping[str, str] = MappingProxyType({})

    @property
    def _factory(self) -> WireFactory:
        return self._configured()[0]

    @property
    def _providers(self) -> dict[str, CatalogueProvider]:
        return self._configured()[1]

    def _configured(self) -> tuple[WireFactory, dict[str, CatalogueProvider]]:
        """The adapters' factory and the providers by name, created from the secrets once. Raises: SecretsUnavailable."""
        with self._reading:
            if self._read is None:
                secrets = self._secrets
                wires = secrets.get("OPENAI_WIRE"), secrets.get("AZURE_WIRE")
                factory = WireFactory(redaction_of(secrets), *wires, self._prompt_cache)
                found = {OWN: CatalogueProvider(OWN, "in this process", DemoModel())}
                found |= {name: CatalogueProvider(name, "in this process", model) for name, model in self._extra.items()}
                found |= {row.name: factory.provider(row) for row in configured(secrets)}
                self._aliases = MappingProxyType(provider_aliases(secrets))
                self._addresses = MappingProxyType({name: provider.url for name, provider in found.items()})
                self._read = factory, found
            return self._read

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
            if endpoint and provider.url == address and (provider.kind == ANTHROPIC) == _is_anthropic(config):
                return provider.model
        if (
            self._dial is not None
            and endpoint.startswith(("http://", "https://"))
            and config.model_endpoint_type != OWN
            and not _is_official(endpoint)
        ):
            return self._at(ANTHROPIC if _is_anthropic(config) else "openai", endpoint, self._dial)
        raise NotFound(
            f"NOT_FOUND: no provider is configured for {config.handle or config.model}{self._hint(_provider_of(config))}"
        )

    def _hint(self, name: str) -> str:
        """What configures a provider that is not configured; empty for an unknown one."""
        dialect = next((each for each in DIALECTS if each.name == name), None)
        if name == BEDROCK and name not in self._providers:
            return "; set BEDROCK_REGION"
        if name == VERTEX and name not in self._providers:
            return "; set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION"
        if dialect is None or name in self._providers:
            return f"; set {ANTHROPIC.upper()}_API_KEY" if name == ANTHROPIC and name not in self._providers else ""
        return f"; set {dialect.key if dialect.url else dialect.address}"

    def _at(self, kind: str, endpoint: str, dial: Dial[Client]) -> Model:
        """The adapter for an address that is not configured: without a key."""
        with self._lock:
            if (kind, endpoint) not in self._foreign:
                while len(self._foreign) >= MOST_FOREIGN:
                    self._foreign.pop(next(iter(self._foreign)))
                self._foreign[kind, endpoint] = replace(self._factory, dial=dial).model(ProviderSettings(kind, kind, endpoint))
            return self._foreign[kind, endpoint]

    def config(self, handle: str) -> LLMConfig:
        """The configuration for a handle.

        Its window is capped, unlike that of the list. While a provider's list is unavailable, every name is accepted, with the
        limits of the data file.
        Raises: InvalidArgument, NotFound.
        """
        name, slash, model = handle.partition("/")
        if not slash or not name or not model:
            raise InvalidArgument("The model handle should be in the format provider/model-name")
        providers = self._providers
        name = name if name in providers else self._aliases.get(name, name)
        provider = providers.get(name)
        if provider is not None:
            row = provider.description(name, model, self._factory.windows, self._now)
            if row is not None:
                return capped_config(row)
        raise NotFound(f"NOT_FOUND: Handle {handle} not found, must be one of [{self._named()}]{self._hint(name)}")

    def _named(self) -> str:
        """The first existing handles, and how many more there are."""
        handles = [f"'{row.handle}'" for row in self.list()]
        more = len(handles) - MOST_NAMED
        return ", ".join(handles[:MOST_NAMED]) + (f" and {more} more: GET /v1/models/" if more > 0 else "")

    def list(self) -> _Models:
        """All models of all providers, the default first."""
        rows = [row for provider in self._refreshed() for row in provider.known]
        default = self._default_handle()
        return sorted(rows, key=lambda row: row.handle != default)

    def list_embeddings(self) -> _Embeddings:
        """All embedding models, the default first."""
        deployment_rows = self._embeddings.descriptions()
        own = {row.handle for row in deployment_rows}
        found = [row for provider in self._refreshed() for row in provider.known_embeddings if row.handle not in own]
        rows = [*deployment_rows, *found]
        return sorted(rows, key=lambda row: row.handle != self.default_embedding_handle())

    def embedding(self, handle: str) -> EmbeddingConfig:
        """As the port says."""
        return offered(handle, self.list_embeddings())

    def _refreshed(self) -> Iterator[CatalogueProvider]:
        """All providers with current lists. The requests run concurrently, so that several unreachable providers take the time of
        one.
        """
        stale = [provider for provider in self._providers.values() if self._now() >= provider.stale_at]
        threads = [threading.Thread(target=each.refresh, args=(self._now,), daemon=True) for each in stale[1:]]
        for thread in threads:
            thread.start()
        if stale:
            stale[0].refresh(self._now)
        for thread in threads:
            thread.join()
        yield from self._providers.values()

    def default_handle(self) -> str:
        """The configured handle; else the default model of the first provider with a key or an address; else the demo's.

        Raises: InvalidArgument if the providers list no model.
        """
        if handle := self._default_handle():
            return handle
        urls = ", ".join(
            f"{provider.url} lists none" + (f" ({provider.fault})" if provider.fault else "")
            for provider in self._ordered_providers().values()
        )
        raise InvalidArgument(
            f"There is no default model: {urls}. Start that server, name a model, or set HIBERNAUT_DEFAULT_MODEL."
        )

    def _ordered_providers(self) -> Mapping[str, CatalogueProvider]:
        """The providers with a key or an address, in the order of the default model."""
        order = ("openai", ANTHROPIC, BEDROCK, VERTEX, *(dialect.name for dialect in DIALECTS[1:]))
        return {name: self._providers[name] for name in order if name in self._providers}

    def _default_handle(self) -> str | None:
        providers = self._ordered_providers()
        if self._default or not providers:
            return self._default or DEFAULT_HANDLE
        for name, provider in providers.items():
            provider.refresh(self._now)
            if model := default_model(name, provider.known, official=provider.official):
                return f"{name}/{model}"
        return None

    def default_embedding_handle(self) -> str | None:
        """The deployment's setting; None: no embedding."""
        return self._embeddings.default_handle()

    def providers(self) -> Mapping[str, str]:
        """Provider name -> its address, without keys."""
        self._configured()
        return self._addresses


def _provider_of(config: LLMConfig) -> str:
    return config.provider_name or (config.handle or "").partition("/")[0] or config.model_endpoint_type


def _is_anthropic(config: LLMConfig) -> bool:
    """Whether the endpoint type uses Anthropic's Messages; all others use Chat Completions."""
    return config.model_endpoint_type == ANTHROPIC


def _is_official(endpoint: str) -> bool:
    """Whether the address is a provider's own, which nobody uses without a key."""
    return endpoint in (*(dialect.url for dialect in DIALECTS), ANTHROPIC_URL, f"{ANTHROPIC_URL}/v1")
