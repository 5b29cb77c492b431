"""Runs a custom tool in a child process of this machine: limits on time, memory and output, and no environment but the job's.

Knows processes and the child's protocol. The sandbox contains mistakes, and hides our environment from the tool by ordinary
means; it does not stop code that attacks the account under which it runs. On AWS, the isolation of the function does. See
run-time digest 10.3-10.6; V1 gives tools the server's environment, this adapter does not.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from io import RawIOBase
from pathlib import Path
from typing import cast

from hibernaut.adapters.tool_runner.pipes import Inflow, Outflow, kill_group, serve
from hibernaut.adapters.tool_runner.wire import ERROR_LIMIT, failed
from hibernaut.domain.tools.tool_arguments import coerce
from hibernaut.ports.tool_runner import ToolJob, ToolOutcome
from hibernaut.schemas.base import Json
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.json_schema import sound_parameters

STREAM_LIMIT = 200_000
"""The largest captured part of stdout, and of stderr, in characters."""
_FRAME_LIMIT = 64 * 1024 * 1024
_SMALLEST_MEMORY = 64 * 1024 * 1024
"""The memory in bytes that the interpreter itself needs to start."""
_CHILD = Path(__file__).with_name("child.py")
# Isolated, without `site` (the parent passes its path), UTF-8, unbuffered: output before a kill is not lost.
_FLAGS = ("-I", "-S", "-X", "utf8", "-u", "-W", "ignore")


class ChildProcessRunner:
    """The `ToolRunner` of the embedded profile, and what the `run_tool` function itself uses. Thread-safe."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()

    def run(self, job: ToolJob) -> ToolOutcome:
        """Run the tool once. Raises: OSError where no process or folder can be made."""
        if job.source_type == "typescript":
            return failed(job, "NotImplementedError", "TypeScript tools cannot be run here: write the tool in Python")
        try:
            ready = replace(job, args=coerce(job.args, job.json_schema), memory=max(job.memory, _SMALLEST_MEMORY))
            request = _request(ready)
            environment = _environment(ready)
        except InvalidArgument as error:
            return failed(job, "TypeError", error.detail)
        except (TypeError, ValueError, RecursionError) as error:
            return failed(job, type(error).__name__, f"the call cannot be handed to the tool: {error}")
        with _fresh_folder() as folder:
            return self._run(ready, request, environment, folder)

    def close(self) -> None:
        """Kill every running tool; each run returns an error."""
        with self._lock:
            for process in self._running:
                kill_group(process)

    def _run(self, job: ToolJob, request: bytes, environment: dict[str, str], folder: Path) -> ToolOutcome:
        reading, writing = os.pipe()
        channel = os.fdopen(reading, "rb", buffering=0)
        try:
            process = subprocess.Popen(  # our own interpreter on our own script
                [sys.executable, *_FLAGS, str(_CHILD), str(writing)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                pass_fds=(writing,),
                cwd=folder,
                env=environment,
                start_new_session=True,
            )
        except OSError:
            channel.close()
            raise
        finally:
            os.close(writing)
        limit = min(job.output_limit, STREAM_LIMIT)
        frame = Inflow(channel, _FRAME_LIMIT)
        # At most four bytes a character; the decoded text is cut to the limit.
        stdout, stderr = (Inflow(cast("RawIOBase", pipe), 4 * limit) for pipe in (process.stdout, process.stderr))
        outflow = Outflow(cast("RawIOBase", process.stdin), memoryview(request))
        with self._lock:
            self._running.add(process)
        try:
            in_time = serve(process, outflow, (frame, stdout, stderr), job.timeout)
        finally:
            with self._lock:
                self._running.discard(process)
        outcome = _read_frame(bytes(frame.captured)) if in_time else None
        if outcome is None:
            outcome = failed(job, *(_cause_of_death(process.returncode, frame) if in_time else _out_of_time(job)))
        return replace(
            outcome,
            stdout=_text(stdout, limit),
            stderr=(*_text(stderr, limit), *(text[:limit] for text in outcome.stderr)),
        )


def _request(job: ToolJob) -> bytes:
    parameters = sound_parameters((job.json_schema or {}).get("parameters"))
    required = frozenset(parameters.get("required", ()))
    optional = [name for name in parameters.get("properties", ()) if name not in required]
    return json.dumps(
        {
            "name": job.name,
            "source_code": job.source_code,
            "args": job.args,
            "optional": optional,
            "agent_id": job.agent_id,
            "agent_state": job.agent_state,
            "path": [entry for entry in sys.path if Path(entry).is_absolute()],
            "memory": job.memory,
            "timeout": math.ceil(job.timeout),
            "output_limit": job.output_limit,
        }
    ).encode()


def _environment(job: ToolJob) -> dict[str, str]:
    """The environment of the child. Raises: ValueError for an invalid variable."""
    for name, value in job.environment.items():
        if not name or "=" in name or "\0" in name or "\0" in value:
            raise ValueError(f"{name!r} is not a possible environment variable")
    return dict(job.environment)


@contextlib.contextmanager
def _fresh_folder() -> Iterator[Path]:
    """A working folder for one call. It is removed afterwards, even if the tool changed its permissions."""
    folder = Path(tempfile.mkdtemp(prefix="hibernaut-tool-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if folder.exists():
            for parent, _, _ in os.walk(folder):
                with contextlib.suppress(OSError):
                    os.chmod(parent, 0o700)
            shutil.rmtree(folder, ignore_errors=True)


def _read_frame(frame: bytes) -> ToolOutcome | None:
    """The child's reply; None if it is incomplete. The tool may have written to the pipe itself, so the reply is validated."""
    if int.from_bytes(frame[:8], "big") != len(frame) - 8:
        return None
    try:
        reply: Json = json.loads(frame[8:])
    except (ValueError, RecursionError):
        return None
    match reply:
        case {"status": "success", "value": value, "blocks": dict(blocks)}:
            texts = {str(label): text for label, text in blocks.items() if isinstance(text, str)}
            return ToolOutcome(status="success", value=value, blocks=texts)
        case {"status": "error", "error": str(error), "traceback": str(traceback)}:
            return ToolOutcome(status="error", error=error[:ERROR_LIMIT], stderr=(traceback,))
        case _:
            return None


def _out_of_time(job: ToolJob) -> tuple[str, str]:
    return "TimeoutError", f"it ran longer than the {job.timeout:g} seconds that a tool may take, and was stopped"


def _cause_of_death(code: int, frame: Inflow) -> tuple[str, str]:
    if frame.total > frame.limit:
        return "ValueError", "what it returned is too large"
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return "RuntimeError", f"its process was killed ({name}), which is also what too much memory leads to"
    return "RuntimeError", f"its process ended (exit code {code}) before the function returned"


def _text(inflow: Inflow, limit: int) -> tuple[str, ...]:
    text = inflow.captured.decode("utf-8", "replace")
    if len(text) > limit or inflow.total > inflow.limit:
        text = f"{text[:limit]}... [NOTE: output was truncated since it exceeded the character limit ({limit})]"
    return (text,) if text else ()
