"""Composes the use cases that advance runs, in the same way for every profile. Must not import an engine."""

from __future__ import annotations

from dataclasses import dataclass, field

from hibernaut.ports.cipher import NO_CIPHER
from hibernaut.ports.embedder import Embedders
from hibernaut.ports.memory_index import MemoryIndex
from hibernaut.ports.model import NO_PROVIDERS, Models
from hibernaut.ports.tool_runner import ToolRunner
from hibernaut.services.host import Host
from hibernaut.services.models.model_call import CallThreads
from hibernaut.services.models.model_retry import ModelRetry
from hibernaut.services.models.own_models import OwnModels, OwnProviderList
from hibernaut.services.models.summarizer import Summarizer
from hibernaut.services.models.tenant_models import TenantModels
from hibernaut.services.per_tenant import PerTenant
from hibernaut.services.prompt.system_messages import SystemMessages
from hibernaut.services.runs.repairs import Repairs
from hibernaut.services.runs.sending import Sending
from hibernaut.services.runs.sweep import Sweep
from hibernaut.services.runs.tenant_sweep import TenantSweep
from hibernaut.services.search.hybrid_search import HybridSearch, IndexOutage
from hibernaut.services.search.search_sources import NoEmbedders, SearchSources
from hibernaut.services.steps.model_step import ModelStep
from hibernaut.services.steps.step_lease import StepLease
from hibernaut.services.steps.step_work import StepLoader
from hibernaut.services.tool_calls.file_tools import FileTools
from hibernaut.services.tool_calls.memory_changes import MemoryChanges
from hibernaut.services.tool_calls.memory_tools import MemoryTools
from hibernaut.services.tool_calls.online_tools import OnlineTools
from hibernaut.services.tool_calls.tool_execution import LookupTools, ToolExecution, ToolLimits
from hibernaut.services.turns.approvals import ApprovalAnswers
from hibernaut.services.turns.compaction import Compaction, CompactionParts
from hibernaut.services.turns.handovers import Handovers
from hibernaut.services.turns.run_termination import RunTermination
from hibernaut.services.turns.turn_engine import EngineParts, TurnEngine
from hibernaut.services.turns.unit_of_work import StepCommits, UnitWriter
from hibernaut.store.stores import Stores, TenantStores


@dataclass(frozen=True, slots=True)
class RunEngine:
    """The use cases behind the steps of one tenant's runs."""

    turns: TurnEngine
    termination: RunTermination
    approvals: ApprovalAnswers
    sending: Sending
    repairs: Repairs
    sweep: TenantSweep
    compactions: Compaction
    prompts: SystemMessages
    loader: StepLoader
    calls: ToolExecution
    runner: ToolRunner
    search: HybridSearch
    models: Models
    own_providers: OwnProviderList


@dataclass(frozen=True, slots=True)
class SearchEngines:
    """The engines that the searches of all tenants share. `index` None: memory is searched by words, in the table. `outage` remembers
    that the index does not answer.
    """

    index: MemoryIndex | None = None
    embedders: Embedders = field(default_factory=NoEmbedders)
    outage: IndexOutage = field(default_factory=IndexOutage)

    def search(self, stores: TenantStores) -> HybridSearch:
        """The search of one tenant."""
        return HybridSearch(stores, self.index, SearchSources(stores, self.embedders), self.outage)


@dataclass(frozen=True, slots=True)
class RunResources:
    """The ports that the run engines of all tenants share. `models`: those of the deployment; `own`: the providers of tenants' own;
    `threads`: those of model calls.
    """

    host: Host
    models: Models
    own: OwnModels
    runner: ToolRunner
    limits: ToolLimits
    search: SearchEngines
    threads: CallThreads


class RunEngines:
    """The run engines of all tenants, and the sweep that goes through all of them."""

    def __init__(
        self,
        stores: Stores,
        host: Host,
        models: Models,
        runner: ToolRunner,
        limits: ToolLimits,
        search: SearchEngines | None = None,
        own: OwnModels | None = None,
    ) -> None:
        """`own` None: this deployment stores no providers of tenants."""
        own = own or OwnModels(stores, NO_CIPHER, NO_PROVIDERS)
        shared = RunResources(host, models, own, runner, limits, search or SearchEngines(), CallThreads())
        self._engines = PerTenant(lambda tenant: run_engine_over(stores.of(tenant), shared))
        self.sweep = Sweep(stores, host, lambda tenant: self.of(tenant).sweep)

    def of(self, tenant: str) -> RunEngine:
        """The run engine of a tenant. Raises: InvalidArgument if the name is not valid for a tenant."""
        return self._engines.of(tenant)


def run_engine_over(stores: TenantStores, shared: RunResources) -> RunEngine:
    """Compose the run engine of one tenant over its stores."""
    host, search, own = shared.host, shared.search.search(stores), shared.own.of(stores.tenant)
    models = TenantModels(shared.models, own)
    retry = ModelRetry(models, host, shared.threads)
    prompts = SystemMessages(stores, host.clock, host.system_prompt)
    loader = StepLoader(stores, prompts, models)
    handovers = Handovers(stores, host)
    writer = UnitWriter(stores, host, handovers)
    approvals = ApprovalAnswers(stores, host)
    termination = RunTermination(stores, host, loader=loader, handovers=handovers, writer=writer, approvals=approvals)
    lookups = LookupTools(MemoryTools(stores, host, search), FileTools(stores, host, search), OnlineTools(host))
    calls = ToolExecution(stores, host, lookups, shared.runner, shared.limits)
    lease = StepLease(stores, host)
    parts = EngineParts(
        lease=lease,
        loader=loader,
        handovers=handovers,
        model=ModelStep(stores, models, host, retry),
        tools=calls,
        commits=StepCommits(stores, host, memory=MemoryChanges(stores, host), handovers=handovers, writer=writer),
        termination=termination,
    )
    turns = TurnEngine(stores, host, parts)
    sending = Sending(stores, host, models, termination=termination, approvals=approvals)
    repairs = Repairs(stores, host, approvals=approvals, handovers=handovers)
    summarizer = Summarizer(models, host, retry)
    room = CompactionParts(lease=lease, loader=loader, prompts=prompts, writer=writer, summarizer=summarizer)
    return RunEngine(
        turns=turns,
        termination=termination,
        approvals=approvals,
        sending=sending,
        repairs=repairs,
        sweep=TenantSweep(stores, host, termination, approvals),
        compactions=Compaction(stores, host, models, room),
        prompts=prompts,
        loader=loader,
        calls=calls,
        runner=shared.runner,
        search=search,
        models=models,
        own_providers=own,
    )
