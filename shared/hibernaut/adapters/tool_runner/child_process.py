"""Runs a custom tool in child processes of this machine: behind the walls that the system gives, within limits of time, memory,
processes, files and output, and without any environment but the job's.

Knows processes and the protocol of `cage.launcher`. Everything that comes back is checked as a stranger's. See RT 10.3-10.6; V1
gives tools the server's environment, this adapter does not.
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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from io import RawIOBase
from pathlib import Path
from typing import cast

from hibernaut.adapters.tool_runner import frames
from hibernaut.adapters.tool_runner.cage.exits import BROKEN_EXIT, FILES_EXIT, MEMORY_EXIT, PROCESSES_EXIT
from hibernaut.adapters.tool_runner.cage.walls import Wall
from hibernaut.adapters.tool_runner.confinement import Cage, visible_paths
from hibernaut.adapters.tool_runner.node.program import NodeProgram, found_node
from hibernaut.adapters.tool_runner.pipes import Inflow, Outflow, serve
from hibernaut.adapters.tool_runner.recall import Recall
from hibernaut.adapters.tool_runner.spares import Launched, Spare, imports_of, launched
from hibernaut.adapters.tool_runner.wire import ERROR_LIMIT, STREAM_LIMIT, bounded, failed, labels_of
from hibernaut.domain.tools.tool_arguments import coerce
from hibernaut.ports.tools.tool_runner import PackagesMissing, ToolJob, ToolOutcome
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.json_schema import sound_parameters

_SMALLEST_MEMORY = 64 * 1024 * 1024
"""The memory in bytes that the interpreter itself needs to start."""
PackagePlaces = Callable[[JsonObject, float], str]
"""The folder of the packages of a job, which may be made within some seconds. Raises: PackagesMissing."""
_PROBE_SECONDS = 20.0
_ROOT = str(Path(__file__).parents[3])
"""The folder that contains the package."""


class ChildProcessRunner:
    """The `ToolRunner` of the embedded profile, and what the `run_tool` function itself uses. Thread-safe."""

    def __init__(
        self,
        cage: Cage | None = None,
        packages: PackagePlaces | None = None,
        *,
        node: NodeProgram | None = None,
        spare: Spare | None = None,
    ) -> None:
        """`packages`: where the packages of tools are; None: tools have none of their own. `node`: the Node that runs tools in
        TypeScript, if not the one of this machine. `spare`: the process for the next call; None: each call starts its own.
        """
        self.cage = cage or Cage()
        self._packages = packages
        self._configured_node = node
        self._spare = spare
        self._visible = visible_paths(self.cage.hidden)
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()

    def run(self, job: ToolJob, wanted: Callable[[], bool] | None = None) -> ToolOutcome:
        """Run the tool once. `wanted` is asked now and then; when it answers False, the global `wanted` of the source does so
        too, and what does not end then is ended. Raises: OSError where no process or folder can be made.
        """
        with contextlib.nullcontext() if wanted is None else Recall(wanted) as recall:
            return self._run_within(recall, job)

    def _run_within(self, recall: Recall | None, job: ToolJob) -> ToolOutcome:
        if (why := self.refusal(job.source_type)) is not None:
            return failed(job, "NotImplementedError", why)
        with _fresh_folder() as folder:
            try:
                ready = replace(job, args=coerce(job.args, job.json_schema), memory=max(job.memory, _SMALLEST_MEMORY))
                changes: JsonObject = {"packages": self._place(ready), "environment": _environment(ready), "folder": str(folder)}
                request = self._request(ready, **changes, recall=recall.reading if recall else None)
            except PackagesMissing as error:
                return failed(job, "ImportError", str(error))
            except InvalidArgument as error:
                return failed(job, "TypeError", error.detail)
            except (TypeError, ValueError, RecursionError) as error:
                return failed(job, type(error).__name__, f"the call cannot be handed to the tool: {error}")
            return self._run(ready, request, recall, self._waiting(ready, recall))

    def _waiting(self, job: ToolJob, recall: Recall | None) -> Launched | None:
        """The process that waits for a call, where this one may have it."""
        if self._spare is None or recall is not None or job.source_type == "typescript":
            return None
        return self._spare.take(imports_of(job.source_code))

    def _place(self, job: ToolJob) -> str | None:
        """The folder of the tool's packages. Raises: PackagesMissing."""
        if job.packages is None:
            return None
        if self._packages is None:
            raise PackagesMissing("its packages cannot be used here")
        return self._packages(job.packages, job.timeout)

    def refusal(self, source_type: str | None) -> str | None:
        """Why tools of this type cannot be run on this machine; None if they can."""
        return (self._node.missing or None) if source_type == "typescript" else None

    @property
    def _node(self) -> NodeProgram:
        return self._configured_node or found_node()

    def close(self) -> None:
        """End every running tool, whose run returns an error, and the process that waits for a call."""
        if self._spare is not None:
            self._spare.close()
        with self._lock:
            for process in self._running:
                process.terminate()

    def walls(self) -> frozenset[Wall]:
        """The walls that this system gives; none where it gives none. Raises: OSError."""
        nothing = ToolJob(name="walls", source_code="", args={}, timeout=_PROBE_SECONDS)
        with _fresh_folder() as folder:
            outcome = self._run(nothing, self._request(nothing, source_code=None, folder=str(folder)))
        names = outcome.value if isinstance(outcome.value, list) else []
        return frozenset(wall for wall in Wall if wall in names)

    def _run(self, job: ToolJob, request: bytes, recall: Recall | None = None, waiting: Launched | None = None) -> ToolOutcome:
        process, channel = waiting or launched(recall=recall.reading if recall else None)
        limit = min(job.output_limit, STREAM_LIMIT)
        frame = Inflow(channel, _largest_reply(job), strict=True)
        # At most four bytes a character; the decoded text is cut to the limit.
        stdout, stderr = (Inflow(cast("RawIOBase", pipe), 4 * limit) for pipe in (process.stdout, process.stderr))
        outflow = Outflow(cast("RawIOBase", process.stdin), memoryview(request))
        with self._lock:
            self._running.add(process)
        try:
            in_time = serve(process, outflow, (frame, stdout, stderr), job.timeout, recall)
        finally:
            with self._lock:
                self._running.discard(process)
        code = process.returncode
        if code == BROKEN_EXIT:
            raise OSError(f"the cage of a tool cannot be built: {''.join(_text(stderr, ERROR_LIMIT))}")
        outcome = outcome_of(bytes(frame.captured), job) if in_time and code == 0 else None
        if outcome is None:
            outcome = failed(job, *(self._cause_of_death(job, code, frame) if in_time else _out_of_time(job)))
        return replace(
            outcome,
            stdout=_text(stdout, limit),
            stderr=(*_text(stderr, limit), *(text[:limit] for text in outcome.stderr)),
        )

    def _request(self, job: ToolJob, **changes: Json) -> bytes:
        """The job as the launcher reads it. `source_code` None: it reports the walls and runs nothing."""
        parameters = sound_parameters((job.json_schema or {}).get("parameters"))
        required = list(parameters.get("required", ()))
        needed = frozenset(required)
        typescript = job.source_type == "typescript"
        fields = {
            "name": job.name,
            "source_code": job.source_code,
            "args": job.args,
            "optional": [name for name in parameters.get("properties", ()) if name not in needed],
            "agent_id": job.agent_id,
            "agent_state": job.agent_state,
            "args_json_schema": job.args_json_schema,
            "node": self._node.path if typescript else None,
            "positional": _positional(job.args, required, list(parameters.get("properties", ()))) if typescript else [],
            "client": dict(job.client) if job.client else None,
            "environment": {},
            "packages": None,
            "recall": None,
            "root": _ROOT,
            "path": [entry for entry in sys.path if Path(entry).is_absolute()],
            "memory": job.memory,
            "timeout": math.ceil(job.timeout),
            "files": self.cage.files,
            "output_limit": job.output_limit,
            "cage": self.cage.request([*self._visible, *([self._node.path] if typescript else [])]),
        }
        return json.dumps(fields | changes).encode()

    def _cause_of_death(self, job: ToolJob, code: int, frame: Inflow) -> tuple[str, str]:
        if frame.total > frame.limit:
            return "ValueError", "what it returned is too large"
        if code == MEMORY_EXIT:
            return "MemoryError", f"more than the {job.memory // 1024**2} MB that a tool may use, in all its processes"
        if code == PROCESSES_EXIT:
            return "RuntimeError", f"it started more than the {self.cage.processes} processes that a tool may have"
        if code == FILES_EXIT:
            return "OSError", f"more than the {self.cage.files // 1024**2} MB that the files of a tool may have"
        if code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
            return "RuntimeError", f"its process was killed ({name}), which is also what too much memory leads to"
        return "RuntimeError", f"its process ended (exit code {code}) before the function returned"


def _positional(args: JsonObject, required: list[str], named: list[str]) -> list[Json]:
    """The arguments in V1's order (RT 10.4): the required ones, then the other properties. An optional one that is
    absent, or null, is absent for the function too: its default applies; what JSON says for that is an empty list.
    """
    needed = frozenset(required)
    optional = [name for name in named or args if name not in needed]
    return [[args[name]] if args.get(name) is not None or name in needed else [] for name in (*required, *optional)]


def _environment(job: ToolJob) -> dict[str, str]:
    """The variables that the tool is given behind the walls. Raises: ValueError for an invalid one."""
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


def outcome_of(frame: bytes, job: ToolJob) -> ToolOutcome | None:
    """The outcome in a reply; None if the bytes are no reply. The tool may have written them itself, so that every part is
    checked.
    """
    labels = labels_of(job)
    match frames.sections_of(frame, 2 * len(labels) + 2):
        case [(frames.ERROR, error), (frames.TRACEBACK, traceback)]:
            return bounded(ToolOutcome("error", error=_decoded(error), stderr=(_decoded(traceback),)), job)
        case [(frames.VALUE | frames.TEXT as tag, value), *edits]:
            blocks = _edits(edits, labels)
            return bounded(ToolOutcome("success", _value(tag, value), blocks=blocks), job) if blocks is not None else None
        case _:
            return None


def _value(tag: bytes, data: bytes) -> Json:
    """A returned value; its text if it is none."""
    if tag == frames.VALUE:
        with contextlib.suppress(ValueError):
            return cast("Json", frames.parsed(data))
    return _decoded(data)


def _edits(sections: list[frames.Section], labels: Mapping[str, int]) -> dict[str, str] | None:
    """The changed blocks; None if the sections name another block, or have no room for the text."""
    found = {}
    for (first, name), (second, data) in zip(sections[::2], sections[1::2], strict=False):
        label, text = _decoded(name), _decoded(data)
        if (first, second) != (frames.LABEL, frames.BLOCK) or len(text) > labels.get(label, -1):
            return None
        found[label] = text
    return found if len(sections) % 2 == 0 else None


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _largest_reply(job: ToolJob) -> int:
    """Bytes of the largest reply that the tool's process can have to write: four for each character."""
    return 4 * (2 * (job.output_limit + ERROR_LIMIT) + sum(len(label) + most for label, most in labels_of(job).items())) + 4096


def _out_of_time(job: ToolJob) -> tuple[str, str]:
    return "TimeoutError", f"it ran longer than the {job.timeout:g} seconds that a tool may take, and was stopped"


def _text(inflow: Inflow, limit: int) -> tuple[str, ...]:
    text = inflow.captured.decode("utf-8", "replace")
    if len(text) > limit or inflow.total > inflow.limit:
        text = f"{text[:limit]}... [NOTE: output was truncated since it exceeded the character limit ({limit})]"
    return (text,) if text else ()
