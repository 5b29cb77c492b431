"""What a cold function pays for its imports: CPU milliseconds of a fresh interpreter, without the vendor SDKs, and what the first use adds."""

from __future__ import annotations

import statistics
import subprocess
import sys

FUNCTIONS = ("api", "advance_turn", "close_run", "sweep_runs", "run_tool", "index_memory", "ingest_file")
FACE = "functions.api.handler, hibernaut.rest.app, hibernaut.wiring.api_services"
"""What the first call of `api` has imported: the handler, then the routes."""
STREAM = "functions.stream.handler, hibernaut.rest.app, hibernaut.wiring.api_services, uvicorn"
"""The same of `stream`, which has no handler but a web server."""
SEND = "[route.app for route in hibernaut.rest.routers.messages.router.routes if route.name == 'send_message']"
"""Has the route examined whose request was the first."""
SDKS = ("boto3", "openai", "anthropic", "opensearchpy")
ROUNDS = 5
_MEASURE = "import time; began = time.process_time(); import {module}; {then}; print((time.process_time() - began) * 1000)"


def import_cost(module: str, then: str = "pass") -> float | None:
    """Median CPU milliseconds of importing a module in a fresh interpreter, and of what is done then; None where it cannot be imported."""
    costs = []
    for _ in range(ROUNDS):
        done = subprocess.run([sys.executable, "-c", _MEASURE.format(module=module, then=then)], capture_output=True, text=True)
        if done.returncode:
            return None
        costs.append(float(done.stdout))
    return statistics.median(costs)


def table() -> list[tuple[str, float | None]]:
    """(what, CPU milliseconds) for each function's handler, then for each SDK that a first call imports."""
    rows = [(f"functions.{name}.handler", import_cost(f"functions.{name}.handler")) for name in FUNCTIONS]
    rows.append(("functions.api with its routes (first call)", import_cost(FACE)))
    rows.append(("and the route of a first message examined", import_cost(FACE, SEND)))
    rows.append(("functions.stream with its routes and server", import_cost(STREAM)))
    return rows + [(f"first use of {name}", import_cost(name)) for name in SDKS]
