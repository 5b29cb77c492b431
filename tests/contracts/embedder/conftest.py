"""The embedders under the suite, each in turn."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from hibernaut.adapters.embedder.bedrock import BedrockEmbedder
from hibernaut.adapters.embedder.cached import CachedEmbedder
from hibernaut.adapters.embedder.minilm import MiniLM
from hibernaut.adapters.embedder.openai import OpenAIEmbedder
from hibernaut.ports.embedder import Embedder
from tests.support.hashing_embedder import HashingEmbedder, hashed
from tests.support.provider_servers import ScriptedOpenAI

TITAN, COHERE = "amazon.titan-embed-text-v2:0", "cohere.embed-english-v3"


class Bedrock:
    """The runtime's client as both families answer: a small real thing, where the error mapping is shown with botocore's own stub."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def invoke_model(self, **request: Any) -> dict[str, Any]:
        body = json.loads(request["body"])
        self.asked.append(body)
        answer = (
            self._titan(body) if "inputText" in body else {"embeddings": [self._vector(text, 1024) for text in body["texts"]]}
        )
        return {"body": io.BytesIO(json.dumps(answer).encode())}

    def _titan(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"embedding": self._vector(body["inputText"], body.get("dimensions", 1536)), "inputTextTokenCount": 1}

    def _vector(self, text: str, size: int) -> list[float]:
        return [3 * each for each in hashed(text.lower().split(), size)]


@pytest.fixture(scope="session")
def minilm() -> MiniLM:
    """Loaded once for all tests: it has no state but what it has read."""
    return MiniLM()


@pytest.fixture
def server() -> Iterator[ScriptedOpenAI]:
    with ScriptedOpenAI() as scripted:
        yield scripted


@pytest.fixture(params=["minilm", "openai", "titan", "cohere", "cached", "hashing"])
def embedder(request: pytest.FixtureRequest, minilm: MiniLM, server: ScriptedOpenAI) -> Embedder:
    match request.param:
        case "minilm":
            return minilm
        case "openai":
            return OpenAIEmbedder(model="test-embedding", dimension=8, url=server.url, key="k", batch=7)
        case "titan":
            return BedrockEmbedder(model=TITAN, dimension=512, client=Bedrock())
        case "cohere":
            return BedrockEmbedder(model=COHERE, dimension=1024, client=Bedrock())
        case "cached":
            return CachedEmbedder(HashingEmbedder())
        case _:
            return HashingEmbedder()
