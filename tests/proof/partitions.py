"""The partitions of the store's lists in a proof."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hibernaut.store.table import shards

FEW = 2


@contextmanager
def few_partitions() -> Iterator[None]:
    """Give every list two partitions.

    The number is no part of the run protocol. Sweeps and verdicts read all partitions of the due index and of an agent's lists,
    so that 64 of them are nine tenths of the requests of a point on DynamoDB Local.
    """
    deployed, first = dict(shards._PARTITIONS), shards.FIRST
    shards._PARTITIONS.clear()
    shards.FIRST = FEW
    try:
        yield
    finally:
        shards._PARTITIONS.update(deployed)
        shards.FIRST = first
