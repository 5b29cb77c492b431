"""The due work of sleep-time agents, in the table: triggers, and the ends of idle times.

A trigger exists until the runs of all its agents are accepted: the transaction that accepts a run takes the agent out of the
trigger, or removes it. So a trigger starts each run once, whichever worker starts it, and after a crash the sweep finds the
trigger in the index DUE.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from hibernaut.ports.storage.table import ABSENT, Change, Delete, Key, Put, Update, eq
from hibernaut.schemas.agents.group import SleeptimeTrigger, TranscriptProgress
from hibernaut.store.groups import group_keys
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec, freed
from hibernaut.store.table.tenant_table import TenantTable

LEFT_MS = 60_000
"""Milliseconds after which the sweep takes up a trigger that its first worker has not started."""


class SleeptimeTriggerStore:
    """Triggers and the ends of idle times. Reads raise StoreUnavailable (`store.table.retries`), and OSError if a blob cannot be
    read.
    """

    def __init__(self, table: TenantTable, codec: Codec) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec

    def get(self, group_id: str, name: str) -> SleeptimeTrigger | None:
        """The trigger, or None."""
        return self.at(group_keys.trigger(self._tenant, group_id, name))

    def at(self, place: Key) -> SleeptimeTrigger | None:
        """The trigger at a key, or None. Its `runs` are those that have not been accepted."""
        item = self._table.get(place)
        if item is None:
            return None
        trigger = self._codec.record(SleeptimeTrigger, item)
        agent_ids = str(item["left"]).split()
        return trigger.model_copy(update={"runs": {agent_id: trigger.runs[agent_id] for agent_id in agent_ids}})

    def put(self, trigger: SleeptimeTrigger, now: datetime) -> Put:
        """The change that writes a trigger. Condition: its name is free."""
        key = group_keys.trigger(self._tenant, trigger.group_id, trigger.name)
        due = keys.due(f"{trigger.group_id}.{trigger.name}", _ms(now) + LEFT_MS)
        return Put(self._codec.item(key, trigger, left=_left(trigger.runs), part=trigger.part, **due), ABSENT)

    def accepted(
        self, trigger: SleeptimeTrigger, agent_id: str, remaining: Mapping[str, TranscriptProgress], runs: Mapping[str, str]
    ) -> Change:
        """The change of a trigger in the transaction that accepts the run of one of its agents. Condition: no run was accepted
        since it was read.

        `remaining`: the parts of the conversations that do not fit into the message; the last agent's acceptance begins the next
        part with it, in which the agents have `runs`.
        """
        key = group_keys.trigger(self._tenant, trigger.group_id, trigger.name)
        condition = eq(left=_left(trigger.runs), part=trigger.part)
        remaining_runs = {each: run_id for each, run_id in trigger.runs.items() if each != agent_id}
        if remaining_runs:
            return Update(key, set={"left": _left(remaining_runs)}, when=condition)
        if not remaining:
            return Delete(key, condition, freed(key, trigger))
        following = trigger.model_copy(update={"spans": dict(remaining), "runs": dict(runs), "part": trigger.part + 1})
        body = self._codec.body(key, following)
        return Update(key, set={**body, "left": _left(runs), "part": following.part}, when=condition, frees=freed(key, trigger))

    def drop(self, trigger: SleeptimeTrigger) -> Delete:
        """The change that removes a trigger. Condition: no run was accepted since it was read."""
        key = group_keys.trigger(self._tenant, trigger.group_id, trigger.name)
        return Delete(key, eq(left=_left(trigger.runs), part=trigger.part), freed(key, trigger))

    def idle_from(self, group_id: str, now: datetime, seconds: int) -> Put:
        """The change that sets the end of the idle time of a group's manager, from now on."""
        key = group_keys.idle(self._tenant, group_id)
        return Put({"pk": key.pk, "sk": key.sk, **keys.due(f"{group_id}.idle", _ms(now) + seconds * 1000)})

    def not_idle(self, group_id: str) -> Delete:
        """The change that removes the end of an idle time."""
        return Delete(group_keys.idle(self._tenant, group_id))

    def idle(self, group_id: str) -> str | None:
        """The place of the end of a group's idle time in the index DUE, which begins with its milliseconds since 1970; None:
        there is none.
        """
        item = self._table.get(group_keys.idle(self._tenant, group_id))
        return str(item["due_sk"]) if item else None

    def idle_ended(self, group_id: str, at: str) -> Delete:
        """The change that removes the end of an idle time. Condition: its place is still `at`, so no turn has moved it."""
        return Delete(group_keys.idle(self._tenant, group_id), eq(due_sk=at))


def _left(runs: Mapping[str, str]) -> str:
    return " ".join(runs)


def _ms(now: datetime) -> int:
    return int(now.timestamp() * 1000)
