"""What is left when agents, conversations, folders and archives go: nothing in the index, and nothing in blobs."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from hibernaut.adapters.blobs.disk import DiskBlobs
from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex
from hibernaut.ports.storage.table import Change, Item, Key
from hibernaut.rest.dependencies import Services
from hibernaut.schemas.agents.agent import CreateAgentRequest, UpdateAgent
from hibernaut.schemas.agents.conversation_record import CreateConversation
from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.memory.block import BlockUpdate, CreateBlock, StoredBlock
from hibernaut.schemas.memory.folder import CreateFolder, UpdateFolder
from hibernaut.schemas.memory.passage import CreateArchive, CreatePassage, UpdateArchive
from hibernaut.schemas.memory.searches import MessageSearch, PassageSearch
from hibernaut.schemas.memory.version import Rollback
from hibernaut.schemas.models.llm_config import EmbeddingConfig
from hibernaut.schemas.tools.tool import ToolCreate
from hibernaut.services.files.files import Upload
from hibernaut.services.search.index_poll_worker import IndexPollWorker
from hibernaut.services.search.reindexing import Reindexing
from hibernaut.services.search.search_sources import NoEmbedders
from hibernaut.store.stores import Stores
from hibernaut.store.table.writer import Writer
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded, EmbeddedOverrides
from hibernaut.wiring.engines.index_feed import indexing_of
from hibernaut.wiring.settings import EmbeddedSettings
from tests.support.conversations import begin_in, conversations_of
from tests.support.scripted_model import in_turn, says
from tests.support.tables import PassesOn
from tests.support.world import TENANT, World, data_in

SAID = [{"role": "user", "content": f"The key number {number} lies in the cellar."} for number in range(3)]


@dataclass
class Indexed:
    """An embedded house without vectors, whose pump is driven by hand, and its index from outside."""

    house: Embedded
    services: Services
    index: SqliteMemoryIndex

    def held(self) -> set[str]:
        """The names of all documents."""
        assert self.house.index_worker.drain()
        return held(self.index)


def held(index: SqliteMemoryIndex) -> set[str]:
    return {one.id for space in index.spaces() for one in index.states(space, TENANT)}


@pytest.fixture
def indexed(tmp_path: Path) -> Iterator[Indexed]:
    house = Embedded(EmbeddedSettings(data=tmp_path), EmbeddedOverrides(embedders=NoEmbedders()))
    index = SqliteMemoryIndex(tmp_path / "index.db")
    yield Indexed(house, services_of(house.stores, house.host, house.engines).of(TENANT), index)
    index.close()
    house.close()


def test_what_an_agent_begins_with_is_found(indexed: Indexed) -> None:
    made = CreateAgentRequest(initial_message_sequence=SAID)
    agent = indexed.services.agents.creation.create(made)
    asked = MessageSearch(query="key cellar", agent_id=agent.id)
    for _ in range(2):  # before the index knows it, and after
        hits, _standing = indexed.services.searches.messages(asked)
        assert {hit.content for hit in hits} == {said["content"] for said in SAID}
        assert len(indexed.held()) == len(SAID)


def test_a_deleted_agent_leaves_nothing_in_the_index(indexed: Indexed) -> None:
    gone, kept = (
        indexed.services.agents.creation.create(CreateAgentRequest(initial_message_sequence=SAID * 100)) for _ in range(2)
    )
    assert len(indexed.held()) == 600
    indexed.services.agents.delete(gone.id)
    assert {name.partition("/")[0] for name in indexed.held()} == {kept.id}
    assert len(indexed.held()) == 300


def test_a_passage_that_is_brought_back_is_found_again_whenever_the_indexer_comes(indexed: Indexed) -> None:
    services = indexed.services
    archive = services.archives.create(CreateArchive(name="notes")).id
    there = set[str]()
    for comes in product((True, False), repeat=5):
        (passage,) = services.passages.create(archive, [CreatePassage(text="The spare key hangs behind the clock.")])
        name = f"{archive}/{passage.id}"
        for moment, drains in enumerate(comes):
            if drains:
                assert indexed.held() == there | ({name} if moment % 2 == 0 else set())
            if moment % 2 == 0:
                services.passages.delete(archive, passage.id)
            else:
                services.passage_history.rollback(archive, passage.id, Rollback(version=moment))
        services.passage_history.rollback(archive, passage.id, Rollback(version=5))
        there.add(name)
        assert indexed.held() == there
    (hits, _standing) = services.searches.passages(PassageSearch(query="key", archive_id=archive, limit=100))
    assert {f"{archive}/{hit.passage.id}" for hit in hits} == there
    services.archives.delete(archive)
    assert indexed.held() == set()


class Died(BaseException):
    """The worker is gone."""


def test_of_an_agent_whose_deletion_broke_off_nothing_is_found_and_deleting_it_again_goes_on(
    indexed: Indexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    creation, agents = indexed.services.agents.creation, indexed.services.agents
    gone, kept = (creation.create(CreateAgentRequest(initial_message_sequence=SAID * 100)) for _ in range(2))
    write, writes = Writer.write, 0

    def dies(writer: Writer, *changes: Change, token: str = "") -> None:
        nonlocal writes
        writes += 1
        if writes == 3:  # the first ended the agent, the second was a page of its log
            raise Died
        write(writer, *changes, token=token)

    monkeypatch.setattr(Writer, "write", dies)
    with pytest.raises(Died):
        agents.delete(gone.id)
    monkeypatch.setattr(Writer, "write", write)
    assert any(name.startswith(gone.id) for name in indexed.held())
    hits, _standing = indexed.services.searches.messages(MessageSearch(query="key cellar", limit=100))
    assert {hit.agent_id for hit in hits} <= {kept.id}
    agents.delete(gone.id)
    assert {name.partition("/")[0] for name in indexed.held()} == {kept.id}
    with pytest.raises(NotFound):
        agents.delete(gone.id)


def blobs(folder: Path) -> int:
    """The blobs of what is there now. Those of versions stay until their versions expire."""
    return sum("VERSION" not in entry.key for entry in DiskBlobs(folder / "blobs").list(limit=1000))


LONG, OTHER = "a" * 65_000, "b" * 65_000
"""Longer than what an item holds, within the limits of a record's fields."""


def test_a_long_description_goes_when_it_is_replaced_and_with_what_it_describes(indexed: Indexed, tmp_path: Path) -> None:
    folders, archives = indexed.services.folders, indexed.services.archives
    folder = folders.create(CreateFolder(name="papers", description=LONG))
    archive = archives.create(CreateArchive(name="notes", description=LONG))
    for description in (OTHER, OTHER):
        folders.update(folder.id, UpdateFolder(description=description))
        archives.update(archive.id, UpdateArchive(description=description))
        assert blobs(tmp_path) == 2
    assert folders.retrieve(folder.id).description == archives.retrieve(archive.id).description == OTHER
    folders.delete(folder.id)
    archives.delete(archive.id)
    assert blobs(tmp_path) == 0


def test_what_is_large_of_agents_conversations_blocks_and_tools_goes_with_them(indexed: Indexed, tmp_path: Path) -> None:
    services = indexed.services
    block = services.blocks.create(CreateBlock(label="notes", value=LONG, limit=200_000))
    tool = services.tools.save(ToolCreate(source_code=f'def tool():\n    """Do it."""\n    return "{LONG}"\n'))
    agent = services.agents.creation.create(
        CreateAgentRequest(model="hibernaut/demo", description=LONG, system=LONG, block_ids=[block.id])
    )
    request = CreateConversation(isolated_block_labels=["notes"])
    conversation = services.conversations.openings.create(agent.id, request)
    large = blobs(tmp_path)
    assert large >= 5
    services.conversations.delete(conversation.id)
    assert blobs(tmp_path) < large
    services.agents.delete(agent.id)
    assert blobs(tmp_path) == 2
    services.blocks.delete(block.id)
    assert blobs(tmp_path) == 1
    services.tools.delete(tool.id)
    assert blobs(tmp_path) == 0


def test_what_is_large_of_agents_and_blocks_goes_when_it_is_replaced(indexed: Indexed, tmp_path: Path) -> None:
    services = indexed.services
    block = services.blocks.create(CreateBlock(label="notes", value=LONG, limit=200_000))
    agent = services.agents.creation.create(CreateAgentRequest(model="hibernaut/demo", description=LONG))
    before = blobs(tmp_path)
    for value in (OTHER, LONG, LONG):
        services.blocks.update(block.id, BlockUpdate(value=value))
        services.agents.updates.update(agent.id, UpdateAgent(description=value))
        assert blobs(tmp_path) == before
    assert services.blocks.retrieve(block.id).value == services.agents.retrieve(agent.id).description == LONG


def test_a_record_that_is_replaced_while_it_is_read_is_read_as_it_is_then(tmp_path: Path) -> None:
    data = data_in(tmp_path, in_turn(says("nothing")))
    stores = Stores(data.table, data.blobs, data.clock).of(TENANT)
    now = data.clock.now()
    block = StoredBlock(id="block-1", label="notes", value=LONG, limit=200_000, created_at=now, updated_at=now)
    stores.writer.write(*stores.blocks.create(block, "made"))

    class Overtaken(PassesOn):
        def get(self, key: Key) -> Item | None:
            item = super().get(key)
            if (before := stores.blocks.get(block.id)) is not None and before.value == LONG:
                after = before.model_copy(update={"value": OTHER})
                stores.writer.write(*stores.blocks.change(before, after, "token"), token="token")
            return item

    read = Stores(Overtaken(data.table), data.blobs, data.clock).of(TENANT).blocks.get(block.id)
    assert read is not None
    assert read.value == OTHER
    assert len([key for key in data.blobs.kept if "VERSION" not in key]) == 1


def test_pieces_so_large_that_they_lie_in_blobs_go_with_their_file(indexed: Indexed, tmp_path: Path) -> None:
    nobody = EmbeddingConfig(embedding_endpoint_type="none", embedding_model="none", embedding_dim=3, embedding_chunk_size=20_000)
    folder = indexed.services.folders.create(CreateFolder(name="books", embedding_config=nobody))
    file = indexed.services.files.upload(folder.id, Upload(io.BytesIO(b"word " * 60_000), "a.txt", "text/plain"), "error").file
    indexed.house.ingest.close()
    assert indexed.services.files.retrieve(folder.id, file.id).processing_status == "completed"
    assert blobs(tmp_path) > 3
    indexed.services.files.delete(folder.id, file.id)
    assert blobs(tmp_path) == 0


def test_of_a_deleted_conversation_the_index_keeps_what_a_fork_still_shows(tmp_path: Path) -> None:
    world = World(data_in(tmp_path, in_turn(*(says(f"answer {number}") for number in range(3)))), indexed=True)
    agent = world.make_agent()
    index = SqliteMemoryIndex(tmp_path / "index.db")
    indexing = indexing_of(world.all_stores, index, NoEmbedders())
    pump = IndexPollWorker(world.all_stores.outbox, indexing, lambda: [TENANT])
    conversations = conversations_of(world)
    first = conversations.openings.create(agent, CreateConversation())
    begin_in(world, agent, first.id, "shared")
    world.workflow.drive()
    fork = conversations.openings.fork(first.id)
    begin_in(world, agent, first.id, "its own")
    world.workflow.drive()
    assert pump.drain()
    assert len(held(index)) == 4
    conversations.delete(first.id)
    assert pump.drain()
    shared = {f"{first.id}/{row.id}" for row in world.stores.conversations.page(fork.id) if row.role != "system"}
    assert held(index) == shared
    Reindexing(world.all_stores, index).begin([TENANT], lambda _progress: None)
    assert pump.drain()
    assert held(index) == shared, "built anew, it knows the rows that only the fork shows"
    conversations.delete(fork.id)
    assert pump.drain()
    assert held(index) == set()
    index.close()
    world.data.table.close()
