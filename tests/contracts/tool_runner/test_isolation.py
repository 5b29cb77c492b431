"""The port `ToolRunner`: what of the server a tool does not see."""

from __future__ import annotations

import fcntl
import os
import sys
import tempfile
from pathlib import Path

import pytest

from hibernaut.adapters.tool_runner.cage.walls import Wall
from hibernaut.adapters.tool_runner.child_process import ChildProcessRunner
from hibernaut.adapters.tool_runner.confinement import Cage
from hibernaut.ports.tools.tool_runner import ToolRunner
from tests.contracts.tool_runner.conftest import job


def test_a_tool_sees_its_own_variables_and_none_of_the_servers(runner: ToolRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")
    monkeypatch.setenv("PYTHONSTARTUP", "planted")
    outcome = runner.run(job("import os\ndef tool():\n    return dict(os.environ)\n", environment={"TOKEN": "mine ä"}))
    # Python itself sets LC_CTYPE where no locale is given.
    assert {name: value for name, value in outcome.value.items() if name != "LC_CTYPE"} == {"TOKEN": "mine ä"}


def test_the_time_zone_of_a_tool_is_that_of_its_variable(runner: ToolRunner) -> None:
    source = "import time\ndef tool():\n    return time.strftime('%H', time.localtime(0))\n"
    assert runner.run(job(source, environment={"TZ": "AAA-5"})).value == "05"


@pytest.mark.skipif(sys.platform != "linux", reason="the variable is that of Linux's loader")
def test_no_variable_loads_code_before_the_walls_stand(runner: ToolRunner) -> None:
    """The loader complains of a library that is not there, in whatever process it reads the variable."""
    source = """
    def tool():
        import os

        return [os.environ["LD_PRELOAD"], open("/proc/self/environ").read()]
    """
    outcome = runner.run(job(source, environment={"LD_PRELOAD": "/nowhere/library.so"}))
    assert (outcome.value, outcome.stderr) == (["/nowhere/library.so", ""], ())


@pytest.mark.parametrize(("name", "value"), [("A=B", "x"), ("", "x"), ("A\0", "x"), ("A", "\0")])
def test_a_variable_that_no_process_can_have_is_an_error(runner: ToolRunner, name: str, value: str) -> None:
    outcome = runner.run(job("def tool(): pass", environment={name: value}))
    assert "is not a possible environment variable" in str(outcome.error)


def test_a_tool_works_in_a_fresh_folder_that_is_gone_afterwards(runner: ToolRunner) -> None:
    source = """
    import os
    def tool():
        before = os.listdir(".")
        os.makedirs("a/b")
        open("a/b/file", "w").close()
        os.chmod("a/b", 0)
        os.chmod("a", 0)
        return [os.getcwd(), before]
    """
    first, second = (runner.run(job(source)).value for _ in range(2))
    assert first[1] == second[1] == []
    assert str(Path.cwd()) not in (first[0], second[0])
    assert not Path(first[0]).exists()


def test_a_tool_imports_what_is_installed_below_tmp(monkeypatch: pytest.MonkeyPatch) -> None:
    source = """
    import os, installed_here
    def tool():
        open("/tmp/mine", "w").close()
        return [installed_here.NAME, sorted(os.listdir("/tmp"))]
    """
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        Path(folder, "libraries").mkdir()
        Path(folder, "libraries", "installed_here.py").write_text("NAME = 'here'\n", encoding="utf-8")
        Path(folder, "libraries", "sub").symlink_to("nowhere")
        monkeypatch.syspath_prepend(f"{folder}/libraries")
        outcome = ChildProcessRunner(Cage(hidden=[])).run(job(source))
    name, listed = outcome.value
    assert (name, {"mine", "work"} <= set(listed)) == ("here", True)


def test_a_tool_is_given_no_open_file_of_the_server(runner: ToolRunner, tmp_path: Path) -> None:
    with (tmp_path / "secret").open("w") as secret:
        number = fcntl.fcntl(secret, fcntl.F_DUPFD, 200)
        os.set_inheritable(number, True)
        outcome = runner.run(job("import os\ndef tool(n):\n    return os.fstat(n).st_size\n", args={"n": number}))
        os.close(number)
    assert "Bad file descriptor" in str(outcome.error)


def test_a_tool_is_not_told_its_job_but_by_its_arguments(runner: ToolRunner) -> None:
    outcome = runner.run(
        job("import sys\ndef tool():\n    return [sys.stdin.read(), len(sys.argv)]\n", environment={"TOKEN": "x"})
    )
    assert outcome.value == ["", 2]


@pytest.mark.parametrize(
    "frame",
    [
        "b'garbage'",
        "(8).to_bytes(8, 'big') + b'garbage!'",
        "(4).to_bytes(8, 'big') + b'null'",
        "(2).to_bytes(8, 'big') + b'{}'",
        "(200_000).to_bytes(8, 'big') + b'[' * 200_000",
        '(99).to_bytes(8, \'big\') + b\'{"status": "success", "value": 1, "blocks": {}}\'',
        "b'x' * 70_000_000",
    ],
)
def test_a_tool_that_writes_its_own_reply_gets_an_error_for_nonsense(runner: ToolRunner, frame: str) -> None:
    source = f"""
    import os, sys
    def tool():
        rest = {frame}
        while rest:
            rest = rest[os.write(int(sys.argv[1]), rest):]
        os._exit(0)
    """
    outcome = runner.run(job(source))
    assert outcome.status == "error"
    assert str(outcome.error).startswith("Error executing function tool: ")


def test_a_tool_may_import_what_published_tools_import(runner: ToolRunner) -> None:
    source = "def tool():\n    import httpx, letta_client, pydantic, requests, yaml\n    return yaml.safe_load('a: 1')\n"
    assert runner.run(job(source)).value == {"a": 1}


@pytest.mark.parametrize("module", ["planted", "child_process"])
def test_a_tool_imports_nothing_by_where_it_runs(runner: ToolRunner, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["", ".", *sys.path])
    source = f"def tool():\n    open('planted.py', 'w').close()\n    import {module}\n"
    outcome = runner.run(job(source, environment={"PYTHONPATH": "."}))
    assert "ModuleNotFoundError" in str(outcome.error)


@pytest.mark.skipif(sys.platform != "linux", reason="the walls are Linux's")
def test_without_a_network_there_are_no_sockets() -> None:
    source = "def tool():\n    import socket\n    socket.socketpair()\n    return socket.create_connection(('127.0.0.1', 9))\n"
    runner = ChildProcessRunner(Cage(network=False))
    assert "Permission denied" in str(runner.run(job(source)).error)
    assert {Wall.NO_NETWORK, Wall.CONNECTIONS} <= runner.walls()
