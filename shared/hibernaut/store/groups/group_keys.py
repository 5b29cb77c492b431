"""The keys of groups.

pk             sk             what                                                  read by
t#GROUP#group  GROUP          the group                                             retrieve, the manager's states, ends of turns
t#GROUP#group  TRIGGER#name   a sleep-time run that is due (index DUE)              the worker that ended the turn; the sweep
t#GROUP#group  IDLE           its agent has been idle long enough (index DUE)       the sweep
t#GROUPS       group          list row of a group                                   list, count
t#AGENT#agent  GROUP#group    link from an agent to a group that it is in           groups of an agent, its deletion
t#AGENT#agent  MANAGES#group  link from an agent to a group that it manages         deletion of a group

The attribute `group` of an agent's item names the group that its states show as managed by it.
"""

from __future__ import annotations

from hibernaut.ports.storage.table import Key
from hibernaut.store.table import keys
from hibernaut.store.table.tenants import checked

IDLE, TRIGGER = "IDLE", "TRIGGER#"
"""The sort key of the end of an idle time, and the prefix of the sort keys of triggers."""
MEMBER, MANAGER = "GROUP#", "MANAGES#"
"""The prefixes of the sort keys of links."""


def group(tenant: str, group_id: str) -> Key:
    return Key(f"{checked(tenant)}#GROUP#{group_id}", "GROUP")


def row(tenant: str, group_id: str) -> Key:
    return Key(f"{checked(tenant)}#GROUPS", group_id)


def link(tenant: str, agent_id: str, prefix: str, group_id: str) -> Key:
    """The key of a link; `prefix`: MEMBER or MANAGER."""
    return Key(keys.agent(tenant, agent_id).pk, f"{prefix}{group_id}")


def trigger(tenant: str, group_id: str, name: str) -> Key:
    return Key(group(tenant, group_id).pk, f"{TRIGGER}{name}")


def idle(tenant: str, group_id: str) -> Key:
    return Key(group(tenant, group_id).pk, IDLE)


def is_sleeptime_work(place: Key) -> bool:
    """Whether an item of the index DUE is a trigger, or the end of an idle time."""
    return place.sk == IDLE or place.sk.startswith(TRIGGER)
