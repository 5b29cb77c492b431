"""Providers of one's own on Amazon Bedrock and Google Vertex AI (API 3, RT 11.1), through the stable SDK's own
transport.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
from letta_client import APIStatusError, BadRequestError, Letta, NotFoundError

from tests.compat.conftest import Make
from tests.contracts.model.kit.bedrock import CONVERSES, ConverseServer
from tests.contracts.model.kit.bedrock_rules import REGION
from tests.contracts.model.kit.converse_rules import NOVA
from tests.contracts.model.kit.plays import reply
from tests.contracts.model.kit.server import KitServer
from tests.contracts.model.kit.vertex import LOCATION, VERTEX, VertexServer
from tests.support.google_tokens import shared_token_server

BASE = "/v1/providers/"
ACCESS_KEY, SECRET = "AKIAPLANTED", "planted-secret-of-a-user"


@dataclass(frozen=True)
class Cloud:
    """A cloud: its server, what a user sends to add it, and one of its models."""

    server: KitServer
    fields: dict[str, Any]
    model: str


@pytest.fixture(params=["bedrock", "google_vertex"])
def cloud(request: pytest.FixtureRequest) -> Iterator[Cloud]:
    if request.param == "bedrock":
        with ConverseServer(CONVERSES[0]) as server:
            server.memory.account = (ACCESS_KEY, SECRET)
            keys = {"api_key": SECRET, "access_key": ACCESS_KEY, "region": REGION}
            yield Cloud(server, {"provider_type": "bedrock", "base_url": server.address} | keys, NOVA)
    else:
        with VertexServer(VERTEX) as vertex:
            keys = {"api_key": shared_token_server().credentials(), "region": LOCATION}
            yield Cloud(vertex, {"provider_type": "google_vertex", "base_url": vertex.address} | keys, "gemini-3.8-flash")


@pytest.fixture
def add(client: Letta) -> Iterator[Callable[..., Any]]:
    """Adds providers, and deletes them at the end."""
    with ExitStack() as made:

        def added(**fields: Any) -> Any:
            provider: Any = client.post(BASE, cast_to=object, body=fields)
            made.callback(_gone, client, provider["id"])
            return provider

        yield added


def _gone(client: Letta, provider_id: str) -> None:
    try:
        client.delete(f"{BASE}{provider_id}", cast_to=object)
    except NotFoundError:
        return


@pytest.mark.manifest("providers.clouds")
@pytest.mark.deployed
def test_an_agent_answers_by_a_cloud_of_ones_own(client: Letta, cloud: Cloud, add: Callable[..., Any], new_agent: Make) -> None:
    checked: Any = client.post(f"{BASE}check", cast_to=object, body=cloud.fields)
    assert checked["message"].endswith(f"provider_type={cloud.fields['provider_type']}")
    made = add(name="my cloud", **cloud.fields)
    listed: Any = client.get(BASE, cast_to=object)
    assert made in listed
    assert (made["region"], made["api_key"], made["access_key"]) == (cloud.fields["region"], None, None)
    assert not [each for each in (SECRET, ACCESS_KEY, "PRIVATE KEY") if each in str(listed)]
    rows = {row.handle: row.provider_type for row in client.models.list(provider_category=["byok"])}
    assert rows[f"my cloud/{cloud.model}"] == cloud.fields["provider_type"]
    agent = new_agent(model=f"my cloud/{cloud.model}")
    cloud.server.plays(reply("From the cloud."))
    assert client.agents.messages.create(agent.id, input="Who?").messages[-1].content == "From the cloud."
    path = f"{BASE}{made['id']}"
    assert client.post(f"{path}/check", cast_to=object) == checked
    refreshed: Any = client.patch(f"{path}/refresh", cast_to=object)
    assert refreshed["last_synced"] is not None
    changed: Any = client.patch(path, cast_to=object, body={"api_key": cloud.fields["api_key"]})
    assert (changed["region"], changed["base_url"]) == (cloud.fields["region"], cloud.server.address)
    cloud.server.plays(reply("Still there."))
    assert client.agents.messages.create(agent.id, input="And now?").messages[-1].content == "Still there."
    assert cloud.server.broken == []
    client.delete(path, cast_to=object)
    with pytest.raises(NotFoundError, match="my cloud: this provider does not exist any more"):
        client.agents.messages.create(agent.id, input="Gone?")


@pytest.mark.manifest("providers.clouds")
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"provider_type": "bedrock", "api_key": SECRET, "access_key": ACCESS_KEY}, "bedrock needs region"),
        ({"provider_type": "bedrock", "api_key": SECRET, "access_key": ACCESS_KEY, "region": "europe"}, "'europe' is not an AWS region"),
        ({"provider_type": "bedrock", "api_key": "", "access_key": ACCESS_KEY, "region": REGION}, "Bedrock needs api_key"),
        ({"provider_type": "google_vertex", "api_key": "AIza", "region": LOCATION}, "as JSON: it is not JSON"),
        ({"provider_type": "google_vertex", "api_key": '{"type": "authorized_user"}', "region": LOCATION}, "its type is not service_account"),
    ],
)  # fmt: skip
def test_what_a_cloud_needs_is_said_by_its_name(client: Letta, fields: dict[str, str], said: str) -> None:
    for path in (BASE, f"{BASE}check"):
        with pytest.raises(BadRequestError, match=said) as refused:
            client.post(path, cast_to=object, body=fields | {"name": "other"})
        assert SECRET not in str(refused.value.body)
    assert client.get(BASE, cast_to=object, options={"params": {"name": "other"}}) == []


@pytest.mark.manifest("providers.clouds")
def test_a_refused_key_of_a_cloud_is_an_error_of_the_key(client: Letta, cloud: Cloud) -> None:
    cloud.server.memory.account = ("AKIASOMEBODY", "else")
    cloud.server.listed = lambda _: {"status": 401, "body": {"error": {"code": 401, "status": "UNAUTHENTICATED"}}}  # type: ignore[method-assign]
    with pytest.raises(APIStatusError) as refused:
        client.post(f"{BASE}check", cast_to=object, body=cloud.fields)
    assert refused.value.status_code == 401
    assert SECRET not in str(refused.value.body)
