"""The differences between environments, and all sizes and limits of the stack. Plain values: importing this module loads no
CDK.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Literal, get_args

from hibernaut.domain.models.embedding_models import BEDROCK, BEDROCK_MODELS
from hibernaut.schemas.messages.frozen_prompt import PromptMode
from hibernaut.schemas.models.model_call import CacheLife
from hibernaut.services.host import TraceMode
from hibernaut.store.versions.version_store import RETENTION
from hibernaut.wiring.configuration.browser_settings import hosts_in, origins_in
from hibernaut.wiring.configuration.retention_settings import NOTHING_LEAVES, RetentionNames, RetentionSettings, retention_in
from hibernaut.wiring.configuration.schedule_settings import most_alarms_in
from hibernaut.wiring.configuration.variables import address_in, days_in
from hibernaut.wiring.settings import prompt_cache_in, system_prompt_in, tenant_budget_in, traces_in
from infra.bedrock_models import DEFAULT_MODELS, models_in
from infra.capacity import followers_in, number_in, reply_seconds_in, tool_seconds_in
from infra.context import parts_in, wished
from infra.default_model import default_model_in
from infra.endpoint_settings import Endpoint, endpoint_in, ranges_in
from infra.identity_settings import identity_variables_in
from infra.network_settings import ToolNetworkKind, Vpc, tool_network_in, vpc_in
from infra.outward_settings import outward_variables_in
from infra.package_settings import package_variables_in
from infra.release_kind import ReleaseKind, release_in
from infra.search_settings import Search, search_in
from infra.tag_settings import tags_in

EnvironmentName = Literal["dev", "staging", "prod"]
EventsKind = Literal["none", "bus"]

GATEWAY_SECONDS = 29
"""Seconds of API Gateway's time limit for a buffered response: of every route that calls no model."""
STREAM_SECONDS = 900
"""Seconds for which API Gateway keeps a streamed response open, which is also Lambda's longest time limit."""
WEB_ADAPTER = "753240598075", "LambdaAdapterLayerArm64:27"
"""AWS's public layer with the Lambda Web Adapter (release 1.0.0), by account and name: the same in every commercial region."""
FOLLOWERS = 200
"""The reserved concurrency of streams in production, so that followers and other requests cannot starve one another."""
RETENTION_NAMES = RetentionNames("restDays", "retentionDays", "retention")
_KEY = re.compile(r"arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+")
"""A key and not an alias: a role's permission names the key itself."""
OWN_KEY = "stack"
_MAIL = re.compile(r"[^\s@,]+@[^\s@,]+\.[^\s@,]+")
_TOPIC = re.compile(r"arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,256}")
"""No FIFO topic: alarms cannot publish to one."""


@dataclass(frozen=True, slots=True)
class Size:
    """Memory in MB (1,769 MB are one whole CPU) and the time limit in seconds. `at_once`: the reserved concurrency, which reduces
    the account's quota (None: unreserved). `tries`: the number of retries of a failed asynchronous invocation.
    `disk`: the temporary folder in MB.
    """

    memory: int
    timeout: int
    at_once: int | None = None
    tries: int = 0
    disk: int = 512


@dataclass(frozen=True, slots=True)
class Sizes:
    """One size per function. A step may include a model call of 12 minutes, so `advance_turn` has Lambda's maximum of 15; so has
    `run_tool` and `run_node`, whose child is killed at its own, much lower limit. If `summarize` exceeds its limit, the window is
    shortened without a summary. An environment of `stream` serves one follower. `index_memory` embeds one batch of the change
    stream; the next invocation continues unfinished work. `socket` answers events in milliseconds, and its workers follow runs.
    `ingest_file` processes one whole file. `fire_schedule` may make several summaries. The folders of `build_packages` and
    `run_tool` hold packages of tools, zipped and not, with their byte code.
    """

    api: Size = Size(1024, GATEWAY_SECONDS)
    advance_turn: Size = Size(1024, 900)
    build_packages: Size = Size(1769, 300, disk=2048)
    close_run: Size = Size(512, 60)
    deliver_events: Size = Size(512, 180)
    fire_schedule: Size = Size(1024, 900)
    index_memory: Size = Size(1024, 900)
    ingest_file: Size = Size(1769, 900, tries=2)
    request_approval: Size = Size(512, 60)
    run_node: Size = Size(1769, 900)
    run_tool: Size = Size(1769, 900, disk=2048)
    socket: Size = Size(1024, STREAM_SECONDS)
    stream: Size = Size(1024, STREAM_SECONDS)
    summarize: Size = Size(1024, 400)
    sweep_runs: Size = Size(512, 55)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one environment.

    `keep_data`: table and bucket survive the stack, and the table has deletion protection. `log_days`: the retention period of
    logs. `rate`, `burst`: the gateway's limits in requests per second. `endpoint`: the permitted callers and the name of the API.
    `hosts`: further names of the API, in addition to the gateway's own one and the endpoint's domain. `origins`: the foreign
    origins whose web pages may call the API. `embedding`: the handle of the model that embeds memory (empty: OpenAI's, if its key
    is set). `traces`: the stored part of model calls, for one day. `prompt_cache`: how long providers cache the prefix of a
    prompt. `system_prompt`: whether the system message stays frozen for a window. `websockets`: serve the WebSocket API as well.
    `dashboard`: create a page of graphs, which costs money even when no agent is active. `alarms`: the recipient of alarms, an
    e-mail address or the ARN of an SNS topic (empty: nobody).
    `snap_start`: start `api` and `advance_turn` from snapshots, which cost money even when no agent is active.
    `release`: the shift of traffic to new code. `otlp`: the base address of a collector of spans (empty: none).
    `secrets_key`: the ARN of the KMS key that protects stored secrets (empty: the stack has its own). `bedrock_models`: the ids
    of the models of Bedrock that the functions may invoke; the first one is the default unless `default_model` is a handle.
    `tool_seconds`: the time limit of a custom tool, `reply_seconds`: the time limit of a reply between agents (None: the server's
    default). `tenant_budget`: the default budget of a tenant (empty: none). `history`: the retention period of versions of
    memory. `retention`: the retention of messages in the table. `identity`: the variables of the API's identity provider.
    `outward`: the variables with private addresses that outward requests may reach. `packages`: the variables for packages of
    tools. `events`: `bus`: events of all tenants go to an event bus of EventBridge; webhooks work with either value.
    `data_keys`: the KMS key of all stored data, `stack`
    for the stack's own key or an ARN, followed by older keys that only decrypt (none: AWS's keys). `vpc`: the network of the
    functions. `tool_network`: the network of the sandbox of custom tools.
    `tags`: further names and values of all resources.
    `narrowed`: functions that serve one tenant reach its keys only, by sessions of a role. `most_alarms`: the number of schedules
    of a tenant that EventBridge fires; the sweep fires the others (None: the server's default).
    """

    name: EnvironmentName
    keep_data: bool = False
    log_days: int = 7
    rate: int = 50
    burst: int = 100
    log_level: str = "INFO"
    endpoint: Endpoint = field(default_factory=Endpoint)
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    search: Search = field(default_factory=Search)
    embedding: str = ""
    traces: TraceMode = "off"
    prompt_cache: CacheLife = "5m"
    system_prompt: PromptMode = "frozen"
    dashboard: bool = False
    websockets: bool = False
    alarms: str = ""
    snap_start: bool = False
    release: ReleaseKind = "all-at-once"
    otlp: str = ""
    secrets_key: str = ""
    bedrock_models: tuple[str, ...] = DEFAULT_MODELS
    default_model: str = ""
    tool_seconds: int | None = None
    reply_seconds: int | None = None
    tenant_budget: str = ""
    history: timedelta = RETENTION
    retention: RetentionSettings = NOTHING_LEAVES
    identity: tuple[tuple[str, str], ...] = ()
    outward: tuple[tuple[str, str], ...] = ()
    packages: tuple[tuple[str, str], ...] = ()
    events: EventsKind = "none"
    data_keys: tuple[str, ...] = ()
    vpc: Vpc = field(default_factory=Vpc)
    tool_network: ToolNetworkKind = "closed"
    tags: tuple[tuple[str, str], ...] = ()
    narrowed: bool = False
    most_alarms: int | None = None
    sizes: Sizes = field(default_factory=Sizes)

    @property
    def stack_name(self) -> str:
        """The name of the stack, and of the resources with explicit names."""
        return f"hibernaut-{self.name}"

    @property
    def parameters(self) -> str:
        """The path of this environment's secrets in Parameter Store."""
        return f"/hibernaut/{self.name}"

    @property
    def gradual(self) -> bool:
        """Whether a release shifts traffic from one version to the next."""
        return self.release != "all-at-once"

    @property
    def tools_call_the_api(self) -> bool:
        """Whether the `client` of a tool reaches the API: the sandbox has a network, and every address may call, as it has no
        address of its own.
        """
        return self.tool_network == "open" and self.endpoint.public and not self.endpoint.vpc_endpoints

    @property
    def bedrock_model(self) -> str | None:
        """The Bedrock model for embedding, or None."""
        provider, _, model = self.embedding.partition("/")
        return model if provider == BEDROCK else None


def settings_in(context: Mapping[str, str]) -> Settings:
    """The settings in the CDK context (`docs/aws.md` lists the keys). Raises: ValueError for an invalid value."""
    base = settings_of(str(context.get("env", "dev")))
    search = search_in(context)
    embedding = _embedding(str(context.get("embedding", "")))
    bedrock_models = models_in(context.get("bedrockModels"))
    return replace(
        base,
        endpoint=endpoint_in(context),
        rate=number_in(context, "rate", base.rate),
        burst=number_in(context, "burst", base.burst),
        sizes=replace(base.sizes, stream=replace(base.sizes.stream, at_once=followers_in(context, base.sizes.stream.at_once))),
        tool_seconds=tool_seconds_in(context),
        reply_seconds=reply_seconds_in(context),
        default_model=default_model_in(str(context.get("defaultModel", "")), bedrock_models),
        search=search,
        embedding=embedding,
        traces=traces_in({"HIBERNAUT_TRACES": context.get("traces", "")}, "off"),
        prompt_cache=prompt_cache_in({"HIBERNAUT_PROMPT_CACHE": context.get("promptCache", "")}),
        system_prompt=system_prompt_in({"HIBERNAUT_SYSTEM_PROMPT": context.get("systemPrompt", "")}),
        hosts=hosts_in({"HIBERNAUT_ALLOWED_HOSTS": context.get("hosts", "")}),
        origins=origins_in({"HIBERNAUT_CORS_ORIGINS": context.get("origins", "")}),
        dashboard=wished(context, "dashboard"),
        websockets=wished(context, "websockets"),
        alarms=_alarm_target(str(context.get("alarms", ""))),
        snap_start=wished(context, "snapStart"),
        release=release_in(context),
        secrets_key=_key("secretsKey", str(context.get("secretsKey", ""))),
        bedrock_models=bedrock_models,
        otlp=address_in({"otlp": str(context.get("otlp", ""))}, "otlp"),
        tenant_budget=tenant_budget_in({"HIBERNAUT_TENANT_BUDGET": str(context.get("tenantBudget", ""))}),
        history=days_in({"historyDays": str(context.get("historyDays", ""))}, "historyDays", RETENTION),
        retention=retention_in({name: str(context.get(name, "")) for name in RETENTION_NAMES}, RETENTION_NAMES),
        identity=identity_variables_in(context),
        outward=outward_variables_in(context),
        packages=package_variables_in(context),
        events=_events(str(context.get("events", "none"))),
        data_keys=_data_keys(parts_in(context, "dataKey")),
        vpc=vpc_in(context, search),
        tool_network=tool_network_in(context),
        tags=tags_in(context),
        narrowed=_narrowed(str(context.get("tenantCredentials", "shared"))),
        most_alarms=_most_alarms(context),
    )


def _embedding(handle: str) -> str:
    provider, _, model = handle.partition("/")
    if provider == BEDROCK and model not in BEDROCK_MODELS:
        raise ValueError(f"no embedding {handle!r}; of Bedrock there are {', '.join(BEDROCK_MODELS)}")
    return handle


def _alarm_target(target: str) -> str:
    if target and not (_MAIL.fullmatch(target) or _TOPIC.fullmatch(target)):
        raise ValueError(
            f"alarms must be an e-mail address or a topic's ARN like arn:aws:sns:eu-central-1:123456789012:name, not {target!r}"
        )
    return target


def _events(kind: str) -> EventsKind:
    if kind not in get_args(EventsKind):
        raise ValueError(f"events must be one of {', '.join(get_args(EventsKind))}, not {kind!r}")
    return kind  # type: ignore[return-value]  # one of them, as was checked


def _narrowed(text: str) -> bool:
    if text not in ("shared", "narrowed"):
        raise ValueError(f"tenantCredentials must be shared or narrowed, not {text!r}")
    return text == "narrowed"


def _most_alarms(context: Mapping[str, str]) -> int | None:
    text = str(context.get("mostAlarms", ""))
    return most_alarms_in({"HIBERNAUT_MOST_ALARMS": text}) if text else None


def _key(name: str, arn: str) -> str:
    if arn and not _KEY.fullmatch(arn):
        raise ValueError(f"{name} must be a key's ARN like arn:aws:kms:eu-central-1:123456789012:key/…, not {arn!r}")
    return arn


def _data_keys(parts: tuple[str, ...]) -> tuple[str, ...]:
    own = parts[:1] == (OWN_KEY,)
    return (*parts[:own], *(_key("dataKey", part) for part in parts[own:]))


def settings_of(name: str, callers: str = "") -> Settings:
    """The settings of an environment; `callers` are address ranges separated by commas. Raises: ValueError for an unknown name,
    and for an invalid range.
    """
    endpoint = Endpoint(ranges_in(callers))
    match name:
        case "dev":
            return Settings("dev", endpoint=endpoint)
        case "staging":
            return Settings("staging", log_days=14, endpoint=endpoint)
        case "prod":
            sizes = Sizes(stream=Size(1024, STREAM_SECONDS, at_once=FOLLOWERS))
            return Settings("prod", keep_data=True, log_days=90, rate=500, burst=1000, endpoint=endpoint, sizes=sizes)
        case _:
            raise ValueError(f"no environment {name!r}; there are {', '.join(get_args(EnvironmentName))}")
