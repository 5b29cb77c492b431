"""Which endpoints the tests of the API have reached on `aws-offline`: a run of all tests fails when one was left out.

The API's suite runs whole on `embedded`, and with one story an endpoint on `aws-offline` (`tests/compat/conftest.py`). Each
worker knows what its own tests have reached, so that the process that started the workers adds it up. Must not know: what an
endpoint is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

PLUGIN = "reached-endpoints"
SERVED, REACHED = "endpoints_served", "endpoints_reached"
"""The keys of what a worker sends at its end."""


class ReachedEndpoints:
    """pytest's plugin. `whole`: this run has all tests, so that something may be missed."""

    def __init__(self, *, whole: bool) -> None:
        self._whole = whole
        self.served: set[str] = set()
        self.reached: set[str] = set()

    @property
    def missed(self) -> list[str]:
        """The endpoints that no test has reached, where all tests had the occasion."""
        return sorted(self.served - self.reached) if self._whole else []

    def serves(self, endpoints: Iterable[str]) -> None:
        """A deployment with these endpoints is tested."""
        self.served.update(endpoints)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add what a worker has sent."""
        sent = getattr(node, "workeroutput", {})
        self.served.update(sent.get(SERVED, ()))
        self.reached.update(sent.get(REACHED, ()))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: Any) -> None:
        """A worker sends what it knows; otherwise the run fails if endpoints were missed."""
        sent = getattr(session.config, "workeroutput", None)
        if sent is not None:
            sent[SERVED], sent[REACHED] = sorted(self.served), sorted(self.reached)
        elif self.missed and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Name what was missed."""
        if self.missed and not hasattr(terminalreporter.config, "workeroutput"):
            terminalreporter.section("endpoints that no test has reached on aws-offline", red=True)
            for endpoint in self.missed:
                terminalreporter.line(f"{endpoint}: mark a test of it with pytest.mark.deployed")


def is_whole(config: pytest.Config) -> bool:
    """Whether the run has all tests."""
    option = config.option
    return config.args == config.getini("testpaths") and not (option.keyword or option.markexpr or option.deselect or option.lf)
