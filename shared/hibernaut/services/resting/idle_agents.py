"""The rounds in which the sweep finds the agents that have been idle, and puts them to rest.

The index has the agents of a tenant in the order in which their newest runs ended. A round continues where the last one ended, up
to those that ended `idle` ago. So each idle time of an agent is met once, however many agents there are.

Agents that have never run, such as imported ones, have a list of their own, by their ids. An import may keep ids of another
server, which contain nothing of a time, so that list is walked from its beginning once a week, and each agent rests whose
messages were written `idle` ago.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from hibernaut.ports.clock import Clock
from hibernaut.ports.storage.table import Item
from hibernaut.schemas.base import wire_time
from hibernaut.services.resting.pack_writer import Allowance
from hibernaut.services.resting.resting import Resting
from hibernaut.services.resting.tenant_rounds import ListWalk, TenantRounds
from hibernaut.store.agents.last_runs import NEW, RAN
from hibernaut.store.stores import Stores, TenantStores
from hibernaut.store.table import keys

ANEW = timedelta(days=7)
"""The time after which the agents that have never run are looked at again."""
BEYOND_IDS = "agent-~"
"""A place behind all ids of agents."""


class IdleAgents:
    """Puts the idle agents of all tenants to rest."""

    def __init__(self, stores: Stores, clock: Clock, idle: timedelta) -> None:
        """`idle`: the time after the end of an agent's newest run, or after its creation or import."""
        self._rounds = TenantRounds(stores, clock, "RESTS")
        self._clock = clock
        self._idle = idle

    def go_on(self, short: Callable[[], bool]) -> None:
        """Go on with the round, or begin one if it is due. Raises: StoreUnavailable, TableError."""
        self._rounds.go_on(self._of_tenant, short)

    def _of_tenant(self, stores: TenantStores, allowance: Allowance) -> bool:
        since, resting = self._clock.now() - self._idle, Resting(stores, self._clock)

        def act(entry: Item, remaining: Allowance) -> bool:
            return resting.rest(keys.last_part(f"#{entry['list_sk']}"), idle_since=since, allowance=remaining)

        have_run = ListWalk(stores, self._clock, RAN).go_on(wire_time(since), act, allowance)
        return ListWalk(stores, self._clock, NEW, anew=ANEW).go_on(BEYOND_IDS, act, allowance) and have_run
