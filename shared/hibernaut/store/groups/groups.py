"""Groups in the table: the record, the list row, and the links from its agents.

This module has reads, and changes that a use case combines into a transaction. A group's record names its agents in order. A link
without a group does no harm: its reader finds none.
"""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.ports.storage.table import ABSENT, Change, Delete, Item, Put, Update, Value, eq
from hibernaut.schemas.agents.group import StoredGroup
from hibernaut.store.groups import group_keys
from hibernaut.store.groups.group_keys import MANAGER, MEMBER
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec, freed
from hibernaut.store.table.lists.row_lists import RowList
from hibernaut.store.table.lost_records import readable
from hibernaut.store.table.tenant_table import TenantTable


class GroupStore:
    """Groups and their links. Reads raise StoreUnavailable (`store.table.retries`), and OSError if a blob cannot be read."""

    def __init__(self, table: TenantTable, codec: Codec) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec

    def get(self, group_id: str) -> StoredGroup | None:
        """The group, or None."""
        item = self._table.get(group_keys.group(self._tenant, group_id))
        return self._read(item) if item else None

    def get_many(self, group_ids: Sequence[str]) -> dict[str, StoredGroup]:
        """The groups that exist among these, by id. Without ids, nothing is read."""
        if not group_ids:
            return {}
        found = self._table.get_many([group_keys.group(self._tenant, group_id) for group_id in group_ids])
        groups = readable(self._read, found.values())
        return {group.id: group for group in groups}

    def _read(self, item: Item) -> StoredGroup:
        group = self._codec.record(StoredGroup, item)
        group.version = int(item["version"])
        return group

    def create(self, group: StoredGroup, token: str) -> list[Change]:
        """The changes that create a group, its list row, and the links from its agents. Condition: the id is free."""
        key, row = group_keys.group(self._tenant, group.id), group_keys.row(self._tenant, group.id)
        return [
            Put(self._codec.item(key, group, version=group.version, wt=token), ABSENT),
            Put({"pk": row.pk, "sk": row.sk, **_listed(group)}),
            *(self._link(group, prefix, agent_id) for prefix, agent_id in _links(group)),
        ]

    def change(self, before: StoredGroup, after: StoredGroup, token: str) -> list[Change]:
        """The changes from `before` to `after`: of the record, and of the list row and the links if they differ.

        Condition: the version is that of `before`.
        """
        key = group_keys.group(self._tenant, after.id)
        record = after.model_copy(update={"version": before.version + 1})
        attributes: dict[str, Value] = {**self._codec.body(key, record), "version": record.version, "wt": token}
        changes: list[Change] = [Update(key, set=attributes, when=eq(version=before.version), frees=freed(key, before))]
        if _listed(before) != _listed(after):
            changes.append(Update(group_keys.row(self._tenant, after.id), set=_listed(after)))
        old, new = _links(before), _links(after)
        changes += [self._link(after, *each) for each in new if each not in old]
        changes += [self._unlink(after.id, *each) for each in old if each not in new]
        return changes

    def delete(self, group: StoredGroup) -> list[Change]:
        """The changes that delete a group, its list row and its links. Condition: the version is that of `group`."""
        key = group_keys.group(self._tenant, group.id)
        return [
            Delete(key, eq(version=group.version), freed(key, group)),
            Delete(group_keys.row(self._tenant, group.id)),
            *(self._unlink(group.id, *each) for each in _links(group)),
        ]

    def listed(self) -> RowList:
        """The list rows of all groups."""
        return RowList(self._table, group_keys.row(self._tenant, "group").pk)

    def of_agent(self, agent_id: str) -> RowList:
        """The links to the groups that the agent is in. They have the attributes of list rows."""
        return RowList(self._table, keys.agent(self._tenant, agent_id).pk, MEMBER)

    def managed_by(self, agent_id: str) -> list[str]:
        """The ids of the groups that the agent manages, oldest first."""
        links = self._table.query(keys.agent(self._tenant, agent_id).pk, prefix=MANAGER, names=("sk",))
        return [keys.last_part(str(link["sk"])) for link in links]

    def _link(self, group: StoredGroup, prefix: str, agent_id: str) -> Put:
        key = group_keys.link(self._tenant, agent_id, prefix, group.id)
        return Put({"pk": key.pk, "sk": key.sk, **_listed(group)})

    def _unlink(self, group_id: str, prefix: str, agent_id: str) -> Delete:
        return Delete(group_keys.link(self._tenant, agent_id, prefix, group_id))


def _links(group: StoredGroup) -> list[tuple[str, str]]:
    """The links of a group: their prefix and their agent."""
    managers = [group.manager_agent_id] if group.manager_agent_id else []
    return [*((MEMBER, agent_id) for agent_id in dict.fromkeys(group.agent_ids)), *((MANAGER, each) for each in managers)]


def _listed(group: StoredGroup) -> dict[str, Value]:
    """The attributes that lists filter by; "" for a missing value."""
    return {"manager_type": group.manager_type.value, "project_id": group.project_id or "", "hidden": bool(group.hidden)}
