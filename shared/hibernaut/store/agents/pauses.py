"""Pauses of agents in the table: one item beside the agent while it is paused. The batch that accepts a message reads it, so a
pause applies at once.

    t#AGENT#agent  PAUSED  its time and its author  acceptance of messages; schedules

While a person is erased, the messages of the person are refused too: the batch also reads the marks of the senders that a request
names (`store.identities.erasure_keys`).

The deletion of the agent takes the item along.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hibernaut.ports.storage.table import PRESENT, Change, Check, Delete, Item, Key, Put
from hibernaut.schemas.agents.pause import StoredPause
from hibernaut.store.identities import erasure_keys
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec
from hibernaut.store.table.tenant_table import TenantTable

PAUSED = "PAUSED"


class PauseStore:
    """The pauses of one tenant's agents. Reads raise StoreUnavailable (`store.table.retries`)."""

    def __init__(self, table: TenantTable, codec: Codec) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec

    def key(self, agent_id: str) -> Key:
        """The place of an agent's pause."""
        return Key(keys.agent(self._tenant, agent_id).pk, PAUSED)

    def get(self, agent_id: str) -> StoredPause | None:
        """The pause of an agent; None: it is not paused."""
        return self.read(self._table.get(self.key(agent_id)))

    def get_many(self, agent_ids: Sequence[str]) -> dict[str, StoredPause]:
        """The pauses of these agents, by agent id. Agents that are not paused are left out."""
        places = {agent_id: self.key(agent_id) for agent_id in agent_ids}
        found = self._table.get_many(list(places.values()))
        return {agent_id: self._codec.record(StoredPause, found[key]) for agent_id, key in places.items() if key in found}

    def read(self, item: Item | None) -> StoredPause | None:
        """The pause of an item."""
        return None if item is None else self._codec.record(StoredPause, item)

    def reading(self, agent_id: str, senders: Iterable[str | None] = ()) -> PauseReading:
        """A read of an agent's pause, for a batch that the caller sends. `senders`: those that the request's messages name."""
        sender_ids = sorted({sender for sender in senders if sender})
        return PauseReading(self, self.key(agent_id), [erasure_keys.sender(self._tenant, sender) for sender in sender_ids])

    def pause(self, agent_id: str, pause: StoredPause) -> list[Change]:
        """The changes that pause an agent, also one that is paused. Condition: the agent exists."""
        return [Check(keys.agent(self._tenant, agent_id), PRESENT), Put(self._codec.item(self.key(agent_id), pause))]

    def resume(self, agent_id: str) -> Delete:
        """The change that ends the pause of an agent."""
        return Delete(self.key(agent_id))


class PauseReading:
    """One read of an agent's pause and of the marks of senders. The caller reads `keys` and passes the result to `take`.

    `erasure_id`: the erasure of a person whose message the request has; None: there is none.
    """

    def __init__(self, pauses: PauseStore, key: Key, senders: Sequence[Key]) -> None:
        self._pauses = pauses
        self._senders = senders
        self.keys = (key, *senders)
        self.pause: StoredPause | None = None
        self.erasure_id: str | None = None

    def take(self, found: Mapping[Key, Item]) -> None:
        """The items that exist among `keys`; others are ignored."""
        self.pause = self._pauses.read(found.get(self.keys[0]))
        self.erasure_id = next((str(found[key]["erasure"]) for key in self._senders if key in found), None)
