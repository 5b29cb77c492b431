"""The merged log of an agent: the rows of its default conversation and of its other conversations, ordered by id.

A row that several forks share appears once. Rows that older versions wrote have no places in the list of an agent's messages
(`store.conversations.placed_messages`). Until all rows of an agent have places, its logs are merged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice

from hibernaut.ports.storage.table import PRESENT, Change, ConditionFailed, Query, Update
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.messages.message import Message
from hibernaut.store.agents.last_runs import ALL, PLACED
from hibernaut.store.conversations import place_keys
from hibernaut.store.conversations.conversation_records import ConversationRecordStore
from hibernaut.store.conversations.conversations import ConversationStore
from hibernaut.store.conversations.placed_messages import PlacedMessages
from hibernaut.store.table import keys
from hibernaut.store.table.lists import lists
from hibernaut.store.table.lists.logs import CHUNK, IdRange
from hibernaut.store.table.tenant_table import TenantTable
from hibernaut.store.table.writer import Writer

AGENTS_AT_ONCE = 16
"""Agents whose newest rows are read together."""
LOGS_AT_ONCE = 32
"""The largest number of logs that are read together."""
PLACED_AT_ONCE, MOST_PLACED = 90, 360
"""Rows of older data that one transaction places, and one read."""


class AgentLogs:
    """The merged logs of agents. Reads raise StoreUnavailable (`store.table.retries`), and OSError if a blob cannot be read."""

    def __init__(
        self, table: TenantTable, conversations: ConversationStore, records: ConversationRecordStore, writer: Writer
    ) -> None:
        self._table = table
        self._writer = writer
        self._tenant = table.tenant
        self._conversations = conversations
        self._logs = conversations.logs
        self._records = records
        self._placed = PlacedMessages(table, conversations)

    def page(self, agent_id: str, span: IdRange, *, limit: int | None = None, descending: bool = False) -> list[Message]:
        """The rows with after < id < before in the order of ids; newest first if `descending`. `limit` None: all of them."""
        other_conversations, placed = self._others(agent_id)
        if not other_conversations:
            return self._logs.rows(agent_id, [], span, limit=limit, descending=descending)
        if placed == ALL:
            return self._placed.page(agent_id, span, limit=limit, descending=descending)
        rows = self._merged(agent_id, span, limit, descending)
        with suppress(ConditionFailed):  # a row was deleted, or the agent has no item yet: the next read tries again
            for changes in self._unplaced(agent_id, placed, MOST_PLACED):
                self._writer.write(*changes)
        return rows

    def newest(self, agent_ids: Sequence[str], limit: int) -> Iterator[list[Message]]:
        """The newest rows of each agent, at most `limit`, newest first. Several agents are read together."""
        for start in range(0, len(agent_ids), AGENTS_AT_ONCE):
            batch = agent_ids[start : start + AGENTS_AT_ONCE]
            first = [self._first_other(agent_id) for agent_id in batch]
            queries = [self._logs.query(one, IdRange(), limit=min(limit, CHUNK), descending=True) for one in batch]
            found = self._table.query_many([*first, *queries])
            for agent_id, others, query, items in zip(batch, found, queries, found[len(batch) :], strict=False):
                if others:
                    yield self.page(agent_id, IdRange(), limit=limit, descending=True)
                else:
                    rows = lists.continued(self._table, query, items, "sk")
                    yield [self._logs.row(item) for item in islice(rows, limit)]

    def message(self, agent_id: str, message_id: str) -> Message | None:
        """A row by its id, from any of the agent's logs; None if there is no such row."""
        found = self._logs.first([agent_id], message_id)
        if found is not None:
            return found
        other_conversations, placed = self._others(agent_id)
        if not other_conversations:
            return None
        return self._placed.get(agent_id, message_id) if placed == ALL else self._logs.first(self._logs_of(agent_id), message_id)

    def _others(self, agent_id: str) -> tuple[bool, str]:
        """Whether the agent has other conversations, and how far their rows have places."""
        own = keys.last_run(self._tenant, agent_id)
        first, items = self._table.query_many([self._first_other(agent_id), Query(own.pk, prefix=own.sk, limit=1)])
        return bool(first), str(items[0].get(PLACED, "")) if items and items[0]["sk"] == own.sk else ""

    def _first_other(self, agent_id: str) -> Query:
        return Query(keys.agent(self._tenant, agent_id).pk, prefix="CONV#", limit=1, names=("sk",))

    # data of older versions

    def _unplaced(self, agent_id: str, placed: str, limit: int) -> Iterator[list[Change]]:
        """Transactions that place the rows after `placed`, at most `limit` of them, read lazily. Conditions: the rows exist, and
        the agent has the item with the progress.
        """
        log, _, after = placed.partition("#")
        for conversation in sorted(one for one in self._logs_of(agent_id) if one >= log):
            start = after if conversation == log else ""
            for ids in self._logs.ids(conversation, start, PLACED_AT_ONCE):
                if limit <= 0:
                    return
                limit -= len(ids)
                rows = [self._place(agent_id, conversation, one) for one in ids]
                yield [*rows, self._reached(agent_id, f"{conversation}#{ids[-1]}")]
        yield [self._reached(agent_id, ALL)]

    def _place(self, agent_id: str, conversation: str, message_id: str) -> Update:
        place = place_keys.agent_message(self._tenant, agent_id, message_id)
        return Update(keys.message(self._tenant, conversation, message_id), set=dict(place), when=PRESENT)

    def _reached(self, agent_id: str, placed: str) -> Update:
        return Update(keys.last_run(self._tenant, agent_id), set={PLACED: placed}, when=PRESENT)

    def _logs_of(self, agent_id: str) -> list[str]:
        """The logs with the rows of an agent's other conversations: their own, and those that they share."""
        other_ids = self._records.ids(agent_id)
        heads = self._conversations.heads(other_ids).values()
        shared = {part.conversation for head in heads for part in head.segments}
        return [*other_ids, *sorted(shared.difference([agent_id, *other_ids]))]

    def _merged(self, agent_id: str, span: IdRange, limit: int | None, descending: bool) -> list[Message]:
        """The rows of a page from the logs of all conversations. Reads every head."""
        other_ids = self._records.ids(agent_id)
        heads = sorted(self._conversations.heads([agent_id, *other_ids]).values(), key=_newest, reverse=True)
        found: dict[str, Message] = {}
        start, size = 0, 1
        while start < len(heads):
            if descending and limit is not None and _complete(found, limit, heads[start]):
                break
            batch = heads[start : start + size]
            rows = self._logs.own_rows([head.id for head in batch if not head.segments], span, limit=limit, descending=descending)
            for head in batch:
                if head.segments:
                    rows += self._logs.rows(head.id, head.segments, span, limit=limit, descending=descending)
            found |= {row.id: row for row in rows}
            # The newest logs may have the whole page. Where they do not, more and more logs are read together.
            start, size = start + size, min(2 * size, LOGS_AT_ONCE)
        return [found[row_id] for row_id in sorted(found, reverse=descending)[:limit]]


def _newest(head: Head) -> str:
    return head.last_message or ""


def _complete(found: dict[str, Message], limit: int, head: Head) -> bool:
    """Whether no row of this log, or of a log that ended earlier, can be among the newest `limit` rows."""
    return len(found) >= limit and sorted(found, reverse=True)[limit - 1 : limit] > [_newest(head)]
