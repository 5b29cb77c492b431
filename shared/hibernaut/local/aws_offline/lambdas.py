"""Lambda in this process: the real handlers under the template's function names, with a context and a time limit.

Knows: how Lambda calls a handler and reports its end. Must not know: what any handler does. After a time-out or `abandon`, the
handler's thread keeps running, as a frozen execution environment may.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NoReturn

from hibernaut.local.aws_offline.resources import Resource
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.immutable import immutable

PAYLOAD_LIMIT = 6_291_556
"""The largest event and the largest reply of a synchronous invocation in bytes (Lambda's quota of 6 MB)."""


@immutable
class Function:
    """A deployed function."""

    name: str
    arn: str
    handler: str
    timeout: float
    memory: int
    dead_letters: str | None = None

    @classmethod
    def of(cls, resource: Resource) -> Function:
        """The function of a resource of the template. Raises: KeyError if a property is missing."""
        properties = resource.properties
        letters = properties.get("DeadLetterConfig", {}).get("TargetArn")
        handler, arn = properties["Handler"], resource.attributes["Arn"]
        return cls(resource.ref, arn, handler, float(properties["Timeout"]), properties["MemorySize"], letters)

    @property
    def folder(self) -> str:
        """Its name in the repository: `functions/<folder>`. A handler is a Python path, or the path of a program."""
        return re.split(r"[./]", self.handler)[1]


@immutable
class Reply:
    """The result of an invocation: the handler's return, or (failed) Lambda's report of the error."""

    payload: Json
    failed: bool = False

    @property
    def error(self) -> str | None:
        """The error's name, which the state machine's Catch and Retry match."""
        return str(self.payload["errorType"]) if self.failed else None


class OfflineContext:
    """Lambda's second argument to a handler."""

    def __init__(self, function: Function) -> None:
        self.function_name = function.name
        self.function_version = "$LATEST"
        self.invoked_function_arn = function.arn
        self.memory_limit_in_mb = function.memory
        self.aws_request_id = str(uuid.uuid4())
        self.log_group_name = f"/aws/lambda/{function.name}"
        self.log_stream_name = "offline"
        self._deadline = time.monotonic() + function.timeout

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((self._deadline - time.monotonic()) * 1000))


class Abandoned(BaseException):
    """Ends the thread of an abandoned invocation when the whole emulation ends. Not an Exception, so that no handler
    catches it.
    """


@dataclass(slots=True)
class _Invocation:
    function: str
    over: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    reply: Reply | None = None
    aws_over: threading.Event = field(default_factory=threading.Event)
    on_end: Callable[[], object] | None = None

    def end(self, reply: Reply) -> None:
        """Set the reply. Only the first call counts: the late reply of an abandoned handler is ignored."""
        with self.lock:
            if self.reply is None:
                self.reply = reply
        self.over.set()
        if self.on_end is not None:
            self.on_end()

    @property
    def ended(self) -> Reply:
        if self.reply is None:
            raise RuntimeError("the invocation has not ended")
        return self.reply


_current: ContextVar[_Invocation | None] = ContextVar("invocation", default=None)


def current_function() -> str | None:
    """The folder of the function that runs on this thread, or None."""
    invocation = _current.get()
    return invocation.function if invocation else None


def abandon() -> NoReturn:
    """For doubles inside a handler: end the invocation as if its machine had died; no code after this call runs."""
    invocation = _current.get()
    if invocation is None:
        raise RuntimeError("no handler runs here")
    invocation.end(_report("Runtime.ExitError", "RequestId: the runtime exited"))
    invocation.aws_over.wait()
    raise Abandoned


def is_abandoned() -> bool:
    """Whether this thread belongs to an invocation that another of its threads has abandoned, or that has reached its time
    limit.
    """
    invocation = _current.get()
    return invocation is not None and invocation.reply is not None


class Lambdas:
    """All functions of a stack. `deps` maps the folder of a function to its handler's third argument."""

    def __init__(self, functions: list[Function]) -> None:
        self._by_name = {key: function for function in functions for key in (function.name, function.arn, function.folder)}
        self._over = threading.Event()
        self._refusals: dict[str, list[str]] = {}
        self.deps: dict[str, object] = {}

    def refuse(self, name: str, error: str, times: int) -> None:
        """Make the next `times` invocations of a function fail with this error before its handler is called, after earlier
        refusals.
        """
        self._refusals.setdefault(self.of(name).folder, []).extend([error] * times)

    def of(self, name: str) -> Function:
        """The function with this name, ARN or folder. Raises: KeyError."""
        return self._by_name[name]

    def invoke(self, name: str, event: Json, *, timeout: float | None = None) -> Reply:
        """Call the handler and wait for its end, at most for its time limit. `timeout`: the caller's limit, if it is shorter."""
        function = self.of(name)
        if len(json.dumps(event)) > PAYLOAD_LIMIT:
            return _report("RequestEntityTooLargeException", f"Request must be smaller than {PAYLOAD_LIMIT} bytes")
        if refusals := self._refusals.get(function.folder):
            return _report(refusals.pop(0), "The invocation was refused.")
        invocation = _Invocation(function.folder, aws_over=self._over)
        threading.Thread(target=self._run, args=(function, event, invocation), daemon=True, name=function.folder).start()
        if not invocation.over.wait(min(function.timeout, timeout or function.timeout)):
            invocation.end(_report("Sandbox.Timedout", f"Task timed out after {function.timeout:.2f} seconds"))
        return invocation.ended

    @contextmanager
    def served(self, name: str, died: Callable[[], object]) -> Iterator[None]:
        """Code in the context counts as running in a function that serves HTTP. `died` is called, on any thread, if it is
        abandoned.
        """
        mark = _current.set(_Invocation(self.of(name).folder, aws_over=self._over, on_end=died))
        try:
            yield
        finally:
            _current.reset(mark)

    def over(self) -> None:
        """End the emulation: abandoned threads end too."""
        self._over.set()

    def _run(self, function: Function, event: Json, invocation: _Invocation) -> None:
        _current.set(invocation)
        try:
            handler = _handler(function.handler)
            extra = (self.deps[function.folder],) if function.folder in self.deps else ()
            # Through JSON and back, as on the wire, so that functions share no objects.
            with event_loop():
                payload = _sent(handler(json.loads(json.dumps(event)), OfflineContext(function), *extra))
        except Abandoned:
            return
        except Exception as error:  # noqa: BLE001 - Lambda reports whatever a handler raises
            invocation.end(_report(type(error).__name__, str(error), error))
            return
        if len(payload.encode("utf-8", "surrogatepass")) > PAYLOAD_LIMIT:
            invocation.end(
                _report("Function.ResponseSizeTooLarge", "Response payload size exceeded maximum allowed payload size")
            )
            return
        invocation.end(Reply(json.loads(payload)))


def _sent(reply: Json) -> str:
    """A reply as Lambda's runtime for Python 3.13 sends it: it escapes no letters (awslambdaric,
    `lambda_runtime_marshaller.py`).
    """
    return json.dumps(reply, ensure_ascii=False)


@contextmanager
def event_loop() -> Iterator[None]:
    """Set an event loop for the handler's thread, as Lambda's main thread has one."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        yield
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def _handler(path: str) -> Callable[..., Json]:
    module, name = path.rsplit(".", 1)
    handler: Callable[..., Json] = getattr(importlib.import_module(module), name)
    return handler


def _report(name: str, text: str, error: Exception | None = None) -> Reply:
    report: JsonObject = {"errorType": name, "errorMessage": text}
    if error is not None:
        report["stackTrace"] = traceback.format_tb(error.__traceback__)
    return Reply(report, failed=True)


def moto_invoke(lambdas: Lambdas) -> Callable[..., bytes]:
    """The replacement for moto's `LambdaFunction.invoke`, which all callers use: the Invoke API and Step Functions."""

    def invoke(function: object, body: str, request_headers: Mapping[str, str], response_headers: dict[str, str]) -> bytes:
        name: str = function.function_name  # type: ignore[attr-defined]
        event = json.loads(body) if body else {}
        match (request_headers or {}).get("x-amz-invocation-type") or "RequestResponse":
            case "DryRun":
                return b""
            case "Event":
                threading.Thread(target=lambdas.invoke, args=(name, event), daemon=True).start()
                return b""
            case _:
                reply = lambdas.invoke(name, event)
                if reply.failed:
                    response_headers["x-amz-function-error"] = "Unhandled"
                return json.dumps(reply.payload).encode()

    return invoke
