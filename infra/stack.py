"""The stack of one environment: its resources, and the permissions of each function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from hibernaut import __version__
from hibernaut.store.table.blob_keys import PACKAGES
from hibernaut.wiring.configuration.tool_settings import INDEX
from infra.artifacts import Artifacts
from infra.certificate_folder import certificate_variables
from infra.constructs.agent_schedules import AgentSchedules
from infra.constructs.alarms import Alarms
from infra.constructs.bedrock import invoke_access, list_access
from infra.constructs.collection import MemoryCollection
from infra.constructs.dashboard import Dashboard
from infra.constructs.data_key import use_for, use_of
from infra.constructs.events import EventFeed, TenantEventBus
from infra.constructs.failures import OnFailure
from infra.constructs.feed import MemoryFeed, embedding_access
from infra.constructs.findings import Grant
from infra.constructs.functions import Code, OurFunction
from infra.constructs.gateway import Gateway
from infra.constructs.network import Network
from infra.constructs.releases import GradualRelease
from infra.constructs.schedule import EveryMinute, dead_letters
from infra.constructs.search import MemoryDomain
from infra.constructs.secrets import SecretsKey
from infra.constructs.sockets import WebSocketApi
from infra.constructs.storage import Storage
from infra.constructs.tenant_role import NARROWED, TenantRole
from infra.constructs.tool_network import ToolNetwork
from infra.constructs.uploads import OnUpload
from infra.constructs.workflow import RunStateMachine, end_wait_access, start_access, stop_access
from infra.function_variables import function_variables
from infra.search_settings import zones_of
from infra.settings import WEB_ADAPTER, Settings
from infra.stack_functions import CAGED, NEAR_THE_INDEX, TASKS, UNAWAITED, Functions

ADAPTED = {
    "AWS_LAMBDA_EXEC_WRAPPER": "/opt/bootstrap",
    "AWS_LWA_INVOKE_MODE": "response_stream",
    "AWS_LWA_PORT": "8080",
    "AWS_LWA_READINESS_CHECK_PATH": "/v1/health/",
}
"""The configuration of the Web Adapter (github.com/awslabs/aws-lambda-web-adapter); `functions/stream/run.sh` starts the server
that it waits for.
"""


class HibernautStack(cdk.Stack):
    """The stack of one environment."""

    def __init__(self, scope: Construct, *, settings: Settings, artifacts: Artifacts) -> None:
        super().__init__(
            scope,
            f"Hibernaut-{settings.name}",
            stack_name=settings.stack_name,
            description="Hibernaut: stateful agents that sleep for free",
            tags={"Application": "hibernaut", "Environment": settings.name, **dict(settings.tags)},
            termination_protection=settings.keep_data,
        )
        self._settings = settings
        self._storage = Storage(self, "Storage", settings)
        self._secrets = SecretsKey(self, "Secrets", settings)
        self._letters = dead_letters(self, settings)
        search = settings.search
        self._indexer = () if search.kind == "none" else ("index_memory",)
        near = bool(self._indexer) and search.vpc
        self._network = (
            Network(self, "Network", settings=settings.vpc, zones=zones_of(search.count)) if near or settings.vpc.id else None
        )
        functions = self._functions(artifacts)
        self._grant(functions)
        workflow = RunStateMachine(self, "Workflow", settings=settings, tasks={name: getattr(functions, name) for name in TASKS})
        gateway = Gateway(self, "Gateway", settings=settings, api=functions.api, stream=functions.stream)
        gateway.tell_tools((functions.api, *functions.waiting, functions.advance_turn), settings)
        if functions.socket is not None:
            self._sockets(gateway, functions.socket)
        EveryMinute(self, "EveryMinute", sweep_runs=functions.sweep_runs, letters=self._letters)
        OnFailure(self, "OnFailure", workflow=workflow, sweep_runs=functions.sweep_runs, letters=self._letters)
        OnUpload(self, "OnUpload", bucket=self._storage.blobs, ingest_file=functions.ingest_file, letters=self._letters)
        self._index(functions)
        self._events(functions)
        self._schedules(functions)
        Alarms(
            self,
            "Alarms",
            settings=settings,
            workflow=workflow,
            rest=gateway.rest,
            functions=functions.by_name(),
            letters=self._letters,
        )
        if settings.gradual:
            aliases = {name: one.alias for name, one in functions.by_name().items() if one.alias is not None}
            GradualRelease(self, "Release", settings=settings, aliases=aliases)
        if settings.dashboard:
            Dashboard(
                self,
                "Dashboard",
                settings=settings,
                rest=gateway.rest,
                workflow=workflow,
                functions=functions.by_name(),
                table=self._storage.table,
                letters=self._letters,
            )
        self._outputs(gateway, workflow, functions.index_memory)

    def _functions(self, artifacts: Artifacts) -> Functions:
        settings = self._settings
        source = lambda_.Code.from_asset(str(artifacts.code))
        code = Code(source, (self._layer("Dependencies", str(artifacts.layer)),))
        served = Code(source, (*code.layers, self._web_adapter()), start="functions/stream/run.sh", network=self._network)
        closed = settings.tool_network == "closed"
        cage = Code(
            lambda_.Code.from_asset(str(artifacts.cage_code)),
            (self._layer("CageDependencies", str(artifacts.cage_layer)),),
            network=ToolNetwork(self, "ToolNetwork", packages=self._storage.blobs) if closed else None,
        )
        with_node = replace(cage, layers=(*cage.layers, self._layer("Node", str(artifacts.node_layer))))
        caged = {
            name: OurFunction(self, name, code=own, settings=settings, environment={}, caged=True)
            for name, own in zip(CAGED, (cage, with_node), strict=True)
        }
        environment = function_variables(self, settings, self._storage, **caged) | certificate_variables(artifacts.layer)
        stream = OurFunction(self, "stream", code=served, settings=settings, environment={**environment, **ADAPTED})
        sockets = ("socket",) if settings.websockets else ()
        names = (
            "api",
            "build_packages",
            "advance_turn",
            "summarize",
            "request_approval",
            "close_run",
            *UNAWAITED,
            *self._indexer,
            *sockets,
        )
        functions = {
            name: OurFunction(
                self,
                name,
                code=replace(code, network=self._network) if settings.vpc.id or name in NEAR_THE_INDEX else code,
                settings=settings,
                environment=environment,
                dead_letters=self._letters if name in UNAWAITED else None,
            )
            for name in names
        }
        indexer = functions.pop("index_memory", None)
        return Functions(**functions, **caged, stream=stream, index_memory=indexer)

    def _sockets(self, gateway: Gateway, socket: OurFunction) -> None:
        """The WebSocket API. Its function knows the names and origins that the REST API knows."""
        sockets = WebSocketApi(self, "Sockets", settings=self._settings, socket=socket, account=gateway.account)
        gateway.name(socket, self._settings)
        cdk.CfnOutput(self, "SocketUrl", value=sockets.address(self._settings, "wss"))

    def _index(self, functions: Functions) -> None:
        """The memory index, if it is enabled. All functions but the sandbox know of it: a function that writes something
        searchable leaves a pointer for it. One function feeds the index, three search it, and these four embed.
        """
        settings, writer, f = self._settings, functions.index_memory, functions
        if writer is None:
            return
        readers = (f.api, *f.waiting, f.advance_turn)
        for name, value in self._index_variables(writer, readers).items():
            for function in f.knowing:
                function.function.add_environment(name, value)
        self._secrets.allow(writer, sealing=False)  # texts are embedded by the keys of tenants' own providers
        if settings.bedrock_model is not None:
            for function in (writer, *readers):
                function.allow(embedding_access(self, settings.bedrock_model))
        late = settings.search.kind == "serverless"
        MemoryFeed(self, "MemoryFeed", table=self._storage.table, index_memory=writer, letters=self._letters, late=late)

    def _events(self, functions: Functions) -> None:
        """What passes events on. Every function that writes for tenants knows of the bus, if there is one."""
        f = functions
        table, letters = self._storage.table, self._letters
        EventFeed(self, "EventFeed", table=table, deliver_events=f.deliver_events, sweep_runs=f.sweep_runs, letters=letters)
        if self._settings.events == "bus":
            TenantEventBus(self, "Events", name=self._settings.stack_name, deliver_events=f.deliver_events, writers=f.knowing)

    def _schedules(self, functions: Functions) -> None:
        """The schedules of agents, which the API puts into EventBridge, and one function fires."""
        f = functions
        AgentSchedules(
            self, "Schedules", settings=self._settings, api=f.api, fire_schedule=f.fire_schedule, sweep_runs=f.sweep_runs
        )

    def _index_variables(self, writer: OurFunction, readers: Sequence[OurFunction]) -> dict[str, str]:
        """Make the index, and return the variables that tell of it."""
        settings = self._settings
        if settings.search.kind == "serverless":
            collection = MemoryCollection(self, "Memory", settings=settings, writer=writer, readers=readers)
            cdk.CfnOutput(self, "CollectionArn", value=collection.collection.attr_arn)
            return {"HIBERNAUT_OPENSEARCH": collection.address, "HIBERNAUT_OPENSEARCH_SERVICE": "aoss"}
        domain = MemoryDomain(
            self,
            "Memory",
            settings=settings,
            writer=writer,
            readers=readers,
            network=self._network if settings.search.vpc else None,
        )
        copies = {"HIBERNAUT_OPENSEARCH_REPLICAS": "1"} if settings.search.count > 1 else {}
        return {"HIBERNAUT_OPENSEARCH": domain.address, **copies}

    def _grant(self, functions: Functions) -> None:
        """Grant the permissions. All functions but the sandbox read and write records. A function that may end a run may start
        the next one in the queue; only functions outside an execution may stop it. Tools are run by the API on request, and by
        the two functions that drive runs. Functions that accept files, and the sweep, start their ingestion. Functions that end
        waits answer, deny and withdraw approvals. The API encrypts secrets; functions that call models, and the one that calls
        webhooks, decrypt them; the sweep does both, for the agents of a template's migration. A function
        that sends spans reads the collector's key. Models are called by
        steps, by summaries, by scheduled compactions, and by the routes of `stream`; the API resolves handles, and so does the
        sweep, for the prototypes of a template's migration.
        """
        f = functions
        settings = self._settings
        self._grant_storage(f)
        for function in f.knowing:
            if settings.otlp or function not in (f.request_approval, f.close_run, f.deliver_events):
                function.allow(self._secret_access(), *use_of(self, settings, "ssm"))
        self._secrets.allow(f.deliver_events, sealing=False)
        self._secrets.allow(f.sweep_runs, sealing=True)
        for function in (f.sweep_runs, f.ingest_file, f.fire_schedule):
            function.allow(*use_for(self._letters))
        for function in (f.api, *f.waiting, f.advance_turn, f.summarize, f.close_run, f.sweep_runs, f.fire_schedule):
            function.allow(start_access(self, settings))
        for function in (f.api, *f.waiting, f.sweep_runs):
            function.allow(stop_access(self, settings))
        for function in (f.api, *f.waiting, f.advance_turn, f.request_approval, f.sweep_runs):
            function.allow(end_wait_access(self, settings))
        for function in (f.api, *f.waiting, f.advance_turn):
            f.run_tool.allow_invoke_by(function.role)
            f.run_node.allow_invoke_by(function.role)
        self._packages(f)
        for function in (f.api, f.sweep_runs):
            f.ingest_file.allow_invoke_by(function.role)
            function.function.add_environment("HIBERNAUT_INGEST_FILE", f.ingest_file.function.function_name)

        for function in (f.api, *f.waiting, f.advance_turn, f.summarize, f.fire_schedule):
            self._secrets.allow(function, sealing=function in (f.api, *f.waiting, f.advance_turn))
            if settings.bedrock_models:
                function.allow(list_access())
        for function in (*f.waiting, f.advance_turn, f.summarize, f.fire_schedule):
            function.allow(*invoke_access(self, settings.bedrock_models))

    def _packages(self, functions: Functions) -> None:
        """The packages of tools: the API invokes their builds, and the functions that run tools sign the addresses from which the
        sandbox fetches them.
        """
        f, storage = functions, self._storage
        f.build_packages.allow(storage.objects_access(f"{PACKAGES}*"), storage.list_access(), *use_of(self, self._settings, "s3"))
        f.build_packages.allow_invoke_by(f.api.role)
        if (INDEX, "none") not in self._settings.packages:
            f.api.function.add_environment("HIBERNAUT_BUILD_PACKAGES", f.build_packages.function.function_name)
        for name, value in self._settings.packages:
            f.build_packages.function.add_environment(name, value)
        if self._settings.narrowed:
            for function in (f.api, f.stream, f.advance_turn):
                function.allow(storage.packages_access(), *use_of(self, self._settings, "s3"))

    def _grant_storage(self, functions: Functions) -> None:
        """All functions but the sandbox read and write records: of all tenants, or of one at a time if the settings say so."""
        storage, settings = self._storage, self._settings
        narrowed = [getattr(functions, name) for name in NARROWED] if settings.narrowed else []
        if narrowed:
            TenantRole(self, "TenantRole", settings=settings, storage=storage, functions=narrowed)
            functions.api.allow(storage.upload_access(), *use_of(self, settings, "s3"))
        for function in functions.knowing:
            if function not in narrowed:
                bodies = storage.blob_access() if function is not functions.deliver_events else []
                function.allow(*storage.table_access(), *bodies)

    def _secret_access(self) -> Grant:
        # IAM checks the path itself, as the call names it (aws/aws-dotnet-extensions-configuration#108).
        path = self.format_arn(service="ssm", resource="parameter", resource_name=self._settings.parameters.lstrip("/"))
        return Grant(iam.PolicyStatement(actions=["ssm:GetParametersByPath"], resources=[path]))

    def _web_adapter(self) -> lambda_.ILayerVersion:
        account, name = WEB_ADAPTER
        arn = self.format_arn(
            service="lambda", account=account, resource="layer", resource_name=name, arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME
        )
        return lambda_.LayerVersion.from_layer_version_arn(self, "WebAdapter", arn)

    def _layer(self, id: str, folder: str) -> lambda_.LayerVersion:
        return lambda_.LayerVersion(
            self,
            id,
            code=lambda_.Code.from_asset(folder),
            compatible_runtimes=[lambda_.Runtime.PYTHON_3_13],
            compatible_architectures=[lambda_.Architecture.ARM_64],
        )

    def _outputs(self, gateway: Gateway, workflow: RunStateMachine, indexer: OurFunction | None) -> None:
        for name, value in (
            ("ApiUrl", gateway.url),
            ("TableName", self._storage.table.table_name),
            ("BucketName", self._storage.blobs.bucket_name),
            ("StateMachineArn", workflow.machine.state_machine_arn),
            ("SecretsPath", self._settings.parameters),
            ("SecretsKeyArn", self._secrets.arn),
            ("DeadLettersUrl", self._letters.queue_url),
            ("Version", __version__),
            *([("IndexFunction", indexer.function.function_name)] if indexer else []),
        ):
            cdk.CfnOutput(self, name, value=value)
