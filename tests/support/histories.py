"""Blocks with their history over one table, whose clock a test moves."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from hibernaut.domain.memory.versions import ChainCheck, ChainLink
from hibernaut.ports.storage.table import Delete, Key, Put, Table
from hibernaut.schemas.memory.block import BlockUpdate, CreateBlock, StoredBlock
from hibernaut.services.memory.block_history import BlockHistory
from hibernaut.services.memory.blocks import Blocks
from hibernaut.services.memory.run_versions import RunVersions
from hibernaut.services.records import records_over
from hibernaut.store.memory.blocks import state_of
from hibernaut.store.stores import TenantStores
from hibernaut.store.versions.version_store import CHAIN, read_chain
from tests.support.scripted_model import Script, in_turn
from tests.support.world import World, data_in

HOUR = timedelta(hours=1)


class Histories:
    """A world with the use cases of blocks and of their versions."""

    def __init__(self, folder: Path, script: Script | None = None, wrap: Callable[[Table], Table] = lambda t: t) -> None:
        self.world = World(data_in(folder, script or in_turn()), wrap=wrap)
        self.take(self.world.stores)

    def take(self, stores: TenantStores) -> None:
        """Go on with other stores over the same table, as the next process does."""
        self.stores = stores
        records = records_over(stores, self.world.clock, self.world.ids)
        self.blocks = Blocks(records)
        self.history = BlockHistory(records, self.blocks)
        self.run_versions = RunVersions(stores, records)

    @property
    def table(self) -> Table:
        return self.world.data.table

    def wait(self, span: timedelta = HOUR) -> None:
        self.world.clock.sleep(span.total_seconds())

    def block(self, *values: str, **fields: object) -> StoredBlock:
        """A block whose value has changed an hour after the other."""
        made = self.blocks.create(CreateBlock.model_validate({"label": "notes", "value": values[0], **fields}), key_id="key-1")
        for value in values[1:]:
            self.wait()
            made = self.blocks.update(made.id, BlockUpdate(value=value), key_id="key-1")
        return made

    def older(self, value: str) -> StoredBlock:
        """A block that a release without versions wrote."""
        block = self.block(value)
        key, place = self.key(block.id), self.stores.blocks.history(block.id)
        item = self.table.get(key)
        assert item is not None
        self.table.write(Put({name: each for name, each in item.items() if name != CHAIN}), Delete(place.key(1)))
        return block

    def key(self, block_id: str) -> Key:
        """The place of a block's item."""
        return Key(self.stores.blocks.history(block_id).pk, "BLOCK")

    def value(self, block_id: str, number: int) -> str | None:
        """The value of a block in a version; None where it was deleted."""
        shown = self.history.version(block_id, number).block
        return shown.value if shown else None

    def links(self, block_id: str) -> list[ChainLink]:
        """All versions of a block that are kept, as an audit reads them."""
        return self.stores.versions.links(self.stores.blocks.history(block_id), limit=10_000)

    def fault(self, block_id: str) -> str | None:
        """What an audit says of a block's chain."""
        block, chain = self.stores.blocks.get(block_id), ChainCheck(block_id)
        for link in self.links(block_id):
            if fault := chain.take(link):
                return fault
        if block is None:
            return chain.end((0, ""), 0, None)
        named = read_chain(block.chain)
        return chain.end((named.number, named.hash), block.version, state_of(block).content)
