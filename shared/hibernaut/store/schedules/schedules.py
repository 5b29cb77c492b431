"""Schedules in the table.

The record of a schedule has its action. The next time, the pause, and the outcomes of the last occurrences are separate
attributes, so that a firing rewrites no body. Every change has the condition that the version is the one that was read: of two
workers that fire one occurrence, one fails.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from hibernaut.ports.storage.table import ABSENT, PRESENT, Change, Check, Delete, Item, Key, Put, Update, Value, eq
from hibernaut.schemas.agents.schedule import MOST_OUTCOMES, PauseReason, ScheduleOutcome, StoredSchedule
from hibernaut.schemas.immutable import immutable
from hibernaut.store.schedules import schedule_keys
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec, expired, freed
from hibernaut.store.table.lists.row_lists import RowList
from hibernaut.store.table.lost_records import readable
from hibernaut.store.table.tenant_table import TenantTable

RETENTION = timedelta(days=30)
"""The time for which a schedule that is over is retained, with its outcomes."""
LOST_MS = 120_000
"""Milliseconds after its time at which an occurrence that a scheduler outside should have fired counts as lost, and the sweep
fires it.
"""


@immutable
class ScheduleState:
    """A schedule: its record and its other attributes. `next_ms`: its next nominal time; None: it is paused or over. `outside`: a
    scheduler outside the process fires it. `key_id`: the API key that it acts for. `outcomes`: newest first.
    """

    record: StoredSchedule
    version: int = 1
    next_ms: int | None = None
    paused: PauseReason | None = None
    outside: bool = False
    key_id: str | None = None
    outcomes: tuple[ScheduleOutcome, ...] = ()

    @property
    def over(self) -> bool:
        """Whether it has fired for the last time."""
        return self.next_ms is None and self.paused is None

    def noted(self, outcome: ScheduleOutcome) -> ScheduleState:
        """The state with one more outcome."""
        return replace(self, outcomes=(outcome, *self.outcomes)[:MOST_OUTCOMES])


class ScheduleStore:
    """The schedules of one tenant. Reads raise StoreUnavailable (`store.table.retries`)."""

    def __init__(self, table: TenantTable, codec: Codec) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec

    def get(self, schedule_id: str, now: datetime) -> ScheduleState | None:
        """The schedule, or None."""
        item = self._table.get(schedule_keys.schedule(self._tenant, schedule_id))
        return self._read(item) if item is not None and not expired(item, now) else None

    def get_many(self, ids: Sequence[str], now: datetime) -> list[ScheduleState]:
        """The schedules that exist among these, in the order of `ids`."""
        places = [schedule_keys.schedule(self._tenant, schedule_id) for schedule_id in ids]
        found = self._table.get_many(places)
        return [*readable(self._read, (found[place] for place in places if place in found and not expired(found[place], now)))]

    def rows(self, agent_id: str | None = None) -> RowList:
        """The list rows of an agent's schedules, or of all of the tenant."""
        if agent_id is None:
            return RowList(self._table, schedule_keys.tenant_row(self._tenant, "").pk)
        return RowList(self._table, keys.agent(self._tenant, agent_id).pk, schedule_keys.ROW)

    def active(self, agent_id: str | None = None) -> int:
        """The number of schedules of an agent, or of the tenant, that are not over. The engine counts them."""
        if agent_id is None:
            return self._table.count(schedule_keys.tenant_row(self._tenant, "").pk, having=schedule_keys.ACTIVE)
        pk = keys.agent(self._tenant, agent_id).pk
        return self._table.count(pk, prefix=schedule_keys.ROW, having=schedule_keys.ACTIVE)

    def create(self, state: ScheduleState, token: str) -> list[Change]:
        """The changes that add a schedule. Condition: its agent exists."""
        key = schedule_keys.schedule(self._tenant, state.record.id)
        item = self._codec.item(key, state.record, wt=token, **self._attributes(state))
        rows = [Put({"pk": row.pk, "sk": row.sk, schedule_keys.ACTIVE: True}) for row in self._rows(state)]
        return [Put(item, ABSENT), *rows, Check(keys.agent(self._tenant, state.record.agent_id), PRESENT)]

    def change(self, before: ScheduleState, after: ScheduleState, token: str, now: datetime) -> list[Change]:
        """The changes from `before` to `after`, the record included if it differs. Condition: the version is that of `before`."""
        key = schedule_keys.schedule(self._tenant, after.record.id)
        updated = replace(after, version=before.version + 1)
        body = {} if after.record is before.record else self._codec.body(key, after.record)
        ends = {"ttl": int((now + RETENTION).timestamp())} if updated.over else {}
        cleared = [name for name in ("due_pk", "due_sk", "next", "ttl") if name not in {*self._attributes(updated), *ends}]
        attributes: dict[str, Value] = {**body, **self._attributes(updated), **ends, "wt": token}
        freed_blob = freed(key, before.record) if body else ""
        record = Update(key, set=attributes, remove=cleared, when=eq(version=before.version), frees=freed_blob)
        if before.over == updated.over:
            return [record]
        rows = [
            Update(row, set=ends, remove=(schedule_keys.ACTIVE,), when=PRESENT)
            if updated.over
            else Update(row, set={schedule_keys.ACTIVE: True}, remove=("ttl",), when=PRESENT)
            for row in self._rows(updated)
        ]
        return [record, *rows]

    def delete(self, state: ScheduleState) -> list[Change]:
        """The changes that delete a schedule. Condition: the version is that of `state`."""
        key = schedule_keys.schedule(self._tenant, state.record.id)
        rows = [Delete(row) for row in self._rows(state)]
        return [Delete(key, eq(version=state.version), freed(key, state.record)), *rows]

    def existing(self, ids: Sequence[str]) -> set[str]:
        """The ids among these whose schedules exist and have a next time."""
        found = self._table.get_many([schedule_keys.schedule(self._tenant, schedule_id) for schedule_id in ids])
        return {keys.last_part(place.pk) for place, item in found.items() if "next" in item}

    def _rows(self, state: ScheduleState) -> list[Key]:
        record = state.record
        return [
            schedule_keys.agent_row(self._tenant, record.agent_id, record.id),
            schedule_keys.tenant_row(self._tenant, record.id),
        ]

    def _attributes(self, state: ScheduleState) -> dict[str, Value]:
        attributes: dict[str, Value] = {
            "version": state.version,
            "paused": state.paused or "",
            "outside": state.outside,
            "key": state.key_id or "",
            "outcomes": json.dumps(
                [each.model_dump(mode="json", exclude_none=True) for each in state.outcomes], separators=(",", ":")
            ),
        }
        if state.next_ms is not None:
            due_ms = state.next_ms + (LOST_MS if state.outside else 0)
            attributes |= {"next": state.next_ms, **keys.due(state.record.id, due_ms)}
        return attributes

    def _read(self, item: Item) -> ScheduleState:
        paused: PauseReason | None = "key_unusable" if item["paused"] == "key_unusable" else "request" if item["paused"] else None
        return ScheduleState(
            self._codec.record(StoredSchedule, item),
            version=int(item["version"]),
            next_ms=int(item["next"]) if "next" in item else None,
            paused=paused,
            outside=bool(item["outside"]),
            key_id=str(item["key"]) or None,
            outcomes=tuple(ScheduleOutcome.model_validate(each) for each in json.loads(str(item["outcomes"]))),
        )
