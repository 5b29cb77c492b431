"""The import time of a cold Lambda function: CPU milliseconds of a new interpreter for the handler, and for the SDKs at their
first use.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.processes import scripted_model
from infra.artifacts import PYTHON, stage
from infra.byte_code import python_of

FUNCTIONS = ("api", "advance_turn", "close_run", "sweep_runs", "run_tool", "index_memory", "ingest_file")
FACE = "functions.api.handler, hibernaut.rest.app, hibernaut.wiring.api_services"
"""The imports of the first call of `api`: the handler, then the routes."""
STREAM = "functions.stream.handler, hibernaut.rest.app, hibernaut.wiring.api_services, uvicorn"
"""The imports of the first call of `stream`, which has a web server instead of a handler."""
SEND = "[route.app for route in hibernaut.rest.routers.conversations.messages.router.routes if route.name == 'send_message']"
"""Makes the lazy route of the first request inspect its endpoint."""
SDKS = ("boto3", "openai", "anthropic", "opensearchpy")
FIRST_CALL = Path(__file__).with_name("first_model_call.py")
ROUNDS, CALL_ROUNDS = 5, 9
_MEASURE = "import time; began = time.process_time(); import {module}; {then}; print((time.process_time() - began) * 1000)"


def import_cost(module: str, then: str = "pass") -> float | None:
    """Median CPU milliseconds of importing a module in a new interpreter and executing `then`; None if the module is missing."""
    costs = []
    for _ in range(ROUNDS):
        done = subprocess.run([sys.executable, "-c", _MEASURE.format(module=module, then=then)], capture_output=True, text=True)
        if done.returncode:
            return None
        costs.append(float(done.stdout))
    return statistics.median(costs)


def first_call_cost(python: Sequence[str] = (sys.executable,), path: str | None = None) -> float:
    """Median CPU milliseconds of `advance_turn` with its DynamoDB client and its first model call, with byte code. `python` and
    `path`: the interpreter with its options, and its PYTHONPATH.
    """
    with scripted_model() as url:
        environment = {
            **os.environ,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "none",
            "AWS_SECRET_ACCESS_KEY": "none",
            "PYTHONPATH": path or os.pathsep.join(sys.path),
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        # -P: the other benchmarks' folder is not searched. The first process writes the byte code.
        command = [*python, "-P", str(FIRST_CALL), url]
        costs = [float(subprocess.check_output(command, env=environment, text=True)) for _ in range(CALL_ROUNDS + 1)]
    return statistics.median(costs[1:])


def deployed_call_cost() -> float | None:
    """The same with Lambda's Python, and with the code and the packages as they are deployed, but for this machine; None if there
    is no such Python or no package index.
    """
    with tempfile.TemporaryDirectory() as folder:
        try:
            python = python_of(PYTHON)
            artifacts = stage(Path(folder), bundle=True, platform=f"{platform.machine()}-manylinux2014")
        except (RuntimeError, subprocess.CalledProcessError):
            return None
        # -S: what is installed beside this Python is not there, and nothing of it is imported at its start.
        return first_call_cost((str(python), "-S"), os.pathsep.join(map(str, (artifacts.code, artifacts.layer / "python"))))


def table() -> list[tuple[str, float | None]]:
    """(label, CPU milliseconds) for the handler of each function, then for each SDK that a first call imports."""
    rows = [(f"functions.{name}.handler", import_cost(f"functions.{name}.handler")) for name in FUNCTIONS]
    rows.append(("advance_turn with its first model call", first_call_cost()))
    rows.append((f"the same as deployed, on Python {PYTHON} (aim 500)", deployed_call_cost()))
    rows.append(("functions.api with its routes (first call)", import_cost(FACE)))
    rows.append(("and the route of a first message examined", import_cost(FACE, SEND)))
    rows.append(("functions.stream with its routes and server", import_cost(STREAM)))
    return rows + [(f"first use of {name}", import_cost(name)) for name in SDKS]
