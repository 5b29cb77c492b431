"""The repositories over a table: `Stores` is shared by all tenants, `TenantStores` has all repositories of one tenant.

The tenant is named once, where a request, a handler or a sweep begins: `stores.of(tenant)`, which does no I/O. State that
outlives a request (caches, the signal of the outbox) belongs to `Stores`. A `TenantStores` has no state of its own and may be
discarded at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from hibernaut.domain.files.file_views import FileWindow
from hibernaut.ports.clock import Clock
from hibernaut.ports.storage.blobs import Blobs
from hibernaut.ports.storage.cipher import NO_CIPHER, Cipher
from hibernaut.ports.storage.table import Change, Table
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.tools.sandbox import StoredSandbox
from hibernaut.schemas.tools.tool_policy import ToolPolicy
from hibernaut.store.access.budgets import BudgetStore, budget_cache
from hibernaut.store.access.call_records import CallRecordStore
from hibernaut.store.access.providers import ProviderStore
from hibernaut.store.access.rates import RateStore, TenantRates
from hibernaut.store.access.sandboxes import SandboxStore
from hibernaut.store.access.tool_policies import CallRateStore, ToolPolicyStore
from hibernaut.store.agents.agent_marks import AgentMarks
from hibernaut.store.agents.agents import AgentStore
from hibernaut.store.agents.tools import ToolStore
from hibernaut.store.blob_collector import BlobCollector
from hibernaut.store.conversations.agent_logs import AgentLogs
from hibernaut.store.conversations.conversation_orders import ConversationOrders
from hibernaut.store.conversations.conversation_records import ConversationRecordStore
from hibernaut.store.conversations.conversations import ConversationStore, window_cache
from hibernaut.store.conversations.messages import MessageStore
from hibernaut.store.conversations.resting import RestingStore
from hibernaut.store.conversations.round_states import RoundStore
from hibernaut.store.conversations.window_ids import WindowIds, id_cache
from hibernaut.store.deletion import Deletion
from hibernaut.store.due_index import DueIndex
from hibernaut.store.events.outbox import EventOutbox, EventSignal, subscription_cache
from hibernaut.store.groups.groups import GroupStore
from hibernaut.store.groups.sleeptime_triggers import SleeptimeTriggerStore
from hibernaut.store.identities.identities import IdentityStore
from hibernaut.store.memory.archives import ArchiveStore
from hibernaut.store.memory.blocks import BlockStore
from hibernaut.store.memory.files import FileStore
from hibernaut.store.memory.folders import FolderStore
from hibernaut.store.memory.passages import PassageStore
from hibernaut.store.memory.search_outbox import OutboxSignal, SearchOutbox
from hibernaut.store.runs.agent_calls import AgentCallStore
from hibernaut.store.runs.approvals import ApprovalStore
from hibernaut.store.runs.idempotency import IdempotencyStore
from hibernaut.store.runs.runs import RunStore
from hibernaut.store.runs.step_reads import StepReads, handoff_cache
from hibernaut.store.runs.steps import StepStore
from hibernaut.store.runs.traces import Traces
from hibernaut.store.runs.transactions import Transactions
from hibernaut.store.schedules.schedule_signal import ScheduleSignal
from hibernaut.store.table.bodies.codec import Codec
from hibernaut.store.table.bodies.formats import VersionedTable
from hibernaut.store.table.bodies.packs import PackCache, PackReader
from hibernaut.store.table.lru_cache import LruCache, TenantCache
from hibernaut.store.table.remembered_record import Remembered, record_cache
from hibernaut.store.table.retries import RetryingTable, RetryPolicy
from hibernaut.store.table.secret_vault import SecretVault
from hibernaut.store.table.tenant_seals import TenantSeals
from hibernaut.store.table.tenant_table import TenantBlobs, TenantTable
from hibernaut.store.table.tenants import checked
from hibernaut.store.table.writer import Writer
from hibernaut.store.versions.version_store import RETENTION, VersionStore

if TYPE_CHECKING:
    from hibernaut.store.access.api_keys import ApiKeyStore
    from hibernaut.store.access.connections import ConnectionStore
    from hibernaut.store.agents.pauses import PauseStore
    from hibernaut.store.events.webhooks import WebhookStore
    from hibernaut.store.identities.erasures import ErasureStore
    from hibernaut.store.mcp.mcp_servers import McpServerStore
    from hibernaut.store.mcp.oauth import OAuthStore
    from hibernaut.store.runs.batches import BatchStore
    from hibernaut.store.schedules.schedules import ScheduleStore
    from hibernaut.store.templates.imports import ImportStore
    from hibernaut.store.templates.templates import TemplateStore

FILE_CHARACTERS = 8_000_000
"""The size of the cache of file windows in a process, in characters, for all tenants."""


@immutable
class TenantStores:
    """All repositories of one tenant. They cannot access keys of another tenant (`store.table.tenant_table`).

    `request_rates`: its limits on requests per second, in the one item with those of all tenants. `file_windows`: the process's
    cache of file windows. `table`, `codec`, `blobs`: for the repositories that few processes need, which are imported and made at
    each use.
    """

    tenant: str
    agents: AgentStore
    agent_marks: AgentMarks
    groups: GroupStore
    sleeptime_triggers: SleeptimeTriggerStore
    identities: IdentityStore
    blocks: BlockStore
    tools: ToolStore
    conversations: ConversationStore
    conversation_records: ConversationRecordStore
    conversation_orders: ConversationOrders
    agent_logs: AgentLogs
    resting: RestingStore
    messages: MessageStore
    runs: RunStore
    agent_calls: AgentCallStore
    step_reads: StepReads
    steps: StepStore
    traces: Traces
    passages: PassageStore
    versions: VersionStore
    archives: ArchiveStore
    idempotency: IdempotencyStore
    approvals: ApprovalStore
    budgets: BudgetStore
    tool_policies: ToolPolicyStore
    call_rates: CallRateStore
    request_rates: TenantRates
    sandboxes: SandboxStore
    call_records: CallRecordStore
    events: EventOutbox
    transactions: Transactions
    writer: Writer
    deletion: Deletion
    window_ids: WindowIds
    search_outbox: SearchOutbox
    folders: FolderStore
    files: FileStore
    providers: ProviderStore
    secrets: SecretVault
    file_windows: TenantCache[FileWindow]
    table: TenantTable
    codec: Codec
    blobs: TenantBlobs

    @property
    def pauses(self) -> PauseStore:
        """The agents that answer nobody, or not these senders."""
        from hibernaut.store.agents.pauses import PauseStore

        return PauseStore(self.table, self.codec)

    @property
    def templates(self) -> TemplateStore:
        """The templates and their versions."""
        from hibernaut.store.templates.templates import TemplateStore

        return TemplateStore(self.table, self.codec)

    @property
    def imports(self) -> ImportStore:
        """The imports under way, and the skills of agents."""
        from hibernaut.store.templates.imports import ImportStore

        return ImportStore(self.table, self.codec, self.blobs)

    @property
    def batches(self) -> BatchStore:
        """The batches of messages."""
        from hibernaut.store.runs.batches import BatchStore

        return BatchStore(self.table, self.codec)

    @property
    def webhooks(self) -> WebhookStore:
        """The webhooks and their deliveries."""
        from hibernaut.store.events.webhooks import WebhookStore

        return WebhookStore(self.table, self.codec)

    @property
    def schedules(self) -> ScheduleStore:
        """The schedules."""
        from hibernaut.store.schedules.schedules import ScheduleStore

        return ScheduleStore(self.table, self.codec)

    @property
    def mcp_servers(self) -> McpServerStore:
        """The MCP servers."""
        from hibernaut.store.mcp.mcp_servers import McpServerStore

        return McpServerStore(self.table, self.codec)

    @property
    def oauth(self) -> OAuthStore:
        """The authorizations of MCP servers."""
        from hibernaut.store.mcp.oauth import OAuthStore

        return OAuthStore(self.table, self.codec)

    @property
    def erasures(self) -> ErasureStore:
        """The erasures of persons."""
        from hibernaut.store.identities.erasures import ErasureStore

        return ErasureStore(self.table, self.codec, self.blobs)


class Stores:
    """The parts over one table and its blobs that all tenants share. Thread-safe.

    `due`: the items that the sweep handles. `outbox`: notifies the indexer of this process. `blob_collector`: deletes
    unreferenced blobs. `event_signal`: notifies the deliverers of events in this process. `schedule_signal`: notifies its clock.
    `rates`: the limits on requests per second. `api_keys`: the keys of all tenants, whose changes `writer` writes.
    """

    def __init__(
        self,
        engine: Table,
        blobs: Blobs,
        clock: Clock,
        *,
        indexed: bool = False,
        all_events: bool = False,
        retention: timedelta = RETENTION,
        engines_of: Callable[[str], tuple[Table, Blobs]] | None = None,
        cipher: Cipher = NO_CIPHER,
    ) -> None:
        """`blobs`: holds large bodies. `indexed`: the deployment has a memory index. `all_events`: it has an event bus, which
        receives the events of all tenants. `retention`: the time for which versions of memory are retained. `engines_of`: the
        same table and blobs as one tenant may use them (None: there is no difference). `cipher`: seals the values of secrets.
        """
        self._policy = RetryPolicy(clock)
        self._table = self._retrying(engine)
        self._blobs = blobs
        self._engines_of, self._cipher = engines_of, cipher
        self.clock = clock
        self._retention = retention
        self._indexed, self._all_events = indexed, all_events
        self._windows, self._window_ids, self._accepted = window_cache(), id_cache(), handoff_cache()
        self._budgets, self._subscriptions = budget_cache(), subscription_cache()
        self._policies: LruCache[Remembered[tuple[ToolPolicy, ...]]] = record_cache()
        self._sandboxes: LruCache[Remembered[StoredSandbox]] = record_cache()
        self._file_windows = LruCache[FileWindow](FILE_CHARACTERS, lambda view: len(view.text))
        self._packs = PackCache()
        self.due = DueIndex(self._table, self._policy)
        self.rounds = RoundStore(self._table)
        self.rates = RateStore(self._table)
        self.writer = Writer(self._table, self._policy)
        self.outbox, self.event_signal, self.schedule_signal = OutboxSignal(), EventSignal(), ScheduleSignal()
        self.blob_collector = BlobCollector(self._table, blobs, Codec(blobs, self._table), clock)

    @cached_property
    def api_keys(self) -> ApiKeyStore:
        from hibernaut.store.access.api_keys import ApiKeyStore  # at the first use: a step authenticates nobody

        return ApiKeyStore(self._table, self.rates)

    @cached_property
    def connections(self) -> ConnectionStore:
        """WebSocket connections that a gateway holds."""
        from hibernaut.store.access.connections import ConnectionStore  # one function has such connections

        return ConnectionStore(self._table)

    def _written(self, changes: Sequence[Change]) -> None:
        self.outbox.written(changes)
        self.event_signal.written(changes)
        self.schedule_signal.written(changes)

    def _retrying(self, engine: Table) -> RetryingTable:
        return RetryingTable(VersionedTable(engine), self._policy)

    def _engines(self, tenant: str) -> tuple[Table, Blobs]:
        if self._engines_of is None:
            return self._table, self._blobs
        table, blobs = self._engines_of(tenant)
        return self._retrying(table), blobs

    def of(self, tenant: str) -> TenantStores:
        """The repositories of a tenant, without I/O. Raises: InvalidArgument for an invalid tenant name."""
        engine, own_blobs = self._engines(checked(tenant))
        table, blobs = TenantTable(engine, tenant), TenantBlobs(own_blobs, tenant)
        packs = PackReader(blobs, self._packs)
        codec, search_outbox = Codec(blobs, table, packs), SearchOutbox(table, enabled=self._indexed)
        writer = Writer(table, self._policy, self._written, blobs)
        conversations = ConversationStore(table, codec, search_outbox, self._windows.of(tenant))
        versions, vault = VersionStore(table, codec, self.clock, self._retention), SecretVault(TenantSeals(tenant, self._cipher))
        runs, agents, approvals = RunStore(table, codec), AgentStore(table, codec, versions, vault), ApprovalStore(table, codec)
        blocks, tools, records = (
            BlockStore(table, codec, versions),
            ToolStore(table, codec),
            ConversationRecordStore(table, codec),
        )
        passages = PassageStore(table, codec, search_outbox, versions)
        budgets = BudgetStore(table, codec, self.clock, self._budgets.of(tenant))
        request_rates = TenantRates(self.rates, self.writer, tenant)
        events = EventOutbox(table, self.clock, self._subscriptions.of(tenant), everything=self._all_events)
        return TenantStores(
            tenant=tenant,
            table=table,
            codec=codec,
            blobs=blobs,
            agents=agents,
            agent_marks=AgentMarks(table, agents.rows_of),
            groups=GroupStore(table, codec),
            sleeptime_triggers=SleeptimeTriggerStore(table, codec),
            identities=IdentityStore(table, codec),
            blocks=blocks,
            tools=tools,
            conversations=conversations,
            conversation_records=records,
            conversation_orders=ConversationOrders(table),
            agent_logs=AgentLogs(table, conversations, records, writer),
            resting=RestingStore(table, blobs, packs, conversations.logs),
            messages=MessageStore(table, codec),
            runs=runs,
            agent_calls=AgentCallStore(table, codec, runs),
            step_reads=StepReads(
                table,
                agents=agents,
                blocks=blocks,
                tools=tools,
                conversations=conversations,
                records=records,
                accepted=self._accepted.of(tenant),
            ),
            steps=StepStore(table, codec),
            traces=Traces(blobs, tenant),
            passages=passages,
            versions=versions,
            archives=ArchiveStore(table, codec, passages),
            idempotency=IdempotencyStore(table, self.clock, conversations),
            approvals=approvals,
            budgets=budgets,
            tool_policies=ToolPolicyStore(table, codec, self.clock, self._policies.of(tenant)),
            call_rates=CallRateStore(tenant, writer),
            request_rates=request_rates,
            sandboxes=SandboxStore(table, codec, self.clock, self._sandboxes.of(tenant), vault),
            call_records=CallRecordStore(table, codec, self._retention),
            events=events,
            transactions=Transactions(
                tenant,
                codec=codec,
                conversations=conversations,
                runs=runs,
                agents=agents,
                approvals=approvals,
                budgets=budgets,
                events=events,
            ),
            writer=writer,
            deletion=Deletion(table, blobs, writer, search_outbox, conversations.logs, request_rates),
            window_ids=WindowIds(conversations, self._window_ids.of(tenant)),
            search_outbox=search_outbox,
            folders=FolderStore(table, codec),
            files=FileStore(table, codec, blobs, search_outbox, writer),
            providers=ProviderStore(table, codec),
            secrets=vault,
            file_windows=self._file_windows.of(tenant),
        )
