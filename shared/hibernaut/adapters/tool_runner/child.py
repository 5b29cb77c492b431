"""Runs one tool in its own process, and writes the reply to a pipe of its own.

`cage.launcher` calls it behind the walls. It imports as little as possible of the standard library, because every call pays for
the imports. It knows agents only by the snapshot in the job.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING

from hibernaut.adapters.tool_runner import frames

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from hibernaut.adapters.tool_runner.argument_models import ArgumentModels

    Job = dict[str, Any]

MODULE = "tool"
FILE = "<tool>"
ERROR_LIMIT = 1_000
WITHOUT_CLIENT = (
    " (`client` is None in this call: a tool has one if an agent calls it, on AWS only with toolNetwork=open and access=public)"
)
RESERVE = 64 * 1024 * 1024
"""Bytes above the tool's memory limit, for reporting that the limit was reached."""
BALLAST = 1024 * 1024
ALARM_GRACE = 2
DESCRIPTORS = 1024


class AttributeDict(dict):  # type: ignore[type-arg]
    """A JSON object whose keys are attributes too, as tools written for V1's objects expect."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"agent_state has no {name!r} here: {', '.join(map(str, self))}") from None

    def __setattr__(self, name: str, value: object) -> None:
        self[name] = value


class ToolMemory(AttributeDict):
    """The agent's core memory; after the tool has returned, it is compared with the snapshot."""

    def get_block(self, label: str) -> Any:
        """The block with this label. Raises: KeyError with the labels that there are."""
        for block in self.get("blocks", ()):
            if block["label"] == label:
                return block
        raise KeyError(f"the agent has no block {label!r}, but: {', '.join(self.list_block_labels())}")

    def update_block_value(self, label: str, value: str) -> None:
        """Set the value of a block. Raises: KeyError, TypeError if it is no string."""
        if not isinstance(value, str):
            raise TypeError(f"a block holds a string, not {type(value).__name__}")
        self.get_block(label)["value"] = value

    def list_block_labels(self) -> list[str]:
        """The labels of all blocks, in order."""
        return [block["label"] for block in self.get("blocks", ())]


class LettaClient:
    """`client` in a tool: Letta's client of this server. It is made at its first use, because its import takes longer than most
    tools.
    """

    def __init__(self, access: dict[str, str]) -> None:
        self.__dict__["_access"] = access

    def __getattr__(self, name: str) -> Any:
        client = self.__dict__.get("_made")
        if client is None:
            from letta_client import Letta

            access = self.__dict__["_access"]
            client = self.__dict__["_made"] = Letta(base_url=access["base_url"], api_key=access["token"])
        return getattr(client, name)


class PipeWish:
    """`wanted` in the source of a job that may be recalled: whether its result is still wanted, which the end of a pipe
    denies.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __call__(self) -> bool:
        import select  # few jobs can be recalled

        end = select.poll()  # `select.select` takes no descriptor above 1023
        end.register(self.descriptor, select.POLLIN)
        return not end.poll(0)


def importable(package: str) -> bool:
    """Whether a folder of this name is in the import path. Imports nothing."""
    return any(os.path.isdir(os.path.join(entry, package)) for entry in sys.path)


def main(channel: int, job: Job) -> NoReturn:
    """Run the job and end this process."""
    os.environ.update(job["environment"])
    if "TZ" in job["environment"]:
        import time  # the C library has read the time zone already

        time.tzset()
    # The tool's own packages come before the server's, and after Python's library.
    own_packages = [job["packages"]] if job["packages"] else []
    sys.path[:] = [*(entry for entry in sys.path if entry != job["root"]), *own_packages]
    sys.path.extend(entry for entry in job["path"] if entry not in sys.path)
    if job["packages"] and job["imported"]:
        forget(job["imported"], job["packages"])
    if job.get("node"):
        run_node(channel, job)
    limit_itself(job["memory"], job["timeout"], job["files"])
    own = os.getpid()
    reply = run(job) if job["source_code"] is not None else [(frames.VALUE, json.dumps(job.get("walls", [])))]
    for stream in (sys.stdout, sys.stderr):
        # The tool may have closed or replaced it.
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()
    # A process that the tool has forked has nothing to say.
    if os.getpid() == own:
        send(channel, frames.framed(reply))
    # Threads that the tool left behind must not keep the process alive.
    os._exit(0)


def forget(imported: list[str], packages: str) -> None:
    """Forget what was imported before the call if the tool has packages of its own of one of these names."""
    own = set[str]()
    with contextlib.suppress(OSError):  # then the tool cannot import them either
        own = {name.partition(".")[0] for name in os.listdir(packages)}
    if any(name.partition(".")[0] in own for name in imported):
        for name in imported:
            sys.modules.pop(name, None)


def run_node(channel: int, job: Job) -> NoReturn:
    """Let this process become Node; a reply says why it cannot."""
    from hibernaut.adapters.tool_runner.node import start

    limit_itself(job["memory"] + start.OWN_MEMORY, job["timeout"], job["files"], addresses=start.OWN_ADDRESSES)
    try:
        start.become_node(channel, job)
    except OSError as error:
        text = f"Error executing function {job['name']}: OSError: Node cannot be started here: {error}"
        send(channel, frames.framed([(frames.ERROR, text[:ERROR_LIMIT]), (frames.TRACEBACK, "")]))
    os._exit(0)


def limit_itself(memory: int, timeout: float, files: int, *, addresses: int = 0) -> None:
    """Set soft limits, with a reserve for the report. The parent kills an overlong tool; the alarm does so if the parent is
    gone. `addresses`: bytes of address space that are reserved without being used.
    """
    seconds = int(timeout) + ALARM_GRACE
    limits_by_kind = {
        # The tool's allocations; shared libraries do not count. The limit on address space is wider, for shared mappings.
        resource.RLIMIT_DATA: (memory, memory + RESERVE),
        resource.RLIMIT_AS: (2 * memory + addresses + RESERVE, 2 * memory + addresses + 2 * RESERVE),
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_FSIZE: (files, files),
        resource.RLIMIT_NOFILE: (DESCRIPTORS, DESCRIPTORS),
        resource.RLIMIT_CPU: (seconds * (os.cpu_count() or 1),) * 2,
    }
    for kind, limits in limits_by_kind.items():
        # Some systems know a limit but do not allow setting it; a narrower one of the host remains.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, limits)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.alarm(seconds)


def run(job: Job) -> list[tuple[bytes, str]]:
    """The sections of the reply."""
    # Released first when the tool has used all memory: without it not even the next line could run.
    ballast = bytearray(BALLAST)
    try:
        state, memory = agent_state(job["agent_state"])
        value = written(call(job, state), job["output_limit"])
        edits = changed(memory, job["agent_state"])
        return [value, *(part for label, text in edits.items() for part in ((frames.LABEL, label), (frames.BLOCK, text)))]
    except BaseException as error:  # noqa: BLE001 -- the outermost line: whatever the tool raises, SystemExit too, is its result
        del ballast
        if isinstance(error, MemoryError):
            with contextlib.suppress(OSError, ValueError):
                hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
                resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
        return [(frames.ERROR, described(error, job)), (frames.TRACEBACK, traced(error, job))]


def call(job: Job, state: AttributeDict | None) -> Any:
    """Run the source and call its function; what the function awaits is awaited. Raises: whatever the tool raises; NameError if
    it defines no such function.
    """
    module = ModuleType(MODULE)
    # Dataclasses and Pydantic look up their own module.
    sys.modules[MODULE] = module
    module.__dict__["client"] = LettaClient(job["client"]) if job["client"] and importable("letta_client") else None
    if job["recall"] is not None:
        module.__dict__["wanted"] = PipeWish(job["recall"])
    models = argument_models(job)
    module.__dict__.update(models.by_name if models is not None else ())
    exec(compile(job["source_code"], FILE, "exec"), module.__dict__)  # noqa: S102 -- running a tool is what this process is for
    function = module.__dict__.get(job["name"])
    if not callable(function):
        raise NameError(f"the source defines no function called {job['name']}")
    positional, named = bound(function, job, state, models)
    result = function(*positional, **named)
    if hasattr(result, "__await__"):
        import asyncio  # half of this process's start-up time would be spent on it

        return asyncio.run(awaited(result))
    return result


def argument_models(job: Job) -> ArgumentModels | None:
    """The models of the arguments, if the tool has a schema of its own for them."""
    if not job["args_json_schema"]:
        return None
    from hibernaut.adapters.tool_runner.argument_models import ArgumentModels  # it imports Pydantic

    return ArgumentModels(job["args_json_schema"])


async def awaited(result: Any) -> Any:
    """The result of an awaitable, as a coroutine."""
    return await result


def bound(
    function: Callable[..., Any], job: Job, state: AttributeDict | None, models: ArgumentModels | None
) -> tuple[list[Any], dict[str, Any]]:
    """(positional arguments, keyword arguments): the model's, those that the server fills in, and None for absent optional
    ones.
    """
    signed: Any = function
    while hasattr(signed, "__wrapped__"):
        signed = signed.__wrapped__
    arguments = dict(job["args"])
    code = getattr(signed, "__code__", None)
    if code is None:
        return [], arguments
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    defaults = {*names[code.co_argcount - len(signed.__defaults__ or ()) : code.co_argcount], *(signed.__kwdefaults__ or ())}
    if models is not None:
        arguments = models.values(arguments)
    arguments = {
        name: converted(value, signed, name) if isinstance(value, dict | list) else value for name, value in arguments.items()
    }
    arguments |= {name: None for name in names if name in job["optional"] and name not in arguments and name not in defaults}
    arguments |= {name: value for name, value in (("agent_state", state), ("agent_id", job["agent_id"])) if name in names}
    positional = [arguments.pop(name) for name in names[: code.co_posonlyargcount] if name in arguments]
    return positional, arguments


def converted(value: Any, function: Callable[..., Any], name: str) -> Any:
    """An object or array, converted to the parameter's annotated type: a Pydantic model, a list of them, a tuple."""
    import typing  # only such arguments need it

    try:
        annotation = typing.get_type_hints(function).get(name)
    except Exception:  # noqa: BLE001 -- annotations are the tool's own code and may raise anything; without them the value stays
        return value
    return shaped(value, annotation)


def shaped(value: Any, annotation: Any) -> Any:
    """The value in the form of its annotation; unchanged where the annotation names no model, list or tuple. Raises: what a
    model's validation raises.
    """
    parts = getattr(annotation, "__args__", ())
    origin = getattr(annotation, "__origin__", None)
    if isinstance(value, dict) and hasattr(annotation, "model_validate"):
        return annotation.model_validate(value)
    if origin is list and isinstance(value, list) and parts:
        return [shaped(item, parts[0]) for item in value]
    if origin is tuple and isinstance(value, list):
        return tuple(value) if ... in parts else tuple(shaped(item, part) for item, part in zip(value, parts, strict=True))
    if origin is not list and origin is not tuple and origin is not dict:
        for part in parts:
            if (value_of_part := shaped(value, part)) is not value:
                return value_of_part
    return value


def agent_state(snapshot: dict[str, Any] | None) -> tuple[AttributeDict | None, ToolMemory]:
    """The tool's own copy of the agent's state, and its memory; None and an empty memory without a snapshot."""
    if snapshot is None:
        return None, ToolMemory()
    state: AttributeDict = json.loads(json.dumps(snapshot), object_hook=AttributeDict)
    memory = ToolMemory(state.get("memory") or {})
    memory["blocks"] = memory.get("blocks") or state.get("blocks") or []
    state["memory"] = memory
    return state, memory


def changed(memory: ToolMemory, snapshot: dict[str, Any] | None) -> dict[str, str]:
    """The blocks whose value differs from the snapshot, by label."""
    _, before = agent_state(snapshot)
    values = {block["label"]: block.get("value") for block in before.get("blocks", ())}
    edited = {}
    for block in memory.get("blocks", ()):
        label, value = block["label"], block.get("value")
        if label in values and value != values[label]:
            if not isinstance(value, str):
                raise TypeError(f"block {label!r} holds a string, not {type(value).__name__}")
            edited[label] = value
    return edited


def written(value: Any, limit: int) -> tuple[bytes, str]:
    """The section of a return value: a string as it is, other JSON and a Pydantic model as JSON, else `str(value)`."""
    if isinstance(value, str):
        return frames.TEXT, cut(value, limit)
    try:
        text = json.dumps(value, default=dumped, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return frames.TEXT, cut(str(value), limit)
    if len(text) > limit or not frames.is_small(text.encode("utf-8", "replace")):
        return frames.TEXT, cut(text, limit)
    return frames.VALUE, text


def dumped(value: Any) -> Any:
    """JSON for what JSON does not know: a Pydantic model's fields, else `str(value)`."""
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) and not isinstance(value, type) else str(value)


def cut(text: str, limit: int) -> str:
    """At most `limit` characters of a text, with a note if it was cut."""
    if len(text) <= limit:
        return text
    note = "... [NOTE: function output was truncated since it exceeded the character limit"
    return f"{text[:limit]}{note} ({len(text)} > {limit})]"


def described(error: BaseException, job: Job) -> str:
    """The error as the model reads it, at most ERROR_LIMIT characters."""
    message = (
        f"more than the {job['memory'] // 1024**2} MB that a tool may use"
        if isinstance(error, MemoryError)
        else error_text(error)
    )
    if not job["client"] and isinstance(error, AttributeError) and error.name is not None and error.obj is None:
        message += WITHOUT_CLIENT if "client" in job["source_code"] else ""
    return f"Error executing function {job['name']}: {type(error).__name__}: {message}"[:ERROR_LIMIT]


def error_text(error: BaseException) -> str:
    """The error's own text. Never raises, though the text may be made by the tool's code."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 -- the error's own text is the tool's code too
        return "(an error without a readable text)"


def traced(error: BaseException, job: Job) -> str:
    """The traceback, beginning with the tool's own first line."""
    import linecache  # only failures need it
    import traceback

    lines = job["source_code"].splitlines(keepends=True)
    linecache.cache[FILE] = (len(job["source_code"]), None, lines, FILE)
    own: TracebackType | None = error.__traceback__
    while own is not None and own.tb_frame.f_code.co_filename != FILE:
        own = own.tb_next
    try:
        return cut("".join(traceback.format_exception(type(error), error, own)), job["output_limit"])
    except Exception:  # noqa: BLE001 -- as above
        return f"{type(error).__name__}: {error_text(error)}"[:ERROR_LIMIT]


def send(channel: int, reply: bytes) -> None:
    """Write the whole reply to a descriptor, which may take it in pieces."""
    rest = memoryview(reply)
    while rest:
        rest = rest[os.write(channel, rest) :]
