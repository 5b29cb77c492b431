"""What requests ask of the table, counted in operations and in items read, at ten records of everything and at a thousand.

Every operation that the server describes has a budget, or a reason in `without_budget.json` why it has none. A request that is
measured succeeds, and a list that is measured holds records.

`get_budgets.json` has [requests, items] at ten records, and at a thousand; and, where requests are sent together, how often the
route waits for the table: [requests, items, waits]. `write_budgets.json` has the other requests, in their order, with
[requests, items, waits, transactions]. Their further fields:

of     whose ids fill the places of the path and of the body (`Lived.of`); without it, those of `Records`
holds  the field of a page in which its records are
why    why the request reads or writes more where there is more

Only what the request does itself is counted, and not what it begins in the background. Lists that are merged from shards have
some room: how ids fall into the shards is chance. Writes have one read of room, for a record that the process remembers for a
while, such as the types of events that webhooks want.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from hibernaut.ports.storage.table import Change, Item, Key, Query, Table
from hibernaut.rest.app import create_app
from hibernaut.rest.http import lanes
from tests.budgets.records import Records, records_in
from tests.support.tables import PassesOn

HERE = Path(__file__).parent
BUDGETS: dict[str, dict[str, Any]] = json.loads((HERE / "get_budgets.json").read_text(encoding="utf-8"))
WRITES: list[dict[str, Any]] = json.loads((HERE / "write_budgets.json").read_text(encoding="utf-8"))
WITHOUT: dict[str, str] = json.loads((HERE / "without_budget.json").read_text(encoding="utf-8"))
SIZES = (10, 1000)
KEYED = ("/v1/api-keys", "/v1/budgets", "/v1/client-side-access-tokens")
"""What an administrator is answered, who has a key. All other requests are sent to a server without keys."""
OF_A_PAGE = {"has_more", "next_cursor", "has_next_page", "hasNextPage", "count"}
"""The fields of a page beside its records."""
A_PAGE = 600
"""A request that takes more at a thousand records than the pages of its lists says why."""


class Meter(PassesOn):
    """Counts requests, the items that were read by them, and the waits for them: queries that are sent together are one wait."""

    requests = items = waits = transactions = 0

    def reset(self) -> None:
        self.requests = self.items = self.waits = self.transactions = 0

    def write(self, *changes: Change) -> None:
        self.transactions += 1
        super().write(*changes)

    def get(self, key: Key) -> Item | None:
        found = super().get(key)
        self._count(int(found is not None))
        return found

    def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        found = super().get_many(keys)
        self._count(len(found))
        return found

    def query(self, pk: str, **asked: object) -> list[Item]:  # type: ignore[override]
        found = super().query(pk, **asked)  # type: ignore[arg-type]
        self._count(len(found))
        return found

    def query_many(self, queries: Sequence[Query]) -> list[list[Item]]:
        waits = self.waits
        found = super().query_many(queries)
        self.waits = waits + 1
        return found

    def count(self, pk: str, *, prefix: str = "", having: str = "pk") -> int:
        self._count(0)
        return super().count(pk, prefix=prefix, having=having)

    def _count(self, items: int) -> None:
        self.requests += 1
        self.waits += 1
        self.items += items


class RequestMeter(Meter):
    """Counts what the threads of requests do, except for their authentication."""

    def write(self, *changes: Change) -> None:
        (super().write if _in_a_request() else self._table.write)(*changes)

    def query_many(self, queries: Sequence[Query]) -> list[list[Item]]:
        return (super().query_many if _in_a_request() else self._table.query_many)(queries)

    def _count(self, items: int) -> None:
        if _in_a_request():
            super()._count(items)


def _in_a_request() -> bool:
    return threading.current_thread().name.rpartition("_")[0] in LANES


LANES = {lane.name for lane in vars(lanes).values() if isinstance(lane, lanes.Lane)} - {lanes.ACCESS.name}


@dataclass(frozen=True)
class Face:
    """The API over so many records of everything."""

    client: TestClient
    keyed: TestClient
    meter: RequestMeter
    records: Records

    def asked(self, request: str, budget: Mapping[str, Any]) -> list[int]:
        """The requests, items, waits and transactions that one request takes in a process that knows nothing yet. Raises:
        AssertionError for one that fails or finds nothing.
        """
        method, _, route = request.partition(" ")
        of, body = budget.get("of"), budget.get("body")
        content = json.loads(self.records.path(json.dumps(body), of)) if body is not None else None
        client = self.keyed if route.startswith(KEYED) else self.client
        if (
            client is self.keyed
        ):  # This request records the minute in which the key is used, and the one that is measured does not.
            assert client.get("/v1/api-keys").is_success
        self.records.forget()
        self.meter.reset()
        reply = client.request(method, self.records.path(route, of), json=content)
        counted = [self.meter.requests, self.meter.items, self.meter.waits, self.meter.transactions]
        assert reply.is_success, (request, reply.status_code, reply.text[:300])
        if method == "GET":
            _check_found(reply, budget.get("holds"))
        return counted


def _check_found(reply: httpx.Response, holds: str | None) -> None:
    """Raises: AssertionError for a list without records."""
    body = reply.json()
    assert body or body is False, "an empty answer measures nothing"
    if holds is not None:
        assert body[holds], f"{holds} is empty, so that this measures nothing"
    elif isinstance(body, dict):
        assert not OF_A_PAGE & body.keys(), "the budget of a page names the field that `holds` its records"


@pytest.fixture(scope="module", params=SIZES)
def face(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Face]]:
    with face_in(tmp_path_factory.mktemp("data"), request.param) as made:
        yield request.param, made


@contextmanager
def face_in(folder: Path, size: int) -> Iterator[Face]:
    """The API over `size` records of everything."""
    meters: list[RequestMeter] = []

    def metered(table: Table) -> RequestMeter:
        meters.append(RequestMeter(table))
        return meters[-1]

    with records_in(folder, size, metered) as records:
        here, key = "http://localhost", {"authorization": f"Bearer {records.lived.key}"}
        with (
            TestClient(create_app(records.all_services), base_url=here) as client,
            TestClient(records.lived.app, base_url=here, headers=key) as keyed,
        ):
            yield Face(client, keyed, meters[0], records)


def plain(request: str) -> str:
    """The method and the route of a request, without its query."""
    return request.split("?")[0].removesuffix("/")


BUDGETED = [*(f"GET {route}" for route in BUDGETS), *(each["request"] for each in WRITES)]


def test_every_operation_has_a_budget_or_a_reason_why_it_has_none() -> None:
    described = {
        f"{method.upper()} {path}"
        for path, operations in create_app(None).openapi()["paths"].items()  # type: ignore[arg-type]
        for method in operations
    }
    budgeted = {plain(request) for request in BUDGETED}
    assert budgeted.isdisjoint(WITHOUT)
    assert budgeted | set(WITHOUT) == described


def test_what_takes_more_than_a_page_says_why() -> None:
    budgets = [*((f"GET {route}", budget) for route, budget in BUDGETS.items()), *((each["request"], each) for each in WRITES)]
    assert {request for request, budget in budgets if "why" not in budget and max(budget["1000"]) > A_PAGE} == set()


@pytest.mark.parametrize("route", BUDGETS)
def test_a_read_keeps_its_budget(face: tuple[int, Face], route: str) -> None:
    size, over = face
    asked, budget = over.asked(f"GET {route}", BUDGETS[route]), BUDGETS[route][str(size)]
    within = [found <= most for found, most in zip(asked, budget, strict=False)]
    assert all(within), "{} requests, {} items, {} waits".format(*asked)


@pytest.mark.parametrize("budgeted", WRITES, ids=[f"{each['request']} {json.dumps(each['body'])[:40]}" for each in WRITES])
def test_a_search_or_a_write_keeps_its_budget(face: tuple[int, Face], budgeted: dict[str, Any]) -> None:
    """They change the records, so that they stand behind the reads."""
    size, over = face
    asked, budget = over.asked(budgeted["request"], budgeted), budgeted[str(size)]
    within = [found <= most for found, most in zip(asked, budget, strict=True)]
    assert all(within), "{} requests, {} items, {} waits, {} transactions".format(*asked)
