"""Embedding by a tenant's own provider on Bedrock and Vertex AI: whose credentials a request carries, and which addresses are
reached.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import pytest

from hibernaut.adapters.door import Door
from hibernaut.adapters.embedder.own_embedder import own_embedder
from hibernaut.adapters.model.own_providers import OwnProviders
from hibernaut.adapters.secrets.environment import EnvironmentSecrets
from hibernaut.ports.memory.embedder import EmbedderFailed
from hibernaut.ports.model import ProviderAccess
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.models.llm_config import EmbeddingConfig
from tests.contracts.embedder.conftest import COHERE, TITAN, Bedrock
from tests.contracts.embedder.providers_kit import RuledServer, vertex
from tests.support.google_tokens import shared_token_server
from tests.support.json_server import JsonServer
from tests.support.provider_http import Recorded
from tests.support.sigv4 import unsigned

KEY, SECRET, REGION, LOCATION = "AKIATHEIRS", "their-planted-secret", "eu-central-1", "global"


@dataclass
class SignedBedrock:
    """InvokeModel over HTTP, for one account: a signature of its access key, or its Bedrock API key as a bearer token."""

    runtime: Bedrock = field(default_factory=Bedrock)
    models: list[str] = field(default_factory=list)

    def __call__(self, path: str, headers: Mapping[str, str], raw: bytes) -> tuple[int, Any]:
        asked = Recorded("POST", path, dict(headers), json.loads(raw), raw)
        bearer = headers.get("authorization") == f"Bearer {SECRET}"
        wrong = None if bearer else unsigned(asked, key=KEY, secret=SECRET, region=REGION, service="bedrock")
        if wrong is not None:
            return 403, {"message": f"The request signature we calculated does not match. {wrong}"}
        model = unquote(path).removeprefix("/model/").removesuffix("/invoke")
        self.models.append(model)
        return 200, json.loads(self.runtime.invoke_model(modelId=model, body=raw)["body"].read())


@pytest.fixture
def bedrock() -> Iterator[tuple[SignedBedrock, str]]:
    rules = SignedBedrock()
    with JsonServer(rules) as server:
        yield rules, server.address


def config(kind: str, model: str, dimension: int) -> EmbeddingConfig:
    return EmbeddingConfig(embedding_endpoint_type=kind, embedding_model=model, embedding_dim=dimension, handle=f"mine/{model}")


def own(**fields: Any) -> OwnProviders:
    return OwnProviders(EnvironmentSecrets({}), embedder=own_embedder, **fields)


@pytest.mark.parametrize("access_key", [KEY, None], ids=["signed", "api key"])
def test_bedrock_embeds_with_the_credentials_of_its_owner(bedrock: tuple[SignedBedrock, str], access_key: str | None) -> None:
    rules, address = bedrock
    provider = own().connect(ProviderAccess("mine", "bedrock", SECRET, address, REGION, access_key))
    assert f"mine/{TITAN}" in [row.handle for row in provider.embeddings()]
    for model, size in ((TITAN, 512), (COHERE, 1024)):
        vectors = provider.embedder(config("bedrock", model, size)).embed(["one", "two"])
        assert [len(each) for each in vectors] == [size, size]
    assert rules.models == [TITAN, TITAN, COHERE]
    with pytest.raises(
        InvalidArgument, match=r"anthropic\.claude is no embedding model that is served here; choose amazon\.titan"
    ):
        provider.embedder(config("bedrock", "anthropic.claude", 8))


def test_a_wrong_secret_is_said_without_it(bedrock: tuple[SignedBedrock, str]) -> None:
    _, address = bedrock
    provider = own().connect(ProviderAccess("mine", "bedrock", "another-planted-secret", address, REGION, KEY))
    with pytest.raises(EmbedderFailed, match=r"correct its api_key .*PATCH /v1/providers") as refused:
        provider.embedder(config("bedrock", TITAN, 512)).embed(["nobody may read this"])
    assert not any(word in str(refused.value) for word in ("planted", KEY, "nobody"))


def test_vertex_embeds_with_a_token_of_the_service_account() -> None:
    with RuledServer(vertex) as server:
        access = ProviderAccess("mine", "google_vertex", shared_token_server().credentials(), server.address, LOCATION)
        provider = own().connect(access)
        [row] = [row for row in provider.embeddings() if row.embedding_model == "text-embedding-005"]
        assert (row.handle, row.embedding_endpoint) == ("mine/text-embedding-005", None)
        [vector] = provider.embedder(config("google_vertex", "text-embedding-005", 768)).embed(["one"])
        assert len(vector) == 768


def test_a_remote_client_embeds_at_no_address_of_this_network(bedrock: tuple[SignedBedrock, str]) -> None:
    rules, address = bedrock
    inside = address.replace("http:", "https:")
    tokens = shared_token_server().credentials(token_uri=shared_token_server().address.replace("http:", "https:") + "/token")
    before = shared_token_server().asked
    for access, model in (
        (ProviderAccess("mine", "bedrock", SECRET, inside, REGION, KEY), TITAN),
        (ProviderAccess("mine", "google_vertex", tokens, inside, LOCATION), "text-embedding-005"),
        (ProviderAccess("mine", "google_ai", SECRET, inside), "gemini-embedding-001"),
    ):
        embedder = own(door=Door()).connect(access).embedder(config(access.provider_type, model, 768))
        with pytest.raises(EmbedderFailed):
            embedder.embed(["one"])
    assert (rules.models, shared_token_server().asked) == ([], before)
