"""Pointers to one log or archive are indexed together: one batch of texts, one write of the index, the same vectors as one by
one.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from hibernaut.ports.storage.table import Put
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.messages.message import Message
from hibernaut.services.search.indexing import Indexing
from hibernaut.store.stores import Stores
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec
from hibernaut.wiring.engines.index_feed import indexing_of
from tests.support.hashing_embedder import HashingEmbedder, OneEmbedder
from tests.support.memories import ARCHIVE, Hooked, Memories, memories
from tests.support.world import TENANT

AGENT = "agent-00000000-0000-4000-8000-000000000009"
TALK = ["where is the ferry", "in the harbour", "and when does it sail", "at noon", "at noon", "who says so", "a man in blue"]


def say(memory: Memories, number: int, text: str, role: str = "user") -> str:
    """One row of a log, with its pointer."""
    row = Message(
        id=f"message-00000000-0000-4000-8000-{number:012d}",
        role=role,  # type: ignore[arg-type]
        agent_id=AGENT,
        content=[TextContent(text=text)],
        created_at=memory.clock.now() + timedelta(seconds=number),
    )
    item = Codec(memory.blobs).item(keys.message(TENANT, AGENT, row.id), row, role=role)
    memory.stores.writer.write(Put(item), *memory.stores.search_outbox.rows(AGENT, AGENT, [row]))
    return row.id


def counted(memory: Memories, calls: Counter[str]) -> Indexing:
    """The worker's engines; `calls` counts what it asks of them."""

    def hooked(engine: object, name: str) -> object:
        return Hooked(engine, lambda call: calls.update([f"{name} {call}"]))

    table, index = hooked(memory.table, "table"), hooked(memory.index, "index")
    embedders = OneEmbedder(hooked(HashingEmbedder(), "embedder"))  # type: ignore[arg-type]
    stores = Stores(table, memory.blobs, memory.clock, indexed=True)  # type: ignore[arg-type]
    return indexing_of(stores, index, embedders).of(TENANT)  # type: ignore[arg-type]


def vectors(memory: Memories) -> dict[str, bytes]:
    with memory.index._file.reading() as reader:
        (number,) = reader.execute("SELECT max(number) FROM space").fetchone()
        found = reader.execute(f"SELECT id, vector FROM document_{number} JOIN vector_{number} USING (row)")
        return dict(found.fetchall())


def take(memory: Memories, indexing: Indexing, *, together: bool, only: slice = slice(None)) -> None:
    pointers = sorted((pointer.key for pointer in memory.stores.search_outbox.everywhere(100)), key=lambda key: key.sk)[only]
    for some in [pointers] if together else [[key] for key in pointers]:
        assert indexing.take([(key, {}) for key in some]).remaining == ()


@pytest.mark.parametrize("first", [slice(0, 0), slice(0, 3), slice(1, 4), slice(0, None, 2), slice(1, None, 2)])
def test_the_vectors_are_the_same_whatever_is_taken_together(tmp_path: Path, first: slice) -> None:
    found = []
    for together in (True, False):
        folder = tmp_path / str(together)
        folder.mkdir()
        memory = memories(folder)
        for number, text in enumerate(TALK, 1):
            say(memory, number, text, "user" if number % 2 else "assistant")
        indexing = counted(memory, Counter())
        take(memory, indexing, together=together, only=first)
        take(memory, indexing, together=together)
        found.append(vectors(memory))
        assert memory.stores.search_outbox.waiting() == 0
        memory.close()
    assert found[0] == found[1]
    assert len(found[0]) == len(TALK)


def test_ten_messages_are_embedded_written_and_settled_at_once(tmp_path: Path) -> None:
    memory = memories(tmp_path)
    for number in range(1, 11):
        say(memory, number, f"text {number}", "user" if number % 2 else "assistant")
    calls = Counter[str]()
    take(memory, counted(memory, calls), together=True)
    assert (calls["embedder before embed"], calls["index before put"], calls["table before write"]) == (1, 1, 1)
    assert calls["table before get_many"] == 3, "the pointers, the rows, and whether they are still there"
    assert calls["table before query"] == 1, "what stands before them"
    assert memory.stores.search_outbox.waiting() == 0
    memory.close()


def test_a_pointer_that_another_worker_has_settled_keeps_no_other(tmp_path: Path) -> None:
    memory = memories(tmp_path)
    for number in range(1, 4):
        say(memory, number, f"text {number}")
    indexing = counted(memory, Counter())
    found = memory.stores.search_outbox.everywhere(10)
    changes = indexing._indexed(found)
    memory.stores.writer.write(memory.stores.search_outbox.forget(found[1]))
    indexing._settle_all(found, changes)
    assert memory.stores.search_outbox.waiting() == 0
    memory.close()


@pytest.mark.parametrize("lost", [0, 1, 2])
@pytest.mark.parametrize("kind", ["passage", "message"])
def test_a_record_whose_blob_is_missing_keeps_no_other_back(
    tmp_path: Path, kind: str, lost: int, caplog: pytest.LogCaptureFixture
) -> None:
    memory = memories(tmp_path)
    texts = [f"text {number} " + "x" * 70_000 for number in range(3)]
    ids = memory.write("passage", *texts) if kind == "passage" else [say(memory, at, text) for at, text in enumerate(texts)]
    key = keys.passage(TENANT, ARCHIVE, ids[lost]) if kind == "passage" else keys.message(TENANT, AGENT, ids[lost])
    item = memory.table.get(key)
    assert item is not None
    memory.blobs.delete(str(item["blob"]))

    take(memory, counted(memory, Counter()), together=True)

    assert {name.rpartition("/")[2] for name, _, _ in memory.held()} == set(ids) - {ids[lost]}
    assert memory.stores.search_outbox.waiting() == 0
    (line,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert (line.message, line.id) == ("record without its blob", ids[lost])  # type: ignore[attr-defined]
    memory.close()
