"""A record whose body is in a pack is read like any other."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from hibernaut.ports.storage.table import Item, Key
from hibernaut.schemas.ids import DEFAULT_TENANT as TENANT
from hibernaut.schemas.runs.turn import ClaimedResult
from hibernaut.store.table.bodies import packs
from hibernaut.store.table.bodies.codec import Codec
from hibernaut.store.table.bodies.packs import PackCache, PackedRecord, PackReader
from tests.support.blobs import MemoryBlobs

PARTITION = f"{TENANT}#CONV#agent-1"
PACK = Key(PARTITION, "PACK#1")


def record(number: int, body: str) -> PackedRecord:
    return PackedRecord(Key(PARTITION, f"MSG#{number}"), 1, body)


def test_a_pack_gives_back_what_it_was_made_of() -> None:
    records = (record(1, '{"a": "line\\nbreak"}'), record(2, "über \u2028 😀"), record(3, "x" * 100_000))
    assert packs.unpacked(packs.packed(records)) == records


def test_a_place_names_the_partition_of_a_pack_elsewhere() -> None:
    elsewhere = Key(f"{TENANT}#AGENT#agent-1", "PACK#7")
    assert packs.read_place(PARTITION, packs.place_of(Key(PARTITION, "MSG#1"), elsewhere, 12)) == (elsewhere, 12)
    assert packs.read_place(PARTITION, packs.place_of(Key(PARTITION, "MSG#1"), PACK, 3)) == (PACK, 3)


def test_a_damaged_pack_is_told_from_a_missing_one() -> None:
    with pytest.raises(OSError, match="a pack of 6 bytes is damaged"):
        packs.unpacked(b"broken")


def test_a_body_is_found_at_the_place_that_its_item_names() -> None:
    blobs = MemoryBlobs()
    blobs.put(packs.blob_of(PACK), packs.packed([record(1, "one"), record(2, "two")]))
    reader = PackReader(blobs, PackCache())
    item = {"pk": PARTITION, "sk": "MSG#2", "body": "", "blob": "", "pack": packs.place_of(Key(PARTITION, "MSG#2"), PACK, 1)}
    assert reader.body(item) == "two"
    blobs.delete(packs.blob_of(PACK))
    assert reader.body(item) == "two", "the cache has it"
    reader.forget(PACK)
    with pytest.raises(KeyError):
        reader.body(item)


@dataclass
class OneItem:
    """A table in which the item is as another worker has left it."""

    now: Item

    def get(self, key: Key) -> Item:
        assert key.sk == "CLAIM"
        return self.now


def test_a_reader_that_was_late_for_a_pack_reads_the_item_again() -> None:
    claim = ClaimedResult(status="success", value="open")
    item = {"pk": PARTITION, "sk": "CLAIM", "body": "", "blob": "", "pack": "1/0"}
    now = {**item, "body": claim.model_dump_json()}
    del now["pack"]
    assert Codec(MemoryBlobs(), OneItem(now)).record(ClaimedResult, item) == claim  # type: ignore[arg-type]
    with pytest.raises(KeyError):
        Codec(MemoryBlobs(), OneItem(item)).record(ClaimedResult, item)  # type: ignore[arg-type]
