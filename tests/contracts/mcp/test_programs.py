"""MCP servers that are programs: each session runs in the cage of custom tools, whatever the program does."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from hibernaut.adapters.mcp.programs import CagedPrograms
from hibernaut.adapters.tool_runner.child_process import ChildProcessRunner
from hibernaut.adapters.tool_runner.confinement import Cage
from hibernaut.domain.tools.mcp_results import text_of
from hibernaut.ports.mcp import HttpMcpTarget, McpCall, McpFailure, StdioMcpTarget

SERVER = """
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method, told = asked["method"], {}
    if method == "server/discover":
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    if method == "initialize":
        told = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "p", "version": "1"}}
    if method == "tools/list":
        told = {"tools": [{"name": "tell", "description": "Tells.", "inputSchema": {"type": "object"}}]}
    if method == "tools/call":
        texts = []
        for each in asked["params"]["arguments"]["what"]:
            try:
                texts.append(str(eval(each)))
            except OSError as error:
                texts.append(type(error).__name__)
        text = chr(10).join(texts)
        told = {"content": [{"type": "text", "text": text}]}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": told}), flush=True)
"""
SECONDS = 30.0


@dataclass(frozen=True)
class Row:
    """A program, and the problem that is told."""

    why: str
    program: str
    problem: str
    seconds: float = SECONDS


ROWS = (
    Row("ends at once", "raise SystemExit(1)", "protocol"),
    Row("says nothing", "import time; time.sleep(100)", "timeout", 4.0),
    Row("floods without an end of a line", "import os\nwhile True: os.write(1, b'x' * 65536)", "", 4.0),
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    (folder / "secrets.key").write_text("planted", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def programs(data: Path) -> CagedPrograms:
    return CagedPrograms(ChildProcessRunner(Cage(hidden=(data,))))


def target(program: str, **env: str) -> StdioMcpTarget:
    return StdioMcpTarget(sys.executable, ("-c", program), env)


def test_a_program_is_listed(programs: CagedPrograms) -> None:
    (tool,) = programs.tools(target(SERVER), seconds=SECONDS).tools
    assert (tool.name, tool.description, tool.schema) == ("tell", "Tells.", {"type": "object"})


def test_a_program_sees_what_a_tool_sees(programs: CagedPrograms, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED", "of the server")
    what = [
        "os.environ['KEY'] + ' ü'",
        "os.environ.get('PLANTED')",
        f"open({str(data / 'secrets.key')!r}).read()",
        "open('/proc/1/environ').read().count('PLANTED')",
    ]
    result = programs.call(target(SERVER, KEY="k"), McpCall("tell", {"what": what}, ""), seconds=SECONDS)
    own, servers, secret, foreign = text_of(result).splitlines()
    assert (own, servers) == ("k ü", "None")
    assert secret in ("FileNotFoundError", "PermissionError")
    assert foreign in ("0", "FileNotFoundError", "PermissionError")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.why)
def test_a_hostile_program_costs_one_session(programs: CagedPrograms, row: Row) -> None:
    with pytest.raises(McpFailure) as failed:
        programs.tools(target(row.program), seconds=row.seconds)
    assert row.problem in ("", failed.value.problem)


def test_a_command_that_does_not_exist_is_told(programs: CagedPrograms) -> None:
    with pytest.raises(McpFailure, match="started") as failed:
        programs.tools(StdioMcpTarget("no-such-command"), seconds=SECONDS)
    assert failed.value.problem == "unreachable"


def test_an_address_is_no_program(programs: CagedPrograms) -> None:
    with pytest.raises(McpFailure, match="no program"):
        programs.tools(HttpMcpTarget("http://127.0.0.1:1/"), seconds=SECONDS)
