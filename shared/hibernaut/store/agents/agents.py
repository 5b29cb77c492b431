"""Agents in the table: the record, and the list row with the attributes that lists filter and order by.

This module has reads, and changes that a use case combines into a transaction. `services` decides when an agent may change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from hibernaut.ports.storage.table import ABSENT, PRESENT, Change, Check, Delete, Item, Op, Put, Term, Update, Value, eq
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.base import wire_time
from hibernaut.schemas.stop import StopReason
from hibernaut.store.agents.agent_marks import CONCEALED
from hibernaut.store.agents.last_runs import FIELDS, NEW, PLACE, RAN, LastRuns, stands
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec, freed
from hibernaut.store.table.lists.lists import tenant_list
from hibernaut.store.table.lists.row_lists import RowList
from hibernaut.store.table.lists.time_orders import TimeOrder
from hibernaut.store.table.lost_records import readable
from hibernaut.store.table.secret_vault import SecretVault
from hibernaut.store.table.tenant_table import TenantTable
from hibernaut.store.versions import version_keys
from hibernaut.store.versions.version_keys import VersionPlace
from hibernaut.store.versions.version_store import CHAIN, UNKNOWN, Edit, RecordState, VersionStore, content_of

UPDATED = "AGENTSUPDATED"
"""The list of agents by their last change."""
GROUP = "group"
"""The attribute of an agent's item that names the group that it manages. It is no part of the body, which older servers
rewrite.
"""
MARKED = "marked"
"""The attribute of the list rows whose agents have marks and places in the orders. Rows of older data lack it."""
_STORED_APART = {"last_run_completion": None, "last_run_duration_ms": None, "last_stop_reason": None}
"""The fields that only the item of the last run stores."""
_PRIVATE: Mapping[str, Value] = {"private": True}
"""An attribute for release 0.1: its table in a file copies each changed item, but no body of an item with this attribute."""


class AgentStore:
    """Agents, and their list rows. Their marks are `store.agents.agent_marks`, their newest runs `last_runs`. Reads raise
    StoreUnavailable (`store.table.retries`), and OSError if a blob cannot be read.
    """

    def __init__(self, table: TenantTable, codec: Codec, versions: VersionStore, secrets: SecretVault) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec
        self._versions = versions
        self._secrets = secrets
        self.last_runs = LastRuns(table)

    def get(self, agent_id: str) -> StoredAgent | None:
        """The agent, or None."""
        item = self._table.get(keys.agent(self._tenant, agent_id))
        return self.read(item) if item else None

    def get_many(self, agent_ids: Sequence[str]) -> dict[str, StoredAgent]:
        """The agents that exist among these, by id."""
        found = self._table.get_many([keys.agent(self._tenant, agent_id) for agent_id in agent_ids])
        agents = readable(self.read, found.values())
        return {agent.id: agent for agent in agents}

    def read(self, item: Item) -> StoredAgent:
        """The agent of an item."""
        agent = self._codec.record(StoredAgent, item)
        agent.version = int(item["version"])
        agent.managed_group_id = str(item.get(GROUP, "")) or None
        agent.chained(str(item.get(CHAIN, "")))
        return agent

    def create(self, agent: StoredAgent, token: str, edit: Edit = UNKNOWN) -> list[Change]:
        """The changes that create an agent, its list row, the item of its runs, and its first version; the chain is set on the
        agent, and its secrets are sealed in place. Condition: the id is free. Raises: MasterKeyUnavailable, NotImplementedHere.
        """
        self._secrets.seal(agent.id, agent.secrets)
        key, row = keys.agent(self._tenant, agent.id), keys.agent_row(self._tenant, agent.id)
        manages = {GROUP: agent.managed_group_id} if agent.managed_group_id else {}
        version, chain = self._versions.put(self.history(agent.id), None, content_of(agent), edit)
        agent.chained(chain)
        attributes: dict[str, Value] = {
            "version": agent.version,
            "wt": token,
            **_PRIVATE,
            CHAIN: chain,
            **self._updated(agent),
        }
        return [
            Put(self._codec.item(key, agent, **attributes, **manages), ABSENT),
            Put(
                {
                    "pk": row.pk,
                    "sk": row.sk,
                    **_listed(agent),
                    **({CONCEALED: True} if agent.hidden else {}),
                    MARKED: True,
                }
            ),
            self.last_runs.create(agent.id, ordered=True),
            version,
        ]

    def create_unlisted(self, agent: StoredAgent, token: str) -> Put:
        """The change that creates the conversation of a group in the form of an agent, which no list, count or history shows.
        Condition: the id is free.
        """
        key = keys.agent(self._tenant, agent.id)
        return Put(self._codec.item(key, agent, version=agent.version, wt=token, **_PRIVATE), ABSENT)

    def delete_unlisted(self, agent: StoredAgent) -> Delete:
        """The change that deletes such an item. Condition: the version is that of `agent`."""
        key = keys.agent(self._tenant, agent.id)
        return Delete(key, eq(version=agent.version), freed(key, agent))

    def change(self, before: StoredAgent, after: StoredAgent, token: str, edit: Edit = UNKNOWN) -> list[Change]:
        """The changes from `before` to `after`: of the record, of the list row if its attributes differ, and the version; the
        chain is set on `after`, and its secrets are sealed in place. Raises: MasterKeyUnavailable, NotImplementedHere.

        Condition: the version is that of `before`. The values of `last_run_*` and `last_stop_reason` in `after` go to the item of
        the last run.
        """
        self._seal(before, after)
        key = keys.agent(self._tenant, after.id)
        record = after.model_copy(update={**_STORED_APART, "version": before.version + 1})
        attributes: dict[str, Value] = {**self._codec.body(key, record), "version": record.version, "wt": token, **_PRIVATE}
        version, chain = self._versions.put(self.history(after.id), state_of(before), content_of(record), edit)
        after.chained(chain)
        attributes |= {**self._updated(after), CHAIN: chain}
        removed_attributes = (GROUP,) if before.managed_group_id and not after.managed_group_id else ()
        if after.managed_group_id and after.managed_group_id != before.managed_group_id:
            attributes[GROUP] = after.managed_group_id
        update = Update(key, set=attributes, remove=removed_attributes, when=eq(version=before.version), frees=freed(key, before))
        changes: list[Change] = [update, version]
        if ran := _of_last_run(after):
            changes.append(self.last_runs.change(after.id, ran))
        old = _listed(before)
        row = {name: value for name, value in _listed(after).items() if old[name] != value}
        if not row:
            return changes
        if "hidden" in row and after.hidden:
            row[CONCEALED] = True
        row_cleared = (CONCEALED,) if "hidden" in row and not after.hidden else ()
        return [*changes, Update(keys.agent_row(self._tenant, after.id), set=row, remove=row_cleared)]

    def _seal(self, before: StoredAgent, after: StoredAgent) -> None:
        """Seal the secrets of `after`. Those that an older version has stored stay plain if this process cannot seal."""
        unchanged = [secret for secret in after.secrets if secret in before.secrets]
        self._secrets.seal(after.id, [secret for secret in after.secrets if secret not in unchanged])
        self._secrets.seal_where_possible(after.id, unchanged)

    def history(self, agent_id: str) -> VersionPlace:
        """Where the versions of an agent's settings are. Its deletion takes them along."""
        return version_keys.of_agent(self._tenant, agent_id)

    def run_ended(self, agent_id: str, at: datetime, duration_ms: int, stop_reason: StopReason | None) -> Update:
        """The change at the end of a run. For a deleted agent it writes an item that no list shows."""
        reason = stop_reason.value if stop_reason else ""
        fields: dict[str, Value] = dict(zip(FIELDS, (wire_time(at), duration_ms, reason), strict=True))
        return self.last_runs.ended(agent_id, fields)

    def listed(self) -> RowList:
        """The list rows of all agents."""
        return RowList(self._table, keys.agent_row(self._tenant, "agent").pk, mark="name")

    def by_update(self) -> TimeOrder:
        """The list rows of all agents in the order of `updated_at`, through the index, which may lag."""
        return TimeOrder(self._table, [tenant_list(self._table, UPDATED)], "updated_at", rows_of=self.rows_of, mark="name")

    def by_last_run(self) -> TimeOrder:
        """The list rows of all agents in the order of `last_run_completion`, through the index, which may lag."""
        parts = [tenant_list(self._table, noun) for noun in (RAN, NEW)]
        return TimeOrder(self._table, parts, "last_run_completion", rows_of=self.last_runs.rows_of, mark="name", stands=stands)

    def place(self, agent: StoredAgent, row: Item) -> list[Change]:
        """The changes that put an agent of older data into the orders. Conditions: its version is as read, and so are its row's
        attributes of the last run.
        """
        last_run_at = str(row.get("last_run_completion", ""))
        condition = Term("last_run_completion", Op.EQ, last_run_at) if last_run_at else Term("last_run_completion", Op.MISSING)
        key = keys.agent_row(self._tenant, agent.id)
        return [
            Update(keys.agent(self._tenant, agent.id), set=self._updated(agent), when=eq(version=agent.version)),
            Update(key, set={MARKED: True}, remove=(*PLACE, *FIELDS), when=(*PRESENT, condition)),
            *([] if agent.id in self.last_runs.items_of([agent.id]) else [self.last_runs.create(agent.id, row)]),
        ]

    def unchanged(self, agent: StoredAgent) -> Check:
        """The condition that the agent's version is as read."""
        return Check(keys.agent(self._tenant, agent.id), eq(version=agent.version))

    def must_exist(self, agent_id: str) -> Check:
        """The condition that the agent exists, for a transaction that makes it a member of something."""
        return Check(keys.agent(self._tenant, agent_id), PRESENT)

    def is_older(self, row: Item) -> bool:
        """Whether an older version has written a list row, so that it lacks marks, or holds the last run and its place."""
        return MARKED not in row or PLACE[0] in row

    def _updated(self, agent: StoredAgent) -> dict[str, str]:
        return keys.listed_at(self._tenant, UPDATED, wire_time(agent.updated_at), agent.id)

    def count(self, *, hidden: bool) -> int:
        """The number of agents, with or without the hidden ones. The engine counts the rows."""
        total = self.listed().count()
        row = keys.agent_row(self._tenant, "agent")
        return total if hidden else total - self._table.count(row.pk, having=CONCEALED)

    def rows(self) -> list[Item]:
        """The list rows of all agents, oldest first."""
        return self.listed().all()

    def row(self, agent_id: str) -> Item | None:
        """The list row of an agent, or None."""
        return self._table.get(keys.agent_row(self._tenant, agent_id))

    def rows_of(self, agent_ids: Sequence[str]) -> dict[str, Item]:
        """The list rows that exist of these agents, by agent id."""
        found = self._table.get_many([keys.agent_row(self._tenant, agent_id) for agent_id in agent_ids])
        return {key.sk: row for key, row in found.items()}

    def rows_marked(self, marks: Sequence[Item]) -> list[Item]:
        """The list rows of the agents with these marks, in the order of the marks."""
        ids = [keys.last_part(str(mark["sk"])) for mark in marks]
        rows = self.rows_of(ids)
        return [rows[agent_id] for agent_id in ids if "name" in rows.get(agent_id, {})]

    def delete(self, agent: StoredAgent) -> list[Change]:
        """The changes that delete an agent, its list row, and the item of its runs. Condition: the version is that of `agent`."""
        key = keys.agent(self._tenant, agent.id)
        row = Delete(keys.agent_row(self._tenant, agent.id))
        return [Delete(key, eq(version=agent.version), freed(key, agent)), row, self.last_runs.delete(agent.id)]


def state_of(agent: StoredAgent) -> RecordState:
    """An agent as its versions see it, without its secrets."""
    return RecordState(agent.version, agent.chain, content_of(agent))


def tags_of(row: Item) -> set[str]:
    """The tags in the list row of an agent."""
    return set(json.loads(str(row["tags"])))


def _listed(agent: StoredAgent) -> dict[str, Value]:
    """The attributes that lists filter and order by; "" for a missing value."""
    return {
        "name": agent.name,
        "tags": json.dumps(agent.tags),
        "identity_ids": json.dumps(agent.identity_ids),
        "created_at": wire_time(agent.created_at),
        "updated_at": wire_time(agent.updated_at),
        "hidden": bool(agent.hidden),
        "project_id": agent.project_id or "",
        "template_id": agent.template_id or "",
        "base_template_id": agent.base_template_id or "",
        "created_by_id": agent.created_by_id or "",
    }


def _of_last_run(agent: StoredAgent) -> dict[str, Value]:
    row: dict[str, Value] = {}
    if agent.last_run_completion is not None:
        row["last_run_completion"] = wire_time(agent.last_run_completion)
    if agent.last_run_duration_ms is not None:
        row["last_run_duration_ms"] = agent.last_run_duration_ms
    if agent.last_stop_reason is not None:
        row["last_stop_reason"] = agent.last_stop_reason.value
    return row
