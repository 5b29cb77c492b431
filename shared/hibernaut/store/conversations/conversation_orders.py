"""The conversations of an agent in the order of their last message, and of their last run.

A conversation's list row has its place by the last message in the index DUE, because it stands in a tenant-wide list of the index LISTS
already. The time of its last run is an item of its own, with a place in the index LISTS. The partitions of both belong to one agent.

Older versions wrote no places, and the time of the last run to the row. The item LASTRUN of an agent says that all its conversations
have their places; a new agent has it from the beginning. For other agents a list reads all rows, as before, and gives places to some.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from hibernaut.domain.wire.listing import Page
from hibernaut.ports.table import PRESENT, Change, Condition, Index, Item, Key, Op, Term, Update
from hibernaut.store.agents.last_runs import ORDERED
from hibernaut.store.table import keys
from hibernaut.store.table.lists import IndexList
from hibernaut.store.table.tenant_table import TenantTable
from hibernaut.store.table.time_orders import TimeOrder

Order = Literal["last_message_at", "last_run_completion"]
MESSAGED, RAN = "CONVSMESSAGED", "CONVSRAN"
"""The lists of an agent's conversations by their last message, and by their last run."""
PLACED_AT_ONCE = 40
"""Conversations of older data that one transaction places."""
_APART = "apart"


def messaged(tenant: str, agent_id: str, conversation_id: str, at: str) -> dict[str, str]:
    """The attributes of a list row for the time of the last message ("": none), with its place."""
    pk, sk = keys.conversation_place(tenant, MESSAGED, agent_id, conversation_id, at)
    return {"last_message_at": at, "due_pk": pk, "due_sk": sk}


def ran(tenant: str, agent_id: str, conversation_id: str, at: str) -> dict[str, str]:
    """The attributes of the item of the last run ("": none), with its place."""
    pk, sk = keys.conversation_place(tenant, RAN, agent_id, conversation_id, at)
    return {"last_run_completion": at, "list_pk": pk, "list_sk": sk}


class ConversationOrders:
    """The orders of a tenant's conversations by time. Reads raise StoreUnavailable (`store.table.retries`)."""

    def __init__(self, table: TenantTable) -> None:
        self._table = table
        self._tenant = table.tenant

    def walk(self, agent_id: str, order: Order, asked: Page) -> Iterator[Item]:
        """The list rows of an agent's conversations in an order, from the cursor of `asked` on, read lazily. The index may lag.

        Raises: NotFound for the cursor.
        """
        noun, index = (MESSAGED, Index.DUE) if order == "last_message_at" else (RAN, Index.LISTS)
        places = [keys.conversation_place(self._tenant, noun, agent_id, "", at)[0] for at in ("some", "")]
        parts = [IndexList([place], index) for place in places]

        def rows_of(ids: Sequence[str]) -> Mapping[str, Item]:
            found = self._table.get_many([keys.conversation_row(self._tenant, agent_id, one) for one in ids])
            rows = list(found.values())
            return {_id(row): row for row in (rows if order == "last_message_at" else self.joined(rows))}

        return TimeOrder(self._table, parts, order, rows_of=rows_of, mark="created_at").walk(asked)

    def joined(self, rows: Sequence[Item]) -> list[Item]:
        """List rows with their `last_run_completion`."""
        items = self._table.get_many([_run_key(row) for row in rows]) if rows else {}
        return [_joined(row, items.get(_run_key(row))) for row in rows]

    # data of older versions

    def are_complete(self, agent_id: str) -> bool:
        """Whether every conversation of the agent has its places."""
        return ORDERED in (self._table.get(keys.last_run(self._tenant, agent_id)) or {})

    def complete(self, agent_id: str) -> Update:
        """The change that says so. Condition: the agent has its item."""
        return Update(keys.last_run(self._tenant, agent_id), set={ORDERED: True}, when=PRESENT)

    def older(self, rows: Sequence[Item]) -> list[Item]:
        """Those among an agent's list rows that lack a place, with their `last_run_completion`."""
        return [row for row in self.joined(rows) if "due_pk" not in row or _APART not in row]

    def place(self, agent_id: str, older: Sequence[Item]) -> list[Change]:
        """The changes that give places to rows of `older`. Conditions: rows and items are as they were read."""
        changes: list[Change] = []
        for row in older:
            sent, ended = str(row.get("last_message_at", "")), str(row.get("last_run_completion", ""))
            unsent = Term("last_message_at", Op.EQ, sent) if "last_message_at" in row else Term("last_message_at", Op.MISSING)
            unended: Condition = (Term("last_run_completion", Op.EQ, ended) if _APART in row else Term("pk", Op.MISSING),)
            own = keys.conversation_row(self._tenant, agent_id, _id(row))
            changes += [
                Update(own, set=messaged(self._tenant, agent_id, _id(row), sent), when=(*PRESENT, unsent)),
                Update(_run_key(row), set=ran(self._tenant, agent_id, _id(row), ended), when=unended),
            ]
        return changes


def _run_key(row: Item) -> Key:
    return keys.conversation_last_run(Key(str(row["pk"]), str(row["sk"])))


def _joined(row: Item, item: Item | None) -> Item:
    return row if item is None else {**row, "last_run_completion": item["last_run_completion"], _APART: True}


def _id(row: Item) -> str:
    return keys.last_part(str(row["sk"]))
