"""The door: whoever sends a request outward, none reaches an address of the table, and refusals tell a stranger nothing."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, Literal

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from hibernaut.adapters.addresses import ANYWHERE, PRIVATE, PUBLIC, THIS_MACHINE, AddressPolicy, is_public
from hibernaut.adapters.clock import SystemClock
from hibernaut.adapters.door import Door
from hibernaut.adapters.door_closed import DoorClosed
from hibernaut.adapters.embedder.catalogue import EmbedderCatalogue
from hibernaut.adapters.mcp.client import McpClient
from hibernaut.adapters.model.catalogue import Catalogue
from hibernaut.adapters.model.own_providers import OwnProviders
from hibernaut.adapters.oauth_http import DoorOAuth
from hibernaut.adapters.packages.index_pages import Wheel
from hibernaut.adapters.packages.limits import USUAL_LIMITS, InstallQuota
from hibernaut.adapters.packages.package_index import PackageIndex
from hibernaut.adapters.secrets.environment import EnvironmentSecrets
from hibernaut.adapters.web.http import HttpWeb
from hibernaut.ports.memory.embedder import EmbedderFailed
from hibernaut.ports.model import ModelRequest, ProviderAccess
from hibernaut.ports.tools.mcp import HttpMcpTarget, McpFailure
from hibernaut.ports.tools.oauth import OAuthUnreachable
from hibernaut.ports.tools.web import WebFailure
from hibernaut.schemas.errors import InvalidArgument, ModelConnection, NotFound
from hibernaut.schemas.faults.package_faults import PackageIndexUnavailable
from hibernaut.schemas.models.llm_config import EmbeddingConfig, LLMConfig
from tests.support.hostile_addresses import HOSTILE, PUBLIC_ADDRESS, Hostile, Resolver
from tests.support.rows import Rows, prompt

START = AddressPolicy(hosts=frozenset({"start.test"}))
"""A server on this machine that is allowed, from which a redirect leads on."""
ROWS = pytest.mark.parametrize("row", HOSTILE, ids=lambda row: row.why)


@pytest.fixture(scope="module")
def dials() -> Iterator[list[object]]:
    """The addresses to which a socket is connected while this module's tests run."""
    made: list[object] = []
    real = socket.socket.connect

    def connect(self: socket.socket, address: Any) -> None:
        made.append(address)
        real(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", connect)
        yield made


@pytest.fixture(scope="module")
def leading() -> Iterator[Leading]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Leading) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.005})
        thread.start()
        Leading.port = server.server_address[1]
        yield Leading  # type: ignore[misc]
        server.shutdown()
        thread.join()


class Leading(BaseHTTPRequestHandler):
    """Answers every request by leading to `to`."""

    to = ""
    port = 0
    hosts: list[str] = []  # noqa: RUF012  one for all requests

    def do_GET(self) -> None:
        self.hosts.append(self.headers["host"])
        self.send_response(302 if self.to else 200)
        if self.to:
            self.send_header(
                "location", self.to.encode("utf-8").decode("latin-1").replace("\r\n", "%0d%0a").replace("\x00", "%00")
            )
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


def posted(url: str, resolver: Resolver) -> None:
    HttpWeb(PUBLIC, resolve=resolver).post(url, {}, seconds=5)


def delivered(url: str, resolver: Resolver) -> None:
    HttpWeb(PUBLIC, resolve=resolver).deliver(url, b"{}", {}, seconds=5)


def read(url: str, resolver: Resolver) -> None:
    HttpWeb(resolve=resolver).page(url, seconds=5, most=100)


def provided(url: str, resolver: Resolver) -> None:
    providers = OwnProviders(EnvironmentSecrets({}), door=Door(PUBLIC, resolver))
    providers.check(ProviderAccess("mine", "openai", "sk-planted", url))


def asked(url: str, resolver: Resolver) -> None:
    """A model at the `model_endpoint` of an `llm_config`."""
    config = LLMConfig(model="m", model_endpoint_type="openai", model_endpoint=url, context_window=8_000)
    model = Catalogue(EnvironmentSecrets({}), dial=Door(PUBLIC, resolver).dial).of(config)
    assert (model.models(), model.embedding_models()) == ([], [])
    model.complete(ModelRequest(config=config, system=prompt(), messages=[Rows().user("hi")], timeout=5), lambda _: None)


def embedded(url: str, resolver: Resolver) -> None:
    """A model at the `embedding_endpoint` of an `embedding_config`."""
    config = EmbeddingConfig(embedding_endpoint_type="openai", embedding_endpoint=url, embedding_model="m", embedding_dim=8)
    embedder = EmbedderCatalogue(EnvironmentSecrets({}), dial=lambda: Door(PUBLIC, resolver).client(5)).of(config)
    if embedder is None:
        raise InvalidArgument("no address of HTTP")
    embedder.embed(["hi"])


def streamed(url: str, resolver: Resolver) -> None:
    async def get() -> None:
        async with Door(PUBLIC, resolver).async_client(follow_redirects=True) as client, client.stream("GET", url):
            pass

    asyncio.run(get())


def spoken(transport: Literal["streamable_http", "sse"]) -> Callable[[str, Resolver], None]:
    def listed(url: str, resolver: Resolver) -> None:
        McpClient(Door(PUBLIC, resolver)).tools(HttpMcpTarget(url, transport), seconds=5)

    return listed


def installed(url: str, resolver: Resolver) -> None:
    """A file that a package index names."""
    wheel = Wheel("some-package", Version("1.0"), "some_package-1.0-py3-none-any.whl", url)
    index = PackageIndex("https://index.test/simple/", PUBLIC, resolver)
    with TemporaryDirectory() as folder, index.session(InstallQuota(USUAL_LIMITS, SystemClock()), Path(folder)) as session:
        session.download(wheel)


def authorized(url: str, resolver: Resolver) -> None:
    """The metadata of an authorization server."""
    DoorOAuth(Door(PUBLIC, resolver)).get(url)


USERS = {
    "callbacks of runs and batches": posted,
    "webhooks": delivered,
    "fetch_webpage": read,
    "providers of tenants": provided,
    "models at an endpoint that a client names": asked,
    "embedding models at an endpoint that a client names": embedded,
    "streams": streamed,
    "MCP servers": spoken("streamable_http"),
    "MCP servers by the older transport": spoken("sse"),
    "files of package indexes": installed,
    "authorization servers": authorized,
}
REFUSED = (
    WebFailure,
    McpFailure,
    OAuthUnreachable,
    PackageIndexUnavailable,
    ModelConnection,
    EmbedderFailed,
    InvalidArgument,
    NotFound,
    httpx2.HTTPError,
    httpx2.InvalidURL,
)


@ROWS
@pytest.mark.parametrize("user", USERS.values(), ids=USERS)
def test_no_user_of_the_door_reaches_a_hostile_address(
    user: Callable[[str, Resolver], None], row: Hostile, dials: list[object]
) -> None:
    dials.clear()
    with pytest.raises(REFUSED):
        user(row.url, Resolver().of(row))
    assert dials == []


# Without a host, an address leads to the host that it is led from.
@pytest.mark.parametrize("row", [row for row in HOSTILE if row.why != "no host"], ids=lambda row: row.why)
def test_no_redirect_leads_to_a_hostile_address(row: Hostile, leading: type[Leading], dials: list[object]) -> None:
    leading.to = row.url
    start, resolver = f"http://start.test:{leading.port}/", Resolver(start_test=("127.0.0.1",)).of(row)

    async def stream() -> None:
        async with Door(START, resolver).async_client(follow_redirects=True) as client:
            await client.get(start)

    dials.clear()
    with pytest.raises(WebFailure):
        HttpWeb(pages=START, resolve=resolver).page(start, seconds=5, most=100)
    with pytest.raises((httpx2.HTTPError, httpx2.InvalidURL)):
        asyncio.run(stream())
    assert dials == [("127.0.0.1", leading.port)] * 2, "the first request of each alone"


def test_a_name_is_looked_up_once_and_keeps_its_name_where_it_is_connected(leading: type[Leading]) -> None:
    leading.to = ""
    leading.hosts.clear()
    answers = iter([["127.0.0.1"], ["10.0.0.7"]])
    asked: list[str] = []

    def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return next(answers)

    with Door(START, resolve).client(5) as client:
        assert client.get(f"http://start.test:{leading.port}/").status_code == 200
        assert asked == ["start.test"]
        with pytest.raises(httpx2.ConnectError):
            client.get("http://start.test:1/")
    assert leading.hosts == [f"start.test:{leading.port}"]


def test_two_names_of_one_address_share_no_connection(leading: type[Leading]) -> None:
    """A connection whose certificate was checked for one name would serve the other one."""
    leading.to = ""
    with Door(AddressPolicy(hosts=frozenset({"one.test", "two.test"})), lambda *_: ["127.0.0.1"]).client(5) as client:
        for host in ("one.test", "two.test"):
            client.get(f"http://{host}:{leading.port}/")
        transport: Any = client._transport
        assert sorted(transport._hosts) == ["one.test", "two.test"]


def test_the_next_address_of_a_name_is_tried(leading: type[Leading]) -> None:
    leading.to = ""
    door = Door(START, lambda *_: ["127.0.0.2", "127.0.0.1"])
    with door.client(5) as client:
        assert client.get(f"http://start.test:{leading.port}/").status_code == 200

    async def stream() -> int:
        async with door.async_client() as client:
            return (await client.get(f"http://start.test:{leading.port}/")).status_code

    assert asyncio.run(stream()) == 200


@pytest.mark.parametrize(
    ("policy", "host", "address", "admitted"),
    [
        (PUBLIC, "example.test", PUBLIC_ADDRESS, True),
        (PUBLIC, "localhost", "127.0.0.1", False),
        (THIS_MACHINE, "localhost", "127.0.0.1", True),
        (THIS_MACHINE, "localhost", "::1", True),
        (THIS_MACHINE, "localhost", "::ffff:127.0.0.1", False),
        (THIS_MACHINE, "router.lan", "192.168.1.1", False),
        (AddressPolicy((ip_network("192.168.1.0/24"),)), "router.lan", "192.168.1.1", True),
        (AddressPolicy((ip_network("192.168.1.0/24"),)), "router.lan", "192.168.2.1", False),
        (AddressPolicy((ip_network("fd12::/64"),)), "nas.lan", "fd12::7", True),
        (AddressPolicy(hosts=frozenset({"nas.lan"})), "nas.lan", "10.1.2.3", True),
        (AddressPolicy(hosts=frozenset({"nas.lan"})), "other.lan", "10.1.2.3", False),
        (AddressPolicy(hosts=frozenset({"nas.lan"})), "nas.lan", "169.254.169.254", False),
        (AddressPolicy(hosts=frozenset({"nas.lan"})), "nas.lan", "fd00:ec2::254", False),
        (AddressPolicy(hosts=frozenset({"nas.lan"})), "nas.lan", "0.0.0.0", False),
        (ANYWHERE, "issuer.lan", "10.1.2.3", True),
    ],
)
def test_private_addresses_are_admitted_where_they_are_named(
    policy: AddressPolicy, host: str, address: str, admitted: bool
) -> None:
    assert policy.admits(host, address) is admitted


@given(st.ip_addresses())
def test_whatever_is_named_only_private_and_public_addresses_are_admitted(address: Any) -> None:
    everything = AddressPolicy(PRIVATE, frozenset({"named.test"}))
    if everything.admits("named.test", str(address)):
        assert is_public(str(address)) or any(address in network for network in PRIVATE)
        assert not any((address.is_link_local, address.is_multicast, address.is_unspecified))


def test_a_refusal_tells_the_operators_own_clients_what_to_set_and_a_stranger_nothing() -> None:
    row = Hostile("inside", "http://inside.test/", ("10.0.0.7",))

    def refusal(setting: str, url: str = row.url) -> DoorClosed:
        with pytest.raises(DoorClosed) as closed:
            Door(AddressPolicy(setting=setting), Resolver().of(row)).addresses(httpx2.URL(url))
        return closed.value

    assert str(refusal("HIBERNAUT_PRIVATE_PAGES")) == "leads to a private address that HIBERNAUT_PRIVATE_PAGES does not name"
    assert (refusal("HIBERNAUT_PRIVATE_PAGES").is_public, refusal("").is_public) == (True, False)
    assert refusal("", "http://inside.test:22/").is_public, "the form of an address reveals nothing"


def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch, leading: type[Leading]) -> None:
    """A proxy would connect to whatever it is told, and hide the address that is checked."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    leading.to = ""
    with Door(THIS_MACHINE).client(5) as client:
        assert client.get(f"http://127.0.0.1:{leading.port}/").status_code == 200
