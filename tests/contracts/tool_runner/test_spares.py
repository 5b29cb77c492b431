"""The process that is started before its call: it serves one call, and nothing of another one is in it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hibernaut.adapters.tool_runner.child_process import ChildProcessRunner
from hibernaut.adapters.tool_runner.spares import Launched, Spare, imports_of, launched
from tests.contracts.tool_runner.conftest import job

PATIENCE = 60.0
"""Seconds after which a process that should start or end is stuck."""
IMPORTED = """
def tool():
    import sys

    return "requests" in sys.modules  # and no import of requests
"""


class Started:
    """The processes that were started, with what they import."""

    def __init__(self) -> None:
        self.imports: list[tuple[str, ...]] = []
        self.made: list[Launched] = []
        self.any = threading.Semaphore(0)

    def __call__(self, imports: tuple[str, ...]) -> Launched:  # type: ignore[override]
        self.imports.append(tuple(imports))
        self.made.append(launched(imports))
        self.any.release()
        return self.made[-1]


@pytest.fixture
def started() -> Started:
    return Started()


@pytest.fixture
def spare(started: Started) -> Iterator[Spare]:
    made = Spare(start=started)  # type: ignore[arg-type]
    yield made
    made.close()


def test_a_call_finds_what_the_one_before_imported(spare: Spare, started: Started) -> None:
    runner = ChildProcessRunner(spare=spare)
    assert runner.run(job(IMPORTED)).value is False
    assert spare.is_ready(PATIENCE)
    assert runner.run(job(IMPORTED)).value is True
    assert spare.is_ready(PATIENCE)
    assert started.imports == [("requests",)] * 2


def test_a_call_has_its_own_folder_variables_and_process(spare: Spare) -> None:
    runner = ChildProcessRunner(spare=spare)
    source = """
    import builtins, os, sys

    def tool(number):
        seen = getattr(builtins, "left", None)
        builtins.left = number
        open("left", "w").close()
        return [seen, os.listdir("."), dict(os.environ).get("TOKEN"), hash("a text"), sys.stdin.read()]
    """
    found = []
    for number in range(3):
        found.append(runner.run(job(source, args={"number": number}, environment={"TOKEN": f"t{number}"})).value)
        assert spare.is_ready(PATIENCE)
    assert [each[:3] for each in found] == [[None, ["left"], f"t{number}"] for number in range(3)]
    assert len({each[3] for each in found}) == 3, "each process has a seed of its own"
    assert [each[4] for each in found] == [""] * 3


def test_a_package_of_the_tool_comes_before_what_was_imported(spare: Spare, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)  # the tools of root are another user
    (tmp_path / "urllib3").mkdir()
    (tmp_path / "urllib3" / "__init__.py").write_text("OWN = True", encoding="utf-8")
    runner = ChildProcessRunner(spare=spare, packages=lambda _packages, _seconds: str(tmp_path))
    source = "def tool():\n    import urllib3\n    return getattr(urllib3, 'OWN', False)  # requests\n"
    for _ in range(2):
        assert runner.run(job(source, packages={"digest": "x"})).value is True
        assert spare.is_ready(PATIENCE)


def test_a_spare_that_died_costs_no_call(spare: Spare, started: Started) -> None:
    runner = ChildProcessRunner(spare=spare)
    runner.run(job(IMPORTED))
    assert spare.is_ready(PATIENCE)
    os.kill(started.made[0].process.pid, signal.SIGKILL)
    os.waitid(os.P_PID, started.made[0].process.pid, os.WEXITED | os.WNOWAIT)
    assert runner.run(job(IMPORTED)).value is False
    assert spare.is_ready(PATIENCE)


def test_a_spare_ends_when_it_is_closed_and_when_nobody_calls(started: Started) -> None:
    closed, idle = Spare(start=started), Spare(start=started, idle=0.0)  # type: ignore[arg-type]
    closed.take(())
    assert closed.is_ready(PATIENCE)
    assert started.any.acquire(timeout=PATIENCE)
    closed.close()
    assert closed.take(()) is None
    idle.take(())
    assert started.any.acquire(timeout=PATIENCE)
    assert started.made[-1].process.wait(PATIENCE) == 0, "nobody has called for longer than it is kept"
    idle.close()
    assert [each.process.returncode for each in started.made] == [0, 0]
    assert not closed.is_ready(0)


def test_a_source_names_the_packages_that_it_needs() -> None:
    assert imports_of("import requests\nfrom pydantic import BaseModel\nhttpxx = 1") == ("requests", "pydantic")
