"""The attributes of an agent's newest run that lists and states show: time of the end, duration, and stop reason.

Each agent has an item of its own for it, beside its record, so that the runs of a tenant's agents share no partition. The item
stands in the index LISTS by the time, or, before the first run, in the list of the agents without one.

Older versions kept these attributes, and the place, on the agent's list row. An agent without the item has them there still:
readers take both, the agent's next run writes the item, and the rounds of `services.agent_marking` write it for all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hibernaut.ports.storage.table import ABSENT, Delete, Item, Put, Update, Value
from hibernaut.store.table import keys
from hibernaut.store.table.tenant_table import TenantTable

RAN, NEW = "AGENTSRAN", "AGENTSNEW"
"""The lists of agents by their last run, and of those without a run."""
FIELDS = ("last_run_completion", "last_run_duration_ms", "last_stop_reason")
ORDERED = "ordered"
"""The attribute of the item of an agent whose conversations all have places in their orders."""
PLACED = "placed"
"""The attribute with the progress of placing the rows of an agent's conversations in the list of its messages: ALL, or the last
log and row.
"""
ALL = "all"
APART = "apart"
"""The attribute of a row that was read together with its agent's item."""
PLACE = ("list_pk", "list_sk")


class LastRuns:
    """The newest run of each agent. Reads raise StoreUnavailable (`store.table.retries`)."""

    def __init__(self, table: TenantTable) -> None:
        self._table = table
        self._tenant = table.tenant

    def create(self, agent_id: str, attributes: Mapping[str, Value] | None = None, *, ordered: bool = False) -> Put:
        """The change that creates the item. `attributes`: the attributes of an agent of older data. `ordered`: the agent is new,
        so all its conversations, and their rows, will have their places. Condition: there is no item.
        """
        flags: dict[str, Value] = {ORDERED: True, PLACED: ALL} if ordered else {}
        return Put({**self._key(agent_id), **self._placed(agent_id, attributes or {}), **flags}, ABSENT)

    def ended(self, agent_id: str, fields: Mapping[str, Value]) -> Update:
        """The change at the end of a run. `fields` has a value for each of FIELDS."""
        return Update(keys.last_run(self._tenant, agent_id), set=self._placed(agent_id, fields))

    def change(self, agent_id: str, fields: Mapping[str, Value]) -> Update:
        """The change of some of FIELDS, the others staying as they are. Reads them."""
        return self.ended(agent_id, {**self.of([agent_id]).get(agent_id, {}), **fields})

    def delete(self, agent_id: str) -> Delete:
        """The change that deletes the item."""
        return Delete(keys.last_run(self._tenant, agent_id))

    def of(self, agent_ids: Sequence[str]) -> dict[str, Item]:
        """FIELDS of these agents by id, as far as they have values."""
        items = self.items_of(agent_ids)
        older = [agent_id for agent_id in agent_ids if agent_id not in items]
        rows = self._table.get_many([keys.agent_row(self._tenant, agent_id) for agent_id in older]) if older else {}
        return {key: _fields(item) for key, item in ({row.sk: item for row, item in rows.items()} | items).items()}

    def joined(self, rows: Sequence[Item]) -> list[Item]:
        """List rows of agents with FIELDS. A row that has them already is not read for again."""
        items = self.items_of([str(row["sk"]) for row in rows if APART not in row])
        return [_joined(row, items.get(str(row["sk"]))) for row in rows]

    def rows_of(self, agent_ids: Sequence[str]) -> dict[str, Item]:
        """The list rows that exist of these agents, with FIELDS, by agent id. One read."""
        places = [make(self._tenant, one) for one in agent_ids for make in (keys.agent_row, keys.last_run)]
        found = self._table.get_many(places)
        rows = {one: found.get(keys.agent_row(self._tenant, one)) for one in agent_ids}
        return {one: _joined(row, found.get(keys.last_run(self._tenant, one))) for one, row in rows.items() if row is not None}

    def items_of(self, agent_ids: Sequence[str]) -> dict[str, Item]:
        """The items that exist of these agents, by agent id."""
        places = {keys.last_run(self._tenant, agent_id): agent_id for agent_id in agent_ids}
        found = self._table.get_many(list(places)) if places else {}
        return {places[key]: item for key, item in found.items()}

    def _key(self, agent_id: str) -> dict[str, Value]:
        key = keys.last_run(self._tenant, agent_id)
        return {"pk": key.pk, "sk": key.sk}

    def _placed(self, agent_id: str, fields: Mapping[str, Value]) -> dict[str, Value]:
        at = str(fields.get("last_run_completion", ""))
        place = keys.listed_at(self._tenant, RAN, at, agent_id) if at else keys.listed(self._tenant, NEW, agent_id)
        return {**_fields(fields), **place}


def stands(entry: Item, row: Item) -> bool:
    """Whether an entry of the lists is the agent's own. That of a list row of older data is not, once the agent has an item."""
    return (APART in row) is (entry["sk"] == keys.LAST_RUN)


def _fields(item: Mapping[str, Value]) -> dict[str, Value]:
    return {name: item[name] for name in FIELDS if name in item}


def _joined(row: Item, item: Item | None) -> Item:
    if item is None:
        return row
    return {**{name: value for name, value in row.items() if name not in FIELDS}, **_fields(item), APART: True}
