"""The embedders under the suite, each in turn."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from hibernaut.adapters.embedder.cached import CachedEmbedder
from hibernaut.adapters.embedder.catalogue import DefaultEmbedding, EmbedderCatalogue
from hibernaut.adapters.embedder.hosted.bedrock import AccountInvoke, BedrockEmbedder
from hibernaut.adapters.embedder.hosted.http_embedder import EmbeddingModel, EmbeddingServer
from hibernaut.adapters.embedder.hosted.openai import bearer, openai_embedder
from hibernaut.adapters.embedder.minilm import MiniLM
from hibernaut.ports.memory.embedder import Embedder
from tests.contracts.embedder.providers_kit import CASES, RuledServer
from tests.contracts.model.test_catalogue import Kept
from tests.support.hashing_embedder import HashingEmbedder, hashed
from tests.support.provider_servers import ScriptedOpenAI

TITAN, COHERE, COHERE_4 = "amazon.titan-embed-text-v2:0", "cohere.embed-english-v3", "cohere.embed-v4:0"


class Bedrock:
    """The runtime's client as both families answer: a small real thing, where the error mapping is shown with botocore's own
    stub.
    """

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def invoke_model(self, **request: Any) -> dict[str, Any]:
        body = json.loads(request["body"])
        self.asked.append(body)
        answer = self._titan(body) if "inputText" in body else self._cohere(request["modelId"], body)
        return {"body": io.BytesIO(json.dumps(answer).encode())}

    def _titan(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"embedding": self._vector(body["inputText"], body.get("dimensions", 1536)), "inputTextTokenCount": 1}

    def _cohere(self, model: str, body: dict[str, Any]) -> dict[str, Any]:
        """User guide, "Cohere Embed v3" and "Cohere Embed v4": 96 texts, of the third 2,048 characters each, and the members."""
        assert len(body["texts"]) <= 96
        if model != COHERE_4:
            assert set(body) <= {"texts", "input_type", "truncate", "embedding_types"}
            assert body["truncate"] in ("NONE", "START", "END")
            assert all(len(text) <= 2048 for text in body["texts"])
            return {"embeddings": [self._vector(text, 1024) for text in body["texts"]]}
        assert set(body) <= {"texts", "input_type", "truncate", "embedding_types", "output_dimension", "max_tokens"}
        assert body["truncate"] in ("NONE", "LEFT", "RIGHT")
        assert body["output_dimension"] in (256, 512, 1024, 1536)
        found = [self._vector(text, body["output_dimension"]) for text in body["texts"]]
        return {"embeddings": {"float": found}, "response_type": "embeddings_by_type"}

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


@pytest.fixture
def ruled() -> Iterator[Callable[[str], Embedder]]:
    """The embedder of a provider whose server enforces its rules."""
    with ExitStack() as servers:

        def made(name: str) -> Embedder:
            case = CASES[name]
            server = servers.enter_context(RuledServer(case.rules))
            kept = Kept(**case.settings(server.address))
            catalogue = EmbedderCatalogue(kept, default=DefaultEmbedding(case.handle, case.dimension))
            embedder = catalogue.of(catalogue.default())
            assert embedder is not None
            return embedder

        yield made


@pytest.fixture(params=["minilm", "openai", "titan", "cohere", "cohere-4", "voyage", "gemini", "cached", "hashing"])
def embedder(request: pytest.FixtureRequest, minilm: MiniLM, server: ScriptedOpenAI) -> Embedder:
    match request.param:
        case "minilm":
            return minilm
        case "openai":
            return openai_embedder(EmbeddingModel("test-embedding", 8), EmbeddingServer(server.url, bearer("k")), batch=7)
        case "titan":
            return BedrockEmbedder(model=TITAN, dimension=512, invoke=AccountInvoke(Bedrock()))
        case "cohere":
            return BedrockEmbedder(model=COHERE, dimension=1024, invoke=AccountInvoke(Bedrock()))
        case "cohere-4":
            return BedrockEmbedder(model=COHERE_4, dimension=512, invoke=AccountInvoke(Bedrock()))
        case "voyage" | "gemini":
            return request.getfixturevalue("ruled")(request.param)
        case "cached":
            return CachedEmbedder(HashingEmbedder())
        case _:
            return HashingEmbedder()
