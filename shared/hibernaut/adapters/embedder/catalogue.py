"""The embedding models of a deployment, and the choice of one for a configuration (port `Embedders`).

The providers are those of the language models, by the same settings, and Voyage. A key is sent only to the address that is
configured with it: a configuration with another address is called without a key, or not at all. Creating a catalogue reads no
secret, opens no connection and loads nothing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cached_property

from hibernaut.adapters.embedder import minilm_files
from hibernaut.adapters.embedder.cached import CachedEmbedder
from hibernaut.adapters.embedder.hosted.http_embedder import Dial, EmbeddingModel
from hibernaut.adapters.embedder.minilm import DIMENSION as MINILM_DIMENSION
from hibernaut.adapters.embedder.minilm import MiniLM
from hibernaut.adapters.embedder.providers import embedder_of, embedding_providers
from hibernaut.adapters.model.dialects import AZURE, DIALECTS, OPENAI
from hibernaut.adapters.model.provider_settings import ProviderSettings, provider_aliases
from hibernaut.domain.models.embedding_models import (
    BEDROCK,
    BEDROCK_MODELS,
    MINILM,
    MINILM_HANDLE,
    OWN,
    VOYAGE,
    VOYAGE_MODELS,
    KnownEmbedding,
    description,
    known,
    provider_of,
)
from hibernaut.domain.redaction import bare_address
from hibernaut.ports.memory.embedder import Embedder
from hibernaut.ports.storage.secrets import Secrets
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.models.llm_config import EmbeddingConfig, EmbeddingModelDescription

OPENAI_DEFAULT = f"{OPENAI.name}/text-embedding-3-small"
OTHER_WIRES = frozenset({"anthropic", "azure", "google_ai", "google_vertex", "pinecone", VOYAGE})
"""Endpoint types that do not use OpenAI's format without a key: no text is sent to an address that only a configuration names."""
NONE = "none"
"""The value of the setting for no embedding."""
MOST_EMBEDDERS = 64
logger = logging.getLogger(__name__)


@immutable
class DefaultEmbedding:
    """The deployment's setting: a handle or "none", and the dimension if it is unknown or shall be another one."""

    handle: str | None = None
    dimension: int | None = None


class EmbedderCatalogue:
    """The embedding models of a deployment. `bedrock`: the account's Bedrock models may be called, as on AWS.

    `dial` makes the HTTP clients for addresses that only a caller names, and so decides which of them may be reached; None: they
    are refused.
    """

    def __init__(
        self,
        secrets: Secrets,
        *,
        default: DefaultEmbedding = DefaultEmbedding(),
        dial: Dial | None = None,
        bedrock: bool = False,
    ) -> None:
        self._secrets = secrets
        self._dial = dial
        self._bedrock = bedrock
        self._minilm = minilm_files.installed()
        self._lock = threading.Lock()
        self._embedders: dict[tuple[str, ...], Embedder] = {}
        self._default_model = default

    def of(self, config: EmbeddingConfig | None) -> Embedder | None:
        """As the port says. Equal configurations share one embedder and its cache."""
        if config is None:
            return None
        kind, endpoint = config.embedding_endpoint_type, (config.embedding_endpoint or "").rstrip("/")
        if kind == BEDROCK and provider_of(config) not in ("", BEDROCK):
            return None  # a provider of a tenant's own, which never uses the account of the deployment
        if kind in (OWN, BEDROCK):
            endpoint = ""
        key = (kind, endpoint, config.handle or "", config.embedding_model, str(config.embedding_dim), str(config.batch_size))
        with self._lock:
            if key not in self._embedders:
                embedder = self._make(config, kind, endpoint)
                if embedder is None:
                    return None
                while len(self._embedders) >= MOST_EMBEDDERS:
                    self._embedders.pop(next(iter(self._embedders)))
                self._embedders[key] = CachedEmbedder(embedder)
            return self._embedders[key]

    def default(self) -> EmbeddingConfig | None:
        """The configured model; else MiniLM if its weights are installed, OpenAI's if there is a key, or None."""
        if self._default is None:
            return None
        return EmbeddingConfig.model_validate(self._default.model_dump(include=set(EmbeddingConfig.model_fields)))

    def default_handle(self) -> str | None:
        return self._default.handle if self._default else None

    def descriptions(self) -> list[EmbeddingModelDescription]:
        """The known models without providers' lists, the default first. Of Bedrock's models only the default is listed,
        because the account's other models are unknown.
        """
        rows = [self._default] if self._default else []
        if self._minilm:
            rows.append(description(OWN, MINILM, MINILM_DIMENSION))
        if (voyage := self._providers.get(VOYAGE)) is not None:
            rows += [_row(voyage, model, facts.dimension) for model in VOYAGE_MODELS if (facts := known(model))]
        default = self.default_handle()
        return [row for at, row in enumerate(rows) if at == 0 or row.handle != default]

    @cached_property
    def _providers(self) -> Mapping[str, ProviderSettings]:
        """The configured providers that embed, by name. Raises: SecretsUnavailable."""
        return embedding_providers(self._secrets)

    @cached_property
    def _aliases(self) -> Mapping[str, str]:
        return provider_aliases(self._secrets)

    @cached_property
    def _default(self) -> EmbeddingModelDescription | None:
        return self._default_row(self._default_model)

    def _make(self, config: EmbeddingConfig, kind: str, endpoint: str) -> Embedder | None:
        model, dimension = config.embedding_model, config.embedding_dim
        if kind == OWN:
            return MiniLM() if self._minilm and (model, dimension) == (MINILM, MINILM_DIMENSION) else None
        if kind == BEDROCK:
            return self._from_bedrock(model, dimension) if self._on_bedrock(model) else None
        found = self._provider(config, kind, endpoint)
        if found is None:
            return self._at(config, kind, endpoint)
        # A deployment of Azure has any name that its owner chose.
        space = f"{AZURE.name}/{model}" if found.name == AZURE.name and known(model) is None else None
        return embedder_of(found, EmbeddingModel(model, dimension, space), config.batch_size)

    def _on_bedrock(self, model: str) -> bool:
        """Whether the account's Bedrock may be called, or the one that is configured as a provider, for this model."""
        if self._bedrock or model not in BEDROCK_MODELS:
            return model in BEDROCK_MODELS
        at_home = self._providers.get(BEDROCK)
        return at_home is not None and (not at_home.allowed or any(fnmatchcase(model, each) for each in at_home.allowed))

    def _from_bedrock(self, model: str, dimension: int) -> Embedder:
        from hibernaut.adapters.embedder.hosted.bedrock import AccountInvoke, BedrockEmbedder

        if self._bedrock:
            return BedrockEmbedder(model=model, dimension=dimension, invoke=AccountInvoke())
        at_home = self._providers[BEDROCK]
        url = None if at_home.official else at_home.url
        return BedrockEmbedder(model=model, dimension=dimension, invoke=AccountInvoke(region=at_home.region, url=url))

    def _provider(self, config: EmbeddingConfig, kind: str, endpoint: str) -> ProviderSettings | None:
        """The provider that is configured for the configuration; None: there is none. A configuration with a handle uses its
        provider's current address.
        """
        name = provider_of(config) or ("" if endpoint else kind)
        by_http = {each.name: each for each in self._providers.values() if each.kind != BEDROCK}
        if (named := by_http.get(self._aliases.get(name, name))) is not None:
            return named
        for provider in by_http.values():
            if endpoint and bare_address(endpoint) == provider.address:
                return provider
        return None

    def _at(self, config: EmbeddingConfig, kind: str, endpoint: str) -> Embedder | None:
        """The embedder at an address that only the configuration names: without a key. None: refused."""
        dial = self._dial
        if dial is None or kind in OTHER_WIRES or any(endpoint == dialect.url for dialect in DIALECTS):
            return None
        if not endpoint.startswith(("http://", "https://")):
            return None
        model = EmbeddingModel(config.embedding_model, config.embedding_dim)
        return embedder_of(ProviderSettings(kind, kind, endpoint), model, config.batch_size, dial)

    def _default_row(self, default: DefaultEmbedding) -> EmbeddingModelDescription | None:
        handle = default.handle or self._usual_handle()
        if handle is None or handle == NONE:
            return None
        provider, _, model = handle.partition("/")
        own = provider == OWN and self._minilm and model == MINILM
        account = provider == BEDROCK and self._on_bedrock(model)
        settings = (
            None if own or account or provider in (OWN, BEDROCK) else self._providers.get(self._aliases.get(provider, provider))
        )
        if not own and not account and (settings is None or not model):
            _refused(handle, "no provider here serves it")
            return None
        facts = known(model)
        size = (None if own else default.dimension) or (facts.dimension if facts else None)
        if size is None:
            _refused(handle, "its dimension is not known: set HIBERNAUT_EMBEDDING_DIMENSION")
            return None
        if facts is not None and not facts.takes(size):
            _refused(handle, f"its vectors cannot have {size} dimensions: {_sizes(facts)}")
            return None
        return _row(settings, model, size) if settings else description(provider, model, size)

    def _usual_handle(self) -> str | None:
        if self._minilm:
            return MINILM_HANDLE
        openai = self._providers.get(OPENAI.name)
        return OPENAI_DEFAULT if openai is not None and openai.official else None


def _row(settings: ProviderSettings, model: str, dimension: int) -> EmbeddingModelDescription:
    return description(settings.name, model, dimension, kind=settings.kind, endpoint=settings.address)


def _sizes(facts: KnownEmbedding) -> str:
    if not facts.shortens:
        return f"it has {facts.dimension}"
    return f"choose one of {', '.join(map(str, facts.sizes))}" if facts.sizes else f"choose at most {facts.dimension}"


def _refused(handle: str, reason: str) -> None:
    logger.error("default embedding refused, search uses words only", extra={"handle": handle, "reason": reason})
