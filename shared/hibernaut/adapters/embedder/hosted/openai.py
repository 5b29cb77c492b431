"""OpenAI's embedding format, and what the servers that speak it take of it. One row per provider, the source beside each fact."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from hibernaut.adapters.embedder.hosted.http_embedder import EmbeddingModel, EmbeddingServer, HttpEmbedder
from hibernaut.domain.models.embedding_models import known
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.immutable import immutable


@immutable
class EmbeddingRoute:
    """What a provider's `/embeddings` takes. `most_tokens` is below the published limit, because our count is an estimate.

    `size`: the member that asks for another dimension than the model's own; None: there is none. `encoding`: whether
    `encoding_format: "float"` is sent. `kinds`: the values of `input_type` for documents and for queries.
    """

    most_texts: int = 2048
    most_tokens: int = 100_000
    size: Literal["dimensions", "output_dimension"] | None = "dimensions"
    encoding: bool = True
    kinds: tuple[str, str] | None = None


OPENAI_ROUTE = EmbeddingRoute()  # openai/types/embedding_create_params.py: 2,048 texts, 300,000 tokens
ROUTES: Mapping[str, EmbeddingRoute] = {
    "openai": OPENAI_ROUTE,
    "azure": OPENAI_ROUTE,  # learn.microsoft.com/azure/ai-foundry/openai/latest: /openai/v1/embeddings; `model` is the deployment
    # ai.google.dev/gemini-api/docs/openai, for an address that ends with /openai; 100 texts: StarTrail-org/LEANN#214
    "google_ai": EmbeddingRoute(most_texts=100, most_tokens=15_000, encoding=False),
    "together": EmbeddingRoute(size=None, encoding=False),  # docs.together.ai/reference/embeddings: `model` and `input`
    # docs.mistral.ai/api/endpoint/embeddings; 256 texts: docs.rs/rig-core, providers/mistral/embedding.rs; 16,000 tokens: the
    # batches of langchain-mistralai
    "mistral": EmbeddingRoute(most_texts=256, most_tokens=12_000, size="output_dimension"),
    "openrouter": OPENAI_ROUTE,  # openrouter.ai/docs/client-sdks/python/api-reference/embeddings
    "ollama": OPENAI_ROUTE,  # docs.ollama.com/api/openai-compatibility: `input`, `encoding_format`, `dimensions`
    "vllm": OPENAI_ROUTE,  # docs.vllm.ai/en/latest/serving/openai_compatible_server.html: `dimensions` for Matryoshka models alone
    "sglang": EmbeddingRoute(size=None),  # docs.sglang.ai/basic_usage/openai_api_embeddings.html
    "lmstudio_openai": EmbeddingRoute(size=None, encoding=False),  # lmstudio.ai/docs/developer/openai-compat/embeddings
    "llamacpp": EmbeddingRoute(size=None),  # github.com/ggml-org/llama.cpp, tools/server/README.md
    # huggingface/text-embeddings-inference: 32 texts unless the server is told otherwise (#50); `/v1/embeddings` of TEI
    "hugging-face": EmbeddingRoute(most_texts=32, most_tokens=12_000, size=None),
    # docs.voyageai.com/reference/embeddings-api: 1,000 texts, 120,000 tokens for the large models; `encoding_format` is null or
    # base64
    "voyage": EmbeddingRoute(1000, 75_000, "output_dimension", encoding=False, kinds=("document", "query")),
}
"""By the name of the provider, or V1's endpoint type."""


@immutable
class OpenAIFormat:
    """The format for one model. `size`: the requested dimension; None: the model's own."""

    model: str
    size: int | None
    route: EmbeddingRoute

    @property
    def most_texts(self) -> int:
        return self.route.most_texts

    @property
    def most_tokens(self) -> int:
        return self.route.most_tokens

    def request(self, texts: Sequence[str], *, query: bool) -> tuple[str, JsonObject]:
        """As the protocol says."""
        body: JsonObject = {"model": self.model, "input": list(texts)}
        if self.route.encoding:
            body["encoding_format"] = "float"
        if self.size is not None and self.route.size is not None:
            body[self.route.size] = self.size
        if self.route.kinds is not None:
            body["input_type"] = self.route.kinds[query]
        return "/embeddings", body

    def vectors(self, body: JsonObject) -> Sequence[Json] | None:
        """As the protocol says: by `index`, by their order where there is none."""
        rows = body.get("data")
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            return None
        by_place = {str(row.get("index", place)): row.get("embedding") for place, row in enumerate(rows)}
        if set(by_place) != {str(place) for place in range(len(rows))}:
            return None
        return [by_place[str(place)] for place in range(len(rows))]


def other_size(model: str, dimension: int) -> int | None:
    """The dimension if it differs from the model's own and the model takes another one."""
    facts = known(model)
    return dimension if facts is not None and facts.shortens and dimension != facts.dimension else None


def bearer(key: str | None) -> Callable[[], Mapping[str, str]]:
    """The headers with this key; none without one."""
    headers = {"authorization": f"Bearer {key}"} if key else {}
    return lambda: headers


def openai_embedder(
    model: EmbeddingModel, server: EmbeddingServer, *, batch: int = 32, route: EmbeddingRoute = OPENAI_ROUTE
) -> HttpEmbedder:
    """A model of a server that speaks OpenAI's format."""
    form = OpenAIFormat(model.model, other_size(model.model, model.dimension), route)
    return HttpEmbedder(model, form, server, batch=batch)
