"""The keys of schedules.

pk                   sk                 what                                                read by
t#SCHEDULE#schedule  SCHEDULE           a schedule (index DUE while it has a next time)     retrieve; its firing
t#AGENT#agent        SCHEDULE#schedule  list row of a schedule (ttl when it is over)        schedules of an agent, count, deletion
t#SCHEDULES          schedule           list row of a schedule (ttl when it is over)        schedules of a tenant, count

Rows of schedules that are not over have the attribute `active`, by which they are counted.
"""

from __future__ import annotations

from hibernaut.ports.storage.table import Key
from hibernaut.store.table.keys import agent
from hibernaut.store.table.tenants import checked

SCHEDULE = "SCHEDULE"
"""The sort key of a schedule."""
ROW = "SCHEDULE#"
"""The prefix of the sort keys of an agent's list rows."""
ACTIVE = "active"
"""The attribute of the rows of schedules that are not over."""


def schedule(tenant: str, schedule_id: str) -> Key:
    return Key(f"{checked(tenant)}#SCHEDULE#{schedule_id}", SCHEDULE)


def agent_row(tenant: str, agent_id: str, schedule_id: str) -> Key:
    return Key(agent(tenant, agent_id).pk, f"{ROW}{schedule_id}")


def tenant_row(tenant: str, schedule_id: str) -> Key:
    return Key(f"{checked(tenant)}#SCHEDULES", schedule_id)


def is_schedule(place: Key) -> bool:
    """Whether an item is a schedule."""
    return place.sk == SCHEDULE
