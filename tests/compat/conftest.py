"""A server of each profile on a loopback port, the unchanged SDK, and a provider that says what a test tells it to.

    def test_…(client: Letta, said: Said) -> None      the stable SDK
    def test_…(http: httpx.Client) -> None             bare HTTP, as from curl: not a "1.0 client"
    def test_…(indexed: Indexed) -> None               waits until the index knows everything
    def test_…(keyed: Keyed) -> None                   a server that needs keys

Every test runs on `embedded`, without keys. What is marked `deployed` runs on `aws-offline` too, with the key of a tenant of its
module, beside a first one that has data of every kind: one story an endpoint, and whatever a deployment does in its own way
(streams, WebSockets, keys and tenants, limits, schedules, cancelling, the index). A run of all tests fails when an endpoint is
not reached there (`tests/reached.py`); `--every-profile` runs everything on both. All modules share one deployment.
`said.next(...)` scripts the model `openai/test-model`, one reply per model call; without it agents use the built-in demo model.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from letta_client import Letta
from starlette.types import Message, Receive, Scope, Send

from hibernaut.adapters.blobs.disk import DiskBlobs
from hibernaut.local.server import LocalServer, address, listening
from hibernaut.ports.storage.blobs import Blobs
from hibernaut.ports.storage.table import Table
from hibernaut.rest.app import create_app
from hibernaut.rest.http.async_bridge import USUAL_WAITS, WaitSettings
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.schemas.access.api_key import CreateApiKey
from hibernaut.schemas.ids import DEFAULT_TENANT
from hibernaut.services.access.access import Access
from hibernaut.store.memory.search_outbox import SearchOutbox
from hibernaut.store.table.tenant_table import TenantTable
from hibernaut.wiring.access import DeployedStack, access_to_stack
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.configuration.tool_settings import PackageSettings
from hibernaut.wiring.data_folder import BLOBS
from hibernaut.wiring.embedded import Embedded
from hibernaut.wiring.outward import outward_in
from hibernaut.wiring.settings import EmbeddedSettings
from tests.reached import PLUGIN, ReachedEndpoints
from tests.support.faces import no_services
from tests.support.moto_tables import forget_tenant
from tests.support.neighbours import Stock
from tests.support.package_index import PackageIndexServer, serving_index
from tests.support.provider_servers import ScriptedOpenAI
from tests.support.search_servers import ExaServer

if TYPE_CHECKING:
    from hibernaut.local.aws_offline.offline import OfflineAws

PROFILES = ("embedded", "aws-offline")
EVERY_PROFILE = "--every-profile"
REFUSED = 400
"""The first status of a refusal."""
HOOK = "/v1/webhooks/{webhook_id}"
ELSEWHERE: Mapping[str, str] = MappingProxyType(
    {
        "PATCH /v1/agents/{agent_id}/messages/{message_id}": "always answers 405",
        "PATCH /v1/groups/{group_id}/messages/{message_id}": "always answers 405",
        "POST /v1/folders/{folder_id}/upload-url": "tests/functions/test_memory_pipeline.py",
        f"DELETE {HOOK}": "tests/functions/test_events.py",
        f"POST {HOOK}/test": "tests/functions/test_events.py",
        f"POST {HOOK}/deliveries/{{event_id}}/replay": "tests/functions/test_events.py",
        f"PATCH {HOOK}": "tests/functions/test_events.py",
        f"POST {HOOK}/rotate": "tests/functions/test_events.py",
        f"POST {HOOK}/replay": "tests/functions/test_events.py",
    }
)
"""Endpoints without a story on aws-offline here, and where they are tested."""
HANDLE = "openai/test-model"
DEMO = "hibernaut/demo"
CURL = {"user-agent": "curl/8.5.0"}
Make = Callable[..., Any]
"""Makes an agent from fields of `agents.create`."""
Indexed = Callable[[], None]
_TENANTS = count(1)
PAGES = {"HIBERNAUT_PRIVATE_PAGES": "127.0.0.0/8"}
"""The pages of tests are on this machine."""
NO_KEY = "any"
"""What clients of a server without keys send."""
MOST_PACKAGES = 1024 * 1024
"""Bytes of the packages of a tool."""
PATIENCE = 60.0
"""Seconds after which what should be indexed is stuck."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "manifest(id, …): the rows of the compatibility manifest that the test proves")
    config.addinivalue_line("markers", "deployed: the test runs on aws-offline too")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Choose the profiles of a test."""
    if "profile" in metafunc.fixturenames:
        both = metafunc.config.getoption(EVERY_PROFILE) or metafunc.definition.get_closest_marker("deployed")
        metafunc.parametrize("profile", PROFILES if both else PROFILES[:1], scope="session")


@dataclass
class Said:
    """What the scripted provider says, one reply after the other, the last one again and again; and what it was asked."""

    server: ScriptedOpenAI
    replies: list[dict[str, Any]] = field(default_factory=list)

    def next(self, *replies: dict[str, Any]) -> None:
        """The replies to come: `{"content": …}`, `{"tool_calls": [{"id", "name", "arguments"}]}`, `{"status": 429}`."""
        self.replies = list(replies)
        self.server.requests.clear()
        self.server.script = self._say

    def _say(self, _messages: list[dict[str, Any]], _tools: list[dict[str, Any]]) -> dict[str, Any]:
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@dataclass(frozen=True)
class Served:
    """Where a server answers, and its table, to look into. `feed`: from then on its index hears of what is written. `key`: the
    tests' own, of `tenant`; a server without keys takes any. `blobs`: its bucket, or the folder in its place.
    """

    url: str
    table: Table
    access: Access
    blobs: Blobs
    feed: Callable[[], None] = lambda: None
    key: str = NO_KEY
    tenant: str = DEFAULT_TENANT

    def wait_until_indexed(self) -> None:
        search_outbox, deadline = SearchOutbox(TenantTable(self.table, self.tenant)), time.monotonic() + PATIENCE
        while left := search_outbox.waiting():
            assert time.monotonic() < deadline, f"{left} pointers still stand"
            threading.Event().wait(0.02)


@dataclass(frozen=True)
class Keyed:
    """A server whose requests need a key; `access` creates keys without the API, as the command does."""

    url: str
    access: Access
    tenant: str = "acme"

    def key(self, tenant: str | None = None, **fields: object) -> str:
        """A key of this tenant, or of the server's own one."""
        return self.access.keys_of(tenant or self.tenant).create(CreateApiKey.model_validate({"scope": "admin", **fields})).key

    def sdk(self, key: str) -> Letta:
        return Letta(base_url=self.url, api_key=key, max_retries=0)

    def get(self, path: str, headers: dict[str, str]) -> httpx.Response:
        return httpx.get(f"{self.url}{path}", headers={**CURL, **headers}, timeout=30)


def calls(*named: tuple[str, dict[str, Any]], content: str | None = None) -> dict[str, Any]:
    """A reply that calls tools."""
    made = [{"id": f"call_{number}", "name": name, "arguments": arguments} for number, (name, arguments) in enumerate(named, 1)]
    return {"content": content, "tool_calls": made}


@contextmanager
def serving_embedded(
    data: Path,
    provider: ScriptedOpenAI,
    waits: WaitSettings = USUAL_WAITS,
    *,
    embedding: str | None = None,
    more: Mapping[str, str] = MappingProxyType({}),
    packages: str = "",
) -> Iterator[Served]:
    """The embedded profile on a free port. `waits`: how long who asks is kept waiting there; `embedding`: its default ("none":
    none);
    `more`: further variables of providers; `packages`: the address of the package index (none: nothing is installed).
    """
    keys = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": provider.url, **more}
    outward = outward_in(PAGES, home=True)
    settings = EmbeddedSettings(
        data=data,
        default_model=DEMO,
        providers=keys,
        default_embedding=embedding,
        outward=outward,
        packages=PackageSettings(packages, MOST_PACKAGES),
    )
    with Embedded(settings) as house, ExitStack() as running:
        services = services_of(house.stores, house.host, house.engines)
        app = create_app(services, access=house.access, waits=waits)
        listener = listening("127.0.0.1", 0)
        server = LocalServer(app, listener)
        thread = threading.Thread(target=server.serve, daemon=True)
        running.callback(thread.join)
        running.callback(server.stop)
        thread.start()
        yield Served(address(listener), house.table, house.access, DiskBlobs(data / BLOBS))


@contextmanager
def serving_offline(
    provider: ScriptedOpenAI, *, more: Mapping[str, str] = MappingProxyType({}), **variables: str
) -> Iterator[OfflineAws]:
    """What is deployed, in this process; `variables` are added to the functions' environment, `more` to its parameters."""
    from hibernaut.local.aws_offline.offline import OfflineAws

    keys = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": provider.url, **more}
    usual = {"HIBERNAUT_DEFAULT_MODEL": DEMO, "HIBERNAUT_TRACES": "on", **PAGES}
    with OfflineAws(secrets=keys, variables={**usual, **variables}) as aws:
        yield aws


def access_to(aws: OfflineAws) -> Access:
    outputs = aws.stack.outputs
    return access_to_stack(DeployedStack("dev", *(outputs[name] for name in ("TableName", "BucketName", "SecretsKeyArn"))))


@pytest.fixture(scope="session")
def provider() -> Iterator[ScriptedOpenAI]:
    with ScriptedOpenAI() as server:
        yield server


@pytest.fixture(scope="session")
def exa() -> Iterator[ExaServer]:
    """The search engine of all servers, for agents with a key for it."""
    with ExaServer() as server:
        yield server


@pytest.fixture(scope="session")
def package_index() -> Iterator[PackageIndexServer]:
    """The package index of all servers."""
    with serving_index() as index:
        yield index


@pytest.fixture(scope="package")
def offline(
    provider: ScriptedOpenAI, exa: ExaServer, package_index: PackageIndexServer, pytestconfig: pytest.Config
) -> Iterator[OfflineAws]:
    """One deployment for all modules, of which each has a tenant of its own. A first tenant has filled it with data."""
    packages = {"HIBERNAUT_PACKAGE_INDEX": package_index.url, "HIBERNAUT_PACKAGE_SIZE": "1"}
    with serving_offline(provider, more={"EXA_BASE_URL": exa.url}, HIBERNAUT_KEYS="required", **packages) as aws:
        with httpx.Client(base_url=aws.url, timeout=60) as http:
            Stock(http, Keyed(aws.url, access_to(aws), "first").key(), "first").fill()
        with noting_endpoints(pytestconfig):
            yield aws


@contextmanager
def noting_endpoints(config: pytest.Config) -> Iterator[None]:
    """Within the context it is noted which endpoints the functions have served with success: a refusal is no story of an
    endpoint.
    """
    from hibernaut.local.aws_offline.lambdas import current_function

    noted: ReachedEndpoints = config.pluginmanager.get_plugin(PLUGIN)
    routes = [route for route in create_app(no_services()).routes if isinstance(route, LazyRoute)]
    served = {f"{method} {route.path}" for route in routes for method in route.methods or ()}
    noted.serves(served - ELSEWHERE.keys())
    handle = LazyRoute.handle

    async def noting(route: LazyRoute, scope: Scope, receive: Receive, send: Send) -> None:
        async def watched(message: Message) -> None:
            if current_function() is not None and message.get("status", REFUSED) < REFUSED:
                noted.reached.add(f"{scope['method']} {route.path}")
            await send(message)

        await handle(route, scope, receive, watched)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LazyRoute, "handle", noting)
        yield


@pytest.fixture(scope="module")
def served(
    profile: str,
    provider: ScriptedOpenAI,
    exa: ExaServer,
    package_index: PackageIndexServer,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> Iterator[Served]:
    if profile == "embedded":
        data, more = tmp_path_factory.mktemp("data"), {"EXA_BASE_URL": exa.url}
        with serving_embedded(data, provider, more=more, packages=package_index.url) as server:
            yield server
        return
    from hibernaut.adapters.blobs.s3 import S3Blobs

    aws: OfflineAws = request.getfixturevalue("offline")
    with own_tenant(aws) as (tenant, access), ExitStack() as fed:
        # The index hears of changes where somebody looks at it: that takes a third of the time.
        feed = partial(_fed, fed, aws)
        yield Served(
            aws.url,
            aws.table,
            access,
            S3Blobs(aws.stack.outputs["BucketName"]),
            feed,
            Keyed(aws.url, access, tenant).key(),
            tenant,
        )


def _fed(running: ExitStack, aws: OfflineAws) -> None:
    running.enter_context(aws.feeds.by_themselves())


@contextmanager
def own_tenant(aws: OfflineAws) -> Iterator[tuple[str, Access]]:
    """A tenant whose records are deleted afterwards, and the access to its deployment."""
    tenant = f"tenant-{next(_TENANTS)}"
    yield tenant, access_to(aws)
    aws.wait_for_all()
    forget_tenant(tenant)


@pytest.fixture(scope="module")
def keyed(
    profile: str, provider: ScriptedOpenAI, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Keyed]:
    if profile == "embedded":
        with serving_embedded(tmp_path_factory.mktemp("data"), provider) as server:
            yield Keyed(server.url, server.access)
        return
    with own_tenant(request.getfixturevalue("offline")) as (tenant, access):
        yield Keyed(request.getfixturevalue("offline").url, access, tenant)


@pytest.fixture(scope="module")
def fed(served: Served) -> Served:
    """The server, whose index hears of everything that was and is written."""
    served.feed()
    return served


@pytest.fixture
def indexed(fed: Served) -> Indexed:
    """Waits until the index knows everything that was written, its vectors too."""
    return fed.wait_until_indexed


@pytest.fixture
def said(provider: ScriptedOpenAI) -> Said:
    scripted = Said(provider)
    scripted.next({"content": "Hello."})
    return scripted


@pytest.fixture(scope="module")
def client(served: Served) -> Iterator[Letta]:
    """The SDK without its own retries, so that a test sees the first answer."""
    with Letta(base_url=served.url, api_key=served.key, max_retries=0) as sdk:
        yield sdk


@pytest.fixture(scope="module")
def http(served: Served) -> Iterator[httpx.Client]:
    """Bare HTTP with the user agent of curl, which follows no redirect."""
    headers = CURL | {"authorization": f"Bearer {served.key}"}
    with httpx.Client(base_url=served.url, headers=headers, timeout=30.0) as bare:
        yield bare


@pytest.fixture
def new_agent(client: Letta, said: Said) -> Make:
    """Makes agents; on the scripted model unless told otherwise, which says "Hello." until told otherwise."""

    def make(**fields: Any) -> Any:
        return client.agents.create(**{"model": HANDLE, "memory_blocks": [{"label": "human", "value": ""}]} | fields)

    return make
