"""Fixes of moto's Step Functions apart from executions: tokens, history, clients, time, JSONata.

Knows: the internals of moto's Step Functions. Must not know: the product's workflow.

Without these fixes
- send_task_failure drops the cause; a heartbeat of a task without a heartbeat limit raises the error of an invalid token; any
  token that is sent while another execution starts raises AttributeError;
- the history ignores maxResults, reverseOrder and nextToken;
- each task creates its own boto3 client, which takes about ten milliseconds;
- each execution parses the text of its state machine again, which takes about a hundred milliseconds;
- JSONata, and Assign, always fail;
- Wait, Retry and the wait for a token with a TimeoutSecondsPath last their real time.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from hibernaut.local.aws_offline.patching import put, replace

_SHARED = "hibernaut_shared"
_MOST_DEFINITIONS = 16
_LONGEST_REQUEST = 900
"""Seconds that the request of a task can take: the longest time limit of a Lambda function."""


def install(*, time_scale: float) -> None:
    """Apply all fixes; idempotent, also with another scale."""
    _fix_tokens()
    _fix_history()
    _share_clients()
    _parse_once()
    _scale_time(time_scale)
    _evaluate_jsonata()


def _fix_tokens() -> None:
    from moto.core.responses import EmptyResult
    from moto.stepfunctions.parser.asl.eval.callback.callback import CallbackEndpoint
    from moto.stepfunctions.parser.models import StepFunctionsParserBackend
    from moto.stepfunctions.responses import StepFunctionResponse

    def send_task_failure(response: Any) -> Any:
        token, error, cause = (response._get_param(name) for name in ("taskToken", "error", "cause"))
        response.stepfunction_backend.send_task_failure(token, error=error, cause=cause)
        return EmptyResult()

    def notify_heartbeat(endpoint: Any) -> bool:
        if endpoint._heartbeat_endpoint:
            endpoint._heartbeat_endpoint.notify()
        return True

    def executions_under_way(original: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
        @functools.wraps(original)
        def executions(backend: Any, *args: Any) -> list[Any]:
            return [execution for execution in original(backend, *args) if execution.exec_worker and execution.exec_worker.env]

        return executions

    put(StepFunctionResponse, "send_task_failure", send_task_failure)
    put(CallbackEndpoint, "notify_heartbeat", notify_heartbeat)
    replace(StepFunctionsParserBackend, "_get_executions", executions_under_way)


def _fix_history() -> None:
    from moto.core.responses import ActionResult
    from moto.stepfunctions.responses import StepFunctionResponse

    def get_execution_history(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def page(response: Any) -> Any:
            events = list(original(response).result["events"])
            if response._get_param("reverseOrder"):
                events.reverse()
            start = int(response._get_param("nextToken") or 0)
            end = start + (response._get_int_param("maxResults") or 1000)
            more = {"nextToken": str(end)} if end < len(events) else {}
            return ActionResult({"events": events[start:end], **more})

        return page

    replace(StepFunctionResponse, "get_execution_history", get_execution_history)


def _share_clients() -> None:
    # Loads every module that creates clients.
    import moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service_factory  # noqa: F401
    from moto.stepfunctions.parser.asl.utils import boto_client

    original = boto_client.boto_client_for
    if hasattr(original, _SHARED):
        return
    turn = threading.Lock()
    client_of = functools.cache(lambda region, service: original(region=region, service=service))

    def shared(region: str, service: str, state_credentials: Any = None) -> Any:  # noqa: ARG001 (moto knows one account)
        with turn:
            return client_of(region, service)

    put(shared, _SHARED, True)
    for module in list(sys.modules.values()):
        if getattr(module, "boto_client_for", None) is original:
            put(module, "boto_client_for", shared)


def _parse_once() -> None:
    """Share the syntax tree of a definition. Each execution has its own components of the tree, because they hold state."""
    from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser
    from moto.stepfunctions.parser.asl.parse.preprocessor import Preprocessor

    def parse(original: Callable[[str], tuple[Any, Any]]) -> Callable[[str], tuple[Any, Any]]:
        tree_of = functools.lru_cache(_MOST_DEFINITIONS)(lambda definition: original(definition)[1])

        def parsed(definition: str) -> tuple[Any, Any]:
            tree = tree_of(definition)
            return Preprocessor().visit(tree), tree

        return parsed

    replace(AmazonStateLanguageParser, "parse", parse)


def _scale_time(scale: float) -> None:
    from moto.stepfunctions.parser.asl.component.common.retry import retrier_decl
    from moto.stepfunctions.parser.asl.component.common.timeouts.timeout import TimeoutSecondsPath
    from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service_callback import (
        StateTaskServiceCallback,
    )
    from moto.stepfunctions.parser.asl.component.state.wait.wait_function.wait_function import WaitFunction

    class Scaled:
        """The part of `time` that the module of retries uses."""

        @staticmethod
        def sleep(seconds: float) -> None:
            time.sleep(seconds * scale)

    def wait_interval(original: Callable[..., None]) -> Callable[..., None]:
        def wait(function: Any, env: Any, wait_seconds: float) -> None:
            if scale == 1:
                original(function, env, wait_seconds)
            else:
                env.program_state_event.wait(max(0.0, wait_seconds) * scale)

        return wait

    # A task's limit counts from its beginning, but its request takes its real time: a scaled limit would end the request. So
    # another scale applies to the wait after the request alone, and the limit of the whole task leaves time for the request.
    request = 0 if scale == 1 else _LONGEST_REQUEST

    def seconds_of_path(original: Callable[[Any, Any], int]) -> Callable[[Any, Any], int]:
        return lambda path, env: original(path, env) + request

    def wait_for_token(original: Callable[..., Any]) -> Callable[..., Any]:
        def wait(task: Any, timeout_seconds: int, callback_endpoint: Any) -> Any:
            scaled = scale if isinstance(task.timeout, TimeoutSecondsPath) else 1
            return original(task, timeout_seconds if scaled == 1 else (timeout_seconds - request) * scaled, callback_endpoint)

        return wait

    put(retrier_decl, "time", Scaled)
    replace(TimeoutSecondsPath, "_eval_seconds", seconds_of_path)
    replace(StateTaskServiceCallback, "_wait_for_task_token_timeout", wait_for_token)
    replace(WaitFunction, "_wait_interval", wait_interval)


def _evaluate_jsonata() -> None:
    """Replace moto's JSONata evaluator, which needs a Java machine, by the one in Python if it is installed."""
    from moto.stepfunctions.parser.asl.eval import states, variable_store
    from moto.stepfunctions.parser.asl.jsonata import jsonata as expressions
    from moto.stepfunctions.parser.asl.utils.encoding import to_json_str

    try:
        import jsonata
    except ImportError:
        return

    def evaluate(expression: str) -> Any:
        try:
            return jsonata.Jsonata(expression).evaluate(None)
        except (jsonata.JException, ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise expressions.JSONataException("States.QueryEvaluationError", str(error)) from error

    def declarations(bindings: dict[str, Any]) -> str:
        # moto's own version quotes text without escaping it.
        return "".join(f"{name}:={to_json_str(value)};" for name, value in bindings.items())

    put(expressions, "_eval_jsonata", evaluate)
    for module in (expressions, states, variable_store):
        put(module, "encode_jsonata_variable_declarations", declarations)
