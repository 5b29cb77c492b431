"""Facts about embedding models, by name: the dimension of their vectors and the length of their input.

This is the only source of these facts; the source pages are noted next to them. A model that is not listed
needs a configuration with a dimension.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping

from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.models.llm_config import EmbeddingConfig, EmbeddingModelDescription

OWN, MINILM = "hibernaut", "minilm"
MINILM_HANDLE = f"{OWN}/{MINILM}"
UNKNOWN_TOKENS = 400
_LONGEST_NAME = 60


@immutable
class KnownEmbedding:
    """The facts about one model. `tokens` is the longest input sent to it, a quarter below the model's limit, because our count
    uses another tokenizer. `shortens`: the API accepts another dimension; `sizes`: which (empty: any up to `dimension`).
    """

    dimension: int
    tokens: int = UNKNOWN_TOKENS
    shortens: bool = False
    sizes: tuple[int, ...] = ()

    def takes(self, dimension: int) -> bool:
        """Whether the model's vectors can have this dimension."""
        if dimension == self.dimension or not self.shortens:
            return dimension == self.dimension
        return dimension in self.sizes if self.sizes else dimension < self.dimension


_VOYAGE = KnownEmbedding(1024, 24_000, shortens=True, sizes=(256, 512, 1024, 2048))
_KNOWN: Mapping[str, KnownEmbedding] = {
    MINILM: KnownEmbedding(384, 254),
    # platform.openai.com/docs/guides/embeddings
    "text-embedding-3-small": KnownEmbedding(1536, 6000, shortens=True),
    "text-embedding-3-large": KnownEmbedding(3072, 6000, shortens=True),
    "text-embedding-ada-002": KnownEmbedding(1536, 6000),
    # docs.aws.amazon.com/bedrock/latest/userguide: model-parameters-titan-embed-text, model-parameters-embed-v3 and -v4
    "amazon.titan-embed-text-v1": KnownEmbedding(1536, 6000),
    "amazon.titan-embed-text-v2": KnownEmbedding(1024, 6000, shortens=True, sizes=(256, 512, 1024)),
    "cohere.embed-english-v3": KnownEmbedding(1024),
    "cohere.embed-multilingual-v3": KnownEmbedding(1024),
    "cohere.embed-v4": KnownEmbedding(1536, 24_000, shortens=True, sizes=(256, 512, 1024, 1536)),
    # ai.google.dev/gemini-api/docs/embeddings; cloud.google.com/vertex-ai/docs/generative-ai/embeddings/get-text-embeddings
    "gemini-embedding-001": KnownEmbedding(3072, 1500, shortens=True),
    "gemini-embedding-2": KnownEmbedding(3072, 6000, shortens=True),
    "text-embedding-005": KnownEmbedding(768, 1500, shortens=True),
    "text-multilingual-embedding-002": KnownEmbedding(768, 1500, shortens=True),
    # docs.voyageai.com/docs/embeddings
    "voyage-4-large": _VOYAGE,
    "voyage-4": _VOYAGE,
    "voyage-4-lite": _VOYAGE,
    "voyage-3-large": _VOYAGE,
    "voyage-3.5": _VOYAGE,
    "voyage-3.5-lite": _VOYAGE,
    "voyage-code-3": _VOYAGE,
    "voyage-finance-2": KnownEmbedding(1024, 24_000),
    "voyage-law-2": KnownEmbedding(1024, 12_000),
    # docs.mistral.ai/capabilities/embeddings
    "mistral-embed": KnownEmbedding(1024, 6000),
    # The cards of open models on huggingface.co and ollama.com.
    "all-minilm": KnownEmbedding(384, 190),
    "bge-base-en": KnownEmbedding(768, 380),
    "bge-large-en": KnownEmbedding(1024, 380),
    "bge-m3": KnownEmbedding(1024, 6000),
    "bge-small-en": KnownEmbedding(384, 380),
    "embeddinggemma": KnownEmbedding(768, 1500),
    "m2-bert-80m-8k-retrieval": KnownEmbedding(768, 6000),
    "multilingual-e5-large": KnownEmbedding(1024, 380),
    "mxbai-embed-large": KnownEmbedding(1024),
    "nomic-embed-text": KnownEmbedding(768, 1500),
    "text-embedding-nomic-embed-text": KnownEmbedding(768, 1500),  # its name in LM Studio
    "qwen3-embedding-0.6b": KnownEmbedding(1024, 6000),
    "qwen3-embedding-4b": KnownEmbedding(2560, 6000),
    "qwen3-embedding-8b": KnownEmbedding(4096, 6000),
}
BEDROCK = "bedrock"
BEDROCK_MODELS = (
    "amazon.titan-embed-text-v2:0",
    "amazon.titan-embed-text-v1",
    "cohere.embed-v4:0",
    "cohere.embed-english-v3",
    "cohere.embed-multilingual-v3",
)
VERTEX_MODELS = ("gemini-embedding-001", "gemini-embedding-2", "text-embedding-005", "text-multilingual-embedding-002")
"""The models that Vertex AI embeds by (cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api;
vercel/ai#16238).
"""
VOYAGE = "voyage"
VOYAGE_MODELS = (
    "voyage-4-large",
    "voyage-4",
    "voyage-4-lite",
    "voyage-3-large",
    "voyage-3.5",
    "voyage-3.5-lite",
    "voyage-code-3",
    "voyage-finance-2",
    "voyage-law-2",
)
"""Voyage has no list of models to ask for (docs.voyageai.com/reference)."""


def known(model: str) -> KnownEmbedding | None:
    """The facts for the longest listed prefix of the name, ignoring an organisation before it (`BAAI/…`)."""
    name = model.rpartition("/")[2].lower().replace("qwen3-embedding:", "qwen3-embedding-")  # Ollama writes the size as a tag
    fits = [beginning for beginning in _KNOWN if name.startswith(beginning)]
    return _KNOWN[max(fits, key=len)] if fits else None


def provider_of(config: EmbeddingConfig) -> str:
    """The name of the provider in the configuration's handle; empty without one."""
    name, slash, _ = (config.handle or "").partition("/")
    return name if slash else ""


def max_tokens_of(model: str) -> int:
    """The longest text in tokens that is sent to this model."""
    facts = known(model)
    return facts.tokens if facts else UNKNOWN_TOKENS


def space_of(model: str, dimension: int) -> str:
    """The name of a model's vector space. If the model's name contains unsuitable characters, a part of its hash keeps the name
    unique.
    """
    name = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-")[:_LONGEST_NAME]
    mark = "" if name == model else f"-{hashlib.sha256(model.encode()).hexdigest()[:8]}"
    return f"{name}{mark}-{dimension}"


def own_space(tenant: str, provider: str, model: str, dimension: int) -> str:
    """The space of a model at a provider of a tenant's own.

    A model that is known by its name is the same model everywhere and has one space for all tenants: a search selects the
    documents of its tenant, and an index for each tenant would cost shards. Any other name has a meaning at its provider only:
    such a model has a space of its own, which is named by a hash of the tenant, the provider and the model.
    """
    if known(model) is not None:
        return space_of(model, dimension)
    digest = hashlib.sha256("/".join((tenant, provider, model)).encode()).hexdigest()
    return f"own-{digest[:32]}-{dimension}"


def offered(handle: str, rows: Iterable[EmbeddingModelDescription]) -> EmbeddingConfig:
    """The configuration of the model with this handle among the offered ones. Raises: NotFound, with the existing handles in its
    message.
    """
    found = {row.handle: row for row in rows}
    if handle not in found:
        raise NotFound(f"NOT_FOUND: Embedding handle {handle} not found, must be one of {list(found)}")
    return config_of(found[handle])


def config_of(row: EmbeddingModelDescription) -> EmbeddingConfig:
    """The configuration that a row of the list of models contains."""
    return EmbeddingConfig.model_validate(row.model_dump(include=set(EmbeddingConfig.model_fields)))


def description(
    provider: str, model: str, dimension: int, *, kind: str | None = None, endpoint: str | None = None
) -> EmbeddingModelDescription:
    """A row of the list of embedding models; `kind` is the wire format if it differs from the provider's name."""
    return EmbeddingModelDescription(
        embedding_model=model,
        name=model,
        display_name=model,
        handle=f"{provider}/{model}",
        embedding_endpoint_type=kind or provider,
        embedding_endpoint=endpoint,
        provider_name=provider,
        provider_type=kind or provider,
        embedding_dim=dimension,
    )
