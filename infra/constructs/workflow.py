"""The state machine that drives a run's steps. `infra/workflows/heartbeat.asl.json` defines its states; this module its role and
logs.
"""

from __future__ import annotations

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from infra.artifacts import ROOT
from infra.constructs.findings import ANYTHING, Grant, accept, arn_pattern
from infra.constructs.functions import OurFunction
from infra.constructs.logs import log_group
from infra.constructs.releases import LIVE, machine_alias
from infra.constructs.trust import service_for_this_account
from infra.settings import Settings

DEFINITION = ROOT / "infra" / "workflows" / "heartbeat.asl.json"


def machine_name(settings: Settings) -> str:
    """The name of the machine, derived in advance because the functions that it calls also start it."""
    return f"{settings.stack_name}-heartbeat"


def machine_arn(stack: cdk.Stack, settings: Settings) -> str:
    """The ARN of the machine, by its name."""
    return stack.format_arn(
        service="states",
        resource="stateMachine",
        resource_name=machine_name(settings),
        arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
    )


def started_arn(stack: cdk.Stack, settings: Settings) -> str:
    """What the functions start: the machine, or the alias of its versions where a release shifts traffic between them."""
    machine = machine_arn(stack, settings)
    return f"{machine}:{LIVE}" if settings.gradual else machine


class RunStateMachine(Construct):
    """A Standard workflow, because its executions wait for free. The log contains states and errors, never the data."""

    def __init__(self, scope: Construct, id: str, *, settings: Settings, tasks: Mapping[str, OurFunction]) -> None:
        """`tasks`: the functions in the definition, by folder."""
        super().__init__(scope, id)
        # A log group with this prefix needs no entry in the account's single, limited resource policy.
        states_log = log_group(self, "Logs", settings, name=f"/aws/vendedlogs/states/{machine_name(settings)}")
        role = iam.Role(self, "Role", assumed_by=service_for_this_account("states.amazonaws.com"))
        for function in tasks.values():
            function.allow_invoke_by(role)
        self.machine = sfn.StateMachine(
            self,
            "Heartbeat",
            state_machine_name=machine_name(settings),
            state_machine_type=sfn.StateMachineType.STANDARD,
            definition_body=sfn.DefinitionBody.from_string(DEFINITION.read_text(encoding="utf-8")),
            definition_substitutions={
                name.title().replace("_", ""): function.target.function_arn for name, function in tasks.items()
            },
            role=role,
            tracing_enabled=True,
            logs=sfn.LogOptions(destination=states_log, level=sfn.LogLevel.ALL, include_execution_data=False),
        )
        accept(role, f"IAM5[{ANYTHING}]", "Log delivery and X-Ray take no resource.")
        if settings.gradual:
            machine_alias(self, self.machine, settings)


def start_access(stack: cdk.Stack, settings: Settings) -> Grant:
    """The permission to start executions of the machine."""
    return Grant(iam.PolicyStatement(actions=["states:StartExecution"], resources=[started_arn(stack, settings)]))


def end_wait_access(stack: cdk.Stack, settings: Settings) -> Grant:
    """The permission to complete tasks of the machine that wait with a token."""
    return Grant(iam.PolicyStatement(actions=["states:SendTaskSuccess"], resources=[machine_arn(stack, settings)]))


def stop_access(stack: cdk.Stack, settings: Settings) -> Grant:
    """The permission to stop executions, which are named after their runs."""
    executions = stack.format_arn(
        service="states",
        resource="execution",
        resource_name=f"{machine_name(settings)}:*",
        arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
    )
    return Grant(
        iam.PolicyStatement(actions=["states:StopExecution"], resources=[executions]),
        arn_pattern(service="states", resource=f"execution:{machine_name(settings)}:*"),
        "Executions are named by their runs; the machine is ours.",
    )
