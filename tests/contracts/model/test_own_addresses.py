"""Addresses that a remote client chooses: only public ones are connected to, and a refusal tells nothing of this network."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hibernaut.adapters.addresses import THIS_MACHINE
from hibernaut.adapters.door import Door
from hibernaut.adapters.model.own_providers import OwnProviders
from hibernaut.adapters.secrets.environment import EnvironmentSecrets
from hibernaut.ports.model import ProviderAccess
from hibernaut.schemas.errors import InvalidArgument, ModelConnection
from tests.support.provider_servers import ScriptedOpenAI

KEY = "sk-own-planted"


def access(url: str | None, kind: str = "openai") -> ProviderAccess:
    return ProviderAccess("mine", kind, KEY, url)


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost", "169.254.169.254", "10.0.0.1", "[::ffff:127.0.0.1]"])
def test_no_address_of_this_network_is_asked_for_a_remote_client(host: str) -> None:
    with ScriptedOpenAI() as server:
        port = server.url.rpartition(":")[2]
        with pytest.raises(ModelConnection, match="no connection to") as raised:
            OwnProviders(EnvironmentSecrets({}), door=Door()).check(access(f"https://{host}:{port}"))
        assert server.connections == 0
    assert "ConnectError" in raised.value.detail, "the same for every reason"
    assert KEY not in str(raised.value)


def test_a_remote_client_names_https_alone_and_a_local_one_a_server_on_this_machine() -> None:
    with pytest.raises(InvalidArgument, match="https"):
        OwnProviders(EnvironmentSecrets({}), door=Door()).connect(access("http://api.example.com/v1"))
    with ScriptedOpenAI() as server:
        OwnProviders(EnvironmentSecrets({})).check(access(server.url))
        assert len(server.listings) == 1


@pytest.mark.parametrize(("kind", "path"), [("openai", "/v1/models"), ("openrouter", "/key")])
def test_a_key_is_tried_where_a_wrong_one_shows(kind: str, path: str) -> None:
    with ScriptedOpenAI() as server:
        OwnProviders(EnvironmentSecrets({})).check(access(server.url, kind))
        assert server.listings[0].path.endswith(path)


def test_at_home_a_refusal_says_what_to_set() -> None:
    home = Door(replace(THIS_MACHINE, setting="HIBERNAUT_PRIVATE_ADDRESSES"), lambda host, _port: [host])
    with pytest.raises(ModelConnection, match="leads to a private address that HIBERNAUT_PRIVATE_ADDRESSES does not name"):
        OwnProviders(EnvironmentSecrets({}), door=home).check(access("http://192.168.1.5:11434"))


def test_a_providers_own_address_needs_no_door() -> None:
    """A deployment may reach it by a proxy, or by an endpoint in its network."""
    judged: list[str] = []

    def resolve(host: str, _port: int) -> list[str]:
        judged.append(host)
        return []

    with pytest.raises(ModelConnection, match=r"no connection to https://api\.openai\.com"):  # a test reaches loopback alone
        OwnProviders(EnvironmentSecrets({}), door=Door(resolve=resolve)).check(access(None))
    assert judged == []
