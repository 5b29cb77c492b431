"""A deployment's access over a real table that counts its reads, with a clock that a test moves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from hibernaut.adapters.cipher.key_file import KeyFileCipher
from hibernaut.adapters.clock import TimeOrderedIds
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.ports.storage.table import Item, Key, Table
from hibernaut.services.access.access import Access
from hibernaut.services.access.identity import IdentityProvider
from hibernaut.store.stores import Stores
from tests.support.blobs import MemoryBlobs
from tests.support.clocks import ManualClock
from tests.support.tables import PassesOn


class CountedReads(PassesOn):
    """A table that counts the reads by key."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.reads = 0

    def get(self, key: Key) -> Item | None:
        self.reads += 1
        return super().get(key)

    def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        self.reads += bool(keys)
        return super().get_many(keys)


class Deployment:
    """One table, and as many processes over it as a test asks for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = ManualClock()
        self.engine = SqliteTable(folder / "table.db")
        self.table = CountedReads(self.engine)

    def process(self, *, required: bool = True, alone: bool = False, identity: IdentityProvider | None = None) -> Access:
        stores = Stores(self.table, MemoryBlobs(), self.clock)
        cipher = KeyFileCipher(self.folder / "secrets.key")
        return Access(stores, cipher, self.clock, TimeOrderedIds(self.clock), required=required, alone=alone, identity=identity)

    def reads(self) -> int:
        """The reads since the last call."""
        found, self.table.reads = self.table.reads, 0
        return found


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    made = Deployment(tmp_path)
    yield made
    made.engine.close()
