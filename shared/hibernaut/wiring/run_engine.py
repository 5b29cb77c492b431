"""Composes the use cases that advance runs, in the same way for every profile. Must not import an engine.

Each use case is imported and built at its first use: a cold function imports what serves its event and nothing else.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from hibernaut.ports.meter import Meter
from hibernaut.ports.model import NO_PROVIDERS, Models
from hibernaut.ports.storage.cipher import NO_CIPHER
from hibernaut.ports.storage.table import Key
from hibernaut.ports.tools.tool_runner import ToolRunner
from hibernaut.services.host import Host
from hibernaut.services.models.model_call import CallThreads
from hibernaut.services.models.own_models import OwnModels
from hibernaut.services.models.own_provider_list import OwnProviderList
from hibernaut.services.models.tenant_models import TenantModels
from hibernaut.services.per_tenant import PerTenant
from hibernaut.store.stores import Stores, TenantStores
from hibernaut.store.table import keys
from hibernaut.wiring.run_resources import RunResources, SearchEngines

if TYPE_CHECKING:
    from hibernaut.services.agent_documents.agent_documents import AgentDocuments
    from hibernaut.services.budgets.budget_checks import BudgetChecks
    from hibernaut.services.erasures.erasures import Erasures
    from hibernaut.services.events.webhooks import Webhooks
    from hibernaut.services.models.model_retry import ModelRetry
    from hibernaut.services.prompt.system_messages import SystemMessages
    from hibernaut.services.runs.repairs import Repairs
    from hibernaut.services.runs.sweep import Sweep
    from hibernaut.services.runs.tenant_sweep import LongWork, TenantSweep
    from hibernaut.services.schedules.firing import ScheduleFiring
    from hibernaut.services.schedules.schedules import Schedules
    from hibernaut.services.search.hybrid_search import HybridSearch
    from hibernaut.services.sending.batches import Batches
    from hibernaut.services.sending.sending import Sending
    from hibernaut.services.sending.sleeptime_triggers import SleeptimeTriggers
    from hibernaut.services.steps.step_lease import StepLease
    from hibernaut.services.steps.step_work import StepLoader
    from hibernaut.services.templates.template_migration import TemplateMigration
    from hibernaut.services.tool_calls.tool_execution import ToolExecution
    from hibernaut.services.tool_calls.tool_limits import ToolLimits
    from hibernaut.services.tools.tools import Tools
    from hibernaut.services.turns.approvals import ApprovalAnswers
    from hibernaut.services.turns.compaction import Compaction
    from hibernaut.services.turns.handovers import Handovers
    from hibernaut.services.turns.run_termination import RunTermination
    from hibernaut.services.turns.turn_engine import TurnEngine
    from hibernaut.services.turns.unit_of_work import UnitWriter
    from hibernaut.wiring.mcp import McpUseCases


class RunEngine:
    """The use cases behind the steps of one tenant's runs, each imported and built at its first use.

    Two threads with a simultaneous first use may receive two equal use cases, which hold no state.
    """

    def __init__(self, stores: TenantStores, shared: RunResources) -> None:
        self._stores = stores
        self._shared = shared
        self._host = shared.host
        self.runner = shared.runner
        self.own_providers: OwnProviderList = shared.own.of(stores.tenant)
        self.models: Models = TenantModels(shared.models, self.own_providers)

    @cached_property
    def turns(self) -> TurnEngine:
        from hibernaut.services.steps.model_step import ModelStep
        from hibernaut.services.tool_calls.memory_changes import MemoryChanges
        from hibernaut.services.turns.turn_engine import EngineParts, TurnEngine
        from hibernaut.services.turns.unit_of_work import StepCommits

        stores, host = self._stores, self._host
        memory = MemoryChanges(stores, host)
        parts = EngineParts(
            lease=self._lease,
            loader=self.loader,
            handovers=self._handovers,
            model=ModelStep(stores, self.models, host, self._retry),
            tools=self.calls,
            commits=StepCommits(
                stores, host, memory=memory, handovers=self._handovers, writer=self._writer, budgets=self.budgets
            ),
            termination=self.termination,
            wake_up=self._shared.search.wake_up(host.clock),
        )
        return TurnEngine(stores, host, parts)

    @cached_property
    def loader(self) -> StepLoader:
        from hibernaut.services.steps.step_work import StepLoader

        return StepLoader(self._stores, self.prompts, self.models, self.budgets)

    @cached_property
    def prompts(self) -> SystemMessages:
        from hibernaut.services.prompt.system_messages import SystemMessages

        return SystemMessages(self._stores, self._host.clock, self._host.system_prompt)

    @cached_property
    def calls(self) -> ToolExecution:
        from hibernaut.services.tool_calls.tool_execution import ToolExecution
        from hibernaut.wiring.lookup_tools import LazyLookupTools

        lookups = LazyLookupTools(self._stores, self._shared, lambda: self.sending)
        return ToolExecution(self._stores, self._host, lookups, self.runner, self._shared.limits)

    def mcp(self, tools: Tools) -> McpUseCases:
        """The use cases of MCP servers; `tools` deletes their tools."""
        from hibernaut.wiring.mcp import mcp_use_cases_of

        return mcp_use_cases_of(self._stores, self._shared, tools)

    @cached_property
    def termination(self) -> RunTermination:
        from hibernaut.services.turns.run_termination import RunTermination

        return RunTermination(
            self._stores,
            self._host,
            loader=self.loader,
            handovers=self._handovers,
            writer=self._writer,
            approvals=self.approvals,
        )

    @cached_property
    def approvals(self) -> ApprovalAnswers:
        from hibernaut.services.turns.approvals import ApprovalAnswers

        return ApprovalAnswers(self._stores, self._host)

    @cached_property
    def sending(self) -> Sending:
        from hibernaut.services.sending.sending import Sending

        return Sending(
            self._stores,
            self._host,
            self.models,
            termination=self.termination,
            approvals=self.approvals,
            budgets=self.budgets,
        )

    @cached_property
    def sleeptime(self) -> SleeptimeTriggers:
        from hibernaut.services.sending.sleeptime_triggers import SleeptimeTriggers

        return SleeptimeTriggers(self._stores, self._host, self.sending)

    @cached_property
    def batches(self) -> Batches:
        from hibernaut.services.sending.batches import Batches

        return Batches(self._stores, self._host, self.models, sending=self.sending, termination=self.termination)

    @cached_property
    def agent_documents(self) -> AgentDocuments:
        from hibernaut.services.agent_documents.agent_documents import AgentDocuments
        from hibernaut.services.imports.import_writer import ImportWriter
        from hibernaut.services.records import records_over

        stores, host = self._stores, self._host
        records = records_over(stores, host.clock, host.ids)
        return AgentDocuments(stores, records, models=self.models, writer=ImportWriter(stores, host), packages=host.packages)

    @cached_property
    def template_migration(self) -> TemplateMigration:
        from hibernaut.services.agents.agent_creation import AgentCreation
        from hibernaut.services.agents.agent_deletion import AgentDeletion
        from hibernaut.services.agents.agent_updates import AgentUpdates
        from hibernaut.services.agents.agent_windows import AgentWindows
        from hibernaut.services.agents.agents import Agents
        from hibernaut.services.conversations.conversation_deletion import ConversationDeletion
        from hibernaut.services.memory.blocks import Blocks
        from hibernaut.services.prompt.file_views import FileViews
        from hibernaut.services.records import records_over
        from hibernaut.services.templates.template_migration import TemplateMigration
        from hibernaut.services.templates.template_prototypes import TemplatePrototypes

        stores, host = self._stores, self._host
        records, views = records_over(stores, host.clock, host.ids), FileViews(stores)
        windows = AgentWindows(records, models=self.models, prompts=self.prompts)
        creation = AgentCreation(records, models=self.models, prompts=self.prompts)
        updates = AgentUpdates(records, models=self.models, windows=windows, creation=creation)
        ends = ConversationDeletion(records, termination=self.termination, threads=host.threads)
        deletion = AgentDeletion(records, ends)
        agents = Agents(records, views, creation=creation, updates=updates, windows=windows, deletion=deletion)
        prototypes = TemplatePrototypes(records, self.agent_documents, agents, Blocks(records))
        return TemplateMigration(records, stores.templates, prototypes)

    @cached_property
    def repairs(self) -> Repairs:
        from hibernaut.services.runs.repairs import Repairs

        return Repairs(self._stores, self._host, approvals=self.approvals, handovers=self._handovers)

    @cached_property
    def sweep(self) -> TenantSweep:
        from hibernaut.services.runs.tenant_sweep import TenantSweep

        return TenantSweep(self._stores, self._host, self.termination, self.approvals, lambda: self.sleeptime, self.long_work)

    @cached_property
    def long_work(self) -> LongWork:
        from hibernaut.services.runs.tenant_sweep import LongWork

        return LongWork(
            batches=lambda: self.batches, migrations=lambda: self.template_migration, erasures=lambda: self.erasures.work
        )

    @cached_property
    def erasures(self) -> Erasures:
        from hibernaut.wiring.erasing import erasures_of

        return erasures_of(self._stores, self._shared, prompts=self.prompts, termination=self.termination)

    @cached_property
    def compactions(self) -> Compaction:
        from hibernaut.services.models.summarizer import Summarizer
        from hibernaut.services.turns.compaction import Compaction, CompactionParts

        parts = CompactionParts(
            lease=self._lease,
            loader=self.loader,
            prompts=self.prompts,
            writer=self._writer,
            summarizer=Summarizer(self.models, self._host, self._retry),
            budgets=self.budgets,
        )
        return Compaction(self._stores, self._host, self.models, parts)

    @cached_property
    def search(self) -> HybridSearch:
        return self._shared.search.search(self._stores)

    @cached_property
    def _retry(self) -> ModelRetry:
        from hibernaut.services.models.model_retry import ModelRetry

        return ModelRetry(self.models, self._host, self._shared.threads)

    @cached_property
    def budgets(self) -> BudgetChecks:
        from hibernaut.services.budgets.budget_checks import BudgetChecks

        return BudgetChecks(self._stores, self._host)

    @cached_property
    def webhooks(self) -> Webhooks:
        from hibernaut.services.events.webhooks import Webhooks

        return Webhooks(self._stores, self._host)

    @cached_property
    def schedules(self) -> Schedules:
        from hibernaut.services.schedules.schedules import Schedules

        return Schedules(self._stores, self._host, self.firing)

    @cached_property
    def firing(self) -> ScheduleFiring:
        from hibernaut.services.schedules.firing import FiringParts, ScheduleFiring
        from hibernaut.services.schedules.schedule_api_keys import ScheduleKeys

        parts = FiringParts(
            sending=lambda: self.sending,
            sleeptime=lambda: self.sleeptime,
            compactions=lambda: self.compactions,
            keys=ScheduleKeys(self._stores, self._shared.stores.api_keys),
        )
        return ScheduleFiring(self._stores, self._host, parts)

    @cached_property
    def _lease(self) -> StepLease:
        from hibernaut.services.steps.step_lease import StepLease

        return StepLease(self._stores, self._host)

    @cached_property
    def _handovers(self) -> Handovers:
        from hibernaut.services.turns.handovers import Handovers

        return Handovers(self._stores, self._host)

    @cached_property
    def _writer(self) -> UnitWriter:
        from hibernaut.services.turns.unit_of_work import UnitWriter

        return UnitWriter(self._stores, self._host, self._handovers, lambda trigger: self.sleeptime.fire_quietly(trigger))


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
        shared = RunResources(host, models, own, runner, limits, search or SearchEngines(), CallThreads(), stores)
        self._stores = stores
        self._host = host
        self._engines = PerTenant(lambda tenant: RunEngine(stores.of(tenant), shared))

    @cached_property
    def sweep(self) -> Sweep:
        from hibernaut.services.runs.sweep import Sweep

        return Sweep(self._stores, self._host, lambda tenant: self.of(tenant).sweep)

    @property
    def meter(self) -> Meter:
        """Counts what an invocation uses of AWS."""
        return self._host.meter

    def fire(self, place: Key) -> None:
        """Fire the schedule at this place, of any tenant, if it is due."""
        self.of(keys.tenant_of(place.pk)).firing.fire(keys.last_part(place.pk))

    def of(self, tenant: str) -> RunEngine:
        """The run engine of a tenant. Raises: InvalidArgument if the name is not valid for a tenant."""
        return self._engines.of(tenant)
