"""The manifest is whole: every endpoint of the SDK has a row, every promise a test, and every citation a row. Starts no
server.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

from hibernaut.rest.app import create_app
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.unserved_routes import unserved
from tests.compat.manifest import rows
from tests.compat.manifest.form import Status
from tests.compat.manifest.page import page
from tests.compat.sdk import endpoints
from tests.compat.v1_routes import v1_routes
from tests.support.faces import no_services

ROOT = Path(__file__).resolve().parents[2]
PROVEN = (Status.DONE, Status.DIVERGING)
SWALLOWED = {("GET", "/v1/folders/metadata"), ("GET", "/v1/sources/metadata")}
"""Routes that V1 declares behind one of its own path parameters, so that nobody reaches them."""


def cited() -> dict[str, list[str]]:
    """Row id -> the tests that cite it, read from their decorators."""
    found: dict[str, list[str]] = {}
    for file in sorted(Path(__file__).parent.glob("test_*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for identifier in _cited_by(node):
                    found.setdefault(identifier, []).append(f"{file.name}::{node.name}")
    return found


def _cited_by(test: ast.FunctionDef) -> list[str]:
    return [
        str(ast.literal_eval(argument))
        for decorator in test.decorator_list
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.manifest"
        for argument in decorator.args
    ]


def test_the_sdk_has_129_endpoints() -> None:
    assert len(endpoints()) == 129


def test_every_endpoint_of_the_sdk_has_one_row() -> None:
    found = Counter(pair for row in rows() for pair in row.pairs())
    assert [pair for pair in endpoints() if found[pair] != 1] == []


def test_every_route_of_v1_has_one_row() -> None:
    found = Counter((method, shape(path)) for row in rows() for method, path in row.pairs())
    assert [(method, path) for method, path in v1_routes() if found[(method, shape(path))] != 1] == []


def test_every_endpoint_of_a_row_is_one_of_v1_or_its_sdk() -> None:
    known = {(method, shape(path)) for method, path in (*v1_routes(), *endpoints())}
    assert [pair for row in rows() for pair in row.pairs() if (pair[0], shape(pair[1])) not in known] == []


def test_a_route_is_served_or_in_the_table_of_those_that_are_not() -> None:
    app = create_app(no_services())
    served = {(method, shape(route.path)) for route in app.routes if isinstance(route, LazyRoute) for method in route.methods}
    promised = {(method, shape(path)) for row in rows() if row.status in PROVEN for method, path in row.pairs()}
    unserved_pairs = {(method, shape(one.path)) for one in unserved() for method in one.methods}
    assert promised - served == SWALLOWED
    assert unserved_pairs & served == set()


def shape(path: str) -> str:
    """The path without the names of its parameters and the slash at its end."""
    return re.sub(r"\{[^}]*\}", "{}", path.rstrip("/"))


def test_ids_are_given_once() -> None:
    assert [identifier for identifier, count in Counter(row.id for row in rows()).items() if count > 1] == []


def test_every_promise_is_proven_by_a_test() -> None:
    assert sorted({row.id for row in rows() if row.status in PROVEN} - set(cited())) == []


def test_every_citation_names_a_promise() -> None:
    promised = {row.id for row in rows() if row.status in PROVEN}
    assert {identifier: tests for identifier, tests in cited().items() if identifier not in promised} == {}


def test_what_is_not_done_says_why() -> None:
    assert [row.id for row in rows() if bool(row.reason) is (row.status is Status.DONE)] == []


def test_the_page_is_generated_from_the_rows() -> None:
    assert (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8") == page()
