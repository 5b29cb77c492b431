"""A run of all tests fails when no test has reached an endpoint on `aws-offline`, and only then."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.reached import ReachedEndpoints


def session(**config: Any) -> Any:
    return SimpleNamespace(exitstatus=pytest.ExitCode.OK, config=SimpleNamespace(**config))


def ended_worker(*reached: str) -> Any:
    """A worker that has sent which of two endpoints its tests have reached."""
    worker, sent = ReachedEndpoints(whole=True), dict[str, Any]()
    worker.serves(["GET /a", "POST /b"])
    worker.reached.update(reached)
    worker.pytest_sessionfinish(session(workeroutput=sent))
    return SimpleNamespace(workeroutput=sent)


@pytest.mark.parametrize(
    ("whole", "reached", "ended"),
    [
        (True, [["GET /a"], ["POST /b"]], pytest.ExitCode.OK),
        (True, [["GET /a"], []], pytest.ExitCode.TESTS_FAILED),
        (False, [["GET /a"], []], pytest.ExitCode.OK),
        (True, [], pytest.ExitCode.OK),
    ],
)
def test_what_all_workers_have_reached_decides(whole: bool, reached: list[list[str]], ended: pytest.ExitCode) -> None:
    plugin, run = ReachedEndpoints(whole=whole), session()
    for endpoints in reached:
        plugin.pytest_testnodedown(ended_worker(*endpoints))
    plugin.pytest_testnodedown(SimpleNamespace())  # a worker that died
    plugin.pytest_sessionfinish(run)
    assert run.exitstatus == ended
