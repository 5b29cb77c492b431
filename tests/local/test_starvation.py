"""Tools that run long take no thread from the rest of the API, and keep no process from its end."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import httpx
import pytest

from hibernaut.local.server import LocalServer, address, listening
from hibernaut.ports.tools.tool_runner import ToolJob, ToolOutcome
from hibernaut.rest.app import create_app
from hibernaut.rest.http.lanes import PROVIDERS, TOOL_RUNS
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded, EmbeddedOverrides
from hibernaut.wiring.settings import EmbeddedSettings
from tests.local.test_command import ended, serving

PATIENCE = 120.0
MOST = TOOL_RUNS.threads + TOOL_RUNS.waiting
TOOL = {"source_code": 'def wait() -> str:\n    """Wait."""\n    return "done"\n', "args": {}, "name": "wait"}
ENDLESS = 'def wait(port: int) -> str:\n    """Wait.\n\n    Args:\n        port: Who is told.\n    """\n'
ENDLESS += "    import socket\n    line = socket.create_connection(('127.0.0.1', port))\n    while True:\n        pass\n"


class HeldRunner:
    """A runner whose tools go on until they are let."""

    def __init__(self) -> None:
        self.begun, self.free = threading.Semaphore(0), threading.Event()

    def refusal(self, source_type: str | None) -> None:  # noqa: ARG002 - the port names it
        return None

    def run(self, job: ToolJob) -> ToolOutcome:  # noqa: ARG002 - the port names it
        self.begun.release()
        assert self.free.wait(PATIENCE)
        return ToolOutcome("success", "done")


@pytest.fixture
def runner() -> Iterator[HeldRunner]:
    held = HeldRunner()
    yield held
    held.free.set()


@pytest.fixture
def url(tmp_path: Path, runner: HeldRunner) -> Iterator[str]:
    with Embedded(EmbeddedSettings(tmp_path), EmbeddedOverrides(runner=runner)) as house:
        app = create_app(services_of(house.stores, house.host, house.engines))
        listener = listening("127.0.0.1", 0)
        server = LocalServer(app, listener)
        thread = threading.Thread(target=server.serve, daemon=True)
        thread.start()
        yield address(listener)
        runner.free.set()
        server.stop()
        thread.join()


def test_reads_and_cancels_are_answered_while_more_tools_run_than_may(url: str, runner: HeldRunner) -> None:
    with ThreadPoolExecutor(MOST + 8) as clients, httpx.Client(base_url=url, timeout=PATIENCE) as http:
        agent = http.post("/v1/agents/", json={}).json()["id"]
        runs = [clients.submit(httpx.post, f"{url}/v1/tools/run", json=TOOL, timeout=PATIENCE) for _ in range(MOST + 8)]
        for _ in range(TOOL_RUNS.threads):
            assert runner.begun.acquire(timeout=PATIENCE)
        assert http.get(f"/v1/agents/{agent}").status_code == 200
        assert http.post(f"/v1/agents/{agent}/messages/cancel").status_code in (200, 409)
        assert http.post("/v1/blocks/", json={"label": "x", "value": "y"}).status_code == 200
        refused = [run.result() for run in islice(as_completed(runs, PATIENCE), 8)]
        runner.free.set()
        answers = [run.result() for run in runs]
    assert sorted(answer.status_code for answer in answers) == [200] * MOST + [503] * 8
    assert [(answer.status_code, answer.headers["retry-after"]) for answer in refused] == [(503, "1")] * 8


def test_reads_and_writes_are_answered_while_a_provider_keeps_silent(url: str) -> None:
    with ExitStack() as opened:
        silent = opened.enter_context(socket.create_server(("127.0.0.1", 0), backlog=200))
        clients = opened.enter_context(ThreadPoolExecutor(PROVIDERS.threads + 40))
        http = opened.enter_context(httpx.Client(base_url=url, timeout=PATIENCE))
        own = {"provider_type": "openai", "api_key": "k", "base_url": f"http://127.0.0.1:{silent.getsockname()[1]}/v1"}
        http.post("/v1/providers/", json={"name": "silent", **own}).raise_for_status()
        checks = [
            clients.submit(httpx.post, f"{url}/v1/providers/check", json=own, timeout=PATIENCE) for _ in range(PROVIDERS.threads)
        ]
        lists = [clients.submit(httpx.get, f"{url}/v1/models/", timeout=PATIENCE) for _ in range(40)]
        lines = [opened.enter_context(silent.accept()[0]) for _ in range(PROVIDERS.threads)]
        assert http.get("/v1/blocks/").status_code == 200
        assert http.post("/v1/blocks/", json={"label": "x", "value": "y"}).status_code == 200
        assert not any(one.done() for one in (*checks, *lists)), "the provider is still asked"
        silent.close()
        for line in lines:
            line.close()
        assert {check.result().status_code for check in checks} == {500}
        assert {each.result().status_code for each in lists} == {200}


def test_a_process_whose_tools_run_ends_when_it_is_told_to(tmp_path: Path) -> None:
    with ExitStack() as opened:
        listener = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
        clients = opened.enter_context(ThreadPoolExecutor(1))
        tool = {"source_code": ENDLESS, "args": {"port": listener.getsockname()[1]}, "name": "wait"}
        process, url, _ = opened.enter_context(serving(tmp_path / "data", HIBERNAUT_TOOL_TIMEOUT="900"))
        sent = clients.submit(httpx.post, f"{url}/v1/tools/run", json=tool, timeout=PATIENCE)
        line = opened.enter_context(listener.accept()[0])
        code, _, _ = ended(process, signal.SIGTERM)
        assert (code, sent.result().status_code) == (0, 503)
        assert line.recv(1) == b""  # the tool's process has ended
