"""The reference servers of the Model Context Protocol, of npm and PyPI: by HTTP on loopback, and as programs in the cage of
custom tools.

`make engines` fetches them, pinned by the locks in `tests/clients/mcp`. Where there is no Node the tests are skipped.
"""

from __future__ import annotations

import re
import socket
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hibernaut.adapters.addresses import THIS_MACHINE
from hibernaut.adapters.door import Door
from hibernaut.adapters.mcp.client import McpClient
from hibernaut.adapters.mcp.programs import CagedPrograms
from hibernaut.adapters.tool_runner.child_process import ChildProcessRunner
from hibernaut.adapters.tool_runner.confinement import Cage
from hibernaut.domain.tools.mcp.mcp_results import McpResult, shown
from hibernaut.domain.tools.mcp.mcp_schemas import offered
from hibernaut.ports.tools.mcp import HttpMcpTarget, McpCall, StdioMcpTarget
from tools.engines import MCP_SERVERS

SECONDS = 60.0
EVERYTHING = "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
FILES = "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"


@pytest.fixture(scope="module")
def servers() -> Path:
    """Where the servers are. Skips where there is no Node or npm, and fails where they are there and it is not."""
    if missing := MCP_SERVERS.missing_programs():
        pytest.skip(f"the reference servers need {' and '.join(missing)}")
    if not MCP_SERVERS.is_installed():
        pytest.fail("the reference servers are not installed: run `make engines`")
    return MCP_SERVERS.folder.resolve()


@pytest.fixture(scope="module")
def everything(servers: Path) -> Iterator[HttpMcpTarget]:
    """The server `everything` by the newer transport of HTTP, on a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["node", str(servers / EVERYTHING), "streamableHttp"]
    process = subprocess.Popen(
        command, env={"PORT": str(port), "PATH": "/usr/local/bin:/usr/bin:/bin"}, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    assert any("listening" in line for line in process.stderr), "it ends its standard error if it cannot start"
    yield HttpMcpTarget(f"http://127.0.0.1:{port}/mcp")
    process.kill()
    process.stderr.close()
    process.wait()


@pytest.fixture(scope="module")
def programs(servers: Path) -> Iterator[CagedPrograms]:
    """The cage shows what the server can import; here the reference servers are among that."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(servers))
        yield CagedPrograms(ChildProcessRunner(Cage()))


def called(client: Any, target: Any, name: str, **args: Any) -> McpResult:
    result: McpResult = client.call(target, McpCall(name, args, ""), seconds=SECONDS)
    return result


def is_shown(result: McpResult) -> bool:
    """Whether the model is shown the image."""
    read = shown(result)
    return "[image 1: image of the type image/png" in read.text and len(read.images) == 1


def test_everything_is_listed_and_offered_and_called(everything: HttpMcpTarget) -> None:
    client = McpClient(Door(THIS_MACHINE))
    listing = client.tools(everything, seconds=SECONDS)
    names = [tool.name for tool in listing.tools]
    assert {"echo", "get-sum", "get-tiny-image"} <= set(names)
    for tool in listing.tools:
        assert offered(tool.name, tool.description, tool.schema)["parameters"]["type"] == "object"
    assert shown(called(client, everything, "echo", message="hello")).text == "Echo: hello"
    assert is_shown(called(client, everything, "get-tiny-image"))
    assert "5" in shown(called(client, everything, "get-sum", a=2, b=3)).text


def test_everything_is_called_as_a_program(programs: CagedPrograms, servers: Path) -> None:
    target = StdioMcpTarget("node", (str(servers / EVERYTHING), "stdio"))
    assert shown(called(programs, target, "echo", message="hello")).text == "Echo: hello"
    assert is_shown(called(programs, target, "get-tiny-image"))


def test_the_files_of_a_program_are_those_of_its_cage(programs: CagedPrograms, servers: Path) -> None:
    target = StdioMcpTarget("node", (str(servers / FILES), "/tmp"))
    assert "Successfully wrote" in shown(called(programs, target, "write_file", path="/tmp/note.txt", content="x")).text
    assert not Path("/tmp/note.txt").exists()


def test_the_time_is_told(programs: CagedPrograms, servers: Path) -> None:
    target = StdioMcpTarget(str(servers / "venv" / "bin" / "python"), ("-m", "mcp_server_time"))
    text = shown(called(programs, target, "convert_time", source_timezone="UTC", time="12:00", target_timezone="Asia/Tokyo")).text
    assert re.search(r"T21:00:00\+09:00", text)


class Page(BaseHTTPRequestHandler):
    """One page, and no file of rules for robots."""

    def do_GET(self) -> None:
        body = b"<html><body><main><h1>Parrots</h1><p>They are green.</p></main></body></html>"
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


def test_a_page_is_fetched(programs: CagedPrograms, servers: Path) -> None:
    target = StdioMcpTarget(str(servers / "venv" / "bin" / "python"), ("-m", "mcp_server_fetch", "--allow-private-ips"))
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        result = called(programs, target, "fetch", url=f"http://127.0.0.1:{server.server_address[1]}/", raw=True)
        server.shutdown()
        thread.join()
    assert "They are green." in shown(result).text
