"""Blocks in the table: the record, the list row, the versions, and the links to the agents that the block is attached to.

This module has reads, and changes that a use case combines into a transaction. An agent's record names its blocks in order; a
link leads from a block to an agent. A link to a deleted agent does no harm: its reader finds no agent. Every change of a block
writes a version of it (`store.versions`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from hibernaut.ports.storage.table import ABSENT, PRESENT, Change, Check, Delete, Item, Put, Update, Value, eq
from hibernaut.schemas.base import wire_time
from hibernaut.schemas.memory.block import StoredBlock
from hibernaut.store.events.outbox import WantedReading
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec, freed
from hibernaut.store.table.lists.row_lists import RowList
from hibernaut.store.table.lost_records import readable
from hibernaut.store.table.tenant_table import TenantTable
from hibernaut.store.versions import version_keys
from hibernaut.store.versions.version_keys import VersionPlace
from hibernaut.store.versions.version_store import CHAIN, UNKNOWN, Edit, RecordState, VersionStore, content_of, signed


class BlockStore:
    """Blocks and their links. Reads raise StoreUnavailable (`store.table.retries`), and OSError if a blob cannot be read."""

    def __init__(self, table: TenantTable, codec: Codec, versions: VersionStore) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec
        self._versions = versions

    def get(self, block_id: str, events: WantedReading | None = None) -> StoredBlock | None:
        """The block, or None. `events`: read in the same request."""
        key = keys.block(self._tenant, block_id)
        if events is None or not events.keys:
            item = self._table.get(key)
        else:
            found = self._table.get_many([key, *events.keys])
            events.take(found)
            item = found.get(key)
        return self.read(item) if item else None

    def get_many(self, block_ids: Sequence[str]) -> dict[str, StoredBlock]:
        """The blocks that exist among these, by id."""
        found = self._table.get_many([keys.block(self._tenant, block_id) for block_id in block_ids])
        blocks = readable(self.read, found.values())
        return {block.id: block for block in blocks}

    def read(self, item: Item) -> StoredBlock:
        """The block of an item."""
        block = self._codec.record(StoredBlock, item)
        block.version = int(item["version"])
        block.chained(str(item.get(CHAIN, "")))
        return block

    def create(self, block: StoredBlock, token: str, edit: Edit = UNKNOWN) -> list[Change]:
        """The changes that create a block, its list row and its first version; the chain is set on the block. Condition: the id
        is free.
        """
        key, row = keys.block(self._tenant, block.id), keys.block_row(self._tenant, block.id)
        version, chain = self._versions.put(self.history(block.id), None, content_of(block), edit)
        block.chained(chain)
        return [
            Put(self._codec.item(key, block, version=block.version, wt=token, **{CHAIN: chain}), ABSENT),
            Put({"pk": row.pk, "sk": row.sk, **_listed(block)}),
            version,
        ]

    def change(self, before: StoredBlock, after: StoredBlock, token: str, edit: Edit = UNKNOWN) -> list[Change]:
        """The changes from `before` to `after`: of the record, of the list row if its attributes differ, and the version; the
        chain is set on `after`.

        Condition: the version is that of `before`.
        """
        key = keys.block(self._tenant, after.id)
        record = after.model_copy(update={"version": before.version + 1})
        version, chain = self._versions.put(self.history(after.id), state_of(before), content_of(record), edit)
        after.chained(chain)
        attributes: dict[str, Value] = {**self._codec.body(key, record), "version": record.version, "wt": token, CHAIN: chain}
        changes: list[Change] = [Update(key, set=attributes, when=eq(version=before.version), frees=freed(key, before)), version]
        old = _listed(before)
        row = {name: value for name, value in _listed(after).items() if old[name] != value}
        return [*changes, Update(keys.block_row(self._tenant, after.id), set=row)] if row else changes

    def rows_of(self, block_ids: Sequence[str]) -> dict[str, Item]:
        """The list rows that exist of these blocks, by block id."""
        found = self._table.get_many([keys.block_row(self._tenant, block_id) for block_id in block_ids])
        return {key.sk: row for key, row in found.items()}

    def delete(self, block: StoredBlock, at: datetime, token: str, edit: Edit = UNKNOWN) -> list[Change]:
        """The changes that delete a block and its list row, and its last version. Condition: the version is that of `block`. Its
        links remain, and its versions until they expire.
        """
        version, _ = self._versions.put(self.history(block.id), state_of(block), None, replace(edit, at=at))
        return [*self.erase(block), signed(version, token)]

    def erase(self, block: StoredBlock) -> list[Change]:
        """The changes that delete a block and its list row, and write no version. Condition: the version is that of `block`."""
        key = keys.block(self._tenant, block.id)
        return [Delete(key, eq(version=block.version), freed(key, block)), Delete(keys.block_row(self._tenant, block.id))]

    def history(self, block_id: str) -> VersionPlace:
        """Where the versions of a block are."""
        return version_keys.of_block(self._tenant, block_id)

    def must_exist(self, block_id: str) -> Check:
        """The condition that the block exists, for a transaction that attaches it."""
        return Check(keys.block(self._tenant, block_id), PRESENT)

    def attach(self, block_id: str, agent_id: str) -> Put:
        """The change that creates the link. The agent's own list of blocks is a change of the agent."""
        key = keys.block_agent(self._tenant, block_id, agent_id)
        return Put({"pk": key.pk, "sk": key.sk})

    def detach(self, block_id: str, agent_id: str) -> Delete:
        """The change that deletes the link."""
        return Delete(keys.block_agent(self._tenant, block_id, agent_id))

    def agents_of(self, block_id: str) -> list[str]:
        """The ids of the agents that the block is attached to, oldest first."""
        links = self._table.query(keys.block_agent(self._tenant, block_id, "").pk, prefix=f"{block_id}#")
        return [keys.last_part(str(link["sk"])) for link in links]

    def links(self, block_id: str) -> RowList:
        """The links to the agents that the block is attached to."""
        return RowList(self._table, keys.block_agent(self._tenant, block_id, "").pk, f"{block_id}#")

    def counts(self) -> Mapping[str, int]:
        """The number of agents of each attached block, by block id; 0 for any other id."""
        links = self._table.query(keys.block_agent(self._tenant, "block", "").pk)
        return Counter(str(link["sk"]).split("#", 1)[0] for link in links)

    def listed(self) -> RowList:
        """The list rows of all blocks."""
        return RowList(self._table, keys.block_row(self._tenant, "block").pk)


def state_of(block: StoredBlock) -> RecordState:
    """A block as its versions see it."""
    return RecordState(block.version, block.chain, content_of(block))


def _listed(block: StoredBlock) -> dict[str, Value]:
    """The attributes that lists filter by; "" for a missing value."""
    return {
        "label": block.label or "",
        "description": block.description or "",
        "tags": json.dumps(block.tags),
        "identity_ids": json.dumps(block.identity_ids),
        "created_at": wire_time(block.created_at),
        "hidden": bool(block.hidden),
        "is_template": block.is_template,
        "template_name": block.template_name or "",
        "project_id": block.project_id or "",
    }
