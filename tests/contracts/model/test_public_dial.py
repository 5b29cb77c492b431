"""Addresses that a remote client chooses: only public ones are connected to, and a refusal tells nothing of this network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hibernaut.adapters.model.own_providers import OwnProviders
from hibernaut.adapters.model.public_dial import guarded_transport
from hibernaut.adapters.secrets.environment import EnvironmentSecrets
from hibernaut.ports.model import ProviderAccess
from hibernaut.schemas.errors import InvalidArgument, ModelConnection
from tests.support.provider_servers import ScriptedOpenAI

KEY = "sk-own-planted"


def access(url: str | None, kind: str = "openai") -> ProviderAccess:
    return ProviderAccess("mine", kind, KEY, url)


@contextmanager
def answered(server: ScriptedOpenAI, found: list[str], *, allowed: bool) -> Iterator[object]:
    """A GET of the server's list by a name that resolves to `found`."""
    from httpx2 import Client, create_ssl_context

    transport = guarded_transport()(create_ssl_context(), lambda _host, _port: found, lambda _number: allowed)
    with Client(transport=transport, trust_env=False) as client:
        yield client.get(server.url.replace("127.0.0.1", "provider.example") + "/models")


def test_the_connection_goes_to_the_address_that_was_checked_and_keeps_the_name() -> None:
    with ScriptedOpenAI() as server, answered(server, ["127.0.0.1"], allowed=True) as reply:
        assert reply.status_code == 200  # type: ignore[attr-defined]
        assert {name.lower(): value for name, value in server.listings[0].headers.items()}["host"].startswith("provider.example:")


def test_a_name_of_an_address_that_is_not_allowed_is_not_connected_to() -> None:
    from httpx2 import ConnectError

    with ScriptedOpenAI() as server:
        for found in (["127.0.0.1"], []):
            with pytest.raises(ConnectError, match="no public address"), answered(server, found, allowed=False):
                pass
        assert server.connections == 0


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "[::1]", "localhost", "169.254.169.254", "10.0.0.1", "[::ffff:127.0.0.1]", "0x7f.1", "2130706433"]
)
def test_no_address_of_this_network_is_asked_for_a_remote_client(host: str) -> None:
    with ScriptedOpenAI() as server:
        port = server.url.rpartition(":")[2]
        with pytest.raises(ModelConnection, match="no connection to") as raised:
            OwnProviders(EnvironmentSecrets({}), public_only=True).check(access(f"https://{host}:{port}"))
        assert server.connections == 0
    assert "ConnectError" in raised.value.detail, "the same for every reason"
    assert KEY not in str(raised.value)


def test_a_remote_client_names_https_alone_and_a_local_one_a_server_on_this_machine() -> None:
    with pytest.raises(InvalidArgument, match="https"):
        OwnProviders(EnvironmentSecrets({}), public_only=True).connect(access("http://api.example.com/v1"))
    with ScriptedOpenAI() as server:
        OwnProviders(EnvironmentSecrets({})).check(access(server.url))
        assert len(server.listings) == 1


@pytest.mark.parametrize(("kind", "path"), [("openai", "/v1/models"), ("openrouter", "/key")])
def test_a_key_is_tried_where_a_wrong_one_shows(kind: str, path: str) -> None:
    with ScriptedOpenAI() as server:
        OwnProviders(EnvironmentSecrets({})).check(access(server.url, kind))
        assert server.listings[0].path.endswith(path)
