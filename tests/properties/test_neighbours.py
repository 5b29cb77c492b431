"""No request with a key of one tenant reads or changes what another tenant has: for every route of the description, with every
kind of id.

The requests are generated from the description (`tests/support/neighbours.py`). Two things are judged: no answer contains a word
of the other's texts, and the other's rows and blobs are the same before and after. The same holds for the agents that a
restricted key does not reach, and a key of the scope `read` changes nothing at all.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any, get_args

import pytest
from starlette.testclient import TestClient

from hibernaut.rest.access.authentication import HEALTH
from hibernaut.rest.access.client_rights import ROUTES
from hibernaut.rest.access.permissions import ADMINISTRATION
from hibernaut.rest.app import create_app
from hibernaut.rest.http.async_bridge import WaitSettings
from hibernaut.schemas.access.access_token import AccessRight, CreateAccessToken
from hibernaut.schemas.access.api_key import CreateApiKey
from hibernaut.services.access.access_tokens import AccessTokens
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded
from hibernaut.wiring.settings import EmbeddedSettings
from tests.support.any_request import Operation, operations
from tests.support.api_description import api_description
from tests.support.direct_client import DirectClient
from tests.support.neighbours import REFUSED, SECRET, WORD, Crossings, Stock

DOCUMENT = api_description()
ALL = list(operations(DOCUMENT))
WITHOUT_DATA = ("/v1/health", "/v1/ready", "/v1/models", "/v1/models/embedding")
OF_AGENTS = [each for each in ALL if each.path not in WITHOUT_DATA and "/api-keys" not in each.path]
"""The operations that serve data of agents. The others have no agent that a key could be restricted to."""
MODELS_FAILURE = '{"error":{"type":"llm_'
"""The beginning of the answer if a provider of ours cannot be reached, as without a network."""
PAGE = "http://localhost"
"""The server's own origin, as the test client sees it."""
SERVED = frozenset({200, 201, 204, 409, 422})
"""The statuses of a request that its route has answered."""
PATIENCE = 60.0
CONNECT = "/v1/mcp-servers/connect"
"""A route that reads by its method, and writes by what it does: it begins an authorization, as in V1."""
OF_A_SERVER_THAT_ANSWERS = frozenset(
    {"GET /v1/tools/mcp/servers/{mcp_server_name}/tools", "GET /v1/mcp-servers/{mcp_server_id}/tools/{tool_id}"}
)
"""What an MCP server has that nobody runs."""
REFUSALS = 3
"""Requests to a route that the key may not use. It is refused before its request is read, so a few tell as much as many."""
UNDER_WAY = "BUILD"
"""The sort key of the state of a tenant's list of agents, which a background worker builds."""
Rows = dict[tuple[str, str], str]


class Server:
    """The embedded profile with keys of two tenants, each with one thing of everything. No request waits for a message that never
    arrives.
    """

    def __init__(self, house: Embedded, client: DirectClient, data: Path) -> None:
        self.house = house
        self.client = client
        self._database = data / "hibernaut.db"
        self._blobs = data / "blobs"

    def key(self, tenant: str, **fields: Any) -> tuple[str, str]:
        made = self.house.access.keys_of(tenant).create(CreateApiKey.model_validate({"scope": "write", **fields}))
        return made.id, made.key

    def stock(self, tenant: str, texts: str) -> Stock:
        made = Stock(self.client, self.key(tenant, scope="admin")[1], texts)
        made.fill()
        self.house.engines.sweep.run(everything=True)  # notes the end of the batch, which a later sweep would write during a test
        made.things["key_id"] = self.key(tenant, scope="read")[0]
        policy = {"type": "agent", "id": made.things["agent_id"], "access": ["read_messages"]}
        wanted = CreateAccessToken.model_validate({"hostname": PAGE, "policy": [policy]})
        made.things["token"] = AccessTokens(self.house.access.keys_of(tenant)).create(wanted).token
        return made

    def settle(self) -> None:
        """Wait until no background worker has anything to do."""
        for _ in range(int(PATIENCE / 0.05)):
            if not self.house.reindexing.remaining():
                return
            threading.Event().wait(0.05)
        raise AssertionError("pointers still stand")

    def rows(self, tenant: str, ours: Callable[[str, str], bool] = lambda _pk, _sk: True) -> Rows:
        """The tenant's items, or those that `ours` picks by partition and sort key, as they stand in the file."""
        with closing(sqlite3.connect(f"file:{self._database}?mode=ro", uri=True)) as file:
            found = file.execute("SELECT * FROM items WHERE pk >= ? AND pk < ?", (f"{tenant}#", f"{tenant}$")).fetchall()
        return {(row[0], row[1]): repr(row) for row in found if ours(row[0], row[1]) and row[1] != UNDER_WAY}

    def blobs(self, tenant: str) -> dict[str, bytes]:
        found = (path for path in self._blobs.rglob("*") if path.is_file() and tenant in str(path.relative_to(self._blobs)))
        return {str(path): path.read_bytes() for path in found}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("data")
    with Embedded(EmbeddedSettings(data, default_embedding="none")) as house:
        services = services_of(house.stores, house.host, house.engines)
        app = create_app(services, access=house.access, waits=WaitSettings(arriving=0.0))
        with TestClient(app, base_url="http://localhost") as client:
            yield Server(house, DirectClient(app, client), data)


@pytest.fixture(scope="module")
def theirs(server: Server) -> Stock:
    return server.stock("theirs", f"{WORD} {SECRET}")


def tried(server: Server, operation: Operation, ours: Stock, theirs: Stock) -> Iterator[tuple[str, Any]]:
    """The answer to each request of ours that names what is theirs, with what was sent."""
    if not ours.things:
        ours.fill()
    for sent in Crossings(DOCUMENT, ours.things, theirs.things).of(operation):
        yield f"{sent.method} {sent.path} {sent.query} {sent.content!r}", ours.send(sent)


@pytest.fixture(scope="module")
def us(server: Server) -> Stock:
    return server.stock("ours", "horse")


@pytest.mark.parametrize("operation", ALL, ids=str)
def test_no_request_reads_or_changes_what_another_tenant_has(
    server: Server, us: Stock, theirs: Stock, operation: Operation
) -> None:
    ours = us if operation.method != "delete" and not operation.path.endswith("/erase") else server.stock("ours", "horse")
    server.settle()
    before, blobs = server.rows("theirs"), server.blobs("theirs")
    for sent, answer in tried(server, operation, ours, theirs):
        assert answer.status_code < 500 or answer.status_code == 501 or MODELS_FAILURE in answer.text, (sent, answer.text)
        assert SECRET not in answer.text, sent
    if "{" in operation.path:
        answer = ours.send(Crossings(DOCUMENT, ours.things, theirs.things).only_theirs(operation))
        empty = answer.status_code in (200, 204) and answer.text in ("[]", "null", "")
        assert answer.status_code in REFUSED or empty, (operation, answer.text)
    assert server.rows("theirs") == before
    assert server.blobs("theirs") == blobs


def test_the_requests_find_what_is_theirs_if_they_are_sent_with_their_key(theirs: Stock) -> None:
    """Else the property above would say little."""
    reading = [operation for operation in ALL if operation.method == "get" and "{" in operation.path]
    crossings = Crossings(DOCUMENT, theirs.things, theirs.things)
    found = {str(operation): theirs.send(crossings.only_theirs(operation)) for operation in reading}
    assert {name for name, answer in found.items() if answer.status_code >= 400} <= {
        "GET /v1/runs/{run_id}/approval",
        "GET /v1/steps/{step_id}/trace",
        "GET /v1/templates/{template_name}/migration",
        *OF_A_SERVER_THAT_ANSWERS,
    }
    assert sum(SECRET in answer.text for answer in found.values()) > len(found) / 3


@pytest.mark.parametrize("noun", ["archive", "group"])
def test_records_of_two_tenants_may_have_the_same_id_and_stay_apart(us: Stock, theirs: Stock, noun: str) -> None:
    identifier = theirs.things[f"{noun}_id"]
    body = {"id": identifier, "name": "of us", "agent_ids": [us.things["agent_id"]], "description": "of us"}
    fields = ("id", "name") if noun == "archive" else ("id", "agent_ids", "description")
    place, before = f"/v1/{noun}s/{identifier}", theirs.request("GET", f"/v1/{noun}s/{identifier}").json()
    assert us.request("POST", f"/v1/{noun}s", {name: body[name] for name in fields}).json()["id"] == identifier
    assert SECRET not in us.request("GET", place).text
    assert us.client.request("DELETE", place, headers=us.headers()).status_code in (200, 204)
    assert theirs.request("GET", place).json() == before


@pytest.mark.parametrize("search", ["/v1/messages/search", "/v1/agents/messages/search", "/v1/passages/search"])
def test_a_search_finds_nothing_of_another_tenant(us: Stock, theirs: Stock, search: str) -> None:
    for mode in ("hybrid", "fts", "vector"):
        body = {"query": WORD, "search_mode": mode}
        assert SECRET not in us.client.request("POST", search, json=body, headers=us.headers()).text
    assert SECRET in theirs.client.request("POST", search, json={"query": WORD}, headers=theirs.headers()).text


def test_a_message_with_the_otid_of_another_tenant_is_a_new_one(us: Stock, theirs: Stock) -> None:
    otid = "6f1d6f0e-7d4b-4b9c-9a55-3c8f3f0f2b11"
    runs = []
    for stock in (theirs, us):
        body = {"messages": [{"role": "user", "content": "hi", "otid": otid}]}
        runs.append(
            stock.request("POST", f"/v1/agents/{stock.things['agent_id']}/messages", body).json()["messages"][0]["run_id"]
        )
    assert runs[0] != runs[1]


@pytest.mark.parametrize("operation", OF_AGENTS, ids=str)
def test_a_restricted_key_neither_reads_nor_changes_what_belongs_to_other_agents(server: Server, operation: Operation) -> None:
    ours, others = stocks_of_one_tenant(server)
    server.settle()
    mine = set(ours.things.values())
    foreign = {value for name, value in others.things.items() if name.endswith("_id")}

    def of_others(pk: str, sk: str) -> bool:
        parts = {*pk.split("#"), *sk.split("#")}
        return bool(parts & foreign) and not parts & mine and "TAIL" not in parts

    before = server.rows("shared", of_others)
    for sent, answer in tried(server, operation, ours, others):
        assert answer.status_code < 500 or answer.status_code == 501 or MODELS_FAILURE in answer.text, (sent, answer.text)
        assert SECRET not in answer.text, sent
    assert server.rows("shared", of_others) == before


def test_a_token_for_web_pages_reaches_the_routes_of_its_rights_and_its_agent_alone(server: Server) -> None:
    ours, others = server.stock("pages", "horse"), server.stock("pages", f"{WORD} {SECRET}")
    agent_id = ours.things["agent_id"]
    wanted = {"hostname": PAGE, "policy": [{"type": "agent", "id": agent_id, "access": list(get_args(AccessRight))}]}
    tokens = AccessTokens(server.house.access.keys_of("pages"))
    ours.key, ours.origin = tokens.create(CreateAccessToken.model_validate(wanted)).token, PAGE
    server.settle()
    foreign = {value for name, value in others.things.items() if name.endswith("_id")}
    mine = set(ours.things.values())

    def of_others(pk: str, sk: str) -> bool:
        parts = {*pk.split("#"), *sk.split("#")}
        return bool(parts & foreign) and not parts & mine and "TAIL" not in parts

    before, reached = server.rows("pages", of_others), set()
    for operation in ALL:
        route = (operation.method.upper(), operation.path)
        # A route without a right is refused before its request is read, so a few requests tell as much as many.
        for sent, answer in islice(tried(server, operation, ours, others), None if route in ROUTES else 3):
            assert answer.status_code < 500 or MODELS_FAILURE in answer.text, (sent, answer.text)
            assert SECRET not in answer.text, sent
            if answer.status_code in SERVED and operation.path not in HEALTH:
                reached.add(route)
    assert server.rows("pages", of_others) == before
    assert reached <= set(ROUTES)
    assert len(reached) > len(ROUTES) / 2


_KEPT: dict[int, tuple[Stock, Stock]] = {}


def stocks_of_one_tenant(server: Server) -> tuple[Stock, Stock]:
    """The stock of an agent that the key reaches, and the stock of an agent that it does not reach."""
    if id(server) not in _KEPT:
        ours, others = server.stock("shared", "horse"), server.stock("shared", f"{WORD} {SECRET}")
        ours.key = server.key("shared", agent_ids=[ours.things["agent_id"]])[1]
        _KEPT[id(server)] = ours, others
    return _KEPT[id(server)]


def test_a_key_that_reads_changes_nothing(server: Server) -> None:
    stock = server.stock("readers", "horse")
    stock.key = server.key("readers", scope="read")[1]
    server.settle()
    before = server.rows("readers")
    denied, served = set(), set()
    for operation in ALL:
        for number, sent in enumerate(Crossings(DOCUMENT, stock.things, stock.things).of(operation), 1):
            answer = stock.send(sent)
            (denied if answer.status_code == 403 else served).add(str(operation))
            if number == REFUSALS and str(operation) not in served:
                break
    assert server.rows("readers") == before
    reading = {str(each) for each in ALL if each.method == "get" and not each.path.startswith((*ADMINISTRATION, CONNECT))}
    assert reading <= served
    assert {str(each) for each in ALL if each.method in ("put", "patch", "delete")} <= denied
