"""The command line in processes and on a terminal: a chat from nothing, a server that is killed in the middle, colours,
Ctrl-C.
"""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from letta_client import Letta

from tests.compat.conftest import Said
from tests.local.test_command import COMMAND, environment, serving
from tests.support.provider_servers import ScriptedOpenAI

PATIENCE = 60


def test_a_chat_from_nothing_starts_a_server_and_makes_an_agent_and_no_server_stays_even_if_the_chat_is_killed(
    tmp_path: Path,
) -> None:
    command = [*COMMAND, "chat", "--data-dir", str(tmp_path / "data")]
    variables = environment(HIBERNAUT_DEFAULT_EMBEDDING="none")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables) as chat:
        assert chat.stdout is not None
        assert chat.stdin is not None
        assert "There was no agent yet" in chat.stdout.readline()
        found = re.search(r"http://\S+?:\d+", chat.stdout.readline())
        assert found is not None
        chat.stdin.write("Hello.\n")
        chat.stdin.flush()
        assert "demo model" in chat.stdout.readline()
        chat.kill()
        chat.wait()
        while True:  # the server closes its socket when it has ended
            try:
                httpx.get(f"{found[0]}/v1/health/")
            except httpx.TransportError:
                break


class Terminal:
    """Our end of the terminal of a process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._shown = ""

    def until(self, text: str) -> str:
        """What the terminal shows until a text appears. What stands behind the text is left for the next call."""
        while text not in self._shown:
            ready, _, _ = select.select([self._descriptor], [], [], PATIENCE)
            assert ready, f"there is no {text!r} in {self._shown!r}"
            self._shown += os.read(self._descriptor, 4096).decode(errors="replace")
        before, _, self._shown = self._shown.partition(text)
        return before + text

    def types(self, text: bytes) -> None:
        os.write(self._descriptor, text)


@contextmanager
def on_terminal(*arguments: str, **variables: str) -> Iterator[tuple[subprocess.Popen[bytes], Terminal]]:
    """The command on a terminal of its own, and the terminal's other end."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(TERM="xterm", **variables),
        start_new_session=True,
    ) as process:
        os.close(theirs)
        try:
            yield process, Terminal(ours)
        finally:
            process.kill()
            os.close(ours)


def test_on_a_terminal_a_chat_has_colours_a_prompt_and_stops_a_run_by_an_interrupt(client: Letta, said: Said) -> None:
    agent = client.agents.create(name="Tess", model="openai/test-model", memory_blocks=[])
    said.next({"content": "A long story without an end", "holds": 2}, {"content": "Yes?"})
    with on_terminal("chat", agent.id, "--url", str(client.base_url)) as (process, terminal):
        assert "\x1b[" in terminal.until("> ")
        terminal.types(b"Tell me a story.\n")
        terminal.until("A ")
        process.send_signal(signal.SIGINT)
        terminal.until("> ")
        terminal.types(b"Are you there?\n")
        terminal.until("Yes?")
        terminal.until("> ")
        terminal.types(b"\x04")
        assert process.wait(PATIENCE) == 0
    stopped = [run.stop_reason for run in client.runs.list(agent_id=agent.id)]
    assert sorted(map(str, stopped)) == ["cancelled", "end_turn"]


def test_no_color_is_respected(client: Letta) -> None:
    client.agents.create(name="Plain", memory_blocks=[])
    with on_terminal("agents", "list", "--url", str(client.base_url), NO_COLOR="1") as (process, terminal):
        shown = terminal.until("Plain")
        assert process.wait(PATIENCE) == 0
    assert "\x1b[" not in shown


def test_a_chat_goes_on_after_its_server_was_killed_in_the_middle_of_an_answer(tmp_path: Path) -> None:
    with ScriptedOpenAI() as provider:
        Said(provider).next({"content": "The first half is lost", "holds": 2}, {"content": "And this is the whole answer."})
        keys = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": provider.url, "HIBERNAUT_DEFAULT_EMBEDDING": "none"}
        data = tmp_path / "data"
        with serving(data, **keys) as (server, url, _):
            port = url.rpartition(":")[2]
            made = httpx.post(f"{url}/v1/agents/", json={"name": "Kay", "model": "openai/test-model", "memory_blocks": []}).json()
            command = [*COMMAND, "chat", made["id"], "-m", "Speak.", "--url", url]
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()) as chat:
                assert chat.stdout is not None
                shown = chat.stdout.read(len("The"))
                server.kill()
                server.wait()
                with serving(data, more=("--port", port), **keys):
                    out, error = chat.communicate(timeout=PATIENCE)
        assert (chat.returncode, error) == (0, "")
        told = shown + out
        assert "The connection is lost" in told
        assert "And this is the whole answer." in told
        assert len(provider.requests) == 2
