"""The manifest is whole: every endpoint of the SDK has a row, every promise a test, and every citation a row. Starts no server."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

from tests.compat.manifest import rows
from tests.compat.manifest.form import Status
from tests.compat.manifest.page import page
from tests.compat.sdk import endpoints

ROOT = Path(__file__).resolve().parents[2]
PROVEN = (Status.DONE, Status.DIVERGING)


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
    assert Counter(row.endpoint for row in rows() if row.endpoint) == Counter(endpoints())


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
