"""The embedding models of a deployment, and which of them serves a configuration (port `Embedders`).

A key is sent only to the address that is configured with it: a configuration with another address is called without a key, or not
at all. Creating a catalogue reads no secret, opens no connection and loads nothing.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from functools import cached_property

from hibernaut.adapters.embedder import minilm_files
from hibernaut.adapters.embedder.cached import CachedEmbedder
from hibernaut.adapters.embedder.minilm import DIMENSION as MINILM_DIMENSION
from hibernaut.adapters.embedder.minilm import MiniLM
from hibernaut.adapters.embedder.openai import OFFICIAL_URL, OpenAIEmbedder
from hibernaut.domain.models.embedding_models import BEDROCK, BEDROCK_MODELS, MINILM, MINILM_HANDLE, OWN, description, known
from hibernaut.domain.redaction import bare_address
from hibernaut.ports.embedder import Embedder
from hibernaut.ports.secrets import Secrets
from hibernaut.schemas.llm_config import EmbeddingConfig, EmbeddingModelDescription

OPENAI = "openai"
OPENAI_DEFAULT = f"{OPENAI}/text-embedding-3-small"
OTHER_WIRES = frozenset({"anthropic", "azure", "google_ai", "google_vertex", "hugging-face", "pinecone"})
"""Endpoint types of V1 that do not use OpenAI's format: no text is sent there."""
NONE = "none"
"""The value of the setting for no embedding."""
MOST_KEPT = 64
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DefaultEmbedding:
    """The deployment's setting: a handle or "none", and the dimension if it is unknown or shall be smaller."""

    handle: str | None = None
    dimension: int | None = None


class EmbedderCatalogue:
    """The embedding models of a deployment. `bedrock`: the account's Bedrock models may be called, as on AWS.

    `only_configured`: addresses that only a caller names are refused; a server with remote clients needs this.
    """

    def __init__(
        self,
        secrets: Secrets,
        *,
        default: DefaultEmbedding = DefaultEmbedding(),
        only_configured: bool = False,
        bedrock: bool = False,
    ) -> None:
        self._secrets = secrets
        self._only_configured = only_configured
        self._bedrock = bedrock
        self._minilm = minilm_files.installed()
        self._lock = threading.Lock()
        self._made: dict[tuple[str, ...], Embedder] = {}
        self._wanted = default

    def of(self, config: EmbeddingConfig | None) -> Embedder | None:
        """As the port says. Equal configurations share one embedder and its cache."""
        if config is None:
            return None
        kind, endpoint = config.embedding_endpoint_type, (config.embedding_endpoint or "").rstrip("/")
        if kind in (OWN, BEDROCK):
            endpoint = ""
        key = (kind, endpoint, config.handle or "", config.embedding_model, str(config.embedding_dim), str(config.batch_size))
        with self._lock:
            if key not in self._made:
                made = self._make(config, kind, endpoint)
                if made is None:
                    return None
                while len(self._made) >= MOST_KEPT:
                    self._made.pop(next(iter(self._made)))
                self._made[key] = CachedEmbedder(made)
            return self._made[key]

    def default(self) -> EmbeddingConfig | None:
        """The configured model; else MiniLM if its weights are installed, OpenAI's if there is a key, or None."""
        if self._default is None:
            return None
        return EmbeddingConfig.model_validate(self._default.model_dump(include=set(EmbeddingConfig.model_fields)))

    def default_handle(self) -> str | None:
        return self._default.handle if self._default else None

    @cached_property
    def _default(self) -> EmbeddingModelDescription | None:
        return self._default_row(self._wanted)

    @cached_property
    def _openai(self) -> tuple[str | None, str | None]:
        """The address and the key of OpenAI. Raises: SecretsUnavailable."""
        key, url = self._secrets.get("OPENAI_API_KEY"), self._secrets.get("OPENAI_BASE_URL")
        return (url or OFFICIAL_URL).rstrip("/") if key or url else None, key

    def descriptions(self) -> list[EmbeddingModelDescription]:
        """The models that are known without a provider's list, the default first. Of Bedrock's models only the default is listed,
        because the account's other models are unknown.
        """
        rows = [self._default] if self._default else []
        if self._minilm and self.default_handle() != MINILM_HANDLE:
            rows.append(description(OWN, MINILM, MINILM_DIMENSION))
        return rows

    def _make(self, config: EmbeddingConfig, kind: str, endpoint: str) -> Embedder | None:
        model, dimension = config.embedding_model, config.embedding_dim
        if kind == OWN:
            return MiniLM() if self._minilm and (model, dimension) == (MINILM, MINILM_DIMENSION) else None
        if kind == BEDROCK:
            return self._from_bedrock(model, dimension) if self._on_bedrock(model) else None
        found = self._address(config, endpoint)
        if found is None:
            return None
        url, key = found
        return OpenAIEmbedder(model=model, dimension=dimension, url=url, key=key, batch=config.batch_size)

    def _on_bedrock(self, model: str) -> bool:
        return self._bedrock and model in BEDROCK_MODELS

    def _from_bedrock(self, model: str, dimension: int) -> Embedder:
        from hibernaut.adapters.embedder.bedrock import BedrockEmbedder

        return BedrockEmbedder(model=model, dimension=dimension)

    def _address(self, config: EmbeddingConfig, endpoint: str) -> tuple[str, str | None] | None:
        """(address, key) of the model; None: refused. A configuration that came from a handle uses its provider's current
        address.
        """
        follows = (config.handle or "").partition("/")[0] == OPENAI or (not endpoint and config.embedding_endpoint_type == OPENAI)
        url, key = self._openai
        if url is not None and (follows or bare_address(endpoint) == bare_address(url)):
            return url, key
        if self._only_configured or endpoint == OFFICIAL_URL or config.embedding_endpoint_type in OTHER_WIRES:
            return None
        if not endpoint.startswith(("http://", "https://")):
            return None
        return endpoint, None

    def _default_row(self, wanted: DefaultEmbedding) -> EmbeddingModelDescription | None:
        handle = wanted.handle or self._usual_handle()
        if handle is None or handle == NONE:
            return None
        provider, _, model = handle.partition("/")
        own = provider == OWN and self._minilm and model == MINILM
        url = self._openai[0] if provider == OPENAI else None
        if not own and not (provider == BEDROCK and self._on_bedrock(model)) and not url:
            _refused(handle, "no provider here serves it")
            return None
        size = (None if own else wanted.dimension) or _dimension(model)
        if size is None:
            _refused(handle, "its dimension is not known: set HIBERNAUT_EMBEDDING_DIMENSION")
            return None
        return description(provider, model, size, endpoint=bare_address(url) if url else None)

    def _usual_handle(self) -> str | None:
        if self._minilm:
            return MINILM_HANDLE
        return OPENAI_DEFAULT if self._openai[0] == OFFICIAL_URL else None


def _dimension(model: str) -> int | None:
    facts = known(model)
    return facts.dimension if facts else None


def _refused(handle: str, reason: str) -> None:
    logger.error("default embedding refused, search uses words only", extra={"handle": handle, "reason": reason})
