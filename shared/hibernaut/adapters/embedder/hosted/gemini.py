"""Gemini's `batchEmbedContents` (ai.google.dev/api/embeddings). The vectors of a smaller dimension are not of unit norm there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import quote

from hibernaut.adapters.embedder.hosted.http_embedder import EmbeddingModel, EmbeddingServer, HttpEmbedder
from hibernaut.adapters.embedder.hosted.openai import other_size
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.immutable import immutable

TASKS = ("RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY")
PREFIXES = ("title: none | text: ", "task: search result | query: ")
"""What tells a document from a query to the models without a task type (ai.google.dev/gemini-api/docs/embeddings, "Task
types").
"""


def takes_task(model: str) -> bool:
    """Whether the model reads `taskType`: from the second generation on, the text itself says what it is."""
    return not model.startswith("gemini-embedding-2")


@immutable
class GeminiFormat:
    """The format for one model. `size`: the requested dimension; None: the model's own."""

    model: str
    size: int | None
    most_texts: int = 100  # "at most 100 requests can be in one batch" (langchain-ai/langchainjs#4491)
    most_tokens: int = 100_000

    def request(self, texts: Sequence[str], *, query: bool) -> tuple[str, JsonObject]:
        """As the protocol says."""
        return f"/models/{quote(self.model, safe='')}:batchEmbedContents", {
            "requests": [self._one(text, query=query) for text in texts]
        }

    def _one(self, text: str, *, query: bool) -> JsonObject:
        tells = takes_task(self.model)
        one: JsonObject = {
            "model": f"models/{self.model}",
            "content": {"parts": [{"text": text if tells else PREFIXES[query] + text}]},
        }
        if tells:
            one["taskType"] = TASKS[query]
        if self.size is not None:
            one["outputDimensionality"] = self.size
        return one

    def vectors(self, body: JsonObject) -> Sequence[Json] | None:
        """As the protocol says: in the order of the requests."""
        rows = body.get("embeddings")
        if not isinstance(rows, list):
            return None
        return [row.get("values") if isinstance(row, dict) else None for row in rows]


def gemini_embedder(model: EmbeddingModel, server: EmbeddingServer, *, key: str | None, batch: int = 32) -> HttpEmbedder:
    """A model at Google's API or at a compatible address, with this key."""
    form = GeminiFormat(model.model, other_size(model.model, model.dimension))
    return HttpEmbedder(model, form, replace(server, headers=lambda: {"x-goog-api-key": key or "none"}), batch=batch)
