"""Packs an agent's ended runs with their steps. They are read through their packs from then on: nothing brings them back but an
unpacking.
"""

from __future__ import annotations

from hibernaut.schemas.stop import ENDED
from hibernaut.services.resting import pack_writer
from hibernaut.services.resting.pack_writer import Allowance, PackWriter
from hibernaut.store.stores import TenantStores
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.packs import PackedRecord

RUNS = 50
"""List rows of runs of one read."""
_ENDED = {status.value for status in ENDED}


class RunPacking:
    """Packs the runs of one tenant's agents. Raises StoreUnavailable (`store.table.retries`) and OSError; a repeated call
    continues.
    """

    def __init__(self, stores: TenantStores, packs: PackWriter) -> None:
        self._stores = stores
        self._resting = stores.resting
        self._packs = packs

    def pack(self, agent_id: str, allowance: Allowance, *, before: str | None = None) -> bool:
        """Pack an agent's runs up to the first one that is open, those before an id (None: all). False: the allowance ended
        first.
        """
        own = keys.agent(self._stores.tenant, agent_id).pk
        reached = self._resting.runs_packed_to(agent_id)
        if reached is None:
            return True
        if not self._packs.go_on(own, allowance):
            return False
        while not allowance.over:
            rows = self._resting.runs(agent_id, reached, before, RUNS)
            records, last, size = list[PackedRecord](), "", 0
            for row in rows:
                if str(row["status"]) not in _ENDED or size >= pack_writer.PACK_BYTES or allowance.over:
                    break
                last = keys.last_part(str(row["sk"]))
                found = self._resting.parts_of_run(last)
                allowance.rows -= 1 + len(found)
                records += found
                size += sum(len(record.body) for record in found)
            if not last:
                return not allowance.over
            if records and not self._packs.write(own, records, allowance):
                return False
            if not self._packs.tried(self._resting.runs_reached(agent_id, reached, last)):
                return True
            reached = last
        return False

    def unpack(self, agent_id: str) -> None:
        """Bring all bodies of an agent's runs back and delete their packs."""
        self._packs.unpack(keys.agent(self._stores.tenant, agent_id).pk)
        self._packs.tried(self._resting.runs_emptied(agent_id))
