"""Amazon Bedrock's embedding models, Titan and Cohere: their requests and responses. Each request is tried once.

The role of the Lambda function decides which models it may call. Knows `InvokeModel` and its errors.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from hibernaut.adapters.aws_clients import aws_client
from hibernaut.adapters.embedder.hosted.replies import batches, vector_of
from hibernaut.adapters.embedder.uncached import UncachedEmbedder
from hibernaut.domain.models import tokens
from hibernaut.domain.models.embedding_models import known, max_tokens_of, space_of
from hibernaut.ports.memory.embedder import EmbedderFailed, Vector
from hibernaut.schemas.base import Json, JsonObject

CONNECT_SECONDS, SECONDS = 5, 60
COHERE_TEXTS, COHERE_CHARACTERS = 96, 2048
"""The limits of one request and of one text (Bedrock user guide, "Cohere Embed models")."""
COHERE_V4_CHARACTERS = 100_000
"""Some 24,000 tokens; the model reads 128,000 (there, "Cohere Embed v4")."""
TITAN_CHARACTERS = 50_000
_LATER = frozenset(
    {
        "InternalServerException",
        "ModelErrorException",
        "ModelNotReadyException",
        "ModelTimeoutException",
        "ServiceUnavailableException",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)


class Runtime(Protocol):
    """The used part of boto3's `bedrock-runtime` client."""

    def invoke_model(self, **request: Any) -> Any: ...


Invoke = Callable[[str, JsonObject], JsonObject]
"""Calls a model by its id with a body, and returns the reply's body. Raises: EmbedderFailed."""


class BedrockEmbedder(UncachedEmbedder):
    """One model. `invoke` calls it."""

    def __init__(self, *, model: str, dimension: int, invoke: Invoke) -> None:
        facts = known(model)
        self._model = model
        self._cohere = model.startswith("cohere.")
        self._fourth = model.startswith("cohere.embed-v4")
        self._shortens = facts is not None and facts.shortens
        self._invoke = invoke
        self.space = space_of(model, dimension)
        self.dimension = dimension
        self.max_tokens = max_tokens_of(model)
        self.batch = COHERE_TEXTS if self._cohere else 1

    def count(self, text: str) -> int:
        return tokens.count(text)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[Vector]:
        """As the port says; of a longer text only the beginning counts."""
        vectors: list[Vector] = []
        for batch in batches(texts, limit=self.max_tokens, most=self.batch, most_tokens=self.batch * self.max_tokens):
            vectors += self._cohere_vectors(batch, query=query) if self._cohere else [self._titan_vector(batch[0])]
        return vectors

    def _titan_vector(self, text: str) -> Vector:
        body: JsonObject = {"inputText": text[:TITAN_CHARACTERS]}
        if self._shortens:
            body |= {"dimensions": self.dimension, "normalize": True}
        return vector_of(self._model, self._invoke(self._model, body).get("embedding"), self.dimension)

    def _cohere_vectors(self, batch: list[str], *, query: bool) -> list[Vector]:
        kind = "search_query" if query else "search_document"
        cut = [text[: COHERE_V4_CHARACTERS if self._fourth else COHERE_CHARACTERS] for text in batch]
        body: JsonObject = {"texts": cut, "input_type": kind, "truncate": "RIGHT" if self._fourth else "END"}
        if self._fourth:
            body |= {"embedding_types": ["float"], "output_dimension": self.dimension}
        found: Json = self._invoke(self._model, body).get("embeddings")
        if self._fourth and isinstance(found, dict):
            found = found.get("float")
        if not isinstance(found, list) or len(found) != len(batch):
            raise EmbedderFailed(f"{self._model}: the answer does not hold a vector for each text", retryable=True)
        return [vector_of(self._model, value, self.dimension) for value in found]


class AccountInvoke:
    """Calls models by boto3 with the credentials of the process. `region`, `url`: overrides of the process's values, for the
    local server.
    """

    def __init__(self, client: Runtime | None = None, *, region: str | None = None, url: str | None = None) -> None:
        self._client = client
        self._region, self._url = region, url
        self._lock = threading.Lock()

    def __call__(self, model: str, body: JsonObject) -> JsonObject:
        try:
            from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
            from botocore.exceptions import ConnectionError as NotReached
        except ImportError as error:
            raise EmbedderFailed(f"{model}: Bedrock needs boto3; install hibernaut[aws]", retryable=False) from error
        try:
            answer = self._runtime().invoke_model(
                modelId=model, body=json.dumps(body), contentType="application/json", accept="application/json"
            )
            value = json.loads(answer["body"].read())
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code"))
            refused = code == "ValidationException"
            raise EmbedderFailed(f"{model}: {code}", retryable=code in _LATER, of_texts=refused) from error
        except BotoCoreError as error:
            kind = type(error).__name__
            raise EmbedderFailed(f"{model}: {kind}", retryable=isinstance(error, HTTPClientError | NotReached)) from error
        except (ValueError, RecursionError) as error:
            raise EmbedderFailed(f"{model}: the answer is not JSON", retryable=True) from error
        if not isinstance(value, dict):
            raise EmbedderFailed(f"{model}: the answer is not a JSON object", retryable=True)
        return value

    def _runtime(self) -> Runtime:
        with self._lock:
            if self._client is None:
                from botocore.config import Config

                once = Config(retries={"total_max_attempts": 1}, connect_timeout=CONNECT_SECONDS, read_timeout=SECONDS)
                self._client = cast("Runtime", aws_client("bedrock-runtime", once, region=self._region, endpoint_url=self._url))
            return self._client
