"""The records of conversations, and their list rows with the attributes that lists filter and order by.
`store.conversations.conversations` has the heads and logs.

This module has reads, and changes that a use case combines into a transaction. An agent's default conversation has no record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from hibernaut.ports.storage.table import ABSENT, PRESENT, Change, Check, Delete, Item, Put, Update, Value, eq
from hibernaut.schemas.agents.conversation_record import StoredConversation
from hibernaut.schemas.base import wire_time
from hibernaut.schemas.runs.run import Run
from hibernaut.store.conversations import place_keys
from hibernaut.store.conversations.conversation_orders import last_message, messaged, ran
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec, freed
from hibernaut.store.table.lists import lists
from hibernaut.store.table.lists.logs import IdRange
from hibernaut.store.table.lists.row_lists import RowList
from hibernaut.store.table.lost_records import readable
from hibernaut.store.table.tenant_table import TenantTable

NOUN = "CONVS"


class ConversationRecordStore:
    """The records of conversations and their list rows. Reads raise StoreUnavailable (`store.table.retries`), and OSError if a
    blob cannot be read.
    """

    def __init__(self, table: TenantTable, codec: Codec) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec

    def get(self, conversation_id: str) -> StoredConversation | None:
        """The record of a conversation, or None."""
        return self.get_many([conversation_id]).get(conversation_id)

    def get_many(self, conversation_ids: Sequence[str]) -> dict[str, StoredConversation]:
        """The records that exist of these conversations, by id."""
        found = self._table.get_many([keys.conversation(self._tenant, one) for one in conversation_ids])
        records = readable(self.read, found.values())
        return {record.id: record for record in records}

    def read(self, item: Item) -> StoredConversation:
        """The record of an item."""
        record = self._codec.record(StoredConversation, item)
        record.version = int(item["version"])
        return record

    def create(self, record: StoredConversation, token: str, sent_at: str = "") -> list[Change]:
        """The changes that create a record and its list row. `sent_at`: the time of its newest message ("": none). Conditions:
        the id is free, and the agent exists.
        """
        key, row = keys.conversation(self._tenant, record.id), keys.conversation_row(self._tenant, record.agent_id, record.id)
        return [
            Put(self._codec.item(key, record, version=record.version, wt=token), ABSENT),
            Put(
                {
                    "pk": row.pk,
                    "sk": row.sk,
                    **keys.listed(self._tenant, NOUN, record.id),
                    **messaged(self._tenant, record.agent_id, record.id, sent_at),
                    **_listed(record),
                }
            ),
            Put({**ran(self._tenant, record.agent_id, record.id, ""), "pk": row.pk, "sk": keys.conversation_last_run(row).sk}),
            last_message(self._tenant, record.agent_id, record.id, sent_at),
            Check(keys.agent(self._tenant, record.agent_id), PRESENT),
        ]

    def change(
        self,
        before: StoredConversation,
        after: StoredConversation,
        token: str,
        *,
        last_message_at: Iterable[datetime | None] = (),
    ) -> list[Change]:
        """The changes from `before` to `after`: of the record, and of the list row if its attributes differ.

        Condition: the version is that of `before`. `last_message_at`: a single new value of this attribute of the list row (None
        clears the attribute), or nothing to leave it as it is.
        """
        key = keys.conversation(self._tenant, after.id)
        updated = after.model_copy(update={"version": before.version + 1})
        attributes: dict[str, Value] = {**self._codec.body(key, updated), "version": updated.version, "wt": token}
        changes: list[Change] = [Update(key, set=attributes, when=eq(version=before.version), frees=freed(key, before))]
        row = {name: value for name, value in _listed(after).items() if _listed(before)[name] != value}
        for moment in last_message_at:
            sent_at = wire_time(moment) if moment else ""
            row |= messaged(self._tenant, after.agent_id, after.id, sent_at)
            changes.append(last_message(self._tenant, after.agent_id, after.id, sent_at))
        return [*changes, Update(keys.conversation_row(self._tenant, after.agent_id, after.id), set=row)] if row else changes

    def delete(self, record: StoredConversation) -> list[Change]:
        """The changes that delete a record and its list row. Condition: the version is that of `record`."""
        key, row = keys.conversation(self._tenant, record.id), keys.conversation_row(self._tenant, record.agent_id, record.id)
        return [
            Delete(key, eq(version=record.version), freed(key, record)),
            Delete(row),
            Delete(keys.conversation_last_run(row)),
            Delete(place_keys.conversation_last_message(row)),
        ]

    def ids(self, agent_id: str) -> list[str]:
        """The ids of an agent's conversations without the default conversation, oldest first."""
        found = self._table.query(keys.agent(self._tenant, agent_id).pk, prefix="CONV#", names=("created_at",))
        return [keys.last_part(str(row["sk"])) for row in found if "created_at" in row]

    def pages(self, agent_id: str, size: int) -> Iterator[list[str]]:
        """The ids of `ids` in pages of at most `size` rows. The caller may delete the conversations of a page before the next."""
        pk, after = keys.agent(self._tenant, agent_id).pk, ""
        while found := self._table.query(pk, prefix="CONV#", after=after or None, limit=size, names=("created_at",)):
            yield [keys.last_part(str(row["sk"])) for row in found if "created_at" in row]
            after = str(found[-1]["sk"])

    def listed(self, agent_id: str) -> RowList:
        """The list rows of an agent's conversations without the default conversation."""
        return RowList(self._table, keys.agent(self._tenant, agent_id).pk, "CONV#", mark="created_at")

    def walked(self, span: IdRange, *, first: int, descending: bool = False) -> Iterator[Item]:
        """The list rows of all agents' conversations in the order of their ids. Reads the index LISTS, which may lag."""
        found = lists.walked(self._table, NOUN, span, first=first, descending=descending)
        return (row for row in found if "created_at" in row)

    def is_listed(self, conversation_id: str) -> bool:
        """Whether the index LISTS has the conversation. The index may lag."""
        return lists.find(self._table, NOUN, conversation_id) is not None

    def row(self, record: StoredConversation) -> Item:
        """The list row of a record; empty if there is none."""
        return self._table.get(keys.conversation_row(self._tenant, record.agent_id, record.id)) or {}


def message_sent(tenant: str, run: Run, at: datetime) -> list[Change]:
    """The changes of the list row and the places of a request's conversation. For a deleted conversation they write attributes
    that no list shows.
    """
    if run.conversation_id is None:
        return []
    row, sent_at = keys.conversation_row(tenant, run.agent_id, run.conversation_id), wire_time(at)
    return [
        Update(row, set=messaged(tenant, run.agent_id, run.conversation_id, sent_at)),
        last_message(tenant, run.agent_id, run.conversation_id, sent_at),
    ]


def run_ended(tenant: str, run: Run, at: datetime, *, followed: bool = False) -> list[Change]:
    """The changes of a conversation's last run, and of its list row, at the end of a run. `followed`: the request that ended the
    run starts a new one, which counts as a message.
    """
    if run.conversation_id is None:
        return []
    key = keys.conversation_last_run(keys.conversation_row(tenant, run.agent_id, run.conversation_id))
    update = Update(key, set=ran(tenant, run.agent_id, run.conversation_id, wire_time(at)))
    return [update, *(message_sent(tenant, run, at) if followed else ())]


def _listed(record: StoredConversation) -> dict[str, Value]:
    """The attributes that lists filter and order by; "" for a missing value."""
    return {
        "summary": (record.summary or "").lower(),
        "created_at": wire_time(record.created_at),
        "archived": record.archived,
        "hidden": record.hidden,
    }
