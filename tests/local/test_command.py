"""`hibernaut`: what it prints, how it ends, and the one line for what stands in its way."""

from __future__ import annotations

import argparse
import io
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import cast

import httpx
import pytest

import hibernaut
from hibernaut.adapters.model.dialects import DIALECTS, Dialect
from hibernaut.local.command import command_line, main
from hibernaut.local.provider_help import ADD_A_PROVIDER, provider_lines
from hibernaut.local.server import listening, loopback
from tests.support.provider_servers import ScriptedOpenAI

REQUEST = re.compile(r"^\d\d:\d\d:\d\d (?:INFO|WARNING) request method=\w+ path=\S+ status=\d+ ms=\d+")
COMMAND = [sys.executable, "-c", "import sys; from hibernaut.local.command import main; sys.exit(main())"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=60, env=environment())


def administered(*arguments: str) -> subprocess.CompletedProcess[str]:
    """As `run`, in this process: most of the time of a short command is its start, which other tests try."""
    out, error = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(error):
        try:
            code = main(arguments)
        except SystemExit as end:
            code = cast("int", end.code)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), error.getvalue())


def environment(**more: str) -> dict[str, str]:
    paths = os.pathsep.join(path for path in sys.path if path)
    return {**os.environ, "PYTHONPATH": paths, **more}


@contextmanager
def serving(
    data: Path | None, before: Sequence[str] = (), more: Sequence[str] = (), cwd: Path | None = None, **variables: str
) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """The process, its address, and what it printed until it was ready. `before` is what the command line is given to, `more` its
    further options."""
    folder = [] if data is None else ["--data-dir", str(data)]
    arguments = [*before, *COMMAND, "dev", "--port", "0", *folder, *more]
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(**variables), cwd=cwd
    ) as process:
        try:
            assert process.stdout is not None
            printed = ""
            while "Ctrl-C" not in printed:
                line = process.stdout.readline()
                assert line, process.stderr.read() if process.stderr else printed
                printed += line
            found = re.search(r"http://\S+", printed)
            assert found is not None
            yield process, found[0], printed
        finally:
            process.kill()


def ended(process: subprocess.Popen[str], by: int = signal.SIGINT) -> tuple[int, str, str]:
    """The exit code, and what was printed after the ready lines, without the lines of requests."""
    process.send_signal(by)
    out, error = process.communicate(timeout=60)
    return process.returncode, out, "".join(line for line in error.splitlines(keepends=True) if not REQUEST.search(line))


def sorry(done: subprocess.CompletedProcess[str]) -> str:
    """The one line that the command says."""
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("hibernaut: ")
    return line


@pytest.mark.parametrize("asked", ["version", "--version"])
def test_the_version(asked: str) -> None:
    done = run(asked)
    assert (done.returncode, done.stdout) == (0, hibernaut.__version__ + "\n")


@pytest.mark.parametrize("arguments", [(), ("--help",)])
def test_the_help_teaches(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode == 0
    assert "hibernaut dev" in done.stdout
    assert "from letta_client import Letta" in done.stdout
    models = run("dev", "--help").stdout
    assert "OPENAI_BASE_URL" in models
    assert "aws-offline" in models


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_the_help_names_the_variables_and_the_handles_of_each_provider(dialect: Dialect) -> None:
    (line,) = (line for line in provider_lines().splitlines() if line.split()[0] == f"{dialect.name}/…")
    needed = {dialect.key} if dialect.url else {dialect.address} if dialect.local else {dialect.key, dialect.address}
    assert needed <= set(re.findall(r"[A-Z_]{6,}", line))
    assert dialect.title in line


def test_the_help_lists_every_provider_within_the_width_of_a_terminal() -> None:
    help_text = run("dev", "--help").stdout
    assert provider_lines() in help_text
    assert "ANTHROPIC_API_KEY" in provider_lines()
    assert max(map(len, provider_lines().splitlines())) <= 80


def test_the_start_tells_how_to_configure_another_provider() -> None:
    names = {name for dialect in DIALECTS for name in (dialect.key, dialect.address)}
    assert set(re.findall(r"[A-Z_]{6,}", ADD_A_PROVIDER)) <= names
    assert f" {len(provider_lines().splitlines())} providers" in ADD_A_PROVIDER
    assert "hibernaut dev --help" in ADD_A_PROVIDER


def of_json(parser: argparse.ArgumentParser, path: str = "") -> dict[str, bool]:
    """Each command, and whether it has --json."""
    below = [action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        return {path: "--json" in parser._option_string_actions}
    return {
        name: has for each in below for word, one in each.items() for name, has in of_json(one, f"{path} {word}".strip()).items()
    }


def test_every_command_that_has_a_result_prints_it_as_json() -> None:
    assert [name for name, has in of_json(command_line()).items() if not has] == ["dev", "completion"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("dev", "--profile", "cloud"), "embedded or aws-offline"),
        (("dev", "--port", "70000"), "0 to 65535"),
        (("dev", "--port", "http"), "0 to 65535"),
        (("dev", "--host", "0.0.0.0"), "hibernaut keys create"),
        (("dev", "--host", "::"), "127.0.0.1"),
        (("dev", "--profile", "aws-offline", "--resume"), "does not go with"),
        (("develop",), "develop"),
    ],
)
def test_what_was_asked_for_wrongly_is_one_line(arguments: tuple[str, ...], says: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert says in sorry(done)


def test_a_setting_that_cannot_be_used_is_one_line(tmp_path: Path) -> None:
    arguments = [*COMMAND, "dev", "--port", "0", "--data-dir", str(tmp_path)]
    variables = environment(HIBERNAUT_TOOL_TIMEOUT="soon")
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=60, env=variables)
    assert done.returncode == 2
    assert "HIBERNAUT_TOOL_TIMEOUT" in sorry(done)


def test_a_taken_port_is_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("dev", "--port", str(port), "--data-dir", str(tmp_path))
    assert done.returncode == 1
    assert f"port {port} of 127.0.0.1 is in use" in sorry(done)
    assert list(tmp_path.iterdir()) == []


def test_a_data_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = run("dev", "--port", "0", "--data-dir", str(tmp_path / "file"))
    assert done.returncode == 1
    assert "--data-dir" in sorry(done)


def test_a_data_folder_that_is_open_already_is_one_line(tmp_path: Path) -> None:
    with serving(tmp_path):
        done = run("dev", "--port", "0", "--data-dir", str(tmp_path))
    assert done.returncode == 1
    assert "open in another process" in sorry(done)


def test_a_data_folder_that_is_made_is_for_its_owner_alone(tmp_path: Path) -> None:
    with serving(tmp_path / "new"):
        assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_told_to_stop(tmp_path: Path, by: int) -> None:
    with serving(tmp_path) as (process, url, printed):
        assert httpx.get(f"{url}/v1/health/", timeout=60).json()["status"] == "ok"
        assert f"serves {url} (profile embedded" in printed
        assert "hibernaut/demo" in printed
        assert "OPENAI_API_KEY" in printed
        assert "\033" not in printed
        assert ended(process, by) == (0, "Stopped.\n", "")


def test_an_interrupt_stops_it_also_where_its_parent_ignores_interrupts(tmp_path: Path) -> None:
    with serving(tmp_path, before=["sh", "-c", 'trap "" INT; exec "$@"', "sh"]) as (process, _, _):
        assert ended(process, signal.SIGINT) == (0, "Stopped.\n", "")


def test_a_key_shows_its_provider_and_never_itself(tmp_path: Path) -> None:
    with serving(tmp_path, OPENAI_API_KEY="sk-planted", OPENAI_BASE_URL="http://127.0.0.1:9/v1") as (process, _, printed):
        assert "openai/… (http://127.0.0.1:9/v1)" in printed
        assert "planted" not in printed + str(ended(process))


def test_agents_are_there_again_after_a_stop(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, url, _):
        agent = httpx.post(f"{url}/v1/agents/", json={"memory_blocks": [{"label": "human", "value": ""}]}, timeout=60).json()[
            "id"
        ]
        said = {"input": "Please remember that my dog is called Rex."}
        assert httpx.post(f"{url}/v1/agents/{agent}/messages", json=said, timeout=60).status_code == 200
        ended(process)
    with serving(tmp_path) as (_, url, _):
        assert "Rex" in httpx.get(f"{url}/v1/agents/{agent}/core-memory/blocks/human", timeout=60).json()["value"]


def test_a_stop_in_the_middle_of_a_model_call_loses_nothing(tmp_path: Path) -> None:
    with ScriptedOpenAI() as provider:
        asked = threading.Event()

        def hangs(_messages: object, _tools: object) -> dict[str, object]:
            asked.set()
            return {"hang": True}

        provider.script = hangs  # type: ignore[assignment]
        key = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": provider.url}
        with serving(tmp_path, **key) as (process, url, _):
            agent = httpx.post(f"{url}/v1/agents/", json={"model": "openai/test-model"}, timeout=60).json()["id"]
            with ThreadPoolExecutor(1) as pool:
                sent = pool.submit(httpx.post, f"{url}/v1/agents/{agent}/messages", json={"input": "Hello"}, timeout=60)
                assert asked.wait(30)
                code, out, error = ended(process)
            complaints = [line for line in error.splitlines() if "embedding model loaded" not in line]
            assert (sent.result().status_code, complaints) == (503, [])
        assert code == 0
        assert out.endswith("its run resumes at the next start.\n")
        provider.says(content="Here I am again.")
        with serving(tmp_path, **key) as (_, url, _):
            answer = httpx.post(f"{url}/v1/agents/{agent}/messages", json={"input": "And?"}, timeout=60).json()
            assert answer["messages"][0]["content"] == "Here I am again."
            told = [one["content"] for one in httpx.get(f"{url}/v1/agents/{agent}/messages", timeout=60).json()[1:]]
    assert told == ["Hello", "Here I am again.", "And?", "Here I am again."]


def test_a_reply_is_not_held_back_for_the_next_one() -> None:
    with listening("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            # What asyncio looks at before it switches off Nagle's delay.
            assert accepted.proto == socket.IPPROTO_TCP


@pytest.mark.parametrize(
    ("host", "only"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("192.0.2.1", False),
        ("::", False),
    ],
)
def test_which_addresses_only_this_machine_reaches(host: str, only: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if host not in ("localhost",):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_: [(family, 0, 0, "", (host, 0))])
    assert loopback(host) is only


def test_each_request_has_a_line_and_a_refusal_its_reason(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, url, _):
        httpx.get(f"{url}/v1/agents/?name=planted", timeout=60)
        httpx.get(f"{url}/v1/nowhere/%1b%0aforged", timeout=60)
        httpx.get(f"{url}/v1/agents/", headers={"host": "evil.test"}, timeout=60)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    lines = [line for line in error.splitlines() if "request" in line]
    assert [bool(REQUEST.search(line)) for line in lines] == [True, True, False, True]
    assert "path=/v1/agents/ status=200" in lines[0]
    assert "path=/v1/nowhere/%1B%0Aforged status=404" in lines[1]
    assert "WARNING request refused error=foreign_host reason=" in lines[2]
    assert lines[3].endswith("error=foreign_host")
    assert "planted" not in error
