"""The table of escapes: on the child process, on the function, and for a server without rights, with namespaces and without."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.contracts.tool_runner import escapes, node_escapes
from tests.contracts.tool_runner.cages import KINDS, tried

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the walls are Linux's")


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def told(kind: str) -> Iterator[dict[str, Any]]:
    # Not below pytest's folder, which only its own user may enter.
    with TemporaryDirectory() as folder:
        yield tried(kind, Path(folder))


@pytest.mark.parametrize("attempt", escapes.ATTEMPTS, ids=lambda attempt: attempt.name)
def test_a_tool_does_not_get_out(kind: str, told: dict[str, Any], attempt: escapes.Attempt) -> None:
    if attempt.wall not in KINDS[kind]:
        pytest.skip(f"this system gives no wall {attempt.wall}")
    assert told["escaped"].get(attempt.name) is None


@pytest.mark.parametrize("attempt", node_escapes.ATTEMPTS, ids=lambda attempt: attempt.name)
def test_a_tool_in_typescript_does_not_get_out(kind: str, told: dict[str, Any], attempt: escapes.Attempt) -> None:
    if attempt.wall not in KINDS[kind]:
        pytest.skip(f"this system gives no wall {attempt.wall}")
    assert told["escaped from Node"].get(attempt.name) is None


def test_each_kind_of_cage_has_its_walls(kind: str, told: dict[str, Any]) -> None:
    assert set(told["walls"]) == KINDS[kind]


@pytest.mark.parametrize("of", ["memory", "memory of Node"])
def test_all_processes_of_a_call_share_its_memory(told: dict[str, Any], of: str) -> None:
    assert told["limits"][of] == [
        "error",
        "Error executing function tool: MemoryError: more than the 100 MB that a tool may use, in all its processes",
    ]


@pytest.mark.parametrize("of", ["forks", "forks of Node"])
def test_a_call_has_only_so_many_processes(told: dict[str, Any], of: str) -> None:
    status, said = told["limits"][of]
    assert said < 20 if status == "success" else "more than the 20 processes" in said


def test_a_file_has_a_limit(told: dict[str, Any]) -> None:
    status, said = told["limits"]["file"]
    assert status == "error"
    assert "File too large" in said or "No space left" in said


def test_all_files_of_a_call_share_a_limit(kind: str, told: dict[str, Any]) -> None:
    status, said = told["limits"]["files"]
    assert status == "error"
    assert "No space left" in said or "more than the 8 MB that the files of a tool may have" in said


@pytest.mark.parametrize("of", ["daemon", "daemon of Node"])
def test_a_daemon_ends_with_the_call(told: dict[str, Any], of: str) -> None:
    assert told["limits"][of] == ["success", "left a daemon", "alive"]


@pytest.mark.parametrize("of", ["flood", "flood of Node"])
def test_a_reply_that_never_ends_is_refused_without_being_read(told: dict[str, Any], of: str) -> None:
    assert told["limits"][of] == ["error", "Error executing function tool: ValueError: what it returned is too large"]
