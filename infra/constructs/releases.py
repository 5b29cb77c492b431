"""A gradual release: new versions of functions and of the state machine get a share of the traffic first, and alarms end the
release.

CodeDeploy shifts the alias of each function of `SHIFTED`, and CloudFormation that of the state machine, during the update of the
stack. If an alarm of `STOPPING` is in the state ALARM meanwhile, the aliases go back to the former versions, the update fails,
and CloudFormation rolls the stack back. Executions under way keep their definition and call the aliases, so both releases answer
them (`tests/releases`). All other functions change at once: they have too few invocations for a share to say anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_codedeploy as codedeploy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from infra.constructs.findings import accept
from infra.constructs.trust import service_for_this_account
from infra.release_kind import ReleaseKind
from infra.settings import Settings

SHIFTED = ("api", "stream", "advance_turn")
"""The functions that a caller waits for."""
LIVE = "live"
"""The alias that callers invoke."""
STOPPING = ("GatewayErrors", "FailedRuns", "FailedExecutions", "ReleaseErrors")
"""The alarms that end a gradual release."""
PERCENT = 10


class Pace(NamedTuple):
    """How traffic shifts: the name of CodeDeploy's configuration, and the same for the state machine, with `minutes` between two
    steps.
    """

    functions: str
    machine: str
    minutes: int


PACES: Mapping[ReleaseKind, Pace] = {
    # Ten minutes each, because the alarms evaluate five: a failure in the first minutes stops the release before all traffic
    # moves.
    "canary": Pace("CodeDeployDefault.LambdaCanary10Percent10Minutes", "CANARY", 10),
    "linear": Pace("CodeDeployDefault.LambdaLinear10PercentEvery1Minute", "LINEAR", 1),
}
ROLE = "Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSCodeDeployRoleForLambdaLimited"


def alarm_name(settings: Settings, name: str) -> str | None:
    """The name of an alarm that ends gradual releases; None: CloudFormation chooses one. A chosen name would need a reference to
    the alarm, and the alarms on the state machine already refer to the aliases.
    """
    return f"{settings.stack_name}-{name}" if settings.gradual and name in STOPPING else None


def stopping_alarms(settings: Settings) -> list[str]:
    """The names of the alarms that end a gradual release."""
    return [f"{settings.stack_name}-{name}" for name in STOPPING]


class GradualRelease(Construct):
    """CodeDeploy's part: one deployment group for the alias of each function."""

    def __init__(self, scope: Construct, id: str, *, settings: Settings, aliases: Mapping[str, lambda_.Alias]) -> None:
        """`aliases`: by the folder of the function."""
        super().__init__(scope, id)
        if settings.release == "all-at-once":
            raise ValueError("a release at once needs no deployment groups")
        pace = PACES[settings.release]
        application = codedeploy.CfnApplication(self, "Application", compute_platform="Lambda")
        role = iam.Role(
            self,
            "Role",
            assumed_by=service_for_this_account("codedeploy.amazonaws.com"),
            managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name("service-role/AWSCodeDeployRoleForLambdaLimited")],
        )
        accept(role, f"IAM4[{ROLE}]", "CodeDeploy documents this AWS-managed policy for the deployment of functions.")
        for name, alias in aliases.items():
            group = codedeploy.CfnDeploymentGroup(
                self,
                name.title().replace("_", ""),
                application_name=application.ref,
                service_role_arn=role.role_arn,
                deployment_config_name=pace.functions,
                deployment_style=codedeploy.CfnDeploymentGroup.DeploymentStyleProperty(
                    deployment_type="BLUE_GREEN", deployment_option="WITH_TRAFFIC_CONTROL"
                ),
                auto_rollback_configuration=codedeploy.CfnDeploymentGroup.AutoRollbackConfigurationProperty(
                    enabled=True, events=["DEPLOYMENT_FAILURE", "DEPLOYMENT_STOP_ON_ALARM", "DEPLOYMENT_STOP_ON_REQUEST"]
                ),
                alarm_configuration=codedeploy.CfnDeploymentGroup.AlarmConfigurationProperty(
                    enabled=True,
                    alarms=[codedeploy.CfnDeploymentGroup.AlarmProperty(name=one) for one in stopping_alarms(settings)],
                ),
            )
            written = alias.node.default_child
            if not isinstance(written, lambda_.CfnAlias):
                raise TypeError(f"the alias of {name} has no resource of its own")
            written.cfn_options.update_policy = cdk.CfnUpdatePolicy(
                code_deploy_lambda_alias_update=cdk.CfnCodeDeployLambdaAliasUpdate(
                    application_name=application.ref, deployment_group_name=group.ref
                )
            )


def machine_alias(scope: Construct, machine: sfn.StateMachine, settings: Settings) -> None:
    """The alias of the state machine's versions, which starts executions. Each change of the machine publishes a version."""
    if settings.release == "all-at-once":
        raise ValueError("a release at once needs no versions")
    pace = PACES[settings.release]
    version = sfn.CfnStateMachineVersion(
        scope,
        "Version",
        state_machine_arn=machine.state_machine_arn,
        state_machine_revision_id=machine.state_machine_revision_id,
    )
    sfn.CfnStateMachineAlias(
        scope,
        "Live",
        name=LIVE,
        deployment_preference=sfn.CfnStateMachineAlias.DeploymentPreferenceProperty(
            state_machine_version_arn=version.ref,
            type=pace.machine,
            percentage=PERCENT,
            interval=pace.minutes,
            alarms=stopping_alarms(settings),
        ),
    )


def release_errors(aliases: Mapping[str, lambda_.Alias], period: cdk.Duration) -> cloudwatch.MathExpression:
    """The failed invocations of the aliases. They exist only where somebody invoked an alias, of whichever version."""
    return cloudwatch.MathExpression(
        expression=" + ".join(f"FILL({name}, 0)" for name in aliases),
        using_metrics={name: alias.metric_errors(period=period) for name, alias in aliases.items()},
        period=period,
        label="failed invocations",
    )
