"""Embeddings by OpenAI's wire format: what is sent, what comes of each answer, and where a key goes."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from hibernaut.adapters.embedder.hosted import http_embedder
from hibernaut.adapters.embedder.hosted.http_embedder import EmbeddingModel, EmbeddingServer, HttpEmbedder
from hibernaut.adapters.embedder.hosted.openai import EmbeddingRoute, bearer, openai_embedder
from hibernaut.ports.memory.embedder import EmbedderFailed
from tests.support.provider_http import vectors
from tests.support.provider_servers import ScriptedOpenAI

KEY = "sk-planted-secret-key"
SECRET = "nobody may read this"


def over(server: ScriptedOpenAI, model: str = "test-embedding", dimension: int = 8, **more: Any) -> HttpEmbedder:
    return openai_embedder(EmbeddingModel(model, dimension), EmbeddingServer(server.url, bearer(KEY)), **more)


def failure(server: ScriptedOpenAI, **more: Any) -> EmbedderFailed:
    with pytest.raises(EmbedderFailed) as failed:
        over(server, **more).embed([SECRET])
    assert SECRET not in str(failed.value)
    assert KEY not in str(failed.value)
    return failed.value


def rows(*embeddings: Any) -> dict[str, Any]:
    return {"raw": json.dumps({"data": [{"index": place, "embedding": each} for place, each in enumerate(embeddings)]}).encode()}


def test_a_request_carries_the_model_the_texts_and_the_key(server: ScriptedOpenAI) -> None:
    over(server).embed(["one", "two"])
    [request] = server.embedded
    assert request.path == "/v1/embeddings"
    assert request.body == {"model": "test-embedding", "input": ["one", "two"], "encoding_format": "float"}
    assert request.headers["authorization"] == f"Bearer {KEY}"


def test_a_redirect_takes_no_text_and_no_key_elsewhere(server: ScriptedOpenAI) -> None:
    with ScriptedOpenAI() as elsewhere:
        server.embeds = lambda _: {"status": 307, "body": b"", "headers": {"location": f"{elsewhere.url}/embeddings"}}
        failure(server)
        assert elsewhere.embedded == []


def test_without_a_key_none_is_sent(server: ScriptedOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    openai_embedder(EmbeddingModel("m", 8), EmbeddingServer(server.url)).embed(["one"])
    assert "authorization" not in server.embedded[0].headers


@pytest.mark.parametrize(
    ("model", "dimension", "sent"),
    [
        ("text-embedding-3-small", 1536, None),
        ("text-embedding-3-small", 512, 512),
        ("text-embedding-3-large", 1024, 1024),
        ("text-embedding-ada-002", 512, None),
        ("unknown", 512, None),
    ],
)
def test_a_smaller_dimension_is_asked_for_where_the_model_takes_it(
    server: ScriptedOpenAI, model: str, dimension: int, sent: int | None
) -> None:
    server.embeds = lambda body: vectors({"dimensions": dimension} | body)
    [vector] = over(server, model, dimension).embed(["one"])
    assert len(vector) == dimension
    assert server.embedded[0].body.get("dimensions") == sent


def test_requests_hold_as_many_texts_as_they_may_and_the_order_stays(server: ScriptedOpenAI) -> None:
    texts = [f"text {number}" for number in range(23)]
    found = over(server, batch=10).embed(texts)
    assert [len(request.body["input"]) for request in server.embedded] == [10, 10, 3]
    assert found == [over(server).embed([text])[0] for text in texts]


def test_requests_hold_as_many_tokens_as_they_may(server: ScriptedOpenAI) -> None:
    over(server, route=EmbeddingRoute(most_tokens=100)).embed(["word " * 60, "word " * 30, "word " * 30, "word " * 300])
    assert [len(request.body["input"]) for request in server.embedded] == [2, 1, 1]


def test_a_text_is_cut_to_what_the_model_reads(server: ScriptedOpenAI) -> None:
    embedder = over(server)
    embedder.embed(["some words " * 20_000])
    [sent] = server.embedded[0].body["input"]
    assert 0.9 * embedder.max_tokens < embedder.count(sent) <= embedder.max_tokens


def test_vectors_belong_to_texts_by_their_index_and_are_made_one_long(server: ScriptedOpenAI) -> None:
    data = [{"index": 1, "embedding": [0, 3.0]}, {"index": 0, "embedding": [2, 0.0]}]
    server.embeds = lambda _: {"raw": json.dumps({"data": data}).encode()}
    assert over(server, dimension=2).embed(["one", "two"]) == [(1.0, 0.0), (0.0, 1.0)]


@pytest.mark.parametrize(
    ("status", "body", "retryable"),
    [
        (400, {"error": {"message": SECRET}}, False),
        (401, {}, False),
        (403, {}, False),
        (404, {}, False),
        (408, {}, True),
        (413, {}, False),
        (429, {"error": {"code": "rate_limit_exceeded"}}, True),
        (429, {"error": {"code": "insufficient_quota", "message": KEY}}, False),
        (500, {}, True),
        (503, b"<html>", True),
        (302, {}, False),
    ],
)
def test_a_refusal_says_whether_it_is_worth_another_try(server: ScriptedOpenAI, status: int, body: Any, retryable: bool) -> None:
    server.embeds = lambda _: {"status": status, "body": body}
    failed = failure(server)
    assert (failed.retryable, str(failed)) == (retryable, f"test-embedding: refused with status {status}")
    assert failed.of_texts is (status in (400, 413))
    assert len(server.embedded) == 1


@pytest.mark.parametrize(
    ("say", "retryable"),
    [
        (rows([1.0] * 7), False),
        (rows([0.0] * 8), False),
        (rows([1e400] * 8), False),
        (rows([math.nan] * 8), False),
        (rows(), True),
        (rows([1.0] * 8, [1.0] * 8), True),
        (rows("AAAA"), True),
        (rows(["1"] * 8), True),
        (rows(None), True),
        ({"raw": b'{"data": [{"index": 5, "embedding": [1]}]}'}, True),
        ({"raw": b'{"data": [{"index": [], "embedding": [1]}]}'}, True),
        ({"raw": b'{"data": {"0": 1}}'}, True),
        ({"raw": b'["data"]'}, True),
        ({"raw": b"not JSON"}, True),
        ({"raw": b"\xff\xfe"}, True),
        ({"raw": b"[" * 100_000}, True),
        ({"raw": b"{}" * 9, "cut": True}, True),
    ],
)
def test_an_answer_without_the_right_vectors_fails(server: ScriptedOpenAI, say: dict[str, Any], retryable: bool) -> None:
    server.embeds = lambda _: say
    assert failure(server).retryable is retryable


def test_a_server_that_does_not_answer_may_answer_later(server: ScriptedOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_embedder, "SECONDS", 0.2)
    server.embeds = lambda _: {"hang": True}
    assert failure(server).retryable
    server.close()
    assert failure(server).retryable


@pytest.mark.parametrize("url", ["http://[half", "ftp://127.0.0.1", "http://127.0.0.1:99999", "nonsense"])
def test_an_address_that_is_none_fails_and_is_no_crash(url: str) -> None:
    with pytest.raises(EmbedderFailed):
        openai_embedder(EmbeddingModel("m", 8), EmbeddingServer(url)).embed(["one"])


def test_spaces_of_different_models_and_dimensions_have_different_names() -> None:
    models = ["bge-m3", "BAAI/bge-m3", "baai-bge-m3", "bge.m3", "x" * 90, "x" * 91]
    made = {openai_embedder(EmbeddingModel(model, size), EmbeddingServer("")).space for model in models for size in (8, 16)}
    assert len(made) == 12
    assert (
        openai_embedder(EmbeddingModel("text-embedding-3-small", 1536), EmbeddingServer("")).space
        == "text-embedding-3-small-1536"
    )
