"""All repositories over one table, as one value: what a use case is given. Building it costs nothing but memory."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from hibernaut.ports.blobs import Blobs
from hibernaut.ports.clock import Clock
from hibernaut.ports.table import Table
from hibernaut.store.agent_logs import AgentLogs
from hibernaut.store.agents import Agents
from hibernaut.store.approvals import Approvals
from hibernaut.store.archives import Archives
from hibernaut.store.blob_collector import BlobCollector
from hibernaut.store.blocks import Blocks
from hibernaut.store.codec import Codec
from hibernaut.store.conversation_records import ConversationRecords
from hibernaut.store.conversations import Conversations
from hibernaut.store.deletion import Deletion
from hibernaut.store.files import Files
from hibernaut.store.folders import Folders
from hibernaut.store.idempotency import Resends
from hibernaut.store.messages import Messages
from hibernaut.store.passages import Passages
from hibernaut.store.retries import RetryingTable, RetryPolicy
from hibernaut.store.runs import Runs
from hibernaut.store.search_outbox import Unindexed
from hibernaut.store.step_reads import StepReads
from hibernaut.store.steps import Steps
from hibernaut.store.tools import Tools
from hibernaut.store.traces import Traces
from hibernaut.store.transactions import Transactions
from hibernaut.store.window_ids import WindowIds
from hibernaut.store.writer import Writer


@dataclass(frozen=True, slots=True)
class Stores:
    agents: Agents
    blocks: Blocks
    tools: Tools
    conversations: Conversations
    conversation_records: ConversationRecords
    agent_logs: AgentLogs
    messages: Messages
    runs: Runs
    step_reads: StepReads
    steps: Steps
    traces: Traces
    passages: Passages
    archives: Archives
    resends: Resends
    approvals: Approvals
    transactions: Transactions
    writer: Writer
    deletion: Deletion
    blob_collector: BlobCollector
    window_ids: WindowIds
    unindexed: Unindexed
    folders: Folders
    files: Files


def stores_over(engine: Table, blobs: Blobs, clock: Clock, *, indexed: bool = False, random: Random | None = None) -> Stores:
    """The repositories over a table's engine, with large bodies in `blobs`. `indexed`: an index is fed from the table. `random` draws
    the waits between tries."""
    policy = RetryPolicy(clock, random)
    table = RetryingTable(engine, policy)
    codec, unindexed = Codec(blobs, table), Unindexed(table, kept=indexed)
    writer = Writer(table, policy, unindexed.written, blobs)
    conversations, runs, agents = Conversations(table, codec, unindexed), Runs(table, codec), Agents(table, codec)
    blocks, tools = Blocks(table, codec), Tools(table, codec)
    passages = Passages(table, codec, unindexed)
    approvals, conversation_records = Approvals(table, codec), ConversationRecords(table, codec)
    return Stores(
        agents=agents,
        blocks=blocks,
        tools=tools,
        conversations=conversations,
        conversation_records=conversation_records,
        agent_logs=AgentLogs(conversations, conversation_records),
        messages=Messages(table, codec),
        runs=runs,
        step_reads=StepReads(
            table, agents=agents, blocks=blocks, tools=tools, conversations=conversations, records=conversation_records
        ),
        steps=Steps(table, codec),
        traces=Traces(blobs),
        passages=passages,
        archives=Archives(table, codec, passages),
        resends=Resends(table, clock, conversations),
        approvals=approvals,
        transactions=Transactions(codec=codec, conversations=conversations, runs=runs, agents=agents, approvals=approvals),
        writer=writer,
        deletion=Deletion(table, blobs, writer, unindexed, conversations.logs),
        blob_collector=BlobCollector(table, blobs, codec, clock),
        window_ids=WindowIds(conversations),
        unindexed=unindexed,
        folders=Folders(table, codec),
        files=Files(table, codec, blobs, unindexed, writer),
    )
