"""Embeddings by OpenAI's wire format, from OpenAI and compatible servers (Ollama, vLLM, LM Studio, Together, Mistral…).

Each request is tried once. The environment provides no key, address or header, and no error quotes the request.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hibernaut.adapters.embedder.replies import batches, max_tokens_of, space_of, vector_of
from hibernaut.domain.models import tokens
from hibernaut.domain.models.embedding_models import known
from hibernaut.ports.embedder import EmbedderFailed, Vector
from hibernaut.schemas.base import Json, JsonObject

if TYPE_CHECKING:
    from httpx2 import Client, Response

OFFICIAL_URL = "https://api.openai.com/v1"
SECONDS, CONNECT_SECONDS = 60.0, 10.0
"""Seconds: the longest silence within a response, and the longest time for connecting."""
MOST_TEXTS, MOST_TOKENS = 2048, 100_000
"""The limits of one request; OpenAI accepts 2,048 texts and 300,000 of its own tokens."""
_LATER = frozenset({408, 409, 425, 429})
_OF_TEXTS = frozenset({400, 413, 422})
_NO_CREDIT = "insufficient_quota"


class OpenAIEmbedder:
    """One model at one address. Without `url` it is OpenAI's own; without `key` none is sent. `batch`: the number of texts in a
    request.
    """

    def __init__(self, *, model: str, dimension: int, key: str | None = None, url: str | None = None, batch: int = 32) -> None:
        facts = known(model)
        self._model = model
        self._key = key
        self._url = (url or OFFICIAL_URL).rstrip("/")
        self._batch = max(1, min(batch, MOST_TEXTS))
        self._shortened = facts is not None and facts.shortens and dimension != facts.dimension
        self._lock = threading.Lock()
        self._made: Client | None = None
        self.space = space_of(model, dimension)
        self.dimension = dimension
        self.max_tokens = max_tokens_of(model)

    def count(self, text: str) -> int:
        return tokens.count(text)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[Vector]:  # noqa: ARG002 - the wire has no word for it
        """As the port says; of a longer text only the beginning counts."""
        vectors: list[Vector] = []
        for batch in batches(texts, limit=self.max_tokens, most=self._batch, most_tokens=MOST_TOKENS):
            vectors += self._ask(batch)
        return vectors

    def _ask(self, batch: list[str]) -> list[Vector]:
        body: JsonObject = {"model": self._model, "input": batch, "encoding_format": "float"}
        if self._shortened:
            body["dimensions"] = self.dimension
        answer = self._post(body)
        if answer.status_code != 200:
            raise EmbedderFailed(
                f"{self._model}: refused with status {answer.status_code}",
                retryable=_comes_back(answer),
                of_texts=answer.status_code in _OF_TEXTS,
            )
        return self._vectors(_rows(answer), len(batch))

    def _post(self, body: JsonObject) -> Response:
        import httpx2

        try:
            return self._client().post(f"{self._url}/embeddings", json=body)
        except httpx2.TimeoutException as error:
            raise EmbedderFailed(f"{self._model}: no answer in time", retryable=True) from error
        except httpx2.TransportError as error:
            raise EmbedderFailed(f"{self._model}: no connection", retryable=True) from error
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise EmbedderFailed(f"{self._model}: the address or the answer cannot be used", retryable=False) from error

    def _vectors(self, rows: Json, expected: int) -> list[Vector]:
        if not isinstance(rows, list) or len(rows) != expected or not all(isinstance(row, dict) for row in rows):
            raise EmbedderFailed(f"{self._model}: the answer does not hold a vector for each text", retryable=True)
        by_place = {str(row.get("index", place)): row.get("embedding") for place, row in enumerate(rows)}
        if set(by_place) != {str(place) for place in range(expected)}:
            raise EmbedderFailed(f"{self._model}: the vectors' places are not those of the texts", retryable=True)
        return [vector_of(self._model, by_place[str(place)], self.dimension) for place in range(expected)]

    def _client(self) -> Client:
        with self._lock:
            if self._made is None:
                import httpx2

                headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
                wait = httpx2.Timeout(SECONDS, connect=CONNECT_SECONDS)
                self._made = httpx2.Client(timeout=wait, headers=headers, trust_env=False, follow_redirects=False)
                weakref.finalize(self, self._made.close)
            return self._made


def _rows(answer: Response) -> Json:
    try:
        body = answer.json()
    except (ValueError, RecursionError):
        return None
    return body.get("data") if isinstance(body, dict) else None


def _comes_back(answer: Response) -> bool:
    """Whether a retry may succeed: not if the account has no credit, whatever the status is."""
    return (answer.status_code in _LATER or answer.status_code >= 500) and _NO_CREDIT not in answer.text
