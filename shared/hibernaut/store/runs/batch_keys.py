"""The keys of batches of messages (`store.runs.batches`).

pk               sk       what                                       read by
t#BATCH#batch    BATCH    the batch (index DUE until it is over)     retrieve, cancel; the sweep
t#BATCHES        batch    list row of a batch                        list
"""

from __future__ import annotations

from hibernaut.ports.storage.table import Key
from hibernaut.store.table.tenants import checked

BATCH = "BATCH"
"""The sort key of a batch."""


def batch(tenant: str, batch_id: str) -> Key:
    return Key(f"{checked(tenant)}#BATCH#{batch_id}", BATCH)


def batch_row(tenant: str, batch_id: str) -> Key:
    return Key(f"{checked(tenant)}#BATCHES", batch_id)
