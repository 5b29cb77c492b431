"""Packs: compressed blobs that hold the bodies of many records, whose items stay in the table without them.

A record whose item has no body and no blob of its own names its place in a pack. The codec reads it from there, so every list,
index, filter and cursor finds the record as before. Each pack has an item, which owns the blob and holds the SHA-256 of its
bytes:

    t#CONV#c        PACK#id    rows of this log
    t#AGENT#agent   PACK#id    runs of this agent, and their steps

The blob is the zlib stream of one JSON line for each record: partition key, sort key, version of the format, body. It can
therefore be unpacked without the items. A pack is written once and never changed.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hibernaut.ports.storage.blobs import Blobs
from hibernaut.ports.storage.table import Item, Key
from hibernaut.store.table import blob_keys
from hibernaut.store.table.bodies.formats import SECOND
from hibernaut.store.table.lru_cache import LruCache
from hibernaut.store.table.tenant_table import TenantBlobs

PACKED = "pack"
"""The attribute of an item without a body: where its body is (`place_of`)."""
COPIED = "copied"
"""The attribute of an item whose body was brought back: its place in the pack that still holds it; or, after `GONE_FROM`, the
deleted pack.
"""
GONE_FROM = "-"
RESTING, PACKED_TO, RUNS_PACKED_TO = "resting", "packed_to", "runs_packed_to"
"""Attributes of a head: the conversation is at rest; the id up to which the bodies of its rows are in packs; of a default
conversation also that of the agent's runs.
"""
PACK = "PACK#"
"""The prefix of the sort keys of packs."""
FORMAT = SECOND
"""The version of an item whose body is in a pack."""
CACHED_BYTES = 16_000_000
"""The size of the cache of unpacked bodies in a process, in bytes."""


class PackedRecord(NamedTuple):
    """A record in a pack: the key and the version of its item, and its body."""

    key: Key
    version: int
    body: str


Entries = tuple[PackedRecord, ...]


class PackCache(LruCache[Entries]):
    """The unpacked packs of a process, for all tenants."""

    def __init__(self) -> None:
        super().__init__(CACHED_BYTES, lambda entries: sum(len(one.body) for one in entries))


class PackReader:
    """Reads packs. Thread-safe."""

    def __init__(self, blobs: Blobs | TenantBlobs, cache: PackCache) -> None:
        self._blobs = blobs
        self._cache = cache

    def body(self, item: Item) -> str:
        """The body of an item that is in a pack. Raises: KeyError if the pack is deleted, OSError."""
        pack, number = read_place(str(item["pk"]), str(item[PACKED]))
        return self.entries(pack)[number].body

    def entries(self, pack: Key) -> Entries:
        """All records of a pack. Raises: KeyError if it is deleted, OSError."""
        blob = blob_of(pack)
        tenant = pack.pk.split("#", 1)[0]
        found = self._cache.get(tenant, blob)
        if found is None:
            found = unpacked(self._blobs.get(blob))
            self._cache.keep(tenant, blob, found)
        return found

    def forget(self, pack: Key) -> None:
        """Drop a deleted pack from the cache."""
        self._cache.forget(pack.pk.split("#", 1)[0], blob_of(pack))


def packed(records: Sequence[PackedRecord]) -> bytes:
    """The bytes of a pack."""
    lines = (json.dumps([*one.key, one.version, one.body], ensure_ascii=False) for one in records)
    return zlib.compress("\n".join(lines).encode())


def unpacked(data: bytes) -> Entries:
    """The records of a pack. Raises: OSError if the bytes are damaged."""
    try:
        return tuple(_lines(zlib.decompress(data).decode()))
    except (zlib.error, ValueError) as error:
        raise OSError(f"a pack of {len(data)} bytes is damaged") from error


def _lines(text: str) -> Iterator[PackedRecord]:
    for line in text.split("\n"):
        pk, sk, version, body = json.loads(line)
        yield PackedRecord(Key(pk, sk), version, body)


def digest_of(data: bytes) -> str:
    """The digest that a pack's item holds."""
    return hashlib.sha256(data).hexdigest()


def blob_of(pack: Key) -> str:
    """The blob of a pack. The id of a pack is used once."""
    return blob_keys.body_blob(pack, "pack")


def place_of(record: Key, pack: Key, number: int) -> str:
    """The place of a record, which has this number in a pack. It names the pack's partition if that is not the record's own."""
    partition = "" if record.pk == pack.pk else f"{pack.pk.partition('#')[2]}!"
    return f"{partition}{pack.sk.removeprefix(PACK)}/{number}"


def read_place(pk: str, place: str) -> tuple[Key, int]:
    """The pack and the number of a place that an item of the partition `pk` names."""
    partition, _, name = place.rpartition("!")
    pack_id, _, number = name.partition("/")
    return Key(f"{pk.partition('#')[0]}#{partition}" if partition else pk, PACK + pack_id), int(number)
