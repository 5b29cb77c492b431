"""Facts about embedding models, by name: the dimension of their vectors and the length of their input.

This is the only source of these facts (OpenAI's and AWS's model pages, model cards of open models). A model that is not listed
needs a configuration with a dimension.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hibernaut.schemas.llm_config import EmbeddingModelDescription

OWN, MINILM = "hibernaut", "minilm"
MINILM_HANDLE = f"{OWN}/{MINILM}"
UNKNOWN_TOKENS = 400


@dataclass(frozen=True, slots=True)
class KnownEmbedding:
    """The facts about one model. `tokens` is the longest input sent to it, a quarter below the model's limit, because our count
    uses another tokenizer. `shortens`: the API accepts a smaller dimension.
    """

    dimension: int
    tokens: int = UNKNOWN_TOKENS
    shortens: bool = False


_KNOWN: Mapping[str, KnownEmbedding] = {
    MINILM: KnownEmbedding(384, 254),
    "text-embedding-3-small": KnownEmbedding(1536, 6000, shortens=True),
    "text-embedding-3-large": KnownEmbedding(3072, 6000, shortens=True),
    "text-embedding-ada-002": KnownEmbedding(1536, 6000),
    "amazon.titan-embed-text-v1": KnownEmbedding(1536, 6000),
    "amazon.titan-embed-text-v2": KnownEmbedding(1024, 6000, shortens=True),
    "cohere.embed-english-v3": KnownEmbedding(1024),
    "cohere.embed-multilingual-v3": KnownEmbedding(1024),
    "all-minilm": KnownEmbedding(384, 190),
    "bge-m3": KnownEmbedding(1024, 6000),
    "embeddinggemma": KnownEmbedding(768, 1500),
    "mxbai-embed-large": KnownEmbedding(1024),
    "nomic-embed-text": KnownEmbedding(768, 1500),
}
BEDROCK = "bedrock"
BEDROCK_MODELS = (
    "amazon.titan-embed-text-v2:0",
    "amazon.titan-embed-text-v1",
    "cohere.embed-english-v3",
    "cohere.embed-multilingual-v3",
)


def known(model: str) -> KnownEmbedding | None:
    """The facts for the longest listed prefix of the name, ignoring an organisation before it (`BAAI/…`)."""
    name = model.rpartition("/")[2].lower()
    fits = [beginning for beginning in _KNOWN if name.startswith(beginning)]
    return _KNOWN[max(fits, key=len)] if fits else None


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
