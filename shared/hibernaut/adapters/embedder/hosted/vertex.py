"""Text embeddings on Vertex AI: `:predict` (cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api),
and `:embedContent` for the second generation, which `:predict` refuses (vercel/ai#16238).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import quote

from hibernaut.adapters.embedder.hosted.gemini import PREFIXES, TASKS, takes_task
from hibernaut.adapters.embedder.hosted.http_embedder import EmbeddingModel, EmbeddingServer, HttpEmbedder
from hibernaut.adapters.embedder.hosted.openai import other_size
from hibernaut.adapters.google_credentials import ADVICE, GoogleTokens, NoGoogleToken
from hibernaut.ports.memory.embedder import EmbedderFailed
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.immutable import immutable


@immutable
class VertexFormat:
    """The format for one model. `size`: the requested dimension; None: the model's own."""

    model: str
    size: int | None
    most_tokens: int = 15_000  # 20,000 by Google's count (get-text-embeddings, "API limits")

    @property
    def most_texts(self) -> int:
        """As the protocol says: gemini-embedding-001 takes one text, the others 250 (there)."""
        return 1 if self.model.startswith("gemini-") else 250

    def request(self, texts: Sequence[str], *, query: bool) -> tuple[str, JsonObject]:
        """As the protocol says."""
        body: JsonObject = {"instances": [{"content": text, "task_type": TASKS[query]} for text in texts]}
        if self.size is not None:
            body["parameters"] = {"outputDimensionality": self.size}
        return f"/models/{quote(self.model, safe='')}:predict", body

    def vectors(self, body: JsonObject) -> Sequence[Json] | None:
        """As the protocol says: in the order of the instances."""
        rows = body.get("predictions")
        if not isinstance(rows, list):
            return None
        found = [row.get("embeddings") if isinstance(row, dict) else None for row in rows]
        return [each.get("values") if isinstance(each, dict) else None for each in found]


@immutable
class VertexContentFormat:
    """The format of `:embedContent` for one model. It takes one text in a request (googleapis/python-genai#2165)."""

    model: str
    size: int | None
    most_texts: int = 1
    most_tokens: int = 8192

    def request(self, texts: Sequence[str], *, query: bool) -> tuple[str, JsonObject]:
        """As the protocol says."""
        [text] = texts
        body: JsonObject = {"content": {"role": "user", "parts": [{"text": PREFIXES[query] + text}]}}
        if self.size is not None:
            body["outputDimensionality"] = self.size
        return f"/models/{quote(self.model, safe='')}:embedContent", body

    def vectors(self, body: JsonObject) -> Sequence[Json] | None:
        """As the protocol says."""
        found = body.get("embedding")
        return [found.get("values")] if isinstance(found, dict) else None


def vertex_embedder(
    model: EmbeddingModel, server: EmbeddingServer, *, credentials: str | None, advice: str | None = None, batch: int = 32
) -> HttpEmbedder:
    """A model in the project and location that the server's address names. Its tokens are fetched through `server.dial` too.
    `advice`: what to do without one; None: as for the credentials of a deployment.
    """
    tokens = GoogleTokens(credentials, client=server.dial, advice=advice or ADVICE)

    def headers() -> Mapping[str, str]:
        try:
            return tokens.headers()
        except NoGoogleToken as error:
            raise EmbedderFailed(f"{model.model}: {error}", retryable=error.retryable) from error

    size = other_size(model.model, model.dimension)
    form = VertexFormat(model.model, size) if takes_task(model.model) else VertexContentFormat(model.model, size)
    return HttpEmbedder(model, form, replace(server, headers=headers), batch=batch)
