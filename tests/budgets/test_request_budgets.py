"""What requests ask of the table, counted in operations and in items read, at ten records of everything and at a thousand.

Every GET route has a budget, and so have the searches and the writes of one record.

`get_budgets.json` holds the budget of each: [requests, items] at ten records, and at a thousand; and, where requests are sent
together, how often the route waits for the table: [requests, items, waits]. A route without a line may take UNLISTED.
`write_budgets.json` holds requests that search or write, in their order, with [requests, items, waits, transactions].
Lists that are merged from shards have some room: how ids fall into the shards is chance.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from hibernaut.ports.storage.table import Change, Item, Key, Query
from hibernaut.rest.app import create_app
from hibernaut.schemas.base import JsonObject
from tests.budgets.records import Records, records_in
from tests.support.tables import PassesOn

BUDGETS: dict[str, dict[str, list[int]]] = json.loads((Path(__file__).parent / "get_budgets.json").read_text(encoding="utf-8"))
WRITES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "write_budgets.json").read_text(encoding="utf-8"))
SIZES = (10, 1000)
UNLISTED = 2
"""Calls, and items, of a route that has no line."""
ANSWERED = {200, 400, 403, 404, 501}
"""A route may refuse: a file that is not there, or keys of a server without any."""


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


@dataclass(frozen=True)
class Face:
    """The API over so many records of everything."""

    client: TestClient
    meter: Meter
    records: Records

    def asked(self, route: str) -> tuple[int, int, int]:
        """The requests, items and waits that one request takes in a process that knows nothing yet."""
        self.records.forget()
        self.meter.reset()
        reply = self.client.get(self.records.path(route))
        assert reply.status_code in ANSWERED, (route, reply.status_code, reply.text[:300])
        return self.meter.requests, self.meter.items, self.meter.waits

    def told(self, request: str, body: JsonObject | None) -> tuple[int, int, int, int]:
        """The same of a request that searches or writes, with its transactions."""
        method, _, route = request.partition(" ")
        self.records.forget()
        self.meter.reset()
        content = json.loads(self.records.path(json.dumps(body))) if body is not None else None
        reply = self.client.request(method, self.records.path(route), json=content)
        assert reply.status_code == 200, (request, reply.status_code, reply.text[:300])
        return self.meter.requests, self.meter.items, self.meter.waits, self.meter.transactions


@pytest.fixture(scope="module", params=SIZES)
def face(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Face]]:
    meters: list[Meter] = []

    def metered(table: object) -> Meter:
        meters.append(Meter(table))  # type: ignore[arg-type]
        return meters[-1]

    with records_in(tmp_path_factory.mktemp("data"), request.param, metered) as records:
        app = create_app(records.all_services)
        with TestClient(app, base_url="http://localhost") as client:
            yield request.param, Face(client, meters[0], records)


def routes_of(app: FastAPI) -> set[str]:
    return {path for path, operations in app.openapi()["paths"].items() if "get" in operations}


def test_every_budget_is_of_a_route() -> None:
    assert {route.split("?")[0] for route in BUDGETS} <= routes_of(create_app(None))  # type: ignore[arg-type]


def test_a_read_without_a_budget_looks_up_a_record_or_two(face: tuple[int, Face]) -> None:
    """Such as the routes to come: they ask at most whether what they are about is there."""
    _, over = face
    unlisted = routes_of(create_app(None)) - {route.split("?")[0] for route in BUDGETS}  # type: ignore[arg-type]
    asked = {route: over.asked(route) for route in sorted(unlisted)}
    assert {route: found for route, found in asked.items() if max(found) > UNLISTED} == {}


@pytest.mark.parametrize("route", BUDGETS)
def test_a_read_keeps_its_budget(face: tuple[int, Face], route: str) -> None:
    size, over = face
    asked, budget = over.asked(route), BUDGETS[route][str(size)]
    within = [found <= most for found, most in zip(asked, budget, strict=False)]
    assert all(within), "{} requests, {} items, {} waits".format(*asked)


@pytest.mark.parametrize("budgeted", WRITES, ids=[f"{each['request']} {json.dumps(each['body'])[:40]}" for each in WRITES])
def test_a_search_or_a_write_keeps_its_budget(face: tuple[int, Face], budgeted: dict[str, Any]) -> None:
    """They change the records, so that they stand behind the reads."""
    size, over = face
    asked, budget = over.told(budgeted["request"], budgeted["body"]), budgeted[str(size)]
    within = [found <= most for found, most in zip(asked, budget, strict=True)]
    assert all(within), "{} requests, {} items, {} waits, {} transactions".format(*asked)
