"""The server behind the Web Adapter: started by its own script from what is deployed, and the real app streaming through the
gateway.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import httpx

from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.local.aws_offline.place import VARIABLES
from hibernaut.local.server import listening
from hibernaut.schemas.base import JsonObject
from infra.artifacts import stage
from infra.stack import ADAPTED
from tests.support.provider_servers import ScriptedOpenAI
from tests.support.spoken_aws import Says, spoken_aws


def until(mark: str, lines: IO[str]) -> Iterator[str]:
    """The lines up to the one with the mark."""
    for line in lines:
        yield line
        if mark in line:
            return


@contextmanager
def started(code: Path, endpoint: str) -> Iterator[str]:
    """The function's start, as the adapter's wrapper executes it; the address that it then serves."""
    with listening("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    environment = {
        **ADAPTED,
        "AWS_LWA_PORT": str(port),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "LAMBDA_TASK_ROOT": str(code),
        "LAMBDA_RUNTIME_DIR": "/var/runtime",
        **VARIABLES,
        "AWS_ENDPOINT_URL": endpoint,
        "HIBERNAUT_TABLE": "hibernaut-dev",
        "HIBERNAUT_BUCKET": "hibernaut-dev",
    }
    start = code / "functions" / "stream" / "run.sh"
    server = subprocess.Popen([start], env=environment, cwd=code, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert server.stdout is not None
        said = list(until(f"127.0.0.1:{port}", server.stdout))
        assert f"127.0.0.1:{port}" in "".join(said[-1:]), "".join(said)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=20)


def test_what_is_deployed_starts_by_its_script_and_is_ready_for_the_adapter(tmp_path: Path) -> None:
    with spoken_aws() as keys:
        keys.answers = [Says({"Parameters": []})]
        with started(stage(tmp_path, bundle=False).code, keys.endpoint) as url:
            ready = httpx.get(url + ADAPTED["AWS_LWA_READINESS_CHECK_PATH"], timeout=60)
    assert (ready.status_code, ready.json()["status"]) == (200, "ok")


def test_a_stream_begins_while_the_model_still_thinks() -> None:
    go_on = threading.Event()

    def say(_messages: list[JsonObject], _tools: list[JsonObject]) -> JsonObject:
        assert go_on.wait(20)
        return {"content": "Hello."}

    with ScriptedOpenAI() as provider, OfflineAws(secrets={"OPENAI_API_KEY": "sk", "OPENAI_BASE_URL": provider.url}) as aws:
        provider.script = say
        agent: Any = httpx.post(f"{aws.url}/v1/agents/", json={"model": "openai/test-model"}, timeout=60).json()
        body = {"messages": [{"role": "user", "content": "Hi"}]}
        with httpx.stream("POST", f"{aws.url}/v1/agents/{agent['id']}/messages/stream", json=body, timeout=30) as answer:
            lines = answer.iter_lines()
            first = next(lines)
            go_on.set()
            rest = [line for line in lines if line]
    assert ("ping" in first, rest[-1]) == (True, "data: [DONE]")
    assert any("Hello." in line for line in rest)
