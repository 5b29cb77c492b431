"""The state machine that drives a run's steps. Its states stand in `infra/workflows/heartbeat.asl.json`; here are its role and logs."""

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
from infra.settings import Settings

DEFINITION = ROOT / "infra" / "workflows" / "heartbeat.asl.json"


def machine_name(settings: Settings) -> str:
    """Known before the machine is made: the functions that it calls start it themselves."""
    return f"{settings.stack_name}-heartbeat"


def machine_arn(stack: cdk.Stack, settings: Settings) -> str:
    return stack.format_arn(
        service="states",
        resource="stateMachine",
        resource_name=machine_name(settings),
        arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
    )


class Workflow(Construct):
    """Standard: an execution may sleep for free. The log holds states and errors, never the data that passes."""

    def __init__(self, scope: Construct, id: str, *, settings: Settings, tasks: Mapping[str, OurFunction]) -> None:
        """`tasks`: the functions that the definition names, by their folders."""
        super().__init__(scope, id)
        # Under this prefix the delivery needs no room in the account's one resource policy.
        states_log = log_group(self, "Logs", settings, name=f"/aws/vendedlogs/states/{machine_name(settings)}")
        role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("states.amazonaws.com"))
        for function in tasks.values():
            function.allow_invoke_by(role)
        self.machine = sfn.StateMachine(
            self,
            "Heartbeat",
            state_machine_name=machine_name(settings),
            state_machine_type=sfn.StateMachineType.STANDARD,
            definition_body=sfn.DefinitionBody.from_string(DEFINITION.read_text(encoding="utf-8")),
            definition_substitutions={
                name.title().replace("_", ""): function.function.function_arn for name, function in tasks.items()
            },
            role=role,
            tracing_enabled=True,
            logs=sfn.LogOptions(destination=states_log, level=sfn.LogLevel.ALL, include_execution_data=False),
        )
        accept(role, f"IAM5[{ANYTHING}]", "Log delivery and X-Ray take no resource.")


def start_access(stack: cdk.Stack, settings: Settings) -> Grant:
    """Starting executions of the machine."""
    return Grant(iam.PolicyStatement(actions=["states:StartExecution"], resources=[machine_arn(stack, settings)]))


def end_wait_access(stack: cdk.Stack, settings: Settings) -> Grant:
    """Answering for tasks of the machine that wait with a token."""
    return Grant(iam.PolicyStatement(actions=["states:SendTaskSuccess"], resources=[machine_arn(stack, settings)]))


def stop_access(stack: cdk.Stack, settings: Settings) -> Grant:
    """Stopping executions, which are named by their runs."""
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
