"""The deployed product in this process: the template in moto, the real handlers and state machine, and a gateway in front.

Knows: how the parts are started and stopped together. Must not know: what handlers and states do.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Self

from hibernaut.adapters.table.dynamodb import DynamoDbTable
from hibernaut.adapters.tool_runner.child_process import ChildProcessRunner
from hibernaut.adapters.tool_runner.fetched_packages import FetchedPackages
from hibernaut.local.aws_offline.alarms import OfflineAlarms
from hibernaut.local.aws_offline.api_gateway.gateway import OfflineGateway
from hibernaut.local.aws_offline.api_gateway.socket_gateway import SocketGateway
from hibernaut.local.aws_offline.emulator_state import EmulatorState
from hibernaut.local.aws_offline.environment import exported, union
from hibernaut.local.aws_offline.feeds import Feeds
from hibernaut.local.aws_offline.lambdas import Function, Lambdas, Reply, moto_invoke
from hibernaut.local.aws_offline.place import VARIABLES
from hibernaut.local.aws_offline.resources import Resource, client
from hibernaut.local.aws_offline.rules import Rules, invoke_unawaited
from hibernaut.local.aws_offline.search_domain import search_domain
from hibernaut.local.aws_offline.stack import Stack
from hibernaut.local.aws_offline.template import checkout, template_of
from hibernaut.local.server import LocalServer, address, listening
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.wiring.aws import forget_compositions
from hibernaut.wiring.aws_functions.sockets import forget_sockets

INDEX = "HIBERNAUT_OPENSEARCH"
CALLERS = {"HIBERNAUT_CALLERS": "127.0.0.0/8,::1/128"}
"""The addresses that may open WebSockets: this machine."""
HOSTS, LOOPBACK = "HIBERNAUT_ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]"
"""Clients reach the gateway by loopback names here, in place of the API's own name."""


class FunctionFailed(Exception):
    """An invocation ended with an error; `kind` is its name, as Catch and Retry match it."""

    def __init__(self, report: JsonObject) -> None:
        self.kind = str(report["errorType"])
        super().__init__(f"{self.kind}: {report['errorMessage']}")


class InUse(Exception):
    """Another user of moto exists in this process. Both would share its services and their data."""

    def __init__(self) -> None:
        super().__init__("moto is in use in this process; stop the other one first")


class OfflineAws:
    """The emulation, as a context manager. There is one per process, because moto is global.

    `secrets` are stored in Parameter Store; `variables` are added to the functions' environment. `time_scale`: the real duration
    in seconds of one second of a workflow's waiting. `data`: the folder that keeps the state beyond the end (None: it ends with
    it).
    """

    def __init__(
        self,
        *,
        root: Path | None = None,
        secrets: Mapping[str, str] | None = None,
        variables: Mapping[str, str] | None = None,
        time_scale: float = 1.0,
        data: Path | None = None,
    ) -> None:
        self._root = root
        self._secrets = dict(secrets or {})
        self._variables = dict(variables or {})
        self._time_scale = time_scale
        self._data = data
        self._running = ExitStack()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Load the template. Raises: InUse, NotACheckout, SynthesisFailed, and the errors of `Stack` for unknown parts of the
        template.
        """
        from moto import mock_aws
        from moto.core.models import MockAWS

        from hibernaut.local.aws_offline.moto import fixes as moto_fixes

        if MockAWS._mocks_active:
            raise InUse
        root = self._root or checkout()
        template = template_of(root)
        moto_fixes.install(time_scale=self._time_scale)
        with ExitStack() as starting:
            starting.enter_context(mock_aws(config={"stepfunctions": {"execute_state_machine": True}}))
            starting.enter_context(exported(VARIABLES))
            starting.enter_context(_importable(root))
            # Unique names, as every deployment has: functions cache values by their settings.
            state = None if self._data is None else EmulatorState(self._data)
            if state is not None:
                starting.callback(state.close)
                starting.enter_context(state.same_keys())
            self.stack = Stack(template, f"{_stack_name(template)}-{state.suffix() if state else token_hex(4)}")
            if state is not None:
                state.restore()
                starting.enter_context(state.following())
            functions = self.stack.of_type("AWS::Lambda::Function")
            self.lambdas = Lambdas([Function.of(function) for function in functions])
            starting.callback(self.lambdas.over)
            # The temporary folder of the sandbox's execution environment, which ends with it.
            temporary = Path(starting.enter_context(TemporaryDirectory(prefix="hibernaut-run-tool-")))
            self.lambdas.deps["run_tool"] = ChildProcessRunner(packages=FetchedPackages(temporary / "packages").place)
            self.rules = Rules(self.stack, self.lambdas)
            self.feeds = Feeds.of(self.stack, self.lambdas)
            self.alarms = OfflineAlarms(self.stack, self.lambdas)
            starting.enter_context(moto_fixes.listen_to_ends(self.rules.execution_ended))
            starting.enter_context(moto_fixes.listen_to_objects(self.rules.object_created))
            starting.enter_context(_invoking(self.lambdas))
            environments = [function.properties["Environment"]["Variables"] for function in functions]
            index = {INDEX: starting.enter_context(search_domain(self._data))}
            hosts = {HOSTS: ",".join(filter(None, (LOOPBACK, self._variables.get(HOSTS))))}
            starting.enter_context(exported({**union(environments), **CALLERS, **index, **self._variables, **hosts}))
            self.sockets = SocketGateway(self.stack, self.lambdas)
            starting.callback(self.sockets.close_all)
            starting.enter_context(moto_fixes.connections_behind_moto(self.sockets))
            self._put_secrets()
            self._running = starting.pop_all()

    def stop(self) -> None:
        """Delete everything. Waiting executions end first, without events."""
        self.lambdas.over()
        self.rules.close()
        for name in self.executions("RUNNING"):
            client("stepfunctions").stop_execution(executionArn=self._execution(name))
        self._running.close()
        # The execution environments end with their functions; a process may load many stacks, one after the other.
        forget_compositions()
        forget_sockets()

    @cached_property
    def url(self) -> str:
        """The gateway's address on a free loopback port; the first access starts the server."""
        gateway, listener = self.gateway, listening("127.0.0.1", 0)
        where, server = address(listener), LocalServer(gateway, listener)
        thread = threading.Thread(target=server.serve, daemon=True, name="gateway")
        self._running.callback(thread.join)
        self._running.callback(server.stop)
        thread.start()
        # Where tools reach the API: the gateway's own name leads nowhere.
        self._running.enter_context(exported({"HIBERNAUT_API_URL": where}))
        return where

    @cached_property
    def gateway(self) -> OfflineGateway:
        gateway = OfflineGateway(self.stack, self.lambdas, self.sockets)
        self._running.callback(gateway.close)
        return gateway

    @cached_property
    def table(self) -> DynamoDbTable:
        """The table itself, for inspection."""
        return DynamoDbTable(self.stack.outputs["TableName"])

    @property
    def state_machine(self) -> str:
        return self.stack.outputs["StateMachineArn"]

    def invoke(self, function: str, event: Json) -> Json:
        """Call a function by the name of its folder. Raises: FunctionFailed."""
        reply = self.lambdas.invoke(function, event)
        if reply.failed:
            raise FunctionFailed(reply.payload)
        return reply.payload

    def clocks(self) -> dict[str, float]:
        """The scheduled functions, each with its interval in seconds."""
        found = self.stack.of_type("AWS::Scheduler::Schedule")
        return {
            self.lambdas.of(one.properties["Target"]["Arn"]).folder: _seconds(one.properties["ScheduleExpression"])
            for one in found
        }

    def fire_schedule(self, function: str = "sweep_runs") -> Reply:
        """Act as the scheduler: invoke the function with its event, and keep a dead letter if it fails."""
        schedule = self._schedule_of(function)
        marks = {
            "<aws.scheduler.schedule-arn>": schedule.attributes["Arn"],
            "<aws.scheduler.scheduled-time>": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:00Z"),
        }
        text = schedule.properties["Target"]["Input"]
        for mark, value in marks.items():
            text = text.replace(mark, value)
        return invoke_unawaited(self.lambdas, function, json.loads(text))

    def pump(self) -> int:
        """Deliver the new and the failed records of the table's change stream; returns the number of delivered records. Without
        `deliver_in_background`, only this method delivers records.
        """
        return self.feeds.pump()

    def deliver_in_background(self) -> None:
        """From now on, deliver changes of the table in the background, soon after each write."""
        self._running.enter_context(self.feeds.by_themselves())

    def wait_for_run(self, name: str, timeout: float = 30.0) -> str:
        """Wait, without polling, for the end of the execution with this name; returns its status."""
        from hibernaut.local.aws_offline.moto import fixes as moto_fixes

        return moto_fixes.wait_execution(self._execution(name), timeout)

    def wait_for_all(self) -> dict[str, str]:
        """Wait until no execution runs, except those that wait for an approval, and until the rules have delivered their events;
        returns the status of each execution by name.
        """
        from hibernaut.local.aws_offline.moto import fixes as moto_fixes

        while True:
            statuses = {
                name: moto_fixes.wait_rest(self._execution(name)) for name in moto_fixes.executions_of(self.state_machine)
            }
            self.rules.wait()
            if set(statuses) == set(moto_fixes.executions_of(self.state_machine)):
                return statuses

    def executions(self, status: str | None = None) -> list[str]:
        """The names of the machine's executions, or of those with this status."""
        filters = {"statusFilter": status} if status else {}
        pages = client("stepfunctions").get_paginator("list_executions").paginate(stateMachineArn=self.state_machine, **filters)
        return [execution["name"] for page in pages for execution in page["executions"]]

    def _execution(self, name: str) -> str:
        return f"{self.state_machine.replace(':stateMachine:', ':execution:')}:{name}"

    def _schedule_of(self, function: str) -> Resource:
        address = self.lambdas.of(function).arn
        found = [
            schedule
            for schedule in self.stack.of_type("AWS::Scheduler::Schedule")
            if schedule.properties["Target"]["Arn"] == address
        ]
        if not found:
            raise KeyError(function)
        return found[0]

    def _put_secrets(self) -> None:
        for name, value in self._secrets.items():
            path = f"{self.stack.outputs['SecretsPath']}/{name}"
            client("ssm").put_parameter(Name=path, Value=value, Type="SecureString")


@contextmanager
def _importable(root: Path) -> Iterator[None]:
    """Put the functions on the import path: they lie beside the package, in the asset and in the checkout."""
    if importlib.util.find_spec("functions") is not None:
        yield
        return
    sys.path.append(str(root))
    try:
        yield
    finally:
        sys.path.remove(str(root))


@contextmanager
def _invoking(lambdas: Lambdas) -> Iterator[None]:
    from moto.awslambda.models import LambdaFunction

    original = LambdaFunction.invoke
    LambdaFunction.invoke = moto_invoke(lambdas)  # type: ignore[method-assign]
    try:
        yield
    finally:
        LambdaFunction.invoke = original  # type: ignore[method-assign]


def _seconds(rate: str) -> float:
    """The seconds of an expression such as `rate(5 minutes)`."""
    number, unit = rate.removeprefix("rate(").removesuffix(")").split()
    return float(number) * {"minute": 60, "hour": 3600, "day": 86_400}[unit.removesuffix("s")]


def _stack_name(template: JsonObject) -> str:
    """The stack's name, taken from its state machine, because the template does not contain it."""
    (machine,) = (
        resource for resource in template["Resources"].values() if resource["Type"] == "AWS::StepFunctions::StateMachine"
    )
    return str(machine["Properties"]["StateMachineName"]).removesuffix("-heartbeat")
