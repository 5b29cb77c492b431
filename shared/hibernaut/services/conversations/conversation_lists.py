"""Lists of conversations: of one agent or of all, by creation, by last message or by last run, as list rows that are read lazily.

A list by a time goes by places in an index. Conversations of older data have no places: a list that meets them reads all rows,
and gives some their places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Final, Literal

from hibernaut.domain.wire.listing import Page, in_order
from hibernaut.ports.storage.table import ConditionFailed, Item
from hibernaut.schemas.immutable import immutable
from hibernaut.services.records import Records, no_conversation
from hibernaut.store.conversations.conversation_orders import PLACED_AT_ONCE, Order
from hibernaut.store.table import keys
from hibernaut.store.table.lists.logs import IdRange
from hibernaut.store.table.lists.row_lists import MOST_AT_ONCE

MADE: Final = "created_at"
"""The default order. Ids sort by creation time, so it is the order of ids too."""
PLACED = 200
"""Conversations of older data that one list gives their places."""
SEEN = 2_000
"""List rows that one list of all agents checks for places."""


@immutable
class ConversationQuery:
    """The filter, order and cursor of a list. Hidden conversations are never listed.

    `order_by` is a field of the list row. `after` is the id of the last conversation of the previous page, in the requested
    order.
    """

    agent_id: str | None = None
    limit: int = 50
    after: str | None = None
    summary_search: str | None = None
    archived: Literal["unarchived", "archived", "all"] = "unarchived"
    order_by: Literal["created_at"] | Order = "created_at"
    descending: bool = True

    def admits(self, row: Item) -> bool:
        """Whether a list row passes the filter. `order_by` and `after` are not considered."""
        if row["hidden"] or (self.archived != "all" and bool(row["archived"]) is (self.archived == "unarchived")):
            return False
        return (self.summary_search or "").lower() in str(row["summary"])


class ConversationLists:
    """The list rows of a tenant's conversations."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._rows = records.conversation_records
        self._orders = records.conversation_orders

    def rows(self, query: ConversationQuery) -> Iterator[Item]:
        """The rows after the cursor in the requested order, also those that the query does not admit. Raises: NotFound for the
        cursor.
        """
        agent_id, order = query.agent_id, query.order_by
        if order == MADE:
            return self._of_all(query) if agent_id is None else self._of_agent(agent_id, query)
        return self._of_all_by_time(order, query) if agent_id is None else self._of_agent_by_time(agent_id, order, query)

    def _of_all(self, query: ConversationQuery) -> Iterator[Item]:
        if query.after is not None and not self._rows.is_listed(query.after):
            raise no_conversation(query.after)
        span = IdRange(None, query.after) if query.descending else IdRange(query.after, None)
        return self._rows.walked(span, first=query.limit, descending=query.descending)

    def _of_agent(self, agent_id: str, query: ConversationQuery) -> Iterator[Item]:
        rows = self._rows.listed(agent_id)
        if query.after is not None and not rows.has(query.after):
            raise no_conversation(query.after)
        return rows.walk(query.after, descending=query.descending, first=query.limit)

    def _of_all_by_time(self, order: Order, query: ConversationQuery) -> Iterator[Item]:
        """All rows are read until every conversation of the tenant has its places."""
        placed = self._orders.placed_to()
        if placed is None or self._place_next(placed):
            cursor = self._records.conversation(query.after) if query.after is not None else None
            after = self._orders.cursor(cursor.agent_id, cursor.id) if cursor else None
            return self._orders.walk_all(order, Page(query.limit, after=after, descending=query.descending))
        return self._in_order(list(self._rows.walked(IdRange(), first=MOST_AT_ONCE)), query)

    def _of_agent_by_time(self, agent_id: str, order: Order, query: ConversationQuery) -> Iterator[Item]:
        """All rows are read until every conversation of the agent has its places."""
        row_list = self._rows.listed(agent_id)
        if self._orders.are_complete(agent_id):
            if query.after is not None and not row_list.has(query.after):
                raise no_conversation(query.after)
            return self._orders.walk(agent_id, order, Page(query.limit, after=query.after, descending=query.descending))
        rows = row_list.all()
        if not (older := self._orders.older(rows)):
            with suppress(ConditionFailed):  # the agent is of older data, or was deleted
                self._records.writer.write(self._orders.complete(agent_id))
        self._place(older[:PLACED])
        return self._in_order(rows, query)

    def _in_order(self, rows: Sequence[Item], query: ConversationQuery) -> Iterator[Item]:
        joined = self._orders.joined(rows)
        sorted_rows = in_order(joined, id_of=_id, place=lambda row: str(row.get(query.order_by, "")), descending=query.descending)
        if query.after is None:
            return iter(sorted_rows)
        ids = [_id(row) for row in sorted_rows]
        if query.after not in ids:
            raise no_conversation(query.after)
        return iter(sorted_rows[ids.index(query.after) + 1 :])

    def _place_next(self, after: str) -> bool:
        """Give the next conversations of the tenant their places. Returns whether all had them before.

        A conversation that changes meanwhile is placed by its change, or is met again by the next list.
        """
        rows = list(islice(self._rows.walked(IdRange(after or None), first=MOST_AT_ONCE), SEEN))
        older = self._orders.older(rows)
        if not self._place(older[:PLACED]):
            return False
        over = len(rows) < SEEN and len(older) <= PLACED
        reached = _id(older[PLACED - 1]) if len(older) > PLACED else _id(rows[-1]) if rows else ""
        self._records.writer.write(self._orders.placed(None if over else reached))
        return over and not older

    def _place(self, older: Sequence[Item]) -> bool:
        """Give conversations their places. Returns whether none of them has changed meanwhile."""
        settled = True
        for start in range(0, len(older), PLACED_AT_ONCE):
            try:
                self._records.writer.write(*self._orders.place(older[start : start + PLACED_AT_ONCE]))
            except ConditionFailed:
                settled = False
        return settled


def _id(row: Item) -> str:
    return keys.last_part(str(row["sk"]))
