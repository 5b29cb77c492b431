"""Which embedder serves which configuration, what the default is, and where a key goes."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from hibernaut.adapters.addresses import THIS_MACHINE
from hibernaut.adapters.door import Door
from hibernaut.adapters.embedder import minilm_files
from hibernaut.adapters.embedder.catalogue import DefaultEmbedding, EmbedderCatalogue
from hibernaut.adapters.model.dialects import OPENAI
from hibernaut.ports.memory.embedder import Embedder
from hibernaut.schemas.models.llm_config import EmbeddingConfig
from tests.contracts.embedder.providers_kit import Asked, RuledServer
from tests.contracts.model.test_catalogue import Kept
from tests.support.provider_servers import ScriptedOpenAI

MINILM = EmbeddingConfig(
    embedding_endpoint_type="hibernaut", embedding_model="minilm", embedding_dim=384, handle="hibernaut/minilm"
)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deployment without the weights, as a Lambda function is."""
    monkeypatch.setattr(minilm_files, "NEEDED", ("no_such_package",))


def config(kind: str = "openai", model: str = "m", dimension: int = 8, **more: Any) -> EmbeddingConfig:
    return EmbeddingConfig(embedding_endpoint_type=kind, embedding_model=model, embedding_dim=dimension, **more)


def default_of(catalogue: EmbedderCatalogue) -> tuple[str | None, int] | None:
    found = catalogue.default()
    return (found.handle, found.embedding_dim) if found else None


def used(embedder: Embedder | None, server: ScriptedOpenAI) -> str | None:
    """The key with which it asks this server."""
    assert embedder is not None
    embedder.embed(["one"])
    return server.embedded[-1].headers.get("authorization")


def test_without_anything_configured_minilm_is_the_default() -> None:
    catalogue = EmbedderCatalogue(Kept(OPENAI_API_KEY="sk-own"))
    assert catalogue.default() == MINILM
    assert (catalogue.default_handle(), [row.handle for row in catalogue.descriptions()]) == (
        "hibernaut/minilm",
        ["hibernaut/minilm"],
    )
    embedder = catalogue.of(MINILM)
    assert embedder is not None
    assert (embedder.space, embedder.max_tokens) == ("minilm-l6-v2-384", 254)


@pytest.mark.usefixtures("bare")
def test_without_the_weights_openais_small_model_is_the_default_where_its_key_is() -> None:
    assert default_of(EmbedderCatalogue(Kept(OPENAI_API_KEY="sk-own"))) == ("openai/text-embedding-3-small", 1536)


@pytest.mark.usefixtures("bare")
def test_without_the_weights_and_a_key_there_is_no_default_and_no_minilm() -> None:
    for kept in (Kept(), Kept(OPENAI_BASE_URL="http://127.0.0.1:1/v1")):
        catalogue = EmbedderCatalogue(kept)
        assert (catalogue.default(), catalogue.default_handle(), catalogue.descriptions()) == (None, None, [])
        assert catalogue.of(MINILM) is None


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (DefaultEmbedding("openai/text-embedding-3-large"), ("openai/text-embedding-3-large", 3072)),
        (DefaultEmbedding("openai/text-embedding-3-large", 1024), ("openai/text-embedding-3-large", 1024)),
        (DefaultEmbedding("openai/their/own", 99), ("openai/their/own", 99)),
        (DefaultEmbedding("openai/nomic-embed-text:latest"), ("openai/nomic-embed-text:latest", 768)),
        (DefaultEmbedding("bedrock/amazon.titan-embed-text-v2:0"), ("bedrock/amazon.titan-embed-text-v2:0", 1024)),
        (DefaultEmbedding("hibernaut/minilm", 99), ("hibernaut/minilm", 384)),
        (DefaultEmbedding("none"), None),
    ],
)
def test_the_default_is_what_the_deployment_asks_for_and_stands_first(
    wanted: DefaultEmbedding, expected: tuple[str, int] | None, caplog: pytest.LogCaptureFixture
) -> None:
    catalogue = EmbedderCatalogue(Kept(OPENAI_API_KEY="sk-own"), default=wanted, bedrock=True)
    assert default_of(catalogue) == expected
    listed = [(row.handle, row.embedding_dim) for row in catalogue.descriptions()]
    assert listed == list(dict.fromkeys([expected, ("hibernaut/minilm", 384)] if expected else [("hibernaut/minilm", 384)]))
    assert caplog.messages == []
    if expected:
        embedder = catalogue.of(catalogue.default())
        assert embedder is not None
        assert embedder.dimension == expected[1]


@pytest.mark.parametrize(
    "handle", ["openai/unknown", "bedrock/amazon.titan-embed-text-v2:0", "hibernaut/maxilm", "azure/x", "openai/"]
)
def test_a_default_that_nothing_serves_is_said_and_is_not_replaced_by_another(
    handle: str, caplog: pytest.LogCaptureFixture
) -> None:
    catalogue = EmbedderCatalogue(Kept(OPENAI_API_KEY="sk-own"), default=DefaultEmbedding(handle))
    assert catalogue.default() is None
    [record] = caplog.records
    assert (record.levelno, record.__dict__["handle"]) == (logging.ERROR, handle)


def test_a_key_goes_to_its_own_address_only(server: ScriptedOpenAI) -> None:
    kept = Kept(OPENAI_API_KEY="sk-own", OPENAI_BASE_URL=server.url + "/")
    catalogue = EmbedderCatalogue(kept, dial=lambda: Door(THIS_MACHINE).client(5))
    assert used(catalogue.of(config(handle="openai/m", embedding_endpoint="http://elsewhere")), server) == "Bearer sk-own"
    assert used(catalogue.of(config(embedding_endpoint=server.url)), server) == "Bearer sk-own"
    assert used(catalogue.of(config()), server) == "Bearer sk-own"
    with ScriptedOpenAI() as stranger:
        for kind in ("openai", "ollama", "vllm", "together"):
            assert used(catalogue.of(config(kind, embedding_endpoint=stranger.url)), stranger) is None


def test_without_a_dial_no_address_is_called_that_only_a_caller_names(server: ScriptedOpenAI) -> None:
    catalogue = EmbedderCatalogue(Kept(OPENAI_API_KEY="sk-own", OPENAI_BASE_URL=server.url))
    assert used(catalogue.of(config(embedding_endpoint=server.url)), server) == "Bearer sk-own"
    assert catalogue.of(config(embedding_endpoint="http://127.0.0.1:1/v1")) is None


@pytest.mark.parametrize(
    "gone",
    [
        None,
        config(),
        config(handle="openai/m"),
        config(embedding_endpoint=OPENAI.url),
        config(embedding_endpoint="file:///etc/passwd"),
        config("ollama"),
        config("pinecone", embedding_endpoint="http://127.0.0.1:1/v1"),
        config("azure", embedding_endpoint="http://127.0.0.1:1/v1"),
        config("bedrock", "amazon.titan-embed-text-v2:0", 1024),
        config("hibernaut", "minilm", 8),
        config("hibernaut", "other", 384),
    ],
)
def test_what_nothing_here_serves_has_no_embedder(gone: EmbeddingConfig | None) -> None:
    assert EmbedderCatalogue(Kept()).of(gone) is None


def test_equal_configurations_share_an_embedder_and_its_memory_of_queries(server: ScriptedOpenAI) -> None:
    catalogue = EmbedderCatalogue(Kept(OPENAI_BASE_URL=server.url))
    one, same, other = (catalogue.of(config(dimension=size, handle="openai/m")) for size in (8, 8, 9))
    assert one is same
    assert one is not other
    assert one is not None
    one.embed(["words"], query=True)
    one.embed(["words"], query=True)
    assert len(server.embedded) == 1


def test_one_that_names_bedrock_asks_it_where_the_account_has_it() -> None:
    catalogue = EmbedderCatalogue(Kept(), bedrock=True)
    embedder = catalogue.of(config("bedrock", "cohere.embed-english-v3", 1024))
    assert embedder is not None
    assert embedder.space == "cohere-embed-english-v3-" + embedder.space.split("-")[-2] + "-1024"
    assert catalogue.of(config("bedrock", "anthropic.claude", 1024)) is None


def test_bedrock_embeds_at_home_where_a_region_makes_it_a_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAPLANTED")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted")

    def invoke(asked: Asked) -> dict[str, Any]:
        assert asked.path == "/model/amazon.titan-embed-text-v2%3A0/invoke"
        assert "/eu-central-1/bedrock/" in asked.headers["authorization"]
        return {"embedding": [1.0] * asked.body["dimensions"]}

    with RuledServer(invoke) as server:
        kept = Kept(BEDROCK_REGION="eu-central-1", BEDROCK_BASE_URL=server.address)
        catalogue = EmbedderCatalogue(kept, default=DefaultEmbedding("bedrock/amazon.titan-embed-text-v2:0", 256))
        embedder = catalogue.of(catalogue.default())
        assert embedder is not None
        assert len(embedder.embed(["one"])[0]) == 256
    assert catalogue.of(config(handle="bedrock/m")) is None
    narrowed = EmbedderCatalogue(Kept(BEDROCK_REGION="eu-central-1", BEDROCK_MODELS="eu.anthropic.*,cohere.*"))
    assert narrowed.of(config("bedrock", "amazon.titan-embed-text-v2:0", 1024)) is None
    assert narrowed.of(config("bedrock", "cohere.embed-v4:0", 1536)) is not None


def test_the_embedders_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    catalogue = EmbedderCatalogue(Kept(OPENAI_API_KEY="sk-own"))
    first = catalogue.of(config(handle="openai/m"))
    for number in range(64):
        catalogue.of(config(model=f"m{number}", handle="openai/m"))
    assert len(catalogue._embedders) == 64
    assert catalogue.of(config(handle="openai/m")) is not first
