"""One environment of Hibernaut: what there is, and which function may touch what."""

from __future__ import annotations

from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.artifacts import Artifacts
from infra.constructs.alarms import Alarms
from infra.constructs.findings import Grant
from infra.constructs.functions import Code, OurFunction
from infra.constructs.gateway import Gateway
from infra.constructs.schedule import EveryMinute, dead_letters
from infra.constructs.storage import Storage
from infra.constructs.workflow import Workflow, machine_arn, start_access, stop_access
from infra.settings import Settings


@dataclass(frozen=True, slots=True)
class Functions:
    api: OurFunction
    advance_turn: OurFunction
    close_run: OurFunction
    run_tool: OurFunction
    sweep_runs: OurFunction


class HibernautStack(cdk.Stack):
    def __init__(self, scope: Construct, *, settings: Settings, artifacts: Artifacts) -> None:
        super().__init__(
            scope,
            f"Hibernaut-{settings.name}",
            stack_name=settings.stack_name,
            description="Hibernaut: stateful agents that sleep for free",
            tags={"project": "hibernaut", "environment": settings.name},
            termination_protection=settings.keep_data,
        )
        self._settings = settings
        self._storage = Storage(self, "Storage", settings)
        self._letters = dead_letters(self)
        functions = self._functions(artifacts)
        self._grant(functions)
        workflow = Workflow(
            self, "Workflow", settings=settings, advance_turn=functions.advance_turn, close_run=functions.close_run
        )
        gateway = Gateway(self, "Gateway", settings=settings, api=functions.api)
        EveryMinute(self, "EveryMinute", sweep_runs=functions.sweep_runs, letters=self._letters)
        Alarms(self, "Alarms", workflow=workflow, sweep_runs=functions.sweep_runs, letters=self._letters)
        self._outputs(gateway, workflow)

    def _functions(self, artifacts: Artifacts) -> Functions:
        settings = self._settings
        code = Code(lambda_.Code.from_asset(str(artifacts.code)), self._layer("Dependencies", str(artifacts.layer)))
        cage = Code(lambda_.Code.from_asset(str(artifacts.cage_code)), self._layer("CageDependencies", str(artifacts.cage_layer)))
        run_tool = OurFunction(self, "run_tool", code=cage, settings=settings, environment={}, caged=True)
        environment = {
            "HIBERNAUT_ENV": settings.name,
            "HIBERNAUT_TABLE": self._storage.table.table_name,
            "HIBERNAUT_BUCKET": self._storage.blobs.bucket_name,
            "HIBERNAUT_STATE_MACHINE": machine_arn(self, settings),
            "HIBERNAUT_RUN_TOOL": run_tool.function.function_name,
            "HIBERNAUT_PARAMETERS": settings.parameters,
        }
        api, advance_turn, close_run, sweep_runs = (
            OurFunction(self, name, code=code, settings=settings, environment=environment, dead_letters=letters)
            for name, letters in (("api", None), ("advance_turn", None), ("close_run", None), ("sweep_runs", self._letters))
        )
        return Functions(api, advance_turn, close_run, run_tool, sweep_runs)

    def _grant(self, functions: Functions) -> None:
        """All but the cage read and write records, may start the run that is next in a queue, and resolve the models of an agent,
        which needs the providers' keys. Tools are run by two; an execution is stopped only from outside of it."""
        for function in (functions.api, functions.advance_turn, functions.close_run, functions.sweep_runs):
            function.allow(*self._storage.table_access(), *self._storage.blob_access())
            function.allow(start_access(self, self._settings), self._secret_access())
        for function in (functions.api, functions.sweep_runs):
            function.allow(stop_access(self, self._settings))
        for function in (functions.api, functions.advance_turn):
            functions.run_tool.allow_invoke_by(function.role)

    def _secret_access(self) -> Grant:
        path = self._settings.parameters.lstrip("/")
        names = [
            self.format_arn(service="ssm", resource="parameter", resource_name=f"{path}/{name}")
            for name in self._settings.secrets
        ]
        return Grant(iam.PolicyStatement(actions=["ssm:GetParameters"], resources=names))

    def _layer(self, id: str, folder: str) -> lambda_.LayerVersion:
        return lambda_.LayerVersion(
            self,
            id,
            code=lambda_.Code.from_asset(folder),
            compatible_runtimes=[lambda_.Runtime.PYTHON_3_13],
            compatible_architectures=[lambda_.Architecture.ARM_64],
        )

    def _outputs(self, gateway: Gateway, workflow: Workflow) -> None:
        for name, value in (
            ("ApiUrl", gateway.rest.url),
            ("TableName", self._storage.table.table_name),
            ("BucketName", self._storage.blobs.bucket_name),
            ("StateMachineArn", workflow.machine.state_machine_arn),
            ("SecretsPath", self._settings.parameters),
        ):
            cdk.CfnOutput(self, name, value=value)
