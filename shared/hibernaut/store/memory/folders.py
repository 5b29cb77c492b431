"""Folders in the table: the record, the list row, the unique name, and the links to the agents that the folder is attached to.

This module has reads, and changes that a use case combines into a transaction. An agent's record names its folders; a link leads
from a folder to an agent. A link to a deleted agent does no harm: its reader finds no agent.
"""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.ports.storage.table import ABSENT, PRESENT, Change, Check, Delete, Item, Put, Update, Value, eq
from hibernaut.schemas.base import wire_time
from hibernaut.schemas.memory.folder import StoredFolder
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec, freed
from hibernaut.store.table.lists.row_lists import RowList
from hibernaut.store.table.lost_records import readable
from hibernaut.store.table.tenant_table import TenantTable


class FolderStore:
    """Folders and their links. Reads raise StoreUnavailable (`store.table.retries`), and OSError if a blob cannot be read."""

    def __init__(self, table: TenantTable, codec: Codec) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec

    def get(self, folder_id: str) -> StoredFolder | None:
        """The folder, or None."""
        item = self._table.get(keys.folder(self._tenant, folder_id))
        return self._read(item) if item else None

    def get_many(self, folder_ids: Sequence[str]) -> dict[str, StoredFolder]:
        """The folders that exist among these, by id."""
        if not folder_ids:
            return {}
        found = self._table.get_many([keys.folder(self._tenant, folder_id) for folder_id in folder_ids])
        folders = readable(self._read, found.values())
        return {folder.id: folder for folder in folders}

    def _read(self, item: Item) -> StoredFolder:
        folder = self._codec.record(StoredFolder, item)
        folder.version = int(item["version"])
        return folder

    def by_name(self, name: str) -> str | None:
        """The id of the folder with this name, or None."""
        item = self._table.get(keys.folder_name(self._tenant, name))
        return str(item["folder"]) if item else None

    def create(self, folder: StoredFolder, token: str) -> list[Change]:
        """The changes that create a folder. The condition of the last one is that the name is free."""
        key, row = keys.folder(self._tenant, folder.id), keys.folder_row(self._tenant, folder.id)
        return [
            Put(self._codec.item(key, folder, version=folder.version, wt=token), ABSENT),
            Put({"pk": row.pk, "sk": row.sk, **_listed(folder)}),
            self._name(folder),
        ]

    def change(self, before: StoredFolder, after: StoredFolder, token: str) -> list[Change]:
        """The changes from `before` to `after`. Condition: the version is that of `before`. With a new name, the condition of the
        last change is that the name is free.
        """
        key = keys.folder(self._tenant, after.id)
        record = after.model_copy(update={"version": before.version + 1})
        attributes: dict[str, Value] = {**self._codec.body(key, record), "version": record.version, "wt": token}
        changes: list[Change] = [Update(key, set=attributes, when=eq(version=before.version), frees=freed(key, before))]
        if after.name == before.name:
            return changes
        row = Update(keys.folder_row(self._tenant, after.id), set=_listed(after))
        return [*changes, row, Delete(keys.folder_name(self._tenant, before.name)), self._name(after)]

    def delete(self, folder: StoredFolder) -> list[Change]:
        """The changes that delete a folder. Condition: the version is that of `folder`. The caller deletes the folder's files."""
        key = keys.folder(self._tenant, folder.id)
        return [
            Delete(key, eq(version=folder.version), freed(key, folder)),
            Delete(keys.folder_row(self._tenant, folder.id)),
            Delete(keys.folder_name(self._tenant, folder.name)),
        ]

    def must_exist(self, folder_id: str) -> Check:
        """The condition that the folder exists, for a transaction that attaches the folder or adds a file."""
        return Check(keys.folder(self._tenant, folder_id), PRESENT)

    def attach(self, folder_id: str, agent_id: str) -> Put:
        """The change that creates the link. The agent's own list of folders is a change of the agent."""
        key = keys.folder_agent(self._tenant, folder_id, agent_id)
        return Put({"pk": key.pk, "sk": key.sk})

    def detach(self, folder_id: str, agent_id: str) -> Delete:
        """The change that deletes the link."""
        return Delete(keys.folder_agent(self._tenant, folder_id, agent_id))

    def agents_of(self, folder_id: str) -> list[str]:
        """The ids of the agents that the folder is attached to, oldest first."""
        links = self._table.query(keys.folder(self._tenant, folder_id).pk, prefix="AGENT#", names=("sk",))
        return [keys.last_part(str(link["sk"])) for link in links]

    def links(self, folder_id: str) -> RowList:
        """The links to the agents that the folder is attached to."""
        return RowList(self._table, keys.folder(self._tenant, folder_id).pk, "AGENT#")

    def listed(self) -> RowList:
        """The list rows of all folders."""
        return RowList(self._table, keys.folder_row(self._tenant, "source").pk)

    def rows(self) -> list[Item]:
        """The list rows of all folders, oldest first."""
        return self.listed().all()

    def _name(self, folder: StoredFolder) -> Put:
        key = keys.folder_name(self._tenant, folder.name)
        return Put({"pk": key.pk, "sk": key.sk, "folder": folder.id}, ABSENT)


def _listed(folder: StoredFolder) -> dict[str, Value]:
    return {"name": folder.name, "created_at": wire_time(folder.created_at)}
