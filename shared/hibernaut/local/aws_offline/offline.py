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
from typing import Self

from hibernaut.adapters.table.dynamodb import DynamoDbTable
from hibernaut.local.aws_offline.environment import exported, union
from hibernaut.local.aws_offline.feeds import Feeds
from hibernaut.local.aws_offline.gateway import Gateway
from hibernaut.local.aws_offline.lambdas import Function, Lambdas, Reply, moto_invoke
from hibernaut.local.aws_offline.place import VARIABLES
from hibernaut.local.aws_offline.resources import Resource, client
from hibernaut.local.aws_offline.rules import Rules, invoke_unawaited
from hibernaut.local.aws_offline.search_domain import search_domain
from hibernaut.local.aws_offline.stack import Stack
from hibernaut.local.aws_offline.template import checkout, template_of
from hibernaut.local.server import LocalServer, address, listening
from hibernaut.schemas.base import Json, JsonObject

INDEX = "HIBERNAUT_OPENSEARCH"
HOSTS, LOOPBACK = "HIBERNAUT_ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]"
"""Clients reach the gateway by loopback names here, in place of the API's own."""


class FunctionFailed(Exception):
    """An invocation ended with an error; `kind` is its name, as Catch and Retry see it."""

    def __init__(self, report: JsonObject) -> None:
        self.kind = str(report["errorType"])
        super().__init__(f"{self.kind}: {report['errorMessage']}")


class InUse(Exception):
    """Somebody else uses moto in this process: its services would be shared, and their data outlive both."""

    def __init__(self) -> None:
        super().__init__("moto is in use in this process; stop the other one first")


class OfflineAws:
    """Use it as a context. moto is one per process, and so is this.

    `secrets` stand in Parameter Store as if they had been put there; `variables` are added to the functions' environment.
    `time_scale`: what a second of a workflow's waiting takes here, in seconds.
    """

    def __init__(
        self,
        *,
        root: Path | None = None,
        secrets: Mapping[str, str] | None = None,
        variables: Mapping[str, str] | None = None,
        time_scale: float = 1.0,
    ) -> None:
        self._root = root
        self._secrets = dict(secrets or {})
        self._variables = dict(variables or {})
        self._time_scale = time_scale
        self._running = ExitStack()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Load the template. Raises: InUse, NotACheckout, SynthesisFailed, and whatever in the template is not known here."""
        from moto import mock_aws
        from moto.core.models import MockAWS

        from hibernaut.local.aws_offline import moto_fixes

        if MockAWS._mocks_active:
            raise InUse
        root = self._root or checkout()
        template = template_of(root)
        moto_fixes.install(time_scale=self._time_scale)
        with ExitStack() as starting:
            starting.enter_context(mock_aws(config={"stepfunctions": {"execute_state_machine": True}}))
            starting.enter_context(exported(VARIABLES))
            starting.enter_context(_importable(root))
            # Names of its own, as every deployment has: what functions keep by their settings belongs to one deployment.
            self.stack = Stack(template, f"{_stack_name(template)}-{token_hex(4)}")
            functions = self.stack.of_type("AWS::Lambda::Function")
            self.lambdas = Lambdas([Function.of(function) for function in functions])
            starting.callback(self.lambdas.over)
            self.rules = Rules(self.stack, self.lambdas)
            self.feeds = Feeds.of(self.stack, self.lambdas)
            starting.enter_context(moto_fixes.told_of_ends(self.rules.execution_ended))
            starting.enter_context(moto_fixes.told_of_objects(self.rules.object_created))
            starting.enter_context(_invoking(self.lambdas))
            environments = [function.properties["Environment"]["Variables"] for function in functions]
            index = {INDEX: starting.enter_context(search_domain())}
            hosts = {HOSTS: ",".join(filter(None, (LOOPBACK, self._variables.get(HOSTS))))}
            starting.enter_context(exported({**union(environments), **index, **self._variables, **hosts}))
            self._put_secrets()
            self._running = starting.pop_all()

    def stop(self) -> None:
        """Forget everything: moto keeps nothing. Executions that wait end first, and nobody is told of it."""
        self.lambdas.over()
        self.rules.close()
        for name in self.executions("RUNNING"):
            client("stepfunctions").stop_execution(executionArn=self._execution(name))
        self._running.close()

    @cached_property
    def url(self) -> str:
        """Where the gateway answers, on a free loopback port; it is started by the first look."""
        gateway, listener = self.gateway, listening("127.0.0.1", 0)
        where, server = address(listener), LocalServer(gateway, listener)
        thread = threading.Thread(target=server.serve, daemon=True, name="gateway")
        self._running.callback(thread.join)
        self._running.callback(server.stop)
        thread.start()
        return where

    @cached_property
    def gateway(self) -> Gateway:
        gateway = Gateway(self.stack, self.lambdas)
        self._running.callback(gateway.close)
        return gateway

    @cached_property
    def table(self) -> DynamoDbTable:
        """The table itself, to look into."""
        return DynamoDbTable(self.stack.outputs["TableName"])

    @property
    def state_machine(self) -> str:
        return self.stack.outputs["StateMachineArn"]

    def invoke(self, function: str, event: Json) -> Json:
        """Call a function by its folder's name. Raises: FunctionFailed."""
        reply = self.lambdas.invoke(function, event)
        if reply.failed:
            raise FunctionFailed(reply.payload)
        return reply.payload

    def clocks(self) -> dict[str, float]:
        """The functions that are called at a rate, and every how many seconds."""
        found = self.stack.of_type("AWS::Scheduler::Schedule")
        return {
            self.lambdas.of(one.properties["Target"]["Arn"]).folder: _seconds(one.properties["ScheduleExpression"])
            for one in found
        }

    def fire_schedule(self, function: str = "sweep_runs") -> Reply:
        """What the scheduler does when the time comes: its event to the function, and a dead letter where that fails."""
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
        """Tell the functions what the table's change stream has for them, and what they failed at the last time; how many records were
        told. Nothing is told by itself, unless `tell_by_itself` was called."""
        return self.feeds.pump()

    def tell_by_itself(self) -> None:
        """From now on until the end the functions are told of the table's changes soon after these are made."""
        self._running.enter_context(self.feeds.by_themselves())

    def wait_for_run(self, name: str, timeout: float = 30.0) -> str:
        """Wait for the end of the execution of this name, without asking again and again; its status."""
        from hibernaut.local.aws_offline import moto_fixes

        return moto_fixes.wait_execution(self._execution(name), timeout)

    def wait_for_all(self) -> dict[str, str]:
        """Wait until no execution runs but those that wait for an approval, and until what the rules had to tell is told; the status of
        each, by its name."""
        from hibernaut.local.aws_offline import moto_fixes

        while True:
            statuses = {name: moto_fixes.wait_rest(self._execution(name)) for name in self.executions()}
            self.rules.wait()
            if set(statuses) == set(self.executions()):
                return statuses

    def executions(self, status: str | None = None) -> list[str]:
        """The names of the machine's executions, or of those with this status."""
        asked = {"statusFilter": status} if status else {}
        pages = client("stepfunctions").get_paginator("list_executions").paginate(stateMachineArn=self.state_machine, **asked)
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
    """The functions lie beside the package, in the asset as in the checkout."""
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
    """Of `rate(5 minutes)`."""
    number, unit = rate.removeprefix("rate(").removesuffix(")").split()
    return float(number) * {"minute": 60, "hour": 3600, "day": 86_400}[unit.removesuffix("s")]


def _stack_name(template: JsonObject) -> str:
    """The template does not say what its stack is called; its state machine does."""
    (machine,) = (
        resource for resource in template["Resources"].values() if resource["Type"] == "AWS::StepFunctions::StateMachine"
    )
    return str(machine["Properties"]["StateMachineName"]).removesuffix("-heartbeat")
