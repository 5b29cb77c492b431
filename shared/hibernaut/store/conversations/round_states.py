"""How far a round of the sweep through the data of all tenants has come in the list of tenants. No tenant owns it."""

from __future__ import annotations

from typing import NamedTuple

from hibernaut.ports.storage.table import Put, Table
from hibernaut.store.conversations import resting_keys


class RoundState(NamedTuple):
    """`tenant`: the next tenant; "": the round is over. `began`: seconds since 1970."""

    tenant: str = ""
    began: int = 0


class RoundStore:
    """The records of the rounds, by name. Reads and writes raise StoreUnavailable and TableError."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, name: str) -> RoundState:
        """The newest round."""
        item = self._table.get(resting_keys.tenant_round(name))
        return RoundState(str(item["tenant"]), int(item["began"])) if item else RoundState()

    def keep(self, name: str, state: RoundState) -> None:
        """Record a round. Two sweeps at once do the same work twice, which does no harm."""
        key = resting_keys.tenant_round(name)
        self._table.write(Put({"pk": key.pk, "sk": key.sk, "tenant": state.tenant, "began": state.began}))
