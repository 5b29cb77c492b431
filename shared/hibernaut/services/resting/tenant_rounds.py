"""Rounds of the sweep through the lists of all tenants, a bounded number of entries at a time."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta

from hibernaut.ports.clock import Clock
from hibernaut.ports.storage.table import Item
from hibernaut.schemas.errors import place_of
from hibernaut.services.resting.pack_writer import Allowance
from hibernaut.store.conversations.resting import WalkState
from hibernaut.store.conversations.round_states import RoundState
from hibernaut.store.stores import Stores, TenantStores
from hibernaut.store.table.lists.logs import IdRange

ROUND = timedelta(hours=1)
"""The minimum time between the beginnings of two rounds."""
ROWS, ENTRIES = 2_000, 200
"""Rows and entries of lists that one sweep looks at, about, and entries of one read. The next sweep continues."""
Act = Callable[[Item, Allowance], bool]
"""Handles an entry of a list. False: the allowance ended first, and the next sweep handles the entry again."""
OfTenant = Callable[[TenantStores, Allowance], bool]
"""Handles a tenant. False: something is left for the next sweep."""
logger = logging.getLogger(__name__)


class TenantRounds:
    """The rounds of one name."""

    def __init__(self, stores: Stores, clock: Clock, name: str) -> None:
        self._stores = stores
        self._clock = clock
        self._name = name

    def go_on(self, of_tenant: OfTenant, short: Callable[[], bool]) -> None:
        """Continue the round, or begin one if it is due. Raises: StoreUnavailable, TableError."""
        state, now = self._stores.rounds.get(self._name), int(self._clock.now().timestamp())
        if not state.tenant and now < state.began + ROUND.total_seconds():
            return
        started_at, allowance = state.began if state.tenant else now, Allowance(ROWS, short)
        for tenant in self._stores.api_keys.tenants():
            if tenant >= state.tenant and not of_tenant(self._stores.of(tenant), allowance):
                self._stores.rounds.keep(self._name, RoundState(tenant, started_at))
                return
        self._stores.rounds.keep(self._name, RoundState("", started_at))


class ListWalk:
    """A walk through one list of a tenant. The next walk continues where it ends.

    `anew`: the time after which a walk that has come to the end begins again with the first entry; None: never.
    """

    def __init__(self, stores: TenantStores, clock: Clock, noun: str, *, anew: timedelta | None = None) -> None:
        self._stores = stores
        self._clock = clock
        self._noun = noun
        self._anew = anew

    def go_on(self, before: str, act: Act, allowance: Allowance) -> bool:
        """Handle the entries before a place. False: some are left. An entry that cannot be handled is logged and passed."""
        if allowance.over:
            return False
        stored = state = self._state()
        while not allowance.over:
            entries = self._stores.resting.listed(self._noun, IdRange(state.after or None, before), ENTRIES)
            for entry in entries:
                if allowance.over or not self._handled(act, entry, allowance):
                    break
                allowance.rows -= 1
                state = state._replace(after=str(entry["list_sk"]))
            page_done = not entries or state.after == entries[-1]["list_sk"]
            state = state._replace(ended=page_done and len(entries) < ENTRIES)
            if state.ended or not page_done:
                break
        if state != stored:
            self._stores.writer.write(self._stores.resting.passed(self._noun, state))
        return state.ended

    def _state(self) -> WalkState:
        """How far the walk has come; the state of a new one if it is time for one."""
        stored, now = self._stores.resting.walked(self._noun), int(self._clock.now().timestamp())
        is_over = stored.ended and self._anew is not None and now >= stored.began + self._anew.total_seconds()
        return WalkState("", now) if is_over or not stored.began else stored

    def _handled(self, act: Act, entry: Item, allowance: Allowance) -> bool:
        try:
            return act(entry, allowance)
        except Exception as error:  # noqa: BLE001  an unreadable record may raise any error
            fields = {"list": self._noun, "error": type(error).__qualname__, "place": place_of(error)}
            logger.error("entry could not be handled", extra=fields)
            return True
