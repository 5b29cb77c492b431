"""All repositories over one table, as one value: what a use case is given. Building it costs nothing but memory."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from hibernaut.ports.blobs import Blobs
from hibernaut.ports.clock import Clock
from hibernaut.ports.table import Table
from hibernaut.store.agent_logs import AgentLogs
from hibernaut.store.agents import AgentStore
from hibernaut.store.approvals import ApprovalStore
from hibernaut.store.archives import ArchiveStore
from hibernaut.store.blob_collector import BlobCollector
from hibernaut.store.blocks import BlockStore
from hibernaut.store.codec import Codec
from hibernaut.store.conversation_records import ConversationRecordStore
from hibernaut.store.conversations import ConversationStore
from hibernaut.store.deletion import Deletion
from hibernaut.store.files import FileStore
from hibernaut.store.folders import FolderStore
from hibernaut.store.idempotency import IdempotencyStore
from hibernaut.store.messages import MessageStore
from hibernaut.store.passages import PassageStore
from hibernaut.store.retries import RetryingTable, RetryPolicy
from hibernaut.store.runs import RunStore
from hibernaut.store.search_outbox import SearchOutbox
from hibernaut.store.step_reads import StepReads
from hibernaut.store.steps import StepStore
from hibernaut.store.tools import ToolStore
from hibernaut.store.traces import Traces
from hibernaut.store.transactions import Transactions
from hibernaut.store.window_ids import WindowIds
from hibernaut.store.writer import Writer


@dataclass(frozen=True, slots=True)
class Stores:
    """All repositories over one table."""

    agents: AgentStore
    blocks: BlockStore
    tools: ToolStore
    conversations: ConversationStore
    conversation_records: ConversationRecordStore
    agent_logs: AgentLogs
    messages: MessageStore
    runs: RunStore
    step_reads: StepReads
    steps: StepStore
    traces: Traces
    passages: PassageStore
    archives: ArchiveStore
    resends: IdempotencyStore
    approvals: ApprovalStore
    transactions: Transactions
    writer: Writer
    deletion: Deletion
    blob_collector: BlobCollector
    window_ids: WindowIds
    unindexed: SearchOutbox
    folders: FolderStore
    files: FileStore


def stores_over(engine: Table, blobs: Blobs, clock: Clock, *, indexed: bool = False, random: Random | None = None) -> Stores:
    """The repositories over a table's engine, with large bodies in `blobs`. `indexed`: an index is fed from the table. `random` draws
    the waits between tries."""
    policy = RetryPolicy(clock, random)
    table = RetryingTable(engine, policy)
    codec, unindexed = Codec(blobs, table), SearchOutbox(table, kept=indexed)
    writer = Writer(table, policy, unindexed.written, blobs)
    conversations, runs, agents = ConversationStore(table, codec, unindexed), RunStore(table, codec), AgentStore(table, codec)
    blocks, tools = BlockStore(table, codec), ToolStore(table, codec)
    passages = PassageStore(table, codec, unindexed)
    approvals, conversation_records = ApprovalStore(table, codec), ConversationRecordStore(table, codec)
    return Stores(
        agents=agents,
        blocks=blocks,
        tools=tools,
        conversations=conversations,
        conversation_records=conversation_records,
        agent_logs=AgentLogs(conversations, conversation_records),
        messages=MessageStore(table, codec),
        runs=runs,
        step_reads=StepReads(
            table, agents=agents, blocks=blocks, tools=tools, conversations=conversations, records=conversation_records
        ),
        steps=StepStore(table, codec),
        traces=Traces(blobs),
        passages=passages,
        archives=ArchiveStore(table, codec, passages),
        resends=IdempotencyStore(table, clock, conversations),
        approvals=approvals,
        transactions=Transactions(codec=codec, conversations=conversations, runs=runs, agents=agents, approvals=approvals),
        writer=writer,
        deletion=Deletion(table, blobs, writer, unindexed, conversations.logs),
        blob_collector=BlobCollector(table, blobs, codec, clock),
        window_ids=WindowIds(conversations),
        unindexed=unindexed,
        folders=FolderStore(table, codec),
        files=FileStore(table, codec, blobs, unindexed, writer),
    )
