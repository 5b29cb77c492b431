"""MCP servers that are programs: each session runs in the cage of custom tools, whatever the program does."""

from __future__ import annotations

import socket
import sys
import threading
import zlib
from dataclasses import dataclass
from pathlib import Path

import pytest

from hibernaut.adapters.mcp.programs import CagedPrograms
from hibernaut.adapters.tool_runner.child_process import ChildProcessRunner
from hibernaut.adapters.tool_runner.confinement import Cage
from hibernaut.domain.tools.mcp.mcp_results import MOST_IMAGE_BYTES, shown
from hibernaut.ports.tools.mcp import HttpMcpTarget, McpCall, McpFailure, StdioMcpTarget
from hibernaut.schemas.content import Base64Image
from tests.support.pictures import encoded, png

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
        if text.startswith("iVBOR"):
            told = {"content": [{"type": "image", "mimeType": "image/png", "data": text}] * 2}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": told}), flush=True)
"""
WAITING = """
import os, socket, sys
import anyio
from mcp.server.mcpserver import MCPServer

server, test = MCPServer("p", log_level="CRITICAL"), socket.create_connection(("127.0.0.1", int(os.environ["PORT"])))

@server.tool()
async def wait() -> str:
    test.sendall(b"called\\n")
    try:
        await anyio.sleep_forever()
    except anyio.get_cancelled_exc_class():
        test.sendall(b"cancelled\\n")
        raise

server.run("stdio")
"""
DEAF = WAITING.replace("await anyio.sleep_forever()", "__import__('time').sleep(100)")
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
    own, servers, secret, foreign = shown(result).text.splitlines()
    assert (own, servers) == ("k ü", "None")
    assert secret in ("FileNotFoundError", "PermissionError")
    assert foreign in ("0", "FileNotFoundError", "PermissionError")


def test_the_largest_image_that_is_shown_leaves_the_cage(programs: CagedPrograms) -> None:
    """Of two such images one is shown: the other is told."""
    image = png(noise=b"x" * (MOST_IMAGE_BYTES - len(png(noise=b"x")) + 1))
    write = f"__import__('base64').b64encode(__import__('zlib').decompress({zlib.compress(image)!r})).decode()"
    read = shown(programs.call(target(SERVER), McpCall("tell", {"what": [write]}, ""), seconds=SECONDS))
    assert [image.source for image in read.images] == [Base64Image(media_type="image/png", data=encoded(image))]
    assert read.text.splitlines()[1] == f"[image of the type image/png, {MOST_IMAGE_BYTES} bytes, which cannot be shown]"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.why)
def test_a_hostile_program_costs_one_session(programs: CagedPrograms, row: Row) -> None:
    with pytest.raises(McpFailure) as failed:
        programs.tools(target(row.program), seconds=row.seconds)
    assert row.problem in ("", failed.value.problem)


@pytest.mark.parametrize(("program", "heard"), [(WAITING, ["called", "cancelled"]), (DEAF, ["called"])], ids=("hears", "deaf"))
def test_a_call_that_nobody_wants_any_more_is_cancelled_and_its_program_ends(
    programs: CagedPrograms, program: str, heard: list[str]
) -> None:
    called, lines = threading.Event(), list[str]()

    def listen() -> None:
        with listener.accept()[0] as connection, connection.makefile(encoding="utf-8") as told:
            for line in told:
                lines.append(line.strip())
                called.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listening = threading.Thread(target=listen, daemon=True)
        listening.start()
        port = str(listener.getsockname()[1])
        with pytest.raises(McpFailure, match="cancelled") as failed:
            programs.call(target(program, PORT=port), McpCall("wait", {}, wanted=lambda: not called.is_set()), seconds=SECONDS)
        listening.join(20)  # the connection ends with the program
    assert failed.value.problem == "cancelled"
    assert (lines, listening.is_alive()) == (heard, False)


def test_a_command_that_does_not_exist_is_told(programs: CagedPrograms) -> None:
    with pytest.raises(McpFailure, match="started") as failed:
        programs.tools(StdioMcpTarget("no-such-command"), seconds=SECONDS)
    assert failed.value.problem == "unreachable"


def test_an_address_is_no_program(programs: CagedPrograms) -> None:
    with pytest.raises(McpFailure, match="no program"):
        programs.tools(HttpMcpTarget("http://127.0.0.1:1/"), seconds=SECONDS)
