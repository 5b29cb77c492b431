"""Fixes of the executions in moto's Step Functions: they start once, stop at once, report their end, and can be awaited.

Knows: the internals of moto's executions. Must not know: the product's workflow.

Without these fixes
- a stopped execution stays RUNNING while it waits for a token, loses error and cause, and runs to its end if it is stopped while
  it starts; its history ends with the failure of the task that the stop woke;
- two concurrent starts with one name both run, and a start without a name has an ARN that ends in `None`;
- the end of an execution can only be polled, and EventBridge gets no event for it; the same holds for the wait for a token.
"""

from __future__ import annotations

import datetime
import functools
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from hibernaut.local.aws_offline.patching import put, replace

_ENDED, _RESTS, _WAITS, _LISTENER = "hibernaut_ended", "hibernaut_rests", "hibernaut_waits", "hibernaut_listener"


class ExecutionEnded(NamedTuple):
    """The end of an execution; times are in milliseconds since 1970, the input is unchanged."""

    arn: str
    machine: str
    status: str
    began_ms: int
    ended_ms: int
    input: str
    error: str | None
    cause: str | None


def install() -> None:
    """Apply all fixes; idempotent."""
    _fix_ends()
    _fix_early_stops()
    _fix_late_stops()
    _fix_starts()
    _notice_rests()


@contextmanager
def listen_to_ends(listener: Callable[[ExecutionEnded], None]) -> Iterator[None]:
    """Within the context, `listener` is called at the end of every execution, before waiting callers wake up."""
    from moto.stepfunctions.parser.backend.execution import Execution

    put(Execution, _LISTENER, staticmethod(listener))
    try:
        yield
    finally:
        delattr(Execution, _LISTENER)


def wait_execution(arn: str, timeout: float) -> str:
    """Block until the execution has ended or `timeout` seconds have passed; returns its status."""
    execution = _execution(arn)
    _event(execution, _ENDED).wait(timeout)
    return str(execution.status)


def wait_rest(arn: str, timeout: float) -> str:
    """Block until the execution has ended or waits for a token, or `timeout` seconds have passed; returns its status."""
    execution = _execution(arn)
    _event(execution, _RESTS).wait(timeout)
    return str(execution.status)


def names_of(machine: str) -> list[str]:
    """The names of the executions of a state machine, by its ARN."""
    from moto.stepfunctions.parser.models import stepfunctions_parser_backends

    _, _, _, region, account, *_ = machine.split(":")
    return [
        execution.name for execution in stepfunctions_parser_backends[account][region].describe_state_machine(machine).executions
    ]


def _execution(arn: str) -> Any:
    from moto.stepfunctions.parser.models import stepfunctions_parser_backends

    _, _, _, region, account, *_ = arn.split(":")
    return stepfunctions_parser_backends[account][region].describe_execution(arn)


def _event(execution: Any, name: str) -> threading.Event:
    """The event of an execution; `dict.setdefault` is atomic, so all callers get the same event."""
    event: threading.Event = execution.__dict__.setdefault(name, threading.Event())
    return event


def _over(execution: Any) -> None:
    """Handle the end of an execution: call the listeners, then wake the waiting callers."""
    listener = getattr(type(execution), _LISTENER, None)
    if listener is not None:
        listener(
            ExecutionEnded(
                arn=execution.exec_arn,
                machine=execution.state_machine.arn,
                status=str(execution.status),
                began_ms=int(execution.start_date.timestamp() * 1000),
                ended_ms=int(execution.stop_date.timestamp() * 1000),
                input=execution.execution_input,
                error=execution.error,
                cause=execution.cause,
            )
        )
    for name in (_ENDED, _RESTS):
        _event(execution, name).set()


def _goes_on(execution: Any) -> None:
    """Note that an execution waits no longer. One that was stopped meanwhile rests for ever: its waiting task wakes up after its
    end.
    """
    rests = _event(execution, _RESTS)
    rests.clear()
    if str(execution.status) != "RUNNING":
        rests.set()


def _notice_rests() -> None:
    from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service_callback import (
        StateTaskServiceCallback,
    )
    from moto.stepfunctions.parser.asl.eval.callback.callback import CallbackEndpoint

    def wait_for_task_token(original: Callable[..., Any]) -> Callable[..., Any]:
        def wait(task: Any, env: Any, timeout_seconds: float, callback_endpoint: Any, heartbeat_endpoint: Any) -> Any:
            execution = _execution(env.states.context_object.context_object_data["Execution"]["Id"])
            put(callback_endpoint, _WAITS, execution)
            if not callback_endpoint._notify_event.is_set():
                _event(execution, _RESTS).set()
            outcome = original(task, env, timeout_seconds, callback_endpoint, heartbeat_endpoint)
            _goes_on(execution)
            return outcome

        return wait

    def notify(original: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
        def woken(endpoint: Any, outcome: Any) -> None:
            if (execution := getattr(endpoint, _WAITS, None)) is not None:
                _goes_on(execution)
            original(endpoint, outcome)

        return woken

    replace(StateTaskServiceCallback, "_eval_wait_for_task_token", wait_for_task_token)
    replace(CallbackEndpoint, "notify", notify)


def _fix_ends() -> None:
    from moto.core.responses import ActionResult
    from moto.stepfunctions.parser.api import ExecutionStatus
    from moto.stepfunctions.parser.backend.execution import BaseExecutionWorkerCommunication, Execution
    from moto.stepfunctions.responses import StepFunctionResponse

    def terminated(original: Callable[[Any], None]) -> Callable[[Any], None]:
        def end(communication: Any) -> None:
            if communication.execution.exec_status != ExecutionStatus.ABORTED:
                original(communication)
                _over(communication.execution)

        return end

    def stop(execution: Any, stop_date: datetime.datetime, error: str | None, cause: str | None) -> None:
        execution.exec_status = ExecutionStatus.ABORTED
        execution.stop_date, execution.error, execution.cause = stop_date, error or None, cause or None
        environment = execution.exec_worker.env if execution.exec_worker else None
        if environment is not None:
            environment.set_stop(stop_date=stop_date, cause=cause, error=error)
            for waiting in list(environment.callback_pool_manager._pool.values()):
                waiting.interrupt_all()
        _over(execution)

    def stop_execution(response: Any) -> Any:
        execution = response.stepfunction_backend.describe_execution(response._get_param("executionArn"))
        if execution.exec_status == ExecutionStatus.RUNNING:
            now = datetime.datetime.now(datetime.UTC)
            execution.stop(now, response._get_param("error"), response._get_param("cause"))
        return ActionResult({"stopDate": execution.stop_date})

    replace(BaseExecutionWorkerCommunication, "terminated", terminated)
    put(Execution, "stop", stop)
    put(StepFunctionResponse, "stop_execution", stop_execution)


def _fix_early_stops() -> None:
    """Remember a stop that comes before the first state, because moto finds nothing to stop then."""
    from moto.stepfunctions.parser.api import ExecutionStatus
    from moto.stepfunctions.parser.asl.eval.environment import Environment
    from moto.stepfunctions.parser.asl.eval.program_state import ProgramStopped
    from moto.stepfunctions.parser.backend.execution_worker import ExecutionWorker

    def environment(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def environment_of(worker: Any) -> Any:
            environment = original(worker)
            execution = worker._execution_communication.execution
            if execution.exec_status == ExecutionStatus.ABORTED:
                environment.set_stop(stop_date=execution.stop_date, cause=execution.cause, error=execution.error)
            return environment

        return environment_of

    def set_stop(original: Callable[..., None]) -> Callable[..., None]:
        def stop_even_before_the_first_state(env: Any, **reason: Any) -> None:
            if env._program_state is None:
                env._program_state = ProgramStopped(**reason)
            original(env, **reason)

        return stop_even_before_the_first_state

    replace(ExecutionWorker, "_get_evaluation_environment", environment)
    replace(Environment, "set_stop", set_stop)


def _fix_late_stops() -> None:
    """Keep a stopped execution stopped: its program does not begin, and the task that the stop wakes does not record a
    failure.
    """
    from moto.stepfunctions.parser.asl.component.program.program import Program
    from moto.stepfunctions.parser.asl.eval.environment import Environment
    from moto.stepfunctions.parser.asl.eval.program_state import ProgramStopped

    def evaluate(original: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
        def unless_stopped(program: Any, env: Any) -> None:
            if not isinstance(env._program_state, ProgramStopped):
                original(program, env)

        return unless_stopped

    def set_error(original: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
        def unless_stopped(env: Any, error: Any) -> None:
            if not isinstance(env._program_state, ProgramStopped):
                original(env, error)

        return unless_stopped

    replace(Program, "eval", evaluate)
    replace(Environment, "set_error", set_error)


def _fix_starts() -> None:
    from moto.stepfunctions.parser.models import StepFunctionsParserBackend

    turn = threading.Lock()

    def start_execution(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def start(backend: Any, state_machine_arn: str, name: str | None = None, *args: Any, **kwargs: Any) -> Any:
            with turn:
                return original(backend, state_machine_arn, name or str(uuid.uuid4()), *args, **kwargs)

        return start

    replace(StepFunctionsParserBackend, "start_execution", start_execution)
