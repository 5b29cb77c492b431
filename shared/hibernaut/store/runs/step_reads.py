"""The reads of a step, in as few serial requests as their dependencies allow: the agent names its blocks and tools, so these come
second.

A worker that has just accepted a run hands the run's state and head to the run's first step (`AcceptedRun`). They count as an
earlier read: the conditions of the step's own transactions detect a change since then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from hibernaut.ports.storage.table import Item, Key
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.agents.conversation_record import StoredConversation
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.block import StoredBlock
from hibernaut.schemas.tools.tool import StoredTool
from hibernaut.store.agents.agents import AgentStore
from hibernaut.store.agents.tools import ToolStore
from hibernaut.store.conversations.conversation_records import ConversationRecordStore
from hibernaut.store.conversations.conversations import ConversationStore
from hibernaut.store.memory.archives import attached
from hibernaut.store.memory.blocks import BlockStore
from hibernaut.store.runs.runs import RunState
from hibernaut.store.table import keys
from hibernaut.store.table.lru_cache import LruCache, TenantCache
from hibernaut.store.table.tenant_table import TenantTable

MOST_HANDED_OVER = 200
"""The largest number of accepted runs that a process remembers for their first step. It forgets the oldest first."""


class BatchReading(Protocol):
    """Further records that the batch of a step reads: their keys, and the receiver of the existing items."""

    keys: list[Key]

    def take(self, found: Mapping[Key, Item]) -> None:
        """Receive the items that exist among `keys`. The results may be used from then on."""


@immutable
class AcceptedRun:
    """A run and the head of its conversation, as the accepting transaction wrote them."""

    state: RunState
    head: Head


def handoff_cache() -> LruCache[AcceptedRun]:
    """A cache for the accepted runs of all tenants in a process."""
    return LruCache(MOST_HANDED_OVER, lambda _: 1)


class StepReads:
    """Reads the records of a step, and hands accepted runs to their first step.

    Reads raise StoreUnavailable (`store.table.retries`), and OSError if a blob cannot be read.
    """

    def __init__(
        self,
        table: TenantTable,
        *,
        agents: AgentStore,
        blocks: BlockStore,
        tools: ToolStore,
        conversations: ConversationStore,
        records: ConversationRecordStore,
        accepted: TenantCache[AcceptedRun],
    ) -> None:
        self._table = table
        self._tenant = table.tenant
        self._agents = agents
        self._blocks = blocks
        self._tools = tools
        self._conversations = conversations
        self._records = records
        self._accepted = accepted

    def hand_over(self, state: RunState, head: Head) -> None:
        """Remember an accepted run for its first step. A run whose request has its own tools, skills or prompt, or more messages
        than a page, is not remembered, because such a request may have megabytes.
        """
        options = state.run.options
        if options.client_tools or options.client_skills or options.override_system or state.run.input:
            return
        self._accepted.keep(state.run.id, AcceptedRun(state, head))

    def handed_over(self, run_id: str) -> AcceptedRun | None:
        """The accepted run, once. None if another process accepted it, an earlier call returned it, or it was not remembered."""
        found = self._accepted.get(run_id)
        self._accepted.forget(run_id)
        return found

    def agent(self, agent_id: str) -> tuple[StoredAgent, list[str]] | None:
        """The agent, and the ids of its archives in the order of attachment; None if there is no such agent. One read."""
        place, after, before = keys.agent_and_archives(self._tenant, agent_id)
        items = self._table.query(place.pk, after=after, before=before)
        if not items or items[0]["sk"] != place.sk:
            return None
        return self._agents.read(items[0]), attached(items[1:])

    def conversation(self, conversation: str) -> tuple[Head | None, StoredConversation | None]:
        """The head and the record, each None if it does not exist. A default conversation has no record. One read."""
        head_key, record_key = keys.head(self._tenant, conversation), keys.conversation(self._tenant, conversation)
        found = self._table.get_many([head_key, record_key])
        head, record = found.get(head_key), found.get(record_key)
        return (self._conversations.read_head(head) if head else None, self._records.read(record) if record else None)

    def parts(
        self, block_ids: Sequence[str], tool_ids: Sequence[str], *further: BatchReading | None
    ) -> tuple[dict[str, StoredBlock], dict[str, StoredTool]]:
        """The blocks and the tools that exist among these, by id, and the records of `further`. One read."""
        blocks = [keys.block(self._tenant, block_id) for block_id in block_ids]
        tools = [keys.tool(self._tenant, tool_id) for tool_id in tool_ids]
        readings = [each for each in further if each is not None]
        found = self._table.get_many([*blocks, *tools, *(key for each in readings for key in each.keys)])
        for each in readings:
            each.take(found)
        return (
            {block.id: block for block in (self._blocks.read(found[key]) for key in blocks if key in found)},
            self._tools.among(tool_ids, [found[key] for key in tools if key in found]),
        )
