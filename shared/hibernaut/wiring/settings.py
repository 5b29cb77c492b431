"""Settings, read from the environment. The only module that reads it.

    HIBERNAUT_DATA            data folder of the embedded profile (default: the system's folder for a user's data)
    HIBERNAUT_DEFAULT_MODEL   handle of the default model of new agents (default: the provider's, else hibernaut/demo)
    HIBERNAUT_DEFAULT_EMBEDDING    handle of the model that embeds memory, or none (default: hibernaut/minilm if it is installed)
    HIBERNAUT_EMBEDDING_DIMENSION  dimension of its vectors, if it is unknown or should be shorter
    HIBERNAUT_TOOL_TIMEOUT    time limit of one call of a custom tool in seconds (default: 60)
    HIBERNAUT_TOOL_NETWORK    on or off: whether custom tools have a network (default: on); on AWS they have one
    HIBERNAUT_MCP_STDIO       on or off: whether MCP servers may be programs of this machine (default: off); on AWS they are not
    HIBERNAUT_PACKAGE_*       where tools' packages come from, and their limits (`wiring/configuration/tool_settings.py`)
    HIBERNAUT_AGENT_REPLY     time limit of a reply that one agent waits for from another, in seconds (default: 3600)
    HIBERNAUT_UPLOAD_LIMIT    size limit of one uploaded file in megabytes (default: 50); on AWS the API takes about 4
    HIBERNAUT_TRACES          on, redacted or off: whether the body of a model call is stored for a day (default: on; off on AWS)
    HIBERNAUT_PROMPT_CACHE    5m or 1h: how long Anthropic keeps the prefix of a prompt (default: 5m)
    HIBERNAUT_SYSTEM_PROMPT   frozen: the newest message contains changes of memory; recompiled: each run compiles the system
                              message anew (default: frozen)
    HIBERNAUT_HISTORY_DAYS    days for which versions of memory are kept (default: 90)
    HIBERNAUT_REST_DAYS, HIBERNAUT_RETENTION_DAYS, HIBERNAUT_RETENTION  retention of messages (default: unlimited)
    HIBERNAUT_ALLOWED_HOSTS   additional host names that the API answers to, separated by commas; 127.0.0.1, localhost and [::1]
                              are always allowed
    HIBERNAUT_CORS_ORIGINS    foreign origins whose pages may call the API, separated by commas (default: none)
    HIBERNAUT_TENANT_BUDGET   the default budget of a tenant, like tokens_per_day=1000000,cost_per_month=50 (default: none)
    HIBERNAUT_OTLP_*          where spans are sent; `wiring/tracing.py` lists the variables
    HIBERNAUT_PRIVATE_*       private addresses that outward requests may reach; `wiring/outward.py` lists the variables
    EXA_API_KEY, SEARXNG_BASE_URL   the search engine of `web_search`; EXA_BASE_URL is another address of Exa
    HIBERNAUT_JWT_*           the identity provider of tokens that replace API keys; `wiring/identity.py` lists the variables
    ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL   Anthropic; `adapters/model/dialects.py` names the variables of the other providers
    GOOGLE_CLOUD_PROJECT, GOOGLE_CLOUD_LOCATION   project and location whose Vertex AI is a provider
    GOOGLE_APPLICATION_CREDENTIALS   its credentials: a path or JSON (default: Google's default credentials)
    BEDROCK_REGION            AWS region whose Bedrock is a provider; requests are signed with the credentials of the process
    BEDROCK_MODELS            ids of the models that it offers, separated by commas; * stands for any characters (default: all)
    OPENAI_WIRE               responses or chat: the API of OPENAI_BASE_URL (default: responses for OpenAI's address, else chat)
    AZURE_WIRE                responses or chat: the API of AZURE_BASE_URL (default: chat)

On AWS (set by the stack):

    HIBERNAUT_ENV             dev, staging or prod
    HIBERNAUT_TABLE           name of the table
    HIBERNAUT_BUCKET          name of the bucket for large bodies
    HIBERNAUT_STATE_MACHINE   ARN of the heartbeat state machine
    HIBERNAUT_RUN_TOOL        name of the function that runs custom tools
    HIBERNAUT_RUN_NODE        name of the function that runs custom tools in TypeScript
    HIBERNAUT_BUILD_PACKAGES, HIBERNAUT_API_URL  what tools need (`wiring/configuration/tool_settings.py`)
    HIBERNAUT_LONGEST_FOLLOW  seconds after which a stream ends, so that its client resumes it (default: 840)
    HIBERNAUT_PARAMETERS      path in the Parameter Store that holds the providers' keys
    HIBERNAUT_TENANT_ROLE     ARN of a role that reaches one tenant's keys for each session (default: the function's own role)
    HIBERNAUT_SECRETS_KEY     ARN of the KMS key that protects stored secrets, in the functions that use it
    HIBERNAUT_OPENSEARCH      address of the OpenSearch domain or collection that indexes memory; without it memory is not indexed
    HIBERNAUT_OPENSEARCH_SERVICE   es: the address is that of a domain; aoss: of a serverless collection (default: es)
    HIBERNAUT_OPENSEARCH_REPLICAS  number of replicas of each index (default: 0)
    HIBERNAUT_INGEST_FILE     name of the function that reads uploaded files
    HIBERNAUT_DELIVER_EVENTS  name of the function that delivers events to webhooks and the event bus
    HIBERNAUT_EVENT_BUS       name of the event bus (default: none)
    HIBERNAUT_FIRE_SCHEDULE, HIBERNAUT_SCHEDULE_*, HIBERNAUT_MOST_ALARMS  schedules
                              (`wiring/configuration/schedule_settings.py`)
    HIBERNAUT_SOCKETS         address of the WebSocket API's stage, where messages are posted to connections
    HIBERNAUT_CALLERS         address ranges that may open WebSockets, or public, or none (default: none)
    HIBERNAUT_KEYS            optional: requests need no API key before the first one is created (default: required)
    BEDROCK_MODELS            the models of Bedrock, in the function's own region (default: none)
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from datetime import timedelta
from pathlib import Path
from typing import Literal

from hibernaut.domain.identity_tokens import TokenRules
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.frozen_prompt import PromptMode
from hibernaut.schemas.models.model_call import CacheLife
from hibernaut.services.host import TraceMode
from hibernaut.store.versions.version_store import RETENTION
from hibernaut.wiring.configuration import tool_settings
from hibernaut.wiring.configuration.browser_settings import hosts_in, origins_in
from hibernaut.wiring.configuration.mcp_settings import mcp_programs_in
from hibernaut.wiring.configuration.provider_variables import providers_in
from hibernaut.wiring.configuration.retention_settings import NOTHING_LEAVES, RetentionSettings, retention_in
from hibernaut.wiring.configuration.schedule_settings import NO_SCHEDULES, ScheduleSettings, schedules_in
from hibernaut.wiring.configuration.variables import BadSetting as BadSetting
from hibernaut.wiring.configuration.variables import address_in, copies_in, days_in, dimension_in, megabytes_in, seconds_in
from hibernaut.wiring.identity import identity_in
from hibernaut.wiring.outward import AT_HOME, PUBLIC_ONLY, OutwardPolicies, outward_in
from hibernaut.wiring.tenant_budget import tenant_budget_of
from hibernaut.wiring.tracing import NO_TRACING, TracingSettings, tracing_in

APPLICATION = "hibernaut"
"""The name of the system's folders for this user's data and state."""
DEFAULT_TOOL_TIMEOUT, DEFAULT_AGENT_REPLY, LONGEST_AGENT_REPLY = 60.0, 3600.0, 43_200
"""Seconds. A run lives for a day at most, so a reply may take half of that."""
LONGEST_FOLLOW = 840.0
"""Seconds. The gateway ends a reply after 15 minutes."""
TRACE_HEADER = "_X_AMZN_TRACE_ID"
MEGABYTE = 1024 * 1024
UPLOAD_LIMIT = 50 * MEGABYTE
"""Bytes of an uploaded file."""


@immutable
class EmbeddedSettings:
    """The settings of the embedded profile. `tool_timeout` and `agent_reply` in seconds, `upload_limit` in bytes.

    `providers`: the values of the providers' variables by name. `user_key`: the file with the key that marks this user's data
    folders;
    None: every folder counts as the user's own. `resume`: whether the unfinished work of a folder from elsewhere is resumed.
    `keys_required`: whether a request needs an API key even before the first key is created.
    """

    data: Path
    user_key: Path | None = None
    resume: bool = False
    keys_required: bool = False
    default_model: str | None = None
    default_embedding: str | None = None
    embedding_dimension: int | None = None
    tool_timeout: float = DEFAULT_TOOL_TIMEOUT
    tool_network: bool = True
    mcp_programs: bool = False
    packages: tool_settings.PackageSettings = tool_settings.USUAL_PACKAGES
    agent_reply: float = DEFAULT_AGENT_REPLY
    traces: TraceMode = "on"
    prompt_cache: CacheLife = "5m"
    system_prompt: PromptMode = "frozen"
    allowed_hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    upload_limit: int = UPLOAD_LIMIT
    tenant_budget: str = ""
    history: timedelta = RETENTION
    retention: RetentionSettings = NOTHING_LEAVES
    identity: TokenRules | None = None
    tracing: TracingSettings = NO_TRACING
    outward: OutwardPolicies = AT_HOME
    providers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> EmbeddedSettings:
        """Raises: BadSetting."""
        variables = os.environ if environment is None else environment
        return cls(
            data=Path(variables["HIBERNAUT_DATA"]).expanduser() if variables.get("HIBERNAUT_DATA") else default_data(),
            user_key=_user_key(),
            default_model=variables.get("HIBERNAUT_DEFAULT_MODEL") or None,
            default_embedding=_embedding(variables),
            embedding_dimension=dimension_in(variables),
            tool_timeout=seconds_in(variables, "HIBERNAUT_TOOL_TIMEOUT", DEFAULT_TOOL_TIMEOUT),
            tool_network=tool_settings.tool_network_in(variables),
            mcp_programs=mcp_programs_in(variables),
            packages=tool_settings.packages_in(variables),
            agent_reply=seconds_in(variables, "HIBERNAUT_AGENT_REPLY", DEFAULT_AGENT_REPLY, most=LONGEST_AGENT_REPLY),
            traces=traces_in(variables, "on"),
            prompt_cache=prompt_cache_in(variables),
            system_prompt=system_prompt_in(variables),
            allowed_hosts=hosts_in(variables),
            cors_origins=origins_in(variables),
            upload_limit=megabytes_in(variables, "HIBERNAUT_UPLOAD_LIMIT", UPLOAD_LIMIT),
            tenant_budget=tenant_budget_in(variables),
            history=days_in(variables, "HIBERNAUT_HISTORY_DAYS", RETENTION),
            retention=retention_in(variables),
            identity=identity_in(variables),
            tracing=tracing_in(variables),
            outward=outward_in(variables, home=True),
            providers=providers_in(variables),
        )


OpenSearchService = Literal["es", "aoss"]
"""What stands at the index's address: a domain, or a serverless collection. Requests are signed for it."""


@immutable
class AwsSettings:
    """The settings that the stack passes to its functions. A function gets only those that it uses: all but the table may be
    empty.

    `longest_follow`, `tool_timeout` and `agent_reply` in seconds. `memory`: the memory of the function in GB, from Lambda's
    variables.
    """

    env: str
    table: str
    bucket: str = ""
    state_machine: str = ""
    run_tool: str = ""
    run_node: str = ""
    ingest_file: str = ""
    tools: tool_settings.DeployedToolSettings = tool_settings.NO_DEPLOYED_TOOLS
    deliver_events: str = ""
    event_bus: str = ""
    schedules: ScheduleSettings = NO_SCHEDULES
    opensearch: str = ""
    opensearch_service: OpenSearchService = "es"
    opensearch_replicas: int = 0
    parameters: str = ""
    secrets_key: str = ""
    tenant_role: str = ""
    longest_follow: float = LONGEST_FOLLOW
    default_model: str | None = None
    default_embedding: str | None = None
    embedding_dimension: int | None = None
    tool_timeout: float = DEFAULT_TOOL_TIMEOUT
    agent_reply: float = DEFAULT_AGENT_REPLY
    traces: TraceMode = "off"
    prompt_cache: CacheLife = "5m"
    system_prompt: PromptMode = "frozen"
    allowed_hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    outward: OutwardPolicies = PUBLIC_ONLY
    keys_required: bool = True
    bedrock_region: str = ""
    bedrock_models: str = ""
    tenant_budget: str = ""
    history: timedelta = RETENTION
    retention: RetentionSettings = NOTHING_LEAVES
    identity: TokenRules | None = None
    tracing: TracingSettings = NO_TRACING
    memory: float = 1.0
    sockets: str = ""
    callers: str = ""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> AwsSettings:
        """Raises: BadSetting."""
        variables = os.environ if environment is None else environment
        if not variables.get("HIBERNAUT_TABLE"):
            raise BadSetting("HIBERNAUT_TABLE must name the table")
        return cls(
            env=environment_name(variables),
            table=variables["HIBERNAUT_TABLE"],
            bucket=variables.get("HIBERNAUT_BUCKET", ""),
            state_machine=variables.get("HIBERNAUT_STATE_MACHINE", ""),
            run_tool=variables.get("HIBERNAUT_RUN_TOOL", ""),
            run_node=variables.get("HIBERNAUT_RUN_NODE", ""),
            ingest_file=variables.get("HIBERNAUT_INGEST_FILE", ""),
            tools=tool_settings.deployed_tools_in(variables),
            deliver_events=variables.get("HIBERNAUT_DELIVER_EVENTS", ""),
            event_bus=variables.get("HIBERNAUT_EVENT_BUS", ""),
            schedules=schedules_in(variables),
            opensearch=address_in(variables, "HIBERNAUT_OPENSEARCH"),
            opensearch_service=_service(variables),
            opensearch_replicas=copies_in(variables, "HIBERNAUT_OPENSEARCH_REPLICAS"),
            parameters=variables.get("HIBERNAUT_PARAMETERS", ""),
            secrets_key=variables.get("HIBERNAUT_SECRETS_KEY", ""),
            tenant_role=variables.get("HIBERNAUT_TENANT_ROLE", ""),
            longest_follow=seconds_in(variables, "HIBERNAUT_LONGEST_FOLLOW", LONGEST_FOLLOW),
            default_model=variables.get("HIBERNAUT_DEFAULT_MODEL") or None,
            default_embedding=_embedding(variables),
            embedding_dimension=dimension_in(variables),
            tool_timeout=seconds_in(variables, "HIBERNAUT_TOOL_TIMEOUT", DEFAULT_TOOL_TIMEOUT),
            agent_reply=seconds_in(variables, "HIBERNAUT_AGENT_REPLY", DEFAULT_AGENT_REPLY, most=LONGEST_AGENT_REPLY),
            traces=traces_in(variables, "off"),
            prompt_cache=prompt_cache_in(variables),
            system_prompt=system_prompt_in(variables),
            allowed_hosts=hosts_in(variables),
            cors_origins=origins_in(variables),
            outward=outward_in(variables, home=False),
            keys_required=_keys_required(variables),
            bedrock_region=variables.get("AWS_REGION", "") if variables.get("BEDROCK_MODELS") else "",
            bedrock_models=variables.get("BEDROCK_MODELS", ""),
            tenant_budget=tenant_budget_in(variables),
            history=days_in(variables, "HIBERNAUT_HISTORY_DAYS", RETENTION),
            retention=retention_in(variables),
            identity=identity_in(variables),
            tracing=tracing_in(variables),
            memory=int(variables.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE") or 1024) / 1024,
            sockets=variables.get("HIBERNAUT_SOCKETS", ""),
            callers=variables.get("HIBERNAUT_CALLERS", ""),
        )


def invocation_trace() -> str:
    """The trace header of the invocation of a Lambda function ("": none)."""
    return os.environ.get(TRACE_HEADER, "")


def note_invocation_trace(header: str) -> None:
    """Set the trace header of the request that is served, where the Web Adapter passes it with the request."""
    os.environ[TRACE_HEADER] = header


def default_data() -> Path:
    """The system's folder for a user's data, for example `~/.local/share/hibernaut`."""
    from platformdirs import user_data_path

    return user_data_path(APPLICATION, appauthor=False)


def _user_key() -> Path:
    from platformdirs import user_state_path

    return user_state_path(APPLICATION, appauthor=False) / "user-key"


def index_node(environment: Mapping[str, str] | None = None) -> str | None:
    """Address of the OpenSearch node that the profile aws-offline uses instead of a file; None: not set."""
    variables = os.environ if environment is None else environment
    return variables.get("HIBERNAUT_OPENSEARCH") or None


def traces_in(variables: Mapping[str, str], default: TraceMode) -> TraceMode:
    """What is stored of model calls. Raises: BadSetting."""
    match variables.get("HIBERNAUT_TRACES") or default:
        case "on" | "redacted" | "off" as mode:
            return mode
        case text:
            raise BadSetting(f"HIBERNAUT_TRACES must be on, redacted or off, not {text!r}")


def prompt_cache_in(variables: Mapping[str, str]) -> CacheLife:
    """How long providers keep the prefix of a prompt. Raises: BadSetting."""
    match variables.get("HIBERNAUT_PROMPT_CACHE") or "5m":
        case "5m" | "1h" as life:
            return life
        case text:
            raise BadSetting(f"HIBERNAUT_PROMPT_CACHE must be 5m or 1h, not {text!r}")


def system_prompt_in(variables: Mapping[str, str]) -> PromptMode:
    """What becomes of the system message when memory has changed. Raises: BadSetting."""
    match variables.get("HIBERNAUT_SYSTEM_PROMPT") or "frozen":
        case "frozen" | "recompiled" as mode:
            return mode
        case text:
            raise BadSetting(f"HIBERNAUT_SYSTEM_PROMPT must be frozen or recompiled, not {text!r}")


def tenant_budget_in(variables: Mapping[str, str]) -> str:
    """The budget of tenants for which none is set, as its text. Raises: BadSetting."""
    text = variables.get("HIBERNAUT_TENANT_BUDGET", "")
    try:
        tenant_budget_of(text)
    except ValueError as error:
        raise BadSetting(
            f"HIBERNAUT_TENANT_BUDGET must be limits like tokens_per_day=1000000,cost_per_month=50: {error}"
        ) from error
    return text


def _keys_required(variables: Mapping[str, str]) -> bool:
    text = variables.get("HIBERNAUT_KEYS") or "required"
    if text not in ("required", "optional"):
        raise BadSetting(f"HIBERNAUT_KEYS must be required or optional, not {text!r}")
    return text == "required"


def _service(variables: Mapping[str, str]) -> OpenSearchService:
    match variables.get("HIBERNAUT_OPENSEARCH_SERVICE") or "es":
        case "es":
            return "es"
        case "aoss":
            return "aoss"
        case other:
            raise BadSetting(f"HIBERNAUT_OPENSEARCH_SERVICE must be es or aoss, not {other!r}")


def _embedding(variables: Mapping[str, str]) -> str | None:
    handle = variables.get("HIBERNAUT_DEFAULT_EMBEDDING") or None
    if handle not in (None, "none") and not all(handle.partition("/")):
        raise BadSetting(
            f"HIBERNAUT_DEFAULT_EMBEDDING must be a handle like openai/text-embedding-3-small, or none, not {handle!r}"
        )
    return handle


def starts_from_snapshot(environment: Mapping[str, str] | None = None) -> bool:
    """Whether Lambda restores this function's environments from a snapshot (SnapStart; the variable is Lambda's own)."""
    variables = os.environ if environment is None else environment
    return variables.get("AWS_LAMBDA_INITIALIZATION_TYPE") == "snap-start"


def environment_name(environment: Mapping[str, str] | None = None) -> str:
    """The name of a deployment's environment: dev, staging or prod."""
    return (os.environ if environment is None else environment).get("HIBERNAUT_ENV", "dev")


def refuses_colours(environment: Mapping[str, str] | None = None) -> bool:
    """Whether the user of a terminal wants no colours: NO_COLOR has any value (https://no-color.org)."""
    return bool((os.environ if environment is None else environment).get("NO_COLOR"))
