"""The README's quickstart: a clean clone, `make run`, and its code run by the unchanged SDK, with no key and the network
closed.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import httpx
import pytest

from tools.engines import OLDER_PYTHON_CLIENTS, Engine

ROOT = Path(__file__).parents[2]
GUARD = Path(__file__).parent / "guard"
ADDRESS = "http://127.0.0.1:8283"
PATIENCE = 60.0


def code_block(language: str, containing: str) -> str:
    blocks = re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (found,) = [block for block in blocks if containing in block]
    return str(found)


def closed_network() -> dict[str, str]:
    """An environment without keys, in which Python processes reach this machine only."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return {**kept, "PYTHONPATH": str(GUARD), **own_home()}


def own_home() -> dict[str, str]:
    """A home of the tests: what the command keeps for its user does not mix with that of the person who runs them."""
    home = _home()
    return {"XDG_STATE_HOME": f"{home}/state", "XDG_DATA_HOME": f"{home}/data", "HOME": home}


@cache
def _home() -> str:
    return tempfile.mkdtemp(prefix="hibernaut-quickstart-")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clone") / "hibernaut"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(folder)], check=True)
    environment = {
        name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH", "MAKEFLAGS", "MAKELEVEL")
    }
    # Python compiles what the server imports at its start: an eighth of what pip would compile.
    environment["PIP_NO_COMPILE"] = "1"
    subprocess.run(
        ["make", "install", f"PYTHON={sys.executable}"], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL
    )
    return folder


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Running:
    """`make run` in the clone; `stop` is what Ctrl-C in its terminal does."""

    def __init__(self, clone: Path, port: int, data: Path) -> None:
        command = ["make", "run", f"PORT={port}", f"DATA={data}", f"PYTHON={sys.executable}"]
        self._process = subprocess.Popen(
            command,
            cwd=clone,
            env=closed_network(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                httpx.get(f"http://127.0.0.1:{port}/v1/health/").raise_for_status()
                return
            except httpx.TransportError:
                assert self._process.poll() is None, self._process.communicate()[0]
                assert time.monotonic() < deadline, "the server did not become healthy"

    def stop(self) -> str:
        """What it printed."""
        os.killpg(self._process.pid, signal.SIGINT)
        return self._process.communicate(timeout=PATIENCE)[0]


@pytest.fixture
def running(clone: Path, tmp_path: Path) -> Iterator[tuple[Running, int, Path]]:
    port, data = free_port(), tmp_path / "data"
    server = Running(clone, port, data)
    yield server, port, data
    server.stop()


def recommended_client() -> Engine:
    """The release of the client that the README tells its reader to install, in the environment that `make engines` made."""
    (version,) = set(re.findall(r"letta-client==(\S+)", (ROOT / "README.md").read_text()))
    (client,) = (engine for engine in OLDER_PYTHON_CLIENTS if engine.version == version)
    assert client.is_installed(), f"letta-client {version} is not installed: run `make engines`"
    return client


def run_code(code: str) -> str:
    python = recommended_client().folder / "venv" / "bin" / "python"
    done = subprocess.run([python, "-c", code], env=closed_network(), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout


def shown_in_the_picture() -> list[str]:
    """The words of the program's output in the README's picture, which breaks lines."""
    picture = ElementTree.parse(ROOT / "docs" / "quickstart.svg")
    texts = picture.iterfind(".//{http://www.w3.org/2000/svg}text[@class='out']")
    return " ".join(text.text or "" for text in texts).split()


def test_after_make_install_the_printed_command_starts_as_it_is_printed(clone: Path, tmp_path: Path) -> None:
    printed = subprocess.run(
        ["make", "install"], cwd=clone, env=closed_network(), capture_output=True, text=True, check=True
    ).stdout
    (command,) = re.findall(r"by its command: +(\S+) dev", printed)
    done = subprocess.run([command, "version"], cwd=tmp_path, env=closed_network(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (activate,) = re.findall(r"source (\S+)", printed)
    words = f". {activate} && hibernaut version"
    assert (
        subprocess.run(["sh", "-c", words], cwd=clone, env=closed_network(), capture_output=True, text=True).stdout == done.stdout
    )


def test_the_readmes_code_talks_to_an_agent_that_edits_its_memory(running: tuple[Running, int, Path]) -> None:
    _, port, _ = running
    printed = run_code(code_block("python", "agents.create").replace(ADDRESS, f"http://127.0.0.1:{port}"))
    assert "tool_call_message" in printed
    assert "Rex" in printed.splitlines()[-1]
    assert shown_in_the_picture() == printed.split()


def test_the_agent_still_knows_it_after_a_restart(clone: Path, tmp_path: Path) -> None:
    port, data = free_port(), tmp_path / "data"
    server = Running(clone, port, data)
    run_code(code_block("python", "agents.create").replace(ADDRESS, f"http://127.0.0.1:{port}"))
    printed = server.stop()
    assert f"127.0.0.1:{port}" in printed
    assert "hibernaut/demo" in printed
    server = Running(clone, port, data)
    try:
        answer = run_code(
            "from letta_client import Letta\n"
            f"client = Letta(base_url='http://127.0.0.1:{port}')\n"
            "agent = next(iter(client.agents.list()))\n"
            "for message in client.agents.messages.create(agent.id, input='What do you know about me?').messages:\n"
            "    print(getattr(message, 'content', ''))\n"
        )
    finally:
        server.stop()
    assert "Rex" in answer
