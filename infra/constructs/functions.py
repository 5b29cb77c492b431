"""A Lambda function of the product: its code, its own role, its own log group. Creates each function; the stack grants
permissions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.constructs.findings import ANYTHING, Grant, accept, give
from infra.constructs.logs import log_group
from infra.constructs.network import ENTRY, Network, entry
from infra.constructs.releases import LIVE, SHIFTED
from infra.constructs.tool_network import ToolNetwork
from infra.constructs.trust import service_for_this_account
from infra.settings import Settings, Size

SMALLEST_DISK = 512
"""The temporary folder of a function in MB, unless it has more."""
UNTRACED = ("sweep_runs",)
"""A function that the scheduler invokes every minute: X-Ray would record and charge each of these invocations, 0.22 dollars a
month.
"""
SNAPSHOT = ("api", "advance_turn")
"""The functions for SnapStart, if the settings enable it: the functions with a waiting caller. Not `stream`, which the Web
Adapter starts outside the runtime; SnapStart excludes the tenant isolation of `run_tool` (AWS Lambda developer guide).
"""


@dataclass(frozen=True, slots=True)
class Code:
    """The code of a function. `start`: the program that the Web Adapter starts in place of a handler (None: it has a handler).
    `network`: the VPC of the function, if not Lambda's own network.
    """

    source: lambda_.Code
    layers: tuple[lambda_.ILayerVersion, ...]
    start: str | None = None
    network: Network | ToolNetwork | None = None


class OurFunction(Construct):
    """`functions/<name>` on Python 3.13 for arm64. `caged`: its role denies its code everything, including logs and traces."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        code: Code,
        settings: Settings,
        environment: Mapping[str, str],
        dead_letters: sqs.IQueue | None = None,
        caged: bool = False,
    ) -> None:
        super().__init__(scope, name.title().replace("_", ""))
        size: Size = getattr(settings.sizes, name)
        self.log_group = log_group(self, "Logs", settings)
        self.role = iam.Role(self, "Role", assumed_by=service_for_this_account("lambda.amazonaws.com"))
        if caged:
            self._deny_everything(placed=code.network is not None)
        else:
            self._allow_logs()
        network, restored = code.network, settings.snap_start and name in SNAPSHOT
        if network is not None:
            self.allow(entry())
        self.function = lambda_.Function(
            self,
            "Function",
            runtime=lambda_.Runtime.PYTHON_3_13,
            architecture=lambda_.Architecture.ARM_64,
            handler=code.start or f"functions.{name}.handler.handler",
            code=code.source,
            layers=list(code.layers),
            role=self.role,
            memory_size=size.memory,
            timeout=cdk.Duration.seconds(size.timeout),
            reserved_concurrent_executions=size.at_once,
            ephemeral_storage_size=cdk.Size.mebibytes(size.disk) if size.disk > SMALLEST_DISK else None,
            environment={**environment, "POWERTOOLS_LOG_LEVEL": settings.log_level},
            log_group=self.log_group,
            tracing=lambda_.Tracing.DISABLED if caged or name in UNTRACED else lambda_.Tracing.ACTIVE,
            # Each agent's tools have execution environments of their own, so that no data passes between agents.
            tenancy_config=lambda_.TenancyConfig.PER_TENANT if caged else None,
            retry_attempts=size.tries,
            dead_letter_queue=dead_letters,
            vpc=network.vpc if network else None,
            security_groups=network.functions if network else None,
            snap_start=lambda_.SnapStartConf.ON_PUBLISHED_VERSIONS if restored else None,
        )
        accept(self.function, "L1", "Python 3.13 is the version that is tested and locked for.")
        self.alias = self._live() if restored or (settings.gradual and name in SHIFTED) else None
        """The alias `live` of the versions, if a snapshot belongs to each, or if a release shifts traffic between them."""
        self.target: lambda_.IFunction = self.alias or self.function
        """What callers invoke: the alias, else the function itself."""

    def allow(self, *grants: Grant) -> None:
        """Add the permissions to the function's role."""
        give(self.role, *grants)

    def allow_invoke_by(self, role: iam.IRole) -> None:
        """Allow the invocation of exactly the target and of no other version: the library's grant would add `:*`."""
        role.add_to_principal_policy(iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=[self.target.function_arn]))

    def _live(self) -> lambda_.Alias:
        """The alias of a version that each change of the function publishes. Its deployment ends when the snapshot is
        complete.
        """
        return lambda_.Alias(self, "Live", alias_name=LIVE, version=self.function.current_version)

    def _allow_logs(self) -> None:
        streams = iam.PolicyStatement(
            actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[self.log_group.log_group_arn]
        )
        self.role.add_to_policy(streams)
        accept(self.role, f"IAM5[{ANYTHING}]", "X-Ray's PutTraceSegments takes no resource.")

    def _deny_everything(self, *, placed: bool) -> None:
        """`placed`: the function is in a VPC, into which Lambda places it by calls with this role."""
        # A child process with users' code can read its parent's credentials, so they must permit nothing.
        # The reply contains the child's output, and `advance_turn` stores it.
        if not placed:
            self.role.add_to_policy(iam.PolicyStatement(effect=iam.Effect.DENY, actions=["*"], resources=["*"]))
            return
        others = iam.PolicyStatement(effect=iam.Effect.DENY, not_actions=list(ENTRY), resources=["*"])
        # Lambda writes the key into the credentials that a function gets, and into none of its own
        # (AWS Lambda developer guide, "Working with Lambda execution environment credentials").
        of_the_code = {"Null": {"lambda:SourceFunctionArn": "false"}}
        everything = iam.PolicyStatement(effect=iam.Effect.DENY, actions=["*"], resources=["*"], conditions=of_the_code)
        for statement in (others, everything):
            self.role.add_to_policy(statement)
