"""Packs of logs, marks of conversations at rest, and the agents that have been idle (decision 49).

This module has reads and single changes; `services.resting` decides their order. An item gives its body away only if the body is
still the packed one, and takes it back only if it still names the place in the pack, so each change may be repeated, by several
workers at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from hibernaut.ports.storage.table import PRESENT, Condition, Delete, Item, Key, Op, Put, Term, Update, Value, eq
from hibernaut.schemas.agents.conversation import Head
from hibernaut.store.conversations import resting_keys
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.formats import ATTRIBUTE, WRITTEN
from hibernaut.store.table.bodies.packs import (
    COPIED,
    FORMAT,
    GONE_FROM,
    PACK,
    PACKED,
    PACKED_TO,
    RESTING,
    RUNS_PACKED_TO,
    Entries,
    PackedRecord,
    PackReader,
    blob_of,
    digest_of,
    packed,
    place_of,
)
from hibernaut.store.table.lists import lists
from hibernaut.store.table.lists.logs import IdRange, LogReader
from hibernaut.store.table.tenant_table import TenantBlobs, TenantTable

UNFINISHED = "unfinished"
"""The attribute of a pack whose records may still have their bodies."""
_SHORT = 200
"""Characters of a body that is not worth a place in a pack."""


class WalkState(NamedTuple):
    """A walk through a list. `after`: the place of the last entry that was handled, "" at the beginning. `began`: seconds since
    1970. `ended`: no entry was left the last time.
    """

    after: str = ""
    began: int = 0
    ended: bool = False


class RestingStore:
    """Packs and marks of one tenant. Reads raise StoreUnavailable (`store.table.retries`), and OSError if a blob cannot be
    read.
    """

    def __init__(self, table: TenantTable, blobs: TenantBlobs, packs: PackReader, logs: LogReader) -> None:
        self._table = table
        self._tenant = table.tenant
        self._blobs = blobs
        self._packs = packs
        self._logs = logs

    # the marks of heads

    def rest(self, head: Head) -> Update:
        """The change that puts a conversation to rest. Conditions: it is as read, free, and has no queue and no pending
        approval.
        """
        free = eq(owner="", pending="", waiting=0, version=head.version)
        return Update(keys.head(self._tenant, head.id), set={RESTING: True}, when=free)

    def wake(self, head: Head, packed_to: str) -> Update:
        """The change that ends the rest of a conversation; its rows after `packed_to` may have their bodies. Condition: it
        rests.
        """
        key, condition = keys.head(self._tenant, head.id), eq(resting=True)
        if packed_to:
            return Update(key, set={PACKED_TO: packed_to}, remove=(RESTING,), when=condition)
        return Update(key, remove=(RESTING, PACKED_TO), when=condition)

    def reached(self, head: Head, before: str, packed_to: str) -> Update:
        """The change that records up to which row a log is packed. Conditions: it was packed up to `before`, and the log is as
        read.
        """
        last = Term(PACKED_TO, Op.EQ, before) if before else Term(PACKED_TO, Op.MISSING)
        return Update(keys.head(self._tenant, head.id), set={PACKED_TO: packed_to}, when=(last, *eq(version=head.version)))

    def emptied(self, conversation: str) -> Update:
        """The change after the deletion of the last pack of a log. Condition: the conversation exists."""
        return Update(keys.head(self._tenant, conversation), remove=(RESTING, PACKED_TO), when=PRESENT)

    def runs_packed_to(self, agent_id: str) -> str | None:
        """The id up to which an agent's runs are packed; "": none are; None: there is no such agent."""
        head = self._table.get(keys.head(self._tenant, agent_id))
        return None if head is None else str(head.get(RUNS_PACKED_TO, ""))

    def runs_reached(self, agent_id: str, before: str, packed_to: str) -> Update:
        """The change that records up to which run an agent is packed. Condition: it was packed up to `before`."""
        last = Term(RUNS_PACKED_TO, Op.EQ, before) if before else Term(RUNS_PACKED_TO, Op.MISSING)
        return Update(keys.head(self._tenant, agent_id), set={RUNS_PACKED_TO: packed_to}, when=(*PRESENT, last))

    def runs_emptied(self, agent_id: str) -> Update:
        """The change after the deletion of the last pack of an agent's runs. Condition: the agent exists."""
        return Update(keys.head(self._tenant, agent_id), remove=(RUNS_PACKED_TO,), when=PRESENT)

    # the packs

    def packs(self, pk: str) -> list[Item]:
        """The items of a partition's packs, oldest first."""
        return self._table.query(pk, prefix=PACK)

    def entries(self, pack: Key) -> Entries:
        """The records of a pack. Raises: KeyError if it is deleted, OSError."""
        return self._packs.entries(pack)

    def rows(
        self, conversation: str, span: IdRange, limit: int, *, descending: bool = False, names: Sequence[str] = ()
    ) -> list[Item]:
        """The items of a log's own rows; with `names`, these attributes alone."""
        query = self._logs.query(conversation, span, limit=limit, descending=descending, names=names)
        return query.run(self._table.query)

    def runs(self, agent_id: str, after: str, before: str | None, limit: int) -> list[Item]:
        """The list rows of an agent's runs between two ids, oldest first."""
        own, end = keys.agent(self._tenant, agent_id).pk, f"RUN#{before}" if before else None
        return self._table.query(own, prefix="RUN#", after=f"RUN#{after}" if after else None, before=end, limit=limit)

    def parts_of_run(self, run_id: str) -> list[PackedRecord]:
        """The records that a pack would hold of a run: the run and its steps."""
        items = self._table.query(keys.run(self._tenant, run_id).pk)
        packable = [item for item in items if item["sk"] == keys.RUN or str(item["sk"]).startswith("STEP#")]
        return [record for item in packable if (record := record_of(item)) is not None]

    def items(self, places: Sequence[Key]) -> dict[Key, Item]:
        """The items that exist among these."""
        return self._table.get_many(places)

    def put(self, pk: str, records: Sequence[PackedRecord], now: datetime) -> tuple[Key, Put]:
        """Write the blob of a new pack of a partition. Returns its key, and the change that makes it known. Raises: OSError."""
        pack = resting_keys.new_pack(pk, now)
        data, blob = packed(records), blob_of(pack)
        self._blobs.put(blob, data)
        attributes: dict[str, Value] = {"sha256": digest_of(data), "records": len(records), UNFINISHED: True}
        return pack, Put({"pk": pack.pk, "sk": pack.sk, "body": "", "blob": blob, **attributes})

    def finished(self, pack: Key) -> Update:
        """The change after all records of a pack have given their bodies away. Condition: the pack exists."""
        return Update(pack, remove=(UNFINISHED,), when=PRESENT)

    def drop(self, pack: Key) -> Delete:
        """The change that deletes a pack that no record names. The writer deletes its blob."""
        self._packs.forget(pack)
        return Delete(pack, frees=blob_of(pack))

    # the records

    def take_out(self, record: PackedRecord, pack: Key, number: int) -> Update:
        """The change by which an item gives its body to a pack. Conditions: it has this body, and the pack is not deleted."""
        condition = (*eq(body=record.body), Term(COPIED, Op.NE, parted_from(pack)))
        return self._without(record.key, place_of(record.key, pack, number), condition)

    def take_out_again(self, item: Item) -> Update:
        """The change by which an item whose body was brought back gives it up again. Condition: it is as read."""
        place = str(item[COPIED])
        return self._without(key_of(item), place, eq(body=str(item["body"]), copied=place))

    def bring_back(self, record: PackedRecord, place: str) -> Update:
        """The change by which an item has its body again, while the pack still has it. Condition: its body is at this place."""
        return self._with(record, place, place)

    def bring_home(self, record: PackedRecord, pack: Key, number: int) -> Update:
        """As `bring_back`, from a pack that is about to go: the item never names it again."""
        return self._with(record, place_of(record.key, pack, number), parted_from(pack))

    def part(self, item: Item, pack: Key) -> Update:
        """The change by which an item with a body never gives it to this pack. Condition: it is as read."""
        copied = item.get(COPIED)
        as_read = Term(COPIED, Op.MISSING) if copied is None else Term(COPIED, Op.EQ, copied)
        return Update(key_of(item), set={COPIED: parted_from(pack)}, when=(*PRESENT, as_read, Term(PACKED, Op.MISSING)))

    def _with(self, record: PackedRecord, place: str, copied: str) -> Update:
        attributes: dict[str, Value] = {"body": record.body, ATTRIBUTE: record.version, COPIED: copied}
        return Update(record.key, set=attributes, remove=(PACKED,), when=eq(pack=place))

    def _without(self, key: Key, place: str, condition: Condition) -> Update:
        return Update(key, set={"body": "", PACKED: place, ATTRIBUTE: FORMAT}, remove=(COPIED,), when=condition)

    # lists

    def listed(self, noun: str, span: IdRange, most: int) -> list[Item]:
        """The first entries of a list of the tenant's between two places, at most so many. Reads the index LISTS, which may
        lag.
        """
        return list(islice(lists.entries(self._table, lists.tenant_list(self._table, noun), span, first=most), most))

    def walked(self, noun: str) -> WalkState:
        """The progress of the walk through a list."""
        item = self._table.get(resting_keys.progress(self._tenant, noun))
        return WalkState(str(item["after"]), int(item["began"]), bool(item["ended"])) if item else WalkState()

    def passed(self, noun: str, state: WalkState) -> Put:
        """The change that records the progress of the walk."""
        key = resting_keys.progress(self._tenant, noun)
        return Put({"pk": key.pk, "sk": key.sk, "after": state.after, "began": state.began, "ended": state.ended})


def key_of(item: Item) -> Key:
    """The key of an item."""
    return Key(str(item["pk"]), str(item["sk"]))


def parted_from(pack: Key) -> str:
    """The value of `COPIED` of an item that must not be moved to a pack again."""
    return GONE_FROM + pack.sk.removeprefix(PACK)


def is_copied(item: Item) -> bool:
    """Whether a pack still holds the body that an item has."""
    return not str(item.get(COPIED, GONE_FROM)).startswith(GONE_FROM)


def record_of(item: Item) -> PackedRecord | None:
    """The record that a pack would hold of an item; None if it keeps its body: a short one, one in a blob, or one that is in a
    pack. A prompt is rewritten at its place, and keeps it too.
    """
    body = str(item["body"])
    if len(body) < _SHORT or item.get("role") == "system":
        return None
    return PackedRecord(key_of(item), int(item.get(ATTRIBUTE, WRITTEN)), body)
