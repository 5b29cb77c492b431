"""An embedding model behind plain HTTP. What differs between providers is an `EmbeddingFormat`.

Each request is tried once and never redirected. The environment provides no key, address or header, and no error quotes the
request.
"""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from hibernaut.adapters.embedder.hosted.replies import batches, vector_of
from hibernaut.adapters.embedder.uncached import UncachedEmbedder
from hibernaut.adapters.http_headers import sendable
from hibernaut.domain.models import tokens
from hibernaut.domain.models.embedding_models import max_tokens_of, space_of
from hibernaut.ports.memory.embedder import EmbedderFailed, Vector
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.immutable import immutable

if TYPE_CHECKING:
    from httpx2 import Client, Response

Dial = Callable[[], "Client"]
"""Makes the HTTP client, and so decides which addresses may be reached."""
SECONDS, CONNECT_SECONDS = 60.0, 10.0
"""Seconds: the longest silence within a response, and the longest time for connecting."""
_LATER = frozenset({408, 409, 425, 429})
_OF_TEXTS = frozenset({400, 413, 422})
_OF_KEYS = frozenset({401, 403})
_NO_CREDIT = "insufficient_quota"
_BAD_KEY = re.compile(r"api[ _]key[ _](?:not valid|invalid)", re.IGNORECASE)
"""How Gemini refuses a key with the status 400 (ai.google.dev/gemini-api/docs/troubleshooting)."""


class EmbeddingFormat(Protocol):
    """The requests and responses of one provider for the vectors of one model."""

    @property
    def most_texts(self) -> int:
        """The largest number of texts in a request."""

    @property
    def most_tokens(self) -> int:
        """The largest number of tokens in a request, by our count."""

    def request(self, texts: Sequence[str], *, query: bool) -> tuple[str, JsonObject]:
        """The path below the base address, and the body."""

    def vectors(self, body: JsonObject) -> Sequence[Json] | None:
        """The vectors in the order of the texts; None if the response does not tell which vector belongs to which text."""


@immutable
class EmbeddingModel:
    """What is embedded by: a model's name and the dimension of its vectors. `space`: its name if `model` alone does not identify
    it.
    """

    model: str
    dimension: int
    space: str | None = None


def direct() -> Client:
    """A client that connects to any address, without proxies of the environment."""
    from httpx2 import Client

    return Client(trust_env=False, follow_redirects=False)


@immutable
class EmbeddingServer:
    """The base address of a provider. `headers` authenticate each request. `key_advice`: what to do if the provider refuses them.
    `dial` makes the HTTP client at the first request.
    """

    url: str
    headers: Callable[[], Mapping[str, str]] = dict
    key_advice: str = ""
    dial: Dial = direct


class HttpEmbedder(UncachedEmbedder):
    """One model of a server. `batch`: the number of texts in a request."""

    def __init__(self, model: EmbeddingModel, form: EmbeddingFormat, server: EmbeddingServer, *, batch: int = 32) -> None:
        self._model = model.model
        self._form = form
        self._server = server
        self._url = server.url.rstrip("/")
        self.batch = max(1, min(batch, form.most_texts))
        self._lock = threading.Lock()
        self._http: Client | None = None
        self.space = space_of(model.space or model.model, model.dimension)
        self.dimension = model.dimension
        self.max_tokens = max_tokens_of(model.model)

    def count(self, text: str) -> int:
        """As the port says: an estimate."""
        return tokens.count(text)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[Vector]:
        """As the port says; of a longer text only the beginning counts."""
        vectors: list[Vector] = []
        for batch in batches(texts, limit=self.max_tokens, most=self.batch, most_tokens=self._form.most_tokens):
            vectors += self._ask(batch, query=query)
        return vectors

    def _ask(self, batch: list[str], *, query: bool) -> list[Vector]:
        answer = self._post(*self._form.request(batch, query=query))
        if answer.status_code != 200:
            raise self._refused(answer)
        body = _object(answer)
        if body is None and _is_page(answer):
            raise EmbedderFailed(
                f"{self._model}: the address answers with a web page instead of JSON; correct the provider's address",
                retryable=False,
            )
        found = None if body is None else self._form.vectors(body)
        if found is None or len(found) != len(batch):
            raise EmbedderFailed(f"{self._model}: the answer does not hold a vector for each text", retryable=True)
        return [vector_of(self._model, each, self.dimension) for each in found]

    def _refused(self, answer: Response) -> EmbedderFailed:
        of_key = answer.status_code in _OF_KEYS or bool(_BAD_KEY.search(answer.text))
        advice = f"; {self._server.key_advice}" if of_key and self._server.key_advice else ""
        return EmbedderFailed(
            f"{self._model}: refused with status {answer.status_code}{advice}",
            retryable=_comes_back(answer),
            of_texts=answer.status_code in _OF_TEXTS and not of_key,
        )

    def _post(self, path: str, body: JsonObject) -> Response:
        import httpx2

        headers = self._server.headers()
        if not sendable(headers):
            raise EmbedderFailed(
                f"{self._model}: the API key contains a line break or another character that cannot be sent; set it again without it",
                retryable=False,
            )
        try:
            wait = httpx2.Timeout(SECONDS, connect=CONNECT_SECONDS)
            return self._client().post(self._url + path, json=body, headers=dict(headers), timeout=wait)
        except httpx2.TimeoutException as error:
            raise EmbedderFailed(f"{self._model}: no answer in time", retryable=True) from error
        except httpx2.TransportError as error:
            raise EmbedderFailed(f"{self._model}: no connection", retryable=True) from error
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise EmbedderFailed(f"{self._model}: the address or the answer cannot be used", retryable=False) from error

    def _client(self) -> Client:
        with self._lock:
            if self._http is None:
                self._http = self._server.dial()
                weakref.finalize(self, self._http.close)
            return self._http


def _object(answer: Response) -> JsonObject | None:
    try:
        body = answer.json()
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def _is_page(answer: Response) -> bool:
    """Whether the response is a web page, so that the address is not that of an API."""
    return "html" in answer.headers.get("content-type", "") or answer.text.lstrip()[:1] == "<"


def _comes_back(answer: Response) -> bool:
    """Whether a retry may succeed: not if the account has no credit, whatever the status is."""
    return (answer.status_code in _LATER or answer.status_code >= 500) and _NO_CREDIT not in answer.text
