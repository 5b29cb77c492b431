"""Folders in the table: the folder, its list row, its name (given once), and the links that say which agents have it.

Only reads stand here, and the changes that a transaction is made of. An agent's record names its folders; the links are the way back.
A link whose agent is gone is harmless: who follows it finds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.ports.table import ABSENT, PRESENT, Change, Check, Delete, Item, Put, Update, Value, eq
from hibernaut.schemas.base import wire_time
from hibernaut.schemas.folder import StoredFolder
from hibernaut.store import keys
from hibernaut.store.codec import Codec, freed
from hibernaut.store.row_lists import RowList
from hibernaut.store.tenant_table import TenantTable


class FolderStore:
    """Folders and their links."""

    def __init__(self, table: TenantTable, codec: Codec) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec

    def get(self, folder_id: str) -> StoredFolder | None:
        item = self._table.get(keys.folder(self._tenant, folder_id))
        return self._read(item) if item else None

    def get_many(self, folder_ids: Sequence[str]) -> dict[str, StoredFolder]:
        if not folder_ids:
            return {}
        found = self._table.get_many([keys.folder(self._tenant, folder_id) for folder_id in folder_ids])
        folders = [self._read(item) for item in found.values()]
        return {folder.id: folder for folder in folders}

    def _read(self, item: Item) -> StoredFolder:
        folder = self._codec.record(StoredFolder, item)
        folder.version = int(item["version"])
        return folder

    def by_name(self, name: str) -> str | None:
        """The id of the folder with this name."""
        item = self._table.get(keys.folder_name(self._tenant, name))
        return str(item["folder"]) if item else None

    def create(self, folder: StoredFolder, token: str) -> list[Change]:
        """The changes that bring a folder into being; the last one fails where its name is taken."""
        key, row = keys.folder(self._tenant, folder.id), keys.folder_row(self._tenant, folder.id)
        return [
            Put(self._codec.item(key, folder, version=folder.version, wt=token), ABSENT),
            Put({"pk": row.pk, "sk": row.sk, **_listed(folder)}),
            self._name(folder),
        ]

    def change(self, before: StoredFolder, after: StoredFolder, token: str) -> list[Change]:
        """The change from what was read to `after`, on the condition that it is still so. A new name that is taken fails the last."""
        key = keys.folder(self._tenant, after.id)
        kept = after.model_copy(update={"version": before.version + 1})
        changed: dict[str, Value] = {**self._codec.body(key, kept), "version": kept.version, "wt": token}
        changes: list[Change] = [Update(key, set=changed, when=eq(version=before.version), frees=freed(key, before))]
        if after.name == before.name:
            return changes
        row = Update(keys.folder_row(self._tenant, after.id), set=_listed(after))
        return [*changes, row, Delete(keys.folder_name(self._tenant, before.name)), self._name(after)]

    def delete(self, folder: StoredFolder) -> list[Change]:
        """The changes that end a folder, on the condition that it is as it was read. What lies in it is for the caller to clear."""
        key = keys.folder(self._tenant, folder.id)
        return [
            Delete(key, eq(version=folder.version), freed(key, folder)),
            Delete(keys.folder_row(self._tenant, folder.id)),
            Delete(keys.folder_name(self._tenant, folder.name)),
        ]

    def there(self, folder_id: str) -> Check:
        """The condition that the folder exists: for whoever attaches it, or adds to it."""
        return Check(keys.folder(self._tenant, folder_id), PRESENT)

    def attach(self, folder_id: str, agent_id: str) -> Put:
        """The link row. The agent's own list of folders is a change of the agent."""
        key = keys.folder_agent(self._tenant, folder_id, agent_id)
        return Put({"pk": key.pk, "sk": key.sk})

    def detach(self, folder_id: str, agent_id: str) -> Delete:
        return Delete(keys.folder_agent(self._tenant, folder_id, agent_id))

    def agents_of(self, folder_id: str) -> list[str]:
        """The ids of the agents that the folder is attached to, oldest first."""
        links = self._table.query(keys.folder(self._tenant, folder_id).pk, prefix="AGENT#", names=("sk",))
        return [keys.last_part(str(link["sk"])) for link in links]

    def links(self, folder_id: str) -> RowList:
        """The agents that the folder is attached to."""
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
