"""Providers of a tenant's own on Bedrock, Vertex AI and Azure: whose credentials a request carries, which addresses are reached,
and what is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from hibernaut.adapters.door import Door
from hibernaut.adapters.model.own_providers import OwnProviders
from hibernaut.adapters.secrets.environment import EnvironmentSecrets
from hibernaut.ports.model import ModelRequest, ProviderAccess
from hibernaut.schemas.errors import InvalidArgument, ModelAuthentication, ModelConnection
from tests.contracts.model.kit import openai_chat, openai_responses
from tests.contracts.model.kit.bedrock import CONVERSES, ConverseServer
from tests.contracts.model.kit.bedrock_rules import REGION
from tests.contracts.model.kit.converse_rules import NOVA
from tests.contracts.model.kit.plays import reply
from tests.contracts.model.kit.vertex import LOCATION, VERTEX, VertexServer
from tests.support.google_tokens import TokenServer, shared_token_server
from tests.support.rows import Rows

KEY, SECRET = "AKIATHEIRS", "their-planted-secret"


@pytest.fixture
def bedrock() -> Iterator[ConverseServer]:
    """Bedrock, where the only account is that of the tenant."""
    with ConverseServer(CONVERSES[0]) as server:
        server.memory.account = (KEY, SECRET)
        yield server


@pytest.fixture
def vertex() -> Iterator[VertexServer]:
    with VertexServer(VERTEX) as server:
        yield server


def own(variables: Mapping[str, str] = {}, **fields: Any) -> OwnProviders:
    return OwnProviders(EnvironmentSecrets(variables), **fields)


def of_bedrock(url: str | None = None, **fields: Any) -> ProviderAccess:
    given = {"key": SECRET, "access_key": KEY, "region": REGION} | fields
    return ProviderAccess("mine", "bedrock", url=url, **given)


def of_vertex(url: str | None = None, **fields: Any) -> ProviderAccess:
    given = {"key": shared_token_server().credentials(), "region": LOCATION} | fields
    return ProviderAccess("mine", "google_vertex", url=url, **given)


def asked(provider: Any, model: str) -> Any:
    config = provider.config(model)
    return provider.model.complete(ModelRequest(config, "", [Rows().user("hi")], timeout=20.0))


def test_bedrock_is_called_with_the_access_key_of_its_owner(bedrock: ConverseServer) -> None:
    provider = own().connect(of_bedrock(bedrock.address))
    own().check(of_bedrock(bedrock.address))
    assert [row.handle for row in provider.list()] == [f"mine/{name}" for name in sorted(bedrock.chat_models)]
    assert {row.provider_category for row in provider.list()} == {"byok"}
    bedrock.plays(reply("Signed."))
    assert asked(provider, NOVA).text == "Signed."
    assert bedrock.broken == []


def test_a_wrong_secret_is_said_without_it(bedrock: ConverseServer) -> None:
    with pytest.raises(ModelAuthentication, match="mine: the AWS credentials") as refused:
        own().check(of_bedrock(bedrock.address, key="another-planted-secret"))
    assert "planted" not in str(refused.value) + str(refused.value.exchange)
    assert KEY not in refused.value.detail


def test_vertex_is_called_with_a_token_of_the_service_account(vertex: VertexServer) -> None:
    provider = own().connect(of_vertex(vertex.address))
    own().check(of_vertex(vertex.address))
    assert [row.handle for row in provider.list()] == ["mine/gemini-3.8-flash"]
    vertex.plays(reply("By token."), reply("By name."))
    assert asked(provider, "gemini-3.8-flash").text == "By token."
    assert provider.config("gemini-9-preview") is not None, "the list of Vertex AI leaves models out"
    assert vertex.broken == []


def test_a_key_that_google_deleted_is_said_by_its_provider(vertex: VertexServer) -> None:
    tokens = TokenServer()
    tokens.refuses = True
    with pytest.raises(ModelAuthentication, match=r"mine: no Google access token .*correct its api_key") as refused:
        own().check(of_vertex(vertex.address, key=tokens.credentials()))
    tokens.close()
    assert "PRIVATE KEY" not in str(refused.value)
    assert "GOOGLE_APPLICATION_CREDENTIALS" not in str(refused.value)


@pytest.mark.parametrize("name", ["mine", "bedrock"])
@pytest.mark.parametrize("access_key", [None, KEY])
def test_no_provider_of_a_tenant_is_signed_with_the_credentials_of_the_process(name: str, access_key: str | None) -> None:
    """The name `bedrock` is that of a key which is tried before it is stored."""
    access = ProviderAccess(name, "bedrock", None, None, REGION, access_key)
    with pytest.raises(InvalidArgument, match=f"{name}: Bedrock needs api_key"):
        own().check(access)


@pytest.mark.parametrize("name", ["mine", "google_vertex"])
@pytest.mark.parametrize("key", [None, "/etc/passwd", '{"type": "authorized_user"}', '{"type": "external_account"}', "[]", "{"])
def test_no_provider_of_a_tenant_uses_a_file_or_an_identity_of_this_machine(name: str, key: str | None) -> None:
    with pytest.raises(InvalidArgument, match="must be the key of a service account, as JSON: it") as refused:
        own().connect(ProviderAccess(name, "google_vertex", key, None, LOCATION))
    assert not key or key not in str(refused.value)


@pytest.mark.parametrize("member", ["project_id", "client_email", "private_key", "token_uri"])
def test_a_service_account_without_a_member_is_refused_by_its_name(member: str) -> None:
    key = json.loads(shared_token_server().credentials())
    del key[member]
    with pytest.raises(InvalidArgument, match=f"it has no {member}") as refused:
        own().connect(of_vertex(key=json.dumps(key)))
    assert "PRIVATE" not in str(refused.value)


@pytest.mark.parametrize(
    ("access", "said"),
    [
        (of_bedrock(region=None), "A provider of the type bedrock needs region"),
        (of_bedrock(region="eu-central-1.evil.example"), "mine: 'eu-central-1.evil.example' is not an AWS region"),
        (of_vertex(region=None), "A provider of the type google_vertex needs region"),
        (of_vertex(region="x.evil.example/"), "mine: 'x.evil.example/' is not a location of Vertex AI"),
        (of_vertex(key=shared_token_server().credentials(token_uri="file:///etc/passwd")), "token_uri of the service account must be"),
    ],
)  # fmt: skip
def test_what_is_missing_or_has_another_form_is_refused_before_anything_is_sent(access: ProviderAccess, said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        own().connect(access)


def test_a_remote_client_reaches_no_address_of_this_network(bedrock: ConverseServer, vertex: VertexServer) -> None:
    remote = own(door=Door())
    with pytest.raises(ModelConnection, match="no connection to"):
        remote.check(of_bedrock(bedrock.address.replace("http:", "https:")))
    tokens = shared_token_server().credentials(token_uri=shared_token_server().address.replace("http:", "https:") + "/token")
    before = shared_token_server().asked
    with pytest.raises(ModelConnection, match="Google's token service cannot be reached"):
        remote.check(of_vertex(vertex.address.replace("http:", "https:"), key=tokens))
    with pytest.raises(InvalidArgument, match="token_uri of the service account must be"):
        remote.connect(of_vertex())
    assert (bedrock.connections, vertex.connections, shared_token_server().asked) == (0, 0, before)


@pytest.mark.parametrize(("variables", "route"), [({"AZURE_WIRE": "responses"}, "/responses"), ({}, "/chat/completions")])
def test_azure_is_called_by_the_api_of_the_servers_setting(variables: Mapping[str, str], route: str) -> None:
    kit = openai_responses.AZURE if variables else openai_chat.AZURE
    with kit.server(kit) as server:
        server.plays(reply("Here."))
        provider = own(variables).connect(ProviderAccess("mine", "azure", key="sk-kit", url=f"{server.address}/openai/v1"))
        assert asked(provider, kit.model).text == "Here."
        assert server.requests[-1].path == f"/openai/v1{route}"
        assert server.broken == []
