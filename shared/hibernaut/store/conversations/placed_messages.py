"""The messages of all conversations of an agent by key: a page reads about as many rows as it shows, however many conversations
there are.

The rows of the default conversation are in its log. A row of another conversation has a place in one partition of the index DUE
for the agent, which is written with the row and never moves. An agent with its default conversation alone has no such places.

The index may lag behind the table. The logs of the conversations in which the newest runs are, are therefore read as well, from
some seconds before the newest run on. A row is missing for as long as the index lags only if its run began before the agent's
newest RECENT_RUNS runs.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta
from itertools import islice
from typing import NamedTuple

from hibernaut.ports.storage.table import Index, Item, Key, Query
from hibernaut.schemas.ids import as_of, creation_time
from hibernaut.schemas.messages.message import Message
from hibernaut.store.conversations import place_keys
from hibernaut.store.conversations.conversations import ConversationStore
from hibernaut.store.table import keys
from hibernaut.store.table.lists import lists
from hibernaut.store.table.lists.lists import MOST_AT_ONCE
from hibernaut.store.table.lists.logs import IdRange
from hibernaut.store.table.tenant_table import TenantTable

RECENT_RUNS = 20
"""The newest runs of an agent whose conversations may have rows that the index lacks."""
LAG = timedelta(seconds=10)
"""How far an index lags behind the table at most."""


class _Found(NamedTuple):
    """A row that may belong to a page; `item` None: not read yet."""

    id: str
    key: Key
    item: Item | None = None


class PlacedMessages:
    """The lists of agents' messages. Reads raise StoreUnavailable (`store.table.retries`), and OSError if a blob cannot be
    read.
    """

    def __init__(self, table: TenantTable, conversations: ConversationStore) -> None:
        self._table = table
        self._tenant = table.tenant
        self._conversations = conversations
        self._logs = conversations.logs

    def page(self, agent_id: str, span: IdRange, *, limit: int | None, descending: bool) -> list[Message]:
        """The rows with after < id < before in the order of ids; newest first if `descending`. `limit` None: all of them."""
        rows: list[Message] = []
        found = self._found(agent_id, span, limit, descending)
        while some := list(islice(found, MOST_AT_ONCE if limit is None else min(limit - len(rows), MOST_AT_ONCE))):
            rows += self._read(agent_id, some)
        return rows

    def get(self, agent_id: str, message_id: str) -> Message | None:
        """A row of a conversation other than the default one, or None."""
        place = place_keys.agent_messages(self._tenant, agent_id)
        runs = self._recent_runs(agent_id)
        entries, recent = self._table.query_many([Query(place, index=Index.DUE, prefix=message_id, limit=1), runs])
        if not entries:
            return self._logs.first(_conversations(recent), message_id)
        found = self._table.get(Key(str(entries[0]["pk"]), str(entries[0]["sk"])))
        return self._logs.row(found) if found and entries[0]["due_sk"] == message_id else None

    def _found(self, agent_id: str, span: IdRange, limit: int | None, descending: bool) -> Iterator[_Found]:
        """What the log of the default conversation, the index, and the newest runs' logs have in a span: each id once, in
        order.
        """
        first = MOST_AT_ONCE if limit is None else min(limit, MOST_AT_ONCE)
        own = self._logs.query(agent_id, span, limit=first, descending=descending)
        bounds = {"after": span.after, "before": span.before, "limit": first, "descending": descending}
        placed = Query(place_keys.agent_messages(self._tenant, agent_id), index=Index.DUE, **bounds)  # type: ignore[arg-type]
        rows, entries, runs = self._table.query_many([own, placed, self._recent_runs(agent_id)])
        sources = [
            (_item(item) for item in lists.continued(self._table, own, rows, "sk")),
            (_entry(item) for item in lists.continued(self._table, placed, entries, "due_sk")),
            iter(self._recent(runs, span, limit, descending)),
        ]
        newest = None
        for one in heapq.merge(*sources, key=lambda found: found.id, reverse=descending):
            if one.id != newest:
                yield one
            newest = one.id

    def _recent_runs(self, agent_id: str) -> Query:
        own = keys.agent(self._tenant, agent_id).pk
        return Query(own, prefix="RUN#", limit=RECENT_RUNS, descending=True, names=("conversation",))

    def _recent(self, runs: Sequence[Item], span: IdRange, limit: int | None, descending: bool) -> list[_Found]:
        """The rows in a span that the index may lack."""
        conversations = _conversations(runs)
        if not conversations:
            return []
        newest = keys.last_part(str(runs[0]["sk"]))
        edge = as_of(f"message-{newest[-36:]}", creation_time(newest) - LAG)
        if span.before is not None and span.before <= edge:
            return []
        late = IdRange(max(edge, span.after or ""), span.before)
        queries = [self._logs.query(one, late, limit=limit, descending=descending) for one in conversations]
        found = [_item(item) for items in self._table.query_many(queries) for item in items]
        return sorted(found, key=lambda one: one.id, reverse=descending)

    def _read(self, agent_id: str, batch: Sequence[_Found]) -> list[Message]:
        """The rows among those that were found which still exist. Of a deleted conversation they are those that a fork shares."""
        own_pk = keys.head(self._tenant, agent_id).pk
        other_heads = {one.key.pk: keys.head(self._tenant, keys.last_part(one.key.pk)) for one in batch if one.key.pk != own_pk}
        unread = [one.key for one in batch if one.item is None]
        read = self._table.get_many([*unread, *other_heads.values()]) if unread or other_heads else {}
        items = [item for one in batch if (item := one.item or read.get(one.key)) is not None]
        deleted_pks = {pk for pk, head in other_heads.items() if head not in read}
        hidden = {key for pk in deleted_pks for key in self._hidden(pk, [item for item in items if item["pk"] == pk])}
        return [self._logs.row(item) for item in items if item["sk"] not in hidden]

    def _hidden(self, pk: str, items: Sequence[Item]) -> Collection[str]:
        """The sort keys of the rows of a deleted conversation that no fork shares: its deletion is not complete yet."""
        conversation = keys.last_part(pk)
        forks = self._conversations.forks(conversation)
        segments = [one for fork in forks for one in fork.segments if one.conversation == conversation]
        shared = self._logs.shared(segments, items) if segments else set()
        return [str(item["sk"]) for item in items if keys.last_part(str(item["sk"])) not in shared]


def _conversations(runs: Sequence[Item]) -> list[str]:
    """The conversations of these runs other than the default one."""
    return list(dict.fromkeys(str(row["conversation"]) for row in runs if row.get("conversation")))


def _item(item: Item) -> _Found:
    return _Found(keys.last_part(str(item["sk"])), Key(str(item["pk"]), str(item["sk"])), item)


def _entry(entry: Item) -> _Found:
    return _Found(str(entry["due_sk"]), Key(str(entry["pk"]), str(entry["sk"])))
