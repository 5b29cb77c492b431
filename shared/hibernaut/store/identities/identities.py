"""Identities in the table: the record, the list row, the unique key, and the links to blocks. The links to agents are marks of
the agents (`store.agents.agent_marks`).

This module has reads, and changes that a use case combines into a transaction. An agent's and a block's record names its
identities. A link to a deleted block does no harm: its reader finds no block.
"""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.ports.storage.table import ABSENT, PRESENT, Change, Check, Delete, Item, Put, Query, Update, Value, eq
from hibernaut.schemas.agents.identity import StoredIdentity
from hibernaut.schemas.base import wire_time
from hibernaut.store.identities import identity_keys
from hibernaut.store.table.bodies.codec import Codec, freed
from hibernaut.store.table.keys import last_part
from hibernaut.store.table.lists.row_lists import RowList
from hibernaut.store.table.lost_records import readable
from hibernaut.store.table.tenant_table import TenantTable


class IdentityStore:
    """Identities and their links to blocks. Reads raise StoreUnavailable (`store.table.retries`), and OSError if a blob cannot be
    read.
    """

    def __init__(self, table: TenantTable, codec: Codec) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec

    def get(self, identity_id: str) -> StoredIdentity | None:
        """The identity, or None."""
        item = self._table.get(identity_keys.identity(self._tenant, identity_id))
        return self._read(item) if item else None

    def get_many(self, identity_ids: Sequence[str]) -> dict[str, StoredIdentity]:
        """The identities that exist among these, by id."""
        if not identity_ids:
            return {}
        found = self._table.get_many([identity_keys.identity(self._tenant, one) for one in dict.fromkeys(identity_ids)])
        identities = readable(self._read, found.values())
        return {identity.id: identity for identity in identities}

    def _read(self, item: Item) -> StoredIdentity:
        identity = self._codec.record(StoredIdentity, item)
        identity.version = int(item["version"])
        return identity

    def with_key(self, identifier_key: str, project_id: str | None) -> str | None:
        """The id of the identity with this key in the project, or None."""
        item = self._table.get(identity_keys.identity_key(self._tenant, identifier_key, project_id))
        return str(item["identity"]) if item else None

    def with_keys(self, identifier_keys: Sequence[str]) -> list[str]:
        """The ids of the identities that have one of these keys, in any project."""
        pk = identity_keys.identity_key(self._tenant, "", None).pk
        queries = [Query(pk, prefix=identity_keys.identity_keys(one)) for one in dict.fromkeys(identifier_keys)]
        return [str(item["identity"]) for items in self._table.query_many(queries) for item in items]

    def create(self, identity: StoredIdentity, token: str) -> list[Change]:
        """The changes that create an identity. The condition of the last one is that its key is free."""
        key, row = (make(self._tenant, identity.id) for make in (identity_keys.identity, identity_keys.identity_row))
        return [
            Put(self._codec.item(key, identity, version=identity.version, wt=token), ABSENT),
            Put({"pk": row.pk, "sk": row.sk, **_listed(identity)}),
            self._key(identity),
        ]

    def change(self, before: StoredIdentity, after: StoredIdentity, token: str) -> list[Change]:
        """The changes from `before` to `after`. Condition: the version is that of `before`. With a new key, the condition of the
        last change is that the key is free.
        """
        key = identity_keys.identity(self._tenant, after.id)
        record = after.model_copy(update={"version": before.version + 1})
        attributes: dict[str, Value] = {**self._codec.body(key, record), "version": record.version, "wt": token}
        changes: list[Change] = [Update(key, set=attributes, when=eq(version=before.version), frees=freed(key, before))]
        old = _listed(before)
        row = {name: value for name, value in _listed(after).items() if old[name] != value}
        if row:
            changes.append(Update(identity_keys.identity_row(self._tenant, after.id), set=row))
        if after.identifier_key != before.identifier_key:
            changes += [Delete(self._key(before).key), self._key(after)]
        return changes

    def delete(self, identity: StoredIdentity) -> list[Change]:
        """The changes that delete an identity. Condition: the version is that of `identity`. The caller removes its links."""
        key = identity_keys.identity(self._tenant, identity.id)
        return [
            Delete(key, eq(version=identity.version), freed(key, identity)),
            Delete(identity_keys.identity_row(self._tenant, identity.id)),
            Delete(self._key(identity).key),
        ]

    def must_exist(self, identity_id: str) -> Check:
        """The condition that the identity exists, for a transaction that attaches it."""
        return Check(identity_keys.identity(self._tenant, identity_id), PRESENT)

    def listed(self) -> RowList:
        """The list rows of all identities."""
        return RowList(self._table, identity_keys.identity_row(self._tenant, "identity").pk)

    def rows_of(self, identity_ids: Sequence[str]) -> list[Item]:
        """The list rows that exist of these identities."""
        found = self._table.get_many([identity_keys.identity_row(self._tenant, one) for one in dict.fromkeys(identity_ids)])
        return list(found.values())

    def attach_block(self, identity_id: str, block_id: str) -> Put:
        """The change that creates the link to a block. The block's own list of identities is a change of the block."""
        key = identity_keys.identity_block(self._tenant, identity_id, block_id)
        return Put({"pk": key.pk, "sk": key.sk})

    def detach_block(self, identity_id: str, block_id: str) -> Delete:
        """The change that deletes the link to a block."""
        return Delete(identity_keys.identity_block(self._tenant, identity_id, block_id))

    def block_links(self, identity_ids: Sequence[str]) -> RowList:
        """The links from one of these identities to blocks; a block of several of them is there once."""
        pk = identity_keys.identity_block(self._tenant, "", "").pk
        return RowList(self._table, pk, *(f"{one}#" for one in dict.fromkeys(identity_ids)))

    def blocks_of(self, identity_ids: Sequence[str]) -> dict[str, list[str]]:
        """The ids of the blocks of each of these identities, oldest first."""
        pk = identity_keys.identity_block(self._tenant, "", "").pk
        found = self._table.query_many([Query(pk, prefix=f"{one}#") for one in identity_ids])
        return {one: [last_part(str(link["sk"])) for link in links] for one, links in zip(identity_ids, found, strict=True)}

    def _key(self, identity: StoredIdentity) -> Put:
        key = identity_keys.identity_key(self._tenant, identity.identifier_key, identity.project_id)
        return Put({"pk": key.pk, "sk": key.sk, "identity": identity.id}, ABSENT)


def _listed(identity: StoredIdentity) -> dict[str, Value]:
    """The attributes that lists filter by; "" for a missing value."""
    return {
        "name": identity.name,
        "identity_type": identity.identity_type.value,
        "project_id": identity.project_id or "",
        "created_at": wire_time(identity.created_at),
    }
