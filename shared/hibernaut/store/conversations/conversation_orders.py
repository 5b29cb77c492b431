"""The conversations of an agent, and those of all agents, in the order of their last message and of their last run.

| order           | of an agent                       | of all agents                        |
|-----------------|-----------------------------------|--------------------------------------|
| by last message | list row CONV#conv, index DUE     | item LASTMSG#conv, index LISTS       |
| by last run     | item LASTRUN#conv, index LISTS    | item LASTRUN#conv, index DUE         |

The items are in the agent's partition. An item can stand in one list of each index, and the list row stands in the tenant-wide
list by creation already. The lists of one agent have a partition each, those of all agents as many shards as turns need.

Older versions wrote no places, and the time of the last run to the row. The item LASTRUN of an agent records whether all its
conversations have their places, and the record `t#CONVSBY BUILD` whether all conversations of a tenant have theirs. Until then a
list reads all rows, and gives places to some (`services.conversations.conversation_lists`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from hibernaut.domain.wire.listing import Page
from hibernaut.ports.storage.table import PRESENT, Change, Condition, Index, Item, Key, Op, Put, Term, Update
from hibernaut.store.agents.last_runs import ORDERED
from hibernaut.store.conversations import place_keys
from hibernaut.store.table import keys
from hibernaut.store.table.lists.lists import IndexList
from hibernaut.store.table.lists.time_orders import TimeOrder
from hibernaut.store.table.tenant_table import TenantTable

Order = Literal["last_message_at", "last_run_completion"]
MESSAGED, RAN = "CONVSMESSAGED", "CONVSRAN"
"""The lists of an agent's conversations by their last message, and by their last run."""
ALL_MESSAGED, ALL_UNSAID = "CONVSBYMSG", "CONVSUNSAID"
"""The lists of all conversations by their last message, and of those without one."""
ALL_RAN, ALL_UNRUN = "CONVSBYRUN", "CONVSUNRUN"
"""The lists of all conversations by their last run, and of those without one."""
PLACED_AT_ONCE = 20
"""Conversations of older data that one transaction places."""
_APART = "apart"


def messaged(tenant: str, agent_id: str, conversation_id: str, at: str) -> dict[str, str]:
    """The attributes of a list row for the time of the last message ("": none), with its place among the agent's."""
    pk, sk = keys.conversation_place(tenant, MESSAGED, agent_id, conversation_id, at)
    return {"last_message_at": at, "due_pk": pk, "due_sk": sk}


def last_message(tenant: str, agent_id: str, conversation_id: str, at: str) -> Put:
    """The change that writes the place among all conversations for the time of the last message ("": none)."""
    key = place_keys.conversation_last_message(keys.conversation_row(tenant, agent_id, conversation_id))
    list_place = (
        keys.listed_at(tenant, ALL_MESSAGED, at, conversation_id) if at else keys.listed(tenant, ALL_UNSAID, conversation_id)
    )
    return Put({"pk": key.pk, "sk": key.sk, **list_place})


def ran(tenant: str, agent_id: str, conversation_id: str, at: str) -> dict[str, str]:
    """The attributes of the item of the last run ("": none), with its places."""
    pk, sk = keys.conversation_place(tenant, RAN, agent_id, conversation_id, at)
    everywhere = keys.due_listed_at(tenant, ALL_RAN if at else ALL_UNRUN, at, conversation_id)
    return {"last_run_completion": at, "list_pk": pk, "list_sk": sk, **everywhere}


class ConversationOrders:
    """The orders of a tenant's conversations by time. Reads raise StoreUnavailable (`store.table.retries`)."""

    def __init__(self, table: TenantTable) -> None:
        self._table = table
        self._tenant = table.tenant

    def walk(self, agent_id: str, order: Order, page: Page) -> Iterator[Item]:
        """The list rows of an agent's conversations in an order, from the cursor of `page` on, read lazily. The index may lag.

        Raises: NotFound for the cursor.
        """
        noun, index = (MESSAGED, Index.DUE) if order == "last_message_at" else (RAN, Index.LISTS)
        places = [keys.conversation_place(self._tenant, noun, agent_id, "", at)[0] for at in ("some", "")]
        parts = [IndexList([place], index) for place in places]

        def rows_of(ids: Sequence[str]) -> Mapping[str, Item]:
            rows = self._rows([keys.conversation_row(self._tenant, agent_id, one) for one in ids], order)
            return {_id(row): row for row in rows}

        return TimeOrder(self._table, parts, order, rows_of=rows_of, mark="created_at").walk(page)

    def walk_all(self, order: Order, page: Page) -> Iterator[Item]:
        """The list rows of the conversations of all agents, as `walk`. The cursor is `cursor` of a conversation."""
        nouns, index = (
            ((ALL_MESSAGED, ALL_UNSAID), Index.LISTS) if order == "last_message_at" else ((ALL_RAN, ALL_UNRUN), Index.DUE)
        )
        parts = [IndexList(keys.list_partitions(self._tenant, noun), index) for noun in nouns]

        def rows_of(names: Sequence[str]) -> Mapping[str, Item]:
            owned = [name.rpartition("#") for name in names]
            places = [keys.conversation_row(self._tenant, agent_id, one) for agent_id, _, one in owned]
            return {_name(row): row for row in self._rows(places, order)}

        order_of_all = TimeOrder(self._table, parts, order, rows_of=rows_of, mark="created_at", name_of=_name)
        return order_of_all.walk(page)

    def cursor(self, agent_id: str, conversation_id: str) -> str:
        """The cursor of a conversation in the lists of all agents."""
        return f"{agent_id}#{conversation_id}"

    def _rows(self, places: Sequence[Key], order: Order) -> Sequence[Item]:
        rows = list(self._table.get_many(places).values())
        return rows if order == "last_message_at" else self.joined(rows)

    def joined(self, rows: Sequence[Item]) -> list[Item]:
        """List rows with their `last_run_completion`."""
        items = self._table.get_many([_run_key(row) for row in rows]) if rows else {}
        return [_joined(row, items.get(_run_key(row))) for row in rows]

    # data of older versions

    def are_complete(self, agent_id: str) -> bool:
        """Whether every conversation of the agent has its places."""
        return ORDERED in (self._table.get(keys.last_run(self._tenant, agent_id)) or {})

    def complete(self, agent_id: str) -> Update:
        """The change that records that all conversations have their places. Condition: the agent has its item."""
        return Update(keys.last_run(self._tenant, agent_id), set={ORDERED: True}, when=PRESENT)

    def placed_to(self) -> str | None:
        """The last conversation up to which all conversations of the tenant have their places ("": none); None: all have them."""
        item = self._table.get(place_keys.conversations_placed(self._tenant))
        return None if item and item["complete"] else str(item["after"]) if item else ""

    def placed(self, after: str | None) -> Update:
        """The change that records the progress of placing conversations, as `placed_to` returns it."""
        return Update(place_keys.conversations_placed(self._tenant), set={"complete": after is None, "after": after or ""})

    def older(self, rows: Sequence[Item]) -> list[Item]:
        """Those among list rows that lack a place, with their `last_run_completion`."""
        items = self._table.get_many([make(row) for row in rows for make in (_run_key, _message_key)]) if rows else {}
        lacking = [row for row in rows if "due_pk" not in row or _message_key(row) not in items or not _is_everywhere(items, row)]
        return [_joined(row, items.get(_run_key(row))) for row in lacking]

    def place(self, older: Sequence[Item]) -> list[Change]:
        """The changes that give places to rows of `older`. Conditions: rows and items are as they were read."""
        changes: list[Change] = []
        for row in older:
            agent_id, own = keys.last_part(str(row["pk"])), Key(str(row["pk"]), str(row["sk"]))
            sent_at, ended_at = str(row.get("last_message_at", "")), str(row.get("last_run_completion", ""))
            message_term = (
                Term("last_message_at", Op.EQ, sent_at) if "last_message_at" in row else Term("last_message_at", Op.MISSING)
            )
            run_condition: Condition = (
                Term("last_run_completion", Op.EQ, ended_at) if _APART in row else Term("pk", Op.MISSING),
            )
            changes += [
                Update(own, set=messaged(self._tenant, agent_id, _id(row), sent_at), when=(*PRESENT, message_term)),
                last_message(self._tenant, agent_id, _id(row), sent_at),
                Update(_run_key(row), set=ran(self._tenant, agent_id, _id(row), ended_at), when=run_condition),
            ]
        return changes


def _run_key(row: Item) -> Key:
    return keys.conversation_last_run(Key(str(row["pk"]), str(row["sk"])))


def _message_key(row: Item) -> Key:
    return place_keys.conversation_last_message(Key(str(row["pk"]), str(row["sk"])))


def _is_everywhere(items: Mapping[Key, Item], row: Item) -> bool:
    return "due_pk" in items.get(_run_key(row), {})


def _joined(row: Item, item: Item | None) -> Item:
    return row if item is None else {**row, "last_run_completion": item["last_run_completion"], _APART: True}


def _id(row: Item) -> str:
    return keys.last_part(str(row["sk"]))


def _name(row: Item) -> str:
    """The agent and the conversation of a list row, or of an item beside it."""
    return f"{keys.last_part(str(row['pk']))}#{_id(row)}"
