"""Gradual releases for ministack, which knows neither CodeDeploy nor the weights of an alias: part of the emulator's process.

Knows: what CloudFormation and CodeDeploy do to an alias during an update. The check says how long the first part of a release
lasts, and which state the alarms have.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ministack.services import cloudwatch, lambda_svc, stepfunctions
from ministack.services.cloudformation import _stacks, provisioners, stacks
from ministack.services.cloudformation.engine import _parse_template

CANARY = Path(os.environ["CANARY"])
"""The file with the seconds of a canary's first part (`emulator.Emulator.canaries_of`)."""
SHARE = 0.1
Handler = Callable[..., Any]
_groups: dict[str, dict[str, Any]] = {}
"""The deployment groups by their logical ids."""


class WeightedAlias(dict[str, Any]):
    """An alias whose every tenth invocation runs the other version
    (docs.aws.amazon.com/lambda/latest/dg/configuring-alias-routing.html: the choice is random there).
    """

    def __init__(self, alias: dict[str, Any], version: str) -> None:
        super().__init__(alias)
        self._version = version
        self._numbers = itertools.count(1)

    def get(self, name: str, default: Any = None) -> Any:
        """Each caller that asks for the version invokes the function."""
        if name == "FunctionVersion" and next(self._numbers) % round(1 / SHARE) == 0:
            return self._version
        return super().get(name, default)


def adapt() -> None:
    """Change ministack in this process, before it serves."""
    handlers = provisioners._RESOURCE_HANDLERS
    handlers["AWS::CodeDeploy::Application"] = {"create": _application, "delete": lambda *_: None}
    handlers["AWS::CodeDeploy::DeploymentGroup"] = {"create": _group, "delete": lambda *_: None}
    handlers["AWS::StepFunctions::StateMachineVersion"] = {
        "create": _machine_version,
        "update": lambda _id, _old, new, stack, logical=None: _machine_version(logical, new, stack),
        "update_with_logical_id": True,
        "delete": lambda arn, _: stepfunctions._delete_state_machine_version({"stateMachineVersionArn": arn}),
    }
    handlers["AWS::StepFunctions::StateMachineAlias"] = {
        "create": _machine_alias,
        "update": _machine_alias_update,
        "delete": lambda arn, _: stepfunctions._delete_state_machine_alias({"stateMachineAliasArn": arn}),
    }
    handlers["AWS::Lambda::Alias"] = {
        **handlers["AWS::Lambda::Alias"],
        "update": _shifted(handlers["AWS::Lambda::Alias"]["update"]),
    }
    elsewhere = stacks._runs_on_worker_thread
    stacks._runs_on_worker_thread = lambda kind: kind == "AWS::Lambda::Alias" or elsewhere(kind)


def _application(logical: str, properties: dict[str, Any], stack: str) -> tuple[str, dict[str, Any]]:
    return f"{stack}-{logical}", {}


def _group(logical: str, properties: dict[str, Any], stack: str) -> tuple[str, dict[str, Any]]:
    _groups[logical] = properties
    return f"{stack}-{logical}", {}


def _shifted(known: Handler) -> Handler:
    """An update of an alias by a deployment of CodeDeploy, where the template has such a policy
    (docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide, "UpdatePolicy attribute": CodeDeployLambdaAliasUpdate).
    """

    def update(arn: str, before: dict[str, Any], after: dict[str, Any], stack: str, logical: str = "") -> Any:
        policy = _parse_template(_stacks[stack]["_template_body"])["Resources"][logical].get("UpdatePolicy", {})
        function, name = arn.split(":")[6:8]
        aliases = lambda_svc._functions[function]["aliases"]
        version = str(after["FunctionVersion"])
        if "CodeDeployLambdaAliasUpdate" in policy and aliases[name]["FunctionVersion"] != version:
            group = _groups[policy["CodeDeployLambdaAliasUpdate"]["DeploymentGroupName"]["Ref"]]
            whole = aliases[name]
            aliases[name] = WeightedAlias({**whole, "RoutingConfig": {"AdditionalVersionWeights": {version: SHARE}}}, version)
            try:
                _watch([one["Name"] for one in group["AlarmConfiguration"]["Alarms"]])
            finally:
                aliases[name] = whole
        return known(arn, before, after, stack, logical)

    return update


def _watch(names: list[str]) -> None:
    """Raises: ValueError as soon as one of the alarms fires."""
    until = time.monotonic() + float(CANARY.read_text(encoding="utf-8"))
    while time.monotonic() < until:
        if missing := [name for name in names if name not in cloudwatch._alarms]:
            raise ValueError(f"no such alarms: {missing}")
        if firing := [name for name in names if cloudwatch._alarms[name]["StateValue"] == "ALARM"]:
            raise ValueError(f"the deployment was stopped and rolled back by the alarms {firing}")
        time.sleep(0.2)


def _answer(reply: tuple[Any, ...]) -> dict[str, Any]:
    status, _, body = reply
    if status >= 400:
        raise ValueError(f"Step Functions refused: {body!r}")
    found: dict[str, Any] = json.loads(body)
    return found


def _machine_version(logical: str, properties: dict[str, Any], stack: str) -> tuple[str, dict[str, Any]]:
    asked = {"stateMachineArn": properties["StateMachineArn"], "revisionId": properties.get("StateMachineRevisionId")}
    arn = _answer(stepfunctions._publish_state_machine_version(asked))["stateMachineVersionArn"]
    return arn, {"Arn": arn}


def _machine_alias(logical: str, properties: dict[str, Any], stack: str) -> tuple[str, dict[str, Any]]:
    asked = {"name": properties["Name"], "routingConfiguration": _all_to(properties)}
    arn = _answer(stepfunctions._create_state_machine_alias(asked))["stateMachineAliasArn"]
    return arn, {"Arn": arn}


def _machine_alias_update(arn: str, before: dict[str, Any], after: dict[str, Any], stack: str) -> tuple[str, dict[str, Any]]:
    _answer(stepfunctions._update_state_machine_alias({"stateMachineAliasArn": arn, "routingConfiguration": _all_to(after)}))
    return arn, {"Arn": arn}


def _all_to(properties: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"stateMachineVersionArn": properties["DeploymentPreference"]["StateMachineVersionArn"], "weight": 100}]
