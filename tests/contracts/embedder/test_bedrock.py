"""Bedrock's models: what each family is sent, and what comes of each answer and error. The errors are botocore's own, by its
stub.
"""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError, NoCredentialsError, ReadTimeoutError
from botocore.session import Session
from botocore.stub import Stubber

from hibernaut.adapters.embedder.hosted.bedrock import COHERE_CHARACTERS, AccountInvoke, BedrockEmbedder
from hibernaut.ports.memory.embedder import EmbedderFailed
from tests.contracts.embedder.conftest import COHERE, TITAN, Bedrock

SECRET = "nobody may read this"


class Dead:
    """A client whose every call fails as botocore's fail."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def invoke_model(self, **_request: Any) -> Any:
        raise self.error


def runtime() -> Any:
    return Session().create_client("bedrock-runtime", region_name="eu-central-1")


def answering(body: bytes) -> Any:
    """A real client behind a stub that answers with this."""
    client = runtime()
    stub = Stubber(client)
    stub.add_response("invoke_model", {"body": io.BytesIO(body), "contentType": "application/json"})
    stub.activate()
    return client


def test_titan_is_sent_a_text_at_a_time_with_the_dimension() -> None:
    client = Bedrock()
    BedrockEmbedder(model=TITAN, dimension=256, invoke=AccountInvoke(client)).embed(["one", "two"])
    assert client.asked == [{"inputText": text, "dimensions": 256, "normalize": True} for text in ("one", "two")]


def test_the_first_titan_takes_no_dimension() -> None:
    client = Bedrock()
    BedrockEmbedder(model="amazon.titan-embed-text-v1", dimension=1536, invoke=AccountInvoke(client)).embed(["one"])
    assert client.asked == [{"inputText": "one"}]


def test_cohere_is_told_what_is_a_question_and_gets_many_texts_at_once() -> None:
    client = Bedrock()
    embedder = BedrockEmbedder(model=COHERE, dimension=1024, invoke=AccountInvoke(client))
    embedder.embed(["text"] * 100)
    embedder.embed(["question"], query=True)
    assert [(len(body["texts"]), body["input_type"], body["truncate"]) for body in client.asked] == [
        (96, "search_document", "END"),
        (4, "search_document", "END"),
        (1, "search_query", "END"),
    ]


def test_a_text_is_cut_to_what_cohere_takes() -> None:
    client = Bedrock()
    BedrockEmbedder(model=COHERE, dimension=1024, invoke=AccountInvoke(client)).embed(["internationalization " * 380])
    assert [len(text) for text in client.asked[0]["texts"]] == [COHERE_CHARACTERS]


def test_the_request_is_one_that_the_service_takes() -> None:
    client = runtime()
    with Stubber(client) as stub:
        stub.add_response(
            "invoke_model",
            {"body": io.BytesIO(json.dumps({"embedding": [0.0, 2.0] * 128}).encode()), "contentType": "application/json"},
            {
                "modelId": TITAN,
                "body": json.dumps({"inputText": "one", "dimensions": 256, "normalize": True}),
                "contentType": "application/json",
                "accept": "application/json",
            },
        )
        [vector] = BedrockEmbedder(model=TITAN, dimension=256, invoke=AccountInvoke(client)).embed(["one"])
        stub.assert_no_pending_responses()
    assert len(vector) == 256


@pytest.mark.parametrize(
    ("code", "retryable"),
    [
        ("ThrottlingException", True),
        ("ServiceUnavailableException", True),
        ("ModelNotReadyException", True),
        ("ModelTimeoutException", True),
        ("InternalServerException", True),
        ("AccessDeniedException", False),
        ("ValidationException", False),
        ("ResourceNotFoundException", False),
        ("ServiceQuotaExceededException", False),
    ],
)
def test_an_error_of_the_service_says_whether_it_is_worth_another_try(code: str, retryable: bool) -> None:
    client = runtime()
    with Stubber(client) as stub:
        stub.add_client_error("invoke_model", code, SECRET)
        with pytest.raises(EmbedderFailed) as failed:
            BedrockEmbedder(model=TITAN, dimension=256, invoke=AccountInvoke(client)).embed([SECRET])
    assert (failed.value.retryable, str(failed.value)) == (retryable, f"{TITAN}: {code}")


@pytest.mark.parametrize(
    ("error", "retryable"),
    [
        (EndpointConnectionError(endpoint_url="https://x"), True),
        (ConnectTimeoutError(endpoint_url="https://x"), True),
        (ReadTimeoutError(endpoint_url="https://x"), True),
        (NoCredentialsError(), False),
    ],
)
def test_a_service_that_is_not_reached_may_be_reached_later(error: Exception, retryable: bool) -> None:
    with pytest.raises(EmbedderFailed) as failed:
        BedrockEmbedder(model=TITAN, dimension=256, invoke=AccountInvoke(Dead(error))).embed(["one"])
    assert failed.value.retryable is retryable


@pytest.mark.parametrize(
    ("model", "body", "retryable"),
    [
        (TITAN, b"not JSON", True),
        (TITAN, b"[]", True),
        (TITAN, b"{}", True),
        (TITAN, b'{"embedding": [1.0, 2.0]}', False),
        (COHERE, b'{"embeddings": []}', True),
        (COHERE, b'{"embeddings": {"float": []}}', True),
    ],
)
def test_an_answer_without_the_right_vectors_fails(model: str, body: bytes, retryable: bool) -> None:
    with pytest.raises(EmbedderFailed) as failed:
        BedrockEmbedder(model=model, dimension=1024, invoke=AccountInvoke(answering(body))).embed(["one"])
    assert failed.value.retryable is retryable
