"""The profile `aws`: DynamoDB, S3, Step Functions, Lambda and Parameter Store behind the ports; one builder per function.

What a builder makes is kept for as long as the process lives, by the settings it was made from: a warm function builds nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from hibernaut.adapters.blobs.s3 import S3Blobs
from hibernaut.adapters.clock import SystemClock, TimeOrderedIds
from hibernaut.adapters.embedder.catalogue import DefaultEmbedding, EmbedderCatalogue
from hibernaut.adapters.model.catalogue import Catalogue
from hibernaut.adapters.secrets.ssm import SsmSecrets
from hibernaut.adapters.signal import PollingSignal
from hibernaut.adapters.table.dynamodb import DynamoDbTable
from hibernaut.adapters.tool_runner.lambda_function import LambdaRunner
from hibernaut.adapters.web.http import HttpWeb
from hibernaut.adapters.workflow.step_functions import StepFunctions
from hibernaut.ports.clock import Clock
from hibernaut.ports.embedder import Embedders
from hibernaut.ports.model import Models
from hibernaut.ports.table import Table
from hibernaut.ports.tool_runner import ToolRunner
from hibernaut.services.approvals import Approvals
from hibernaut.services.calls import ToolLimits
from hibernaut.services.endings import Endings
from hibernaut.services.host import Host
from hibernaut.services.sweep import Sweep
from hibernaut.store.stores import Stores, stores_over
from hibernaut.wiring.chain import Chain, chain_over
from hibernaut.wiring.settings import PROVIDER_NAMES, AwsSettings

if TYPE_CHECKING:
    from fastapi import FastAPI

    from hibernaut.services.compaction import Compactions

GATHER_SECONDS = 0.1
"""For how long the pieces of a reply are gathered into one write: each is paid for."""
BODY_LIMIT = 6 * 1024 * 1024
"""Bytes: Lambda's payload. The gateway refuses the same with the same words, since its event is larger than the body."""


@dataclass(frozen=True, slots=True)
class Overrides:
    """Engines given instead of the profile's own: `table` wraps the table that was made."""

    table: Callable[[Table], Table] | None = None
    clock: Clock | None = None
    models: Models | None = None
    runner: ToolRunner | None = None
    embedders: Embedders | None = None


@dataclass(frozen=True, slots=True)
class House:
    """What every function is built from. Nothing in it connects before it is used, but for the providers' keys."""

    settings: AwsSettings
    host: Host
    stores: Stores
    models: Models
    embedders: Embedders
    chain: Chain


def house(settings: AwsSettings, overrides: Overrides = Overrides(), *, in_execution: bool = False) -> House:
    """`in_execution`: called by a run's own execution, which must not be stopped from within."""
    host, stores = _base(settings, overrides, in_execution=in_execution)
    secrets = SsmSecrets(settings.parameters, clock=host.clock, together=PROVIDER_NAMES)
    embedders, models = overrides.embedders, overrides.models
    if embedders is None or models is None:
        embedding = DefaultEmbedding(settings.default_embedding, settings.embedding_dimension)
        offered = EmbedderCatalogue(secrets, default=embedding, only_configured=True, bedrock=True)
        embedders = embedders or offered
        models = models or Catalogue(
            secrets,
            default_model=settings.default_model,
            embeddings=offered.descriptions(),
            default_embedding=offered.default_handle(),
            only_configured=True,
        )
    runner = overrides.runner or LambdaRunner(settings.run_tool)
    chain = chain_over(stores, host, models, runner, ToolLimits(timeout=settings.tool_timeout))
    return House(settings, host, stores, models, embedders, chain)


def _base(settings: AwsSettings, overrides: Overrides, *, in_execution: bool) -> tuple[Host, Stores]:
    """What lies under every use case."""
    clock = overrides.clock or SystemClock()
    ids = TimeOrderedIds(clock)
    own = DynamoDbTable(settings.table)
    workflow = StepFunctions(settings.state_machine, stops=not in_execution)
    host = Host(clock, ids, workflow, PollingSignal(), holder=f"lambda:{ids.token()}", gather=GATHER_SECONDS, web=HttpWeb())
    return host, stores_over(overrides.table(own) if overrides.table else own, S3Blobs(settings.bucket), clock)


def chain() -> Chain:
    """For `advance_turn`."""
    return _in_execution(AwsSettings.from_environment()).chain


def compactions() -> Compactions:
    """For `summarize`."""
    return _in_execution(AwsSettings.from_environment()).chain.compactions


def approvals() -> Approvals:
    """For `request_approval`, which needs neither models nor tools."""
    return _approvals(AwsSettings.from_environment())


def endings() -> Endings:
    """For `close_run`."""
    return _in_execution(AwsSettings.from_environment()).chain.endings


def sweep() -> Sweep:
    """For `sweep_runs`."""
    return _house(AwsSettings.from_environment()).chain.sweep


def api_app() -> FastAPI:
    """For `api`."""
    return _app(AwsSettings.from_environment())


def stream_app() -> FastAPI:
    """For `stream`: the same."""
    return _app(AwsSettings.from_environment())


def app_of(house: House) -> FastAPI:
    """The REST face of a house."""
    from hibernaut.rest.app import LOCAL_ORIGINS, create_app
    from hibernaut.rest.following import Waits
    from hibernaut.wiring.face import services_over

    services = services_over(house.stores, house.host, house.models, house.chain)
    origins = house.settings.cors_origins or LOCAL_ORIGINS
    waits = Waits(longest=house.settings.longest_follow)
    return create_app(services, body_limit=BODY_LIMIT, cors_origins=origins, waits=waits)


@cache
def _house(settings: AwsSettings) -> House:
    return house(settings)


@cache
def _in_execution(settings: AwsSettings) -> House:
    return house(settings, in_execution=True)


@cache
def _approvals(settings: AwsSettings) -> Approvals:
    host, stores = _base(settings, Overrides(), in_execution=True)
    return Approvals(stores, host)


@cache
def _app(settings: AwsSettings) -> FastAPI:
    return app_of(_house(settings))
