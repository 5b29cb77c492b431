"""Counts the turns of agents that have sleep-time agents, in the transactions that end the turns (RT 9.2).

A turn that makes the sleep-time agents due writes a trigger in the same transaction. An agent without sleep-time agents costs no
read and no write. Must not know how the sleep-time agents' runs are accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from hibernaut.domain.agents import sleeptime
from hibernaut.ports.clock import Ids
from hibernaut.ports.storage.table import Change
from hibernaut.schemas.agents.group import ManagerType, SleeptimeTrigger, StoredGroup, TriggerReason
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.services.host import Host
from hibernaut.store.stores import TenantStores


@immutable
class CountedTurn:
    """What a turn's end changes of its group, and the trigger that it writes, if any."""

    changes: Sequence[Change] = ()
    trigger: SleeptimeTrigger | None = None


NO_TURN = CountedTurn()


class SleeptimeTurns:
    """Counts the turns of one tenant's agents."""

    def __init__(self, stores: TenantStores, host: Host) -> None:
        self._groups = stores.groups
        self._triggers = stores.sleeptime_triggers
        self._ids = host.ids

    def ended(self, run: StoredRun, token: str, now: datetime) -> CountedTurn:
        """The turn of this run, counted. `token`: the token of the transaction that ends it. Raises: StoreUnavailable."""
        if run.sleeptime_group is None or run.first_message is None or run.last_message is None:
            return NO_TURN
        before = self._groups.get(run.sleeptime_group)
        if before is None or before.manager_agent_id != run.agent_id or before.manager_type is not ManagerType.SLEEPTIME:
            return NO_TURN
        conversation = run.conversation_id or run.agent_id
        group, due = sleeptime.after_turn(before, conversation, run.first_message, run.last_message)
        trigger = trigger_of(group, "turns", f"turn-{group.turns}", self._ids) if due else None
        if trigger is None:
            return CountedTurn([*self._groups.change(before, group, token), *self._idle(group, now)])
        trigger = trigger.model_copy(update={"turn": group.turns, "key_id": run.key_id})
        group = sleeptime.caught_up(group)
        changes = [*self._groups.change(before, group, token), self._triggers.put(trigger, now), *self._idle(group, now)]
        return CountedTurn(changes, trigger)

    def _idle(self, group: StoredGroup, now: datetime) -> list[Change]:
        """The change of the end of the idle time; empty for a group without one."""
        seconds = group.sleeptime_idle_seconds
        if not seconds:
            return []
        pending = sleeptime.pending(group)
        return [self._triggers.idle_from(group.id, now, seconds) if pending else self._triggers.not_idle(group.id)]


def trigger_of(group: StoredGroup, reason: TriggerReason, name: str, ids: Ids) -> SleeptimeTrigger | None:
    """The trigger for everything that is pending; None if nothing is, or the group has no agents."""
    spans = sleeptime.pending(group)
    if not spans or not group.agent_ids or group.manager_agent_id is None:
        return None
    return SleeptimeTrigger(
        group_id=group.id,
        manager_agent_id=group.manager_agent_id,
        name=name,
        reason=reason,
        spans=spans,
        runs={agent_id: ids.new("run") for agent_id in group.agent_ids},
    )
