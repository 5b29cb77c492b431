"""Letta Code in a pseudo-terminal: its commands for MCP servers, and what it does to an agent that it opens.

`make engines` fetches it, pinned by the lock in `letta_code`. Where there is no Node the tests are skipped; where it is, they
run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from letta_client import Letta

from tests.clients.node_programs import modules_of
from tests.compat.conftest import DEMO, HANDLE, NO_KEY, serving_embedded
from tests.support.mcp_service import McpService
from tests.support.provider_servers import ScriptedOpenAI
from tests.support.pseudo_terminal import PseudoTerminal
from tools.engines import LETTA_CODE

READY = "Press / for commands"
UP, DOWN, ESCAPE = "\x1b[A", "\x1b[B", "\x1b"
PROGRAM = "node_modules/@letta-ai/letta-code/letta.js"


@pytest.fixture(scope="module")
def program() -> Path:
    return modules_of(LETTA_CODE).parent.resolve() / PROGRAM


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with ScriptedOpenAI() as provider, serving_embedded(tmp_path / "data", provider, embedding="none") as served:
        yield served.url


def opened(program: Path, url: str, home: Path, *options: str) -> PseudoTerminal:
    """Letta Code with these options, in a home of its own."""
    home.mkdir(exist_ok=True)
    plain = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
    quiet = {"LETTA_CODE_TELEM": "0", "DISABLE_AUTOUPDATER": "1", "LETTA_SKIP_KEYCHAIN_CHECK": "1"}
    server = {"LETTA_BASE_URL": url, "LETTA_API_KEY": NO_KEY}
    return PseudoTerminal(["node", str(program), *options], folder=home, environment={**plain, **quiet, **server})


def wingspan(species: str) -> str:
    """How wide a bird is."""
    return f"{species}: 120 cm"


def test_its_mcp_commands_add_a_server_and_attach_its_tools(program: Path, url: str, tmp_path: Path) -> None:
    with McpService() as birds, Letta(base_url=url, api_key=NO_KEY) as client:
        birds.tool(wingspan)
        agent = client.agents.create(name="Ada", model=HANDLE, tags=["kept"])
        own = {tool.name for tool in agent.tools}
        with opened(program, url, tmp_path / "home", "--agent", agent.id) as terminal:
            terminal.sees(READY)
            terminal.enters(f"/mcp add --transport http birds {birds.url}")
            terminal.sees("Loaded 1 tool from server")
            terminal.enters("/mcp")
            terminal.sees("Enter view tools")
            terminal.presses("\r")
            terminal.sees("0/1 attached")
            terminal.presses("a")
            terminal.sees("1/1 attached")
        with opened(program, url, tmp_path / "home", "--agent", agent.id) as terminal:
            terminal.sees(READY)
            terminal.enters("/mcp")
            terminal.sees("Enter view tools")
            terminal.presses("\r")
            terminal.sees("1/1 attached")
            found = client.agents.retrieve(agent.id, include=["agent.tools", "agent.tags"])
            assert {tool.name for tool in found.tools} >= own | {"wingspan"}
            assert "kept" in (found.tags or [])
            terminal.presses(ESCAPE)
            terminal.sees("Enter view tools")
            terminal.presses("d")
            terminal.sees("> No, cancel")
            terminal.presses(UP)
            terminal.sees("> Yes, delete")
            terminal.presses("\r")
            terminal.sees("No MCP servers configured")
        assert client.mcp_servers.list() == []


def test_it_starts_a_new_agent_and_warns_of_git_alone(program: Path, url: str, tmp_path: Path) -> None:
    """Its tools and its prompt are there. What it says of git-backed memory it says on every server but Letta's own (decision
    62).
    """
    with opened(program, url, tmp_path / "home", "--new-agent") as terminal:
        terminal.sees(f"> {DEMO}")
        terminal.presses(DOWN)
        terminal.sees(f"> {HANDLE}")
        terminal.presses("\r")
        terminal.sees(READY)
        warnings = re.findall(r"(?:Warning|Error|Failed)[^.]*", terminal.shown)
    assert warnings == ["Warning: this agent does not have git-backed memory enabled"]
    with Letta(base_url=url, api_key=NO_KEY) as client:
        (agent,) = client.agents.list(include=["agent.tools"])
    assert agent.model == HANDLE
    assert {tool.name for tool in agent.tools} >= {"web_search", "fetch_webpage"}
