"""The profile `aws`: DynamoDB, S3, Step Functions, Lambda and Parameter Store behind the ports; one builder for each function.

The result of a builder is cached by its settings for the life of the process, so that a warm function builds nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from hibernaut.adapters.aws_meter import AwsMeter
from hibernaut.adapters.blobs.s3 import S3Blobs
from hibernaut.adapters.cipher.kms import KmsCipher
from hibernaut.adapters.clock import SystemClock, TimeOrderedIds
from hibernaut.adapters.door import Door
from hibernaut.adapters.files.child_process import ChildFileReader
from hibernaut.adapters.model.catalogue import Catalogue
from hibernaut.adapters.model.own_providers import OwnProviders
from hibernaut.adapters.oauth_http import DoorOAuth
from hibernaut.adapters.secrets.overlay import OverlaySecrets
from hibernaut.adapters.secrets.ssm import SsmSecrets
from hibernaut.adapters.signal import PolledProcessSignal, PollingSignal
from hibernaut.adapters.tool_runner.lambda_function import LambdaRunner
from hibernaut.adapters.web.http import HttpWeb
from hibernaut.adapters.workflow.step_functions import StepFunctions
from hibernaut.ports.clock import Clock
from hibernaut.ports.events.event_delivery import NO_EVENT_DELIVERY, EventDelivery
from hibernaut.ports.memory.embedder import Embedders
from hibernaut.ports.memory.ingest import NO_INGEST, Ingest
from hibernaut.ports.memory.memory_index import MemoryIndex
from hibernaut.ports.model import NO_PROVIDERS, Models
from hibernaut.ports.runs.workflow import STEPS_PER_INVOCATION, Next, RunRef, Workflow
from hibernaut.ports.storage.cipher import NO_CIPHER, Cipher
from hibernaut.ports.storage.secrets import Secrets
from hibernaut.ports.storage.table import Table
from hibernaut.ports.tools.tool_access import NO_TOOL_ACCESS, ToolAccess
from hibernaut.ports.tools.tool_runner import ToolRunner
from hibernaut.schemas.immutable import immutable
from hibernaut.services.host import Host
from hibernaut.services.models.own_models import OwnModels
from hibernaut.services.per_tenant import PerTenant
from hibernaut.services.tool_calls.tool_limits import ToolLimits
from hibernaut.store.stores import Stores
from hibernaut.wiring.aws_parts.composition import Composition
from hibernaut.wiring.aws_parts.packages import PackageLinks, installer_of
from hibernaut.wiring.aws_parts.schedules import scheduler_of, workers_of
from hibernaut.wiring.aws_parts.tables import table_of, tenants_engines_of
from hibernaut.wiring.configuration.provider_variables import BEDROCK_NAMES
from hibernaut.wiring.engines.embedding import LazyEmbedders, own_embedder
from hibernaut.wiring.engines.memory_index import index_of
from hibernaut.wiring.engines.web_search import LazyWebSearch
from hibernaut.wiring.mcp import LazyMcp
from hibernaut.wiring.run_engine import RunEngines
from hibernaut.wiring.run_resources import SearchEngines
from hibernaut.wiring.settings import AwsSettings, BadSetting, invocation_trace
from hibernaut.wiring.tenant_budget import tenant_budget_of
from hibernaut.wiring.tracing import function_tracer

if TYPE_CHECKING:
    from fastapi import FastAPI

    from hibernaut.adapters.workflow.caller_thread import CallerThread
    from hibernaut.services.events.relay_worker import RelayWorker
    from hibernaut.services.files.ingestion import Ingestion
    from hibernaut.services.runs.sweep import Sweep
    from hibernaut.services.search.index_stream_worker import IndexStreamWorker
    from hibernaut.services.search.reindexing import Reindexing
    from hibernaut.services.turns.approvals import ApprovalAnswers

THREADS = 8
"""`Host.threads`. Most of the time they wait for the table and for Step Functions."""
GATHER_SECONDS = 0.1
"""Seconds for which the chunks of a reply are buffered into one write: DynamoDB bills each write."""
WAITING_LEASE = 30.0
"""Seconds of a lease of `stream`. Nothing reports the death of this function; the sweep resumes its run after the lease and
`OPEN_FOR_MS`.
"""
BEFORE_THE_END = 20.0
"""Seconds before the end of a response at which a worker of `stream` must have left its run to Step Functions: the function may
be frozen from that end on.
"""
LEAST_WAITING = 600.0
"""Seconds. If responses are shorter, Step Functions drives the runs of waiting callers too: a model's call would not fit."""


@immutable
class AwsOverrides:
    """Engines that replace those of the profile. `table` wraps the profile's own table."""

    table: Callable[[Table], Table] | None = None
    clock: Clock | None = None
    models: Models | None = None
    runner: ToolRunner | None = None
    embedders: Embedders | None = None
    index: MemoryIndex | None = None
    workflow: Workflow | None = None


@immutable
class IndexFeed:
    """The work of `index_memory`: indexing the records of the change stream, retrying failed ones, and rebuilding the index."""

    feeding: IndexStreamWorker
    reindexing: Reindexing


def compose(
    settings: AwsSettings, overrides: AwsOverrides = AwsOverrides(), *, in_execution: bool = False, waits: bool = False
) -> Composition:
    """Compose the parts of a function.

    `in_execution`: the caller is part of a run's own execution, so that the end of a run must not stop that execution. `waits`:
    callers wait in the function for their runs, so that it drives these runs itself.
    """
    host, stores = _base(settings, overrides, in_execution=in_execution)
    host = replace(host, tool_access=_tool_access(settings, stores, host))
    driver = _caller_thread(settings, host) if waits else None
    if driver is not None:
        host = replace(host, workflow=driver, lease=WAITING_LEASE, signal=PolledProcessSignal())
    secrets = _secrets(settings, host.clock)
    tracer = function_tracer(settings.tracing, host.clock, env=settings.env, header=invocation_trace, secret=secrets.get)
    host = replace(host, tracer=tracer, web_search=LazyWebSearch(secrets))
    embedders, models = overrides.embedders, overrides.models
    if embedders is None or models is None:
        offered = LazyEmbedders(settings, secrets)
        embedders = embedders or offered
        models = models or Catalogue(
            secrets,
            default_model=settings.default_model,
            embeddings=offered,
            prompt_cache=settings.prompt_cache,
        )
    links = PackageLinks(settings.bucket)
    runner = overrides.runner or LambdaRunner(settings.run_tool, node_function=settings.run_node, links=links)
    own = _own_models(settings, stores, secrets, host.cipher)
    search = SearchEngines(overrides.index or index_of(settings), embedders, own)
    limits = ToolLimits(timeout=settings.tool_timeout, reply=settings.agent_reply)
    engines = RunEngines(stores, host, models, runner, limits, search, own)
    if driver is not None:
        driver.bind(partial(_advanced, engines))
    return Composition(settings, host, stores, models, embedders, engines, host.cipher)


def _tool_access(settings: AwsSettings, stores: Stores, host: Host) -> ToolAccess:
    """The tokens of tools. Another process serves their requests. No tokens if the sandbox does not reach the API."""
    if not settings.tools.api_url:
        return NO_TOOL_ACCESS
    from hibernaut.services.access.pepper import Pepper
    from hibernaut.services.access.signed_tool_tokens import SignedToolTokens

    pepper = Pepper(stores, host.cipher)
    return SignedToolTokens(pepper, host.clock, base_url=settings.tools.api_url, seconds=settings.tool_timeout)


def _caller_thread(settings: AwsSettings, host: Host) -> CallerThread | None:
    """The workflow that drives runs on the threads of their callers; None if responses are too short for that."""
    if settings.longest_follow < LEAST_WAITING:
        return None
    from hibernaut.adapters.workflow.caller_thread import CallerThread

    return CallerThread(host.workflow, host.clock, seconds=settings.longest_follow - BEFORE_THE_END)


def _advanced(engines: RunEngines, run: RunRef, time_left: Callable[[], float]) -> Next:
    return engines.of(run.tenant).turns.advance(run.run_id, time_left=time_left, steps=STEPS_PER_INVOCATION).next


def feeding(settings: AwsSettings, overrides: AwsOverrides = AwsOverrides()) -> IndexFeed:
    """The parts of `index_memory`, which needs neither models nor tools. Raises: BadSetting if memory is not indexed."""
    index = overrides.index or index_of(settings, feeds=True)
    if index is None:
        raise BadSetting("HIBERNAUT_OPENSEARCH must name the domain or collection that is to be fed")
    from hibernaut.services.search.index_stream_worker import IndexStreamWorker
    from hibernaut.services.search.reindexing import Reindexing
    from hibernaut.wiring.engines.index_feed import indexing_of

    host, stores = _base(settings, overrides, in_execution=True)
    secrets = _secrets(settings, host.clock)
    embedders = overrides.embedders or LazyEmbedders(settings, secrets)
    own = _own_models(settings, stores, secrets, host.cipher)
    feeding = IndexStreamWorker(indexing_of(stores, index, embedders, own), host.clock)
    return IndexFeed(feeding, Reindexing(stores, index))


def reading(settings: AwsSettings, overrides: AwsOverrides = AwsOverrides()) -> PerTenant[Ingestion]:
    """The reader of uploaded files, for each tenant. The embedding model determines the size of the chunks."""
    from hibernaut.services.files.ingestion import Ingestion

    host, stores = _base(settings, overrides, in_execution=True)
    secrets = _secrets(settings, host.clock)
    embedders = overrides.embedders or LazyEmbedders(settings, secrets)
    indexed = _indexed(settings, overrides)
    # The limits of an own provider's model are facts of its name: reading files opens no key.
    own = OwnModels(stores, NO_CIPHER, NO_PROVIDERS)
    return PerTenant(lambda tenant: Ingestion(stores.of(tenant), host, own.embedders(tenant, embedders), indexed=indexed))


def _own_models(settings: AwsSettings, stores: Stores, secrets: Secrets, cipher: Cipher) -> OwnModels:
    """The tenants' own providers. The cipher decrypts their keys."""
    connections = OwnProviders(
        secrets, prompt_cache=settings.prompt_cache, door=Door(settings.outward.clients), embedder=own_embedder
    )
    return OwnModels(stores, cipher, connections)


def relaying(settings: AwsSettings, overrides: AwsOverrides = AwsOverrides()) -> RelayWorker:
    """What passes events on, which needs neither models nor tools."""
    from hibernaut.adapters.events.event_bridge import EventBridgeBus
    from hibernaut.ports.events.event_bus import NO_EVENT_BUS
    from hibernaut.services.events.relay_worker import RelayWorker
    from hibernaut.wiring.engines.event_relays import relays_of

    host, stores = _base(settings, overrides, in_execution=True)
    bus = EventBridgeBus(settings.event_bus) if settings.event_bus else NO_EVENT_BUS
    return RelayWorker(relays_of(stores, host, bus))


def _secrets(settings: AwsSettings, clock: Clock) -> Secrets:
    """The providers' keys in Parameter Store, and the settings of Bedrock, which needs no key."""
    base = SsmSecrets(settings.parameters, clock=clock)
    bedrock = {"BEDROCK_REGION": settings.bedrock_region, "BEDROCK_MODELS": settings.bedrock_models}
    return OverlaySecrets(base, dict.fromkeys(BEDROCK_NAMES) | bedrock)


def _base(settings: AwsSettings, overrides: AwsOverrides, *, in_execution: bool) -> tuple[Host, Stores]:
    """The host and the stores. Every use case depends on them."""
    clock = overrides.clock or SystemClock()
    ids = TimeOrderedIds(clock)
    workflow = overrides.workflow or StepFunctions(settings.state_machine, stops=not in_execution)
    host = Host(
        clock,
        ids,
        workflow,
        PollingSignal(),
        holder=f"lambda:{ids.token()}",
        gather=GATHER_SECONDS,
        traces=settings.traces,
        system_prompt=settings.system_prompt,
        web=HttpWeb(settings.outward.clients, pages=settings.outward.pages),
        mcp=LazyMcp(Door(settings.outward.clients)),
        oauth=DoorOAuth(Door(settings.outward.clients)),
        reader=ChildFileReader(),
        ingest=_ingest(settings),
        cipher=KmsCipher(settings.secrets_key, deployment=settings.env, clock=clock),
        public_only=not settings.outward.clients.private,
        event_delivery=_event_delivery(settings),
        schedule_workers=workers_of(settings.schedules),
        scheduler=scheduler_of(settings.schedules),
        threads=THREADS,
        tenant_budget=tenant_budget_of(settings.tenant_budget),
        meter=AwsMeter(clock, settings.memory),
        rest_after=settings.retention.rest_after,
        retention=settings.retention.messages,
        packages=installer_of(settings),
    )
    blobs, indexed = S3Blobs(settings.bucket), _indexed(settings, overrides)
    engines_of, everything = tenants_engines_of(settings, overrides.table, clock), bool(settings.event_bus)
    table, history = table_of(settings, overrides.table), settings.history
    return host, Stores(
        table,
        blobs,
        clock,
        indexed=indexed,
        all_events=everything,
        engines_of=engines_of,
        retention=history,
        cipher=host.cipher,
    )


def _ingest(settings: AwsSettings) -> Ingest:
    if not settings.ingest_file:
        return NO_INGEST
    from hibernaut.adapters.ingest.lambda_function import LambdaIngest

    return LambdaIngest(settings.ingest_file)


def _event_delivery(settings: AwsSettings) -> EventDelivery:
    if not settings.deliver_events:
        return NO_EVENT_DELIVERY
    from hibernaut.adapters.events.lambda_function import LambdaEventDelivery

    return LambdaEventDelivery(settings.deliver_events)


def _indexed(settings: AwsSettings, overrides: AwsOverrides) -> bool:
    return bool(settings.opensearch) or overrides.index is not None


def engines() -> RunEngines:
    """For `advance_turn`, `summarize` and `close_run`."""
    return _in_execution(AwsSettings.from_environment()).engines


def approvals() -> PerTenant[ApprovalAnswers]:
    """For `request_approval`, which needs neither models nor tools."""
    return _approvals(AwsSettings.from_environment())


def sweep() -> Sweep:
    """For `sweep_runs`."""
    return composition_of(AwsSettings.from_environment()).engines.sweep


def feed() -> IndexFeed:
    """For `index_memory`."""
    return _feed(AwsSettings.from_environment())


def event_worker() -> RelayWorker:
    """For `deliver_events`."""
    return _relaying(AwsSettings.from_environment())


def ingestion() -> PerTenant[Ingestion]:
    """For `ingest_file`."""
    return _reading(AwsSettings.from_environment())


def api_app() -> FastAPI:
    """For `api`."""
    return _app(AwsSettings.from_environment())


def stream_app() -> FastAPI:
    """For `stream`: the same app as for `api`, which drives the runs of its callers."""
    return _waiting_app(AwsSettings.from_environment())


@cache
def composition_of(settings: AwsSettings) -> Composition:
    """The composition of a function outside executions, created once in a process."""
    return compose(settings)


@cache
def _in_execution(settings: AwsSettings) -> Composition:
    return compose(settings, in_execution=True)


@cache
def _feed(settings: AwsSettings) -> IndexFeed:
    return feeding(settings)


@cache
def _relaying(settings: AwsSettings) -> RelayWorker:
    return relaying(settings)


@cache
def _reading(settings: AwsSettings) -> PerTenant[Ingestion]:
    return reading(settings)


@cache
def _approvals(settings: AwsSettings) -> PerTenant[ApprovalAnswers]:
    from hibernaut.services.turns.approvals import ApprovalAnswers

    host, stores = _base(settings, AwsOverrides(), in_execution=True)
    return PerTenant(lambda tenant: ApprovalAnswers(stores.of(tenant), host))


@cache
def _app(settings: AwsSettings) -> FastAPI:
    from hibernaut.wiring.aws_parts.app import app_of

    return app_of(composition_of(settings))


@cache
def _waiting_app(settings: AwsSettings) -> FastAPI:
    from hibernaut.wiring.aws_parts.app import app_of

    return app_of(compose(settings, waits=True))


def forget_compositions() -> None:
    """Drop what this process has composed by its settings, as the end of an execution environment does."""
    for composed in (composition_of, _in_execution, _feed, _relaying, _reading, _approvals, _app, _waiting_app):
        composed.cache_clear()
