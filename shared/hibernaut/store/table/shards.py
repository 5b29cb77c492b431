"""The shards of the lists in the indexes: how many partitions a list has, and the partition of an id.

An engine gives a partition 1,000 write units a second and cannot split one whose entries are in the order of time, so a list has
as many partitions as its writes need (`tests/budgets/test_write_budgets.py` counts them). A read of the whole list queries all of
them.

The numbers are part of the storage format. A number may grow to a multiple of itself: the names of the older partitions are among
the new ones, so a reader of all partitions finds what an older version wrote, and a reader of one id looks in both of its
partitions.
"""

from __future__ import annotations

import hashlib

FIRST = 8
"""The number of partitions of every list in data of older versions, and of a list that is not named below."""
_PARTITIONS = {
    "DUE": 64,
    "MSGS": 64,
    "TAIL": 64,
    "AGENTSRAN": 32,
    "OPENRUNS": 32,
    "STEPS": 32,
    "RUNS": 16,
    "CONVSBYMSG": 32,
    "CONVSBYRUN": 32,
}
"""The number of partitions of the lists that every turn writes."""


def shards_of(noun: str) -> int:
    """The number of partitions of a list."""
    return _PARTITIONS.get(noun, FIRST)


def shards(noun: str) -> list[str]:
    """All shards of a list: two hex digits each."""
    return [f"{number:02x}" for number in range(shards_of(noun))]


def shard_of(noun: str, identifier: str) -> str:
    """The shard in which an id is written."""
    return _shard(identifier, shards_of(noun))


def known_shards_of(noun: str, identifier: str) -> list[str]:
    """The shards that may contain an id: the one in which it is written, and that of older versions if it differs."""
    return list(dict.fromkeys([shard_of(noun, identifier), _shard(identifier, FIRST)]))


def _shard(identifier: str, number: int) -> str:
    return f"{hashlib.sha256(identifier.encode()).digest()[0] % number:02x}"
