"""Files are read in the background, whatever dies meanwhile; and deleted with everything that was made from them."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest

from hibernaut.domain.wire.listing import Page
from hibernaut.ports.memory.embedder import Embedders
from hibernaut.ports.storage.table import Change, Table
from hibernaut.schemas.errors import Conflict, NotFound, PayloadTooLarge
from hibernaut.schemas.memory.file import FileMetadata, FileStatus
from hibernaut.schemas.memory.folder import CreateFolder
from hibernaut.services.files import files, ingestion
from hibernaut.services.files.files import Upload
from hibernaut.services.files.ingestion import Ingestion
from hibernaut.services.runs.sweep import Sweep
from hibernaut.services.runs.tenant_sweep import TenantSweep
from hibernaut.services.search.search_sources import NoEmbedders
from hibernaut.store.table import keys
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded, EmbeddedOverrides
from hibernaut.wiring.settings import EmbeddedSettings
from tests.support.hashing_embedder import OneEmbedder
from tests.support.tables import PassesOn

TENANT = "default"
NOBODY = NoEmbedders()
LONG = "\n\n".join(f"Paragraph {number}. " + "Birds are many, and so are words. " * 30 for number in range(400))


class Died(Exception):
    """The process, at a write."""


class Dies(PassesOn):
    """A table whose process dies at a write: at the one after so many more that are `left`.

    `overtaken`: before the write after so many more somebody else does something.
    """

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.left: int | None = None
        self.overtaken: tuple[int, Callable[[], object]] | None = None

    def write(self, *changes: Change) -> None:
        if self.overtaken is not None:
            left, by = self.overtaken
            self.overtaken = (left - 1, by) if left else None
            if not left:
                by()
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise Died
        super().write(*changes)


class Told:
    """An `Ingest` that keeps what it was told."""

    def __init__(self) -> None:
        self.files: list[str] = []

    def start(self, tenant: str, file_id: str) -> None:
        assert tenant == TENANT
        self.files.append(file_id)


class Bench:
    """A house whose files are read only when a test says so."""

    def __init__(self, house: Embedded, table: Dies) -> None:
        self.house = house
        self.table = table
        self.stores = house.stores.of(TENANT)
        house.ingest.close()  # what would read in the background
        self.services = services_of(house.stores, house.host, house.engines, upload_limit=1_000_000).of(TENANT)
        self.folder = self.services.folders.create(CreateFolder(name="f"))

    def worker(self, process: int = 0, embedders: Embedders = NOBODY) -> Ingestion:
        """At home one process runs at a time: what another one holds is dead."""
        host = replace(self.house.host, holder=f"host:{process}")
        return Ingestion(self.stores, host, embedders, indexed=False)

    def send(self, name: str = "a.txt", text: str = "one") -> FileMetadata:
        upload = Upload(io.BytesIO(text.encode()), name, "text/plain")
        return self.services.files.upload(self.folder.id, upload, "suffix").file

    def shown(self, file_id: str) -> FileMetadata:
        return self.services.files.retrieve(self.folder.id, file_id, content=True)

    def left(self, file_id: str) -> Sequence[object]:
        """What the table has of a file."""
        pk = keys.file(TENANT, file_id).pk
        return [
            *self.table.query(pk),
            *self.stores.files.rows(self.folder.id),
            *self.stores.files.names(self.folder.id),
        ]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    wrapped: list[Dies] = []

    def wrap(table: Table) -> Table:
        wrapped.append(Dies(table))
        return wrapped[0]

    house = Embedded(EmbeddedSettings(data=tmp_path), EmbeddedOverrides(table=wrap, embedders=NoEmbedders()))
    yield Bench(house, wrapped[0])
    house.close()


def test_a_file_is_read_once_however_often_it_is_told(bench: Bench) -> None:
    sent = bench.send(text="one\r\ntwo\n")
    assert sent.processing_status is FileStatus.PARSING
    for _ in range(2):
        bench.worker().process(sent.id)
    file = bench.shown(sent.id)
    assert (file.processing_status, file.content, file.total_chunks) == (FileStatus.COMPLETED, "one\ntwo\n", 1)
    (piece,) = bench.services.files.passages(bench.folder.id, Page())
    assert (piece.text, piece.file_name) == ("one\ntwo", "a.txt")


def test_a_file_whose_reader_died_anywhere_is_taken_up_where_it_stopped(bench: Bench) -> None:
    sent = bench.send(text=LONG)
    deaths = 0
    while bench.shown(sent.id).processing_status is not FileStatus.COMPLETED:
        bench.table.left = 2 + deaths % 3
        try:
            bench.worker(deaths).process(sent.id)
        except Died:
            deaths += 1
        bench.table.left = None
        assert deaths < ingestion.MOST_TAKES, "it does not come to an end"
    assert deaths > 1
    file = bench.shown(sent.id)
    pieces = bench.services.files.passages(bench.folder.id, Page())
    assert (file.content, len(pieces)) == (LONG, file.total_chunks)
    assert [(piece.metadata or {})["index"] for piece in pieces] == list(range(len(pieces)))


@pytest.mark.parametrize("tries", [(OneEmbedder(), NOBODY), (NOBODY, OneEmbedder())])
def test_what_counts_tokens_may_be_another_when_a_file_is_taken_up(bench: Bench, tries: tuple[Embedders, Embedders]) -> None:
    bench.folder = bench.services.folders.create(CreateFolder(name="g", embedding_config=OneEmbedder().default()))
    sent = bench.send(text=LONG)
    bench.table.left = 4
    with pytest.raises(Died):
        bench.worker(0, tries[0]).process(sent.id)
    bench.table.left = None
    stored = len(bench.services.files.passages(bench.folder.id, Page()))
    bench.worker(1, tries[1]).process(sent.id)
    pieces = bench.services.files.passages(bench.folder.id, Page())
    assert 0 < stored < len(pieces) == bench.shown(sent.id).total_chunks
    done = 0
    for piece in pieces:
        start = int((piece.metadata or {})["start"])
        assert LONG[start : start + len(piece.text)] == piece.text
        assert not LONG[done:start].strip(), "nothing is lost"
        assert done - start <= 200, "no more is repeated than where one counter cuts all"
        done = start + len(piece.text)
    assert done == len(LONG.rstrip())


def test_a_file_that_kills_every_reader_ends_in_an_error(bench: Bench) -> None:
    sent = bench.send()
    for take in range(ingestion.MOST_TAKES):
        bench.table.left = 1
        with pytest.raises(Died):
            bench.worker(take).process(sent.id)
        bench.table.left = None
    bench.worker(ingestion.MOST_TAKES).process(sent.id)
    file = bench.shown(sent.id)
    assert (file.processing_status, "tries" in (file.error_message or "")) == (FileStatus.ERROR, True)


def test_the_sweep_has_a_file_read_that_nobody_took_up(bench: Bench) -> None:
    sent = bench.send()
    told = Told()
    chain, host = bench.house.engines.of(TENANT), replace(bench.house.host, ingest=told)
    own = TenantSweep(bench.stores, host, chain.termination, chain.approvals, lambda: chain.sleeptime, chain.long_work)
    sweep = Sweep(bench.house.stores, host, lambda _tenant: own)
    sweep.run(everything=True)
    assert told.files == [sent.id]
    bench.worker().process(sent.id)
    sweep.run(everything=True)
    assert told.files == [sent.id], "what is read is not due any more"


def test_a_file_is_left_to_the_worker_that_has_it(bench: Bench) -> None:
    sent = bench.send(text=LONG)
    bench.table.left = 3
    with pytest.raises(Died):
        bench.worker().process(sent.id)
    bench.table.left = None
    bench.worker().process(sent.id)
    assert bench.shown(sent.id).processing_status is FileStatus.PARSING, "who may be alive keeps the file"
    bench.worker(1).process(sent.id)
    assert bench.shown(sent.id).processing_status is FileStatus.COMPLETED


def test_a_deleted_file_leaves_nothing(bench: Bench, tmp_path: Path) -> None:
    sent = bench.send(text=LONG)
    bench.worker().process(sent.id)
    assert any(path.is_file() for path in (tmp_path / "blobs").rglob("*"))
    bench.services.files.delete(bench.folder.id, sent.id)
    assert bench.left(sent.id) == []
    assert not any(path.is_file() for path in (tmp_path / "blobs").rglob("*"))
    with pytest.raises(NotFound):
        bench.shown(sent.id)


def test_a_file_that_is_deleted_while_it_is_read_does_not_come_back(bench: Bench) -> None:
    sent = bench.send(text=LONG)
    bench.table.left = 3
    with pytest.raises(Died):
        bench.worker().process(sent.id)
    bench.table.left = None
    bench.services.files.delete(bench.folder.id, sent.id)
    bench.worker().process(sent.id)
    assert bench.left(sent.id) == []


def test_a_deletion_that_died_anywhere_can_be_repeated(bench: Bench) -> None:
    sent = bench.send(text=LONG)
    bench.worker().process(sent.id)
    writes = 0
    while True:
        bench.table.left = writes
        try:
            bench.services.folders.delete(bench.folder.id)
        except Died:
            writes += 1
            bench.table.left = None
            assert bench.services.folders.retrieve(bench.folder.id), "it is shown as long as something of it is left"
            continue
        break
    bench.table.left = None
    assert writes > 2
    assert bench.left(sent.id) == []


def test_an_upload_that_dies_shows_nothing(bench: Bench, tmp_path: Path) -> None:
    bench.table.left = 0
    with pytest.raises(Died):
        bench.send()
    bench.table.left = None
    assert bench.services.files.page(bench.folder.id, Page()) == []
    assert not any(path.is_file() for path in (tmp_path / "blobs").rglob("*"))


def test_an_upload_over_the_limit_is_refused(bench: Bench) -> None:
    with pytest.raises(PayloadTooLarge, match="1000000 bytes"):
        bench.send(text="x" * 1_000_001)
    assert bench.services.files.page(bench.folder.id, Page()) == []


def test_a_file_whose_last_piece_is_embedded_is_completed_whether_or_not_that_was_written_down(bench: Bench) -> None:
    stored = bench.stores.files
    sent = bench.send(text=LONG)
    bench.worker().process(sent.id)
    taken = stored.taken(sent.id)
    assert taken is not None
    embedding = taken.file.model_copy(update={"status": FileStatus.EMBEDDING, "embedded": 0})
    bench.stores.writer.write(*stored.work(type(taken)(embedding, taken.token, "", 0), taken.token))
    total = taken.file.total or 0
    bench.stores.writer.write(stored.count_embedded(sent.id, total - 1))
    assert (bench.shown(sent.id).processing_status, bench.shown(sent.id).chunks_embedded) == (FileStatus.EMBEDDING, total - 1)
    bench.stores.writer.write(stored.count_embedded(sent.id, 1))
    assert bench.shown(sent.id).processing_status is FileStatus.COMPLETED
    stored.complete(sent.id)
    written = stored.taken(sent.id)
    assert written is not None
    assert written.file.status is FileStatus.COMPLETED


def test_a_name_is_given_once_by_many_uploads_at_once(bench: Bench) -> None:
    names = [bench.send("a.txt").file_name for _ in range(3)]
    assert names == ["f/a.txt", "f/a_(1).txt", "f/a_(2).txt"]
    with pytest.raises(Conflict):
        bench.services.files.upload(bench.folder.id, Upload(io.BytesIO(b""), "a.txt", "text/plain"), "error")


@pytest.mark.parametrize("writes", [1, 2, 4])
def test_a_worker_that_was_overtaken_writes_nothing_more(bench: Bench, writes: int) -> None:
    sent = bench.send(text=LONG)
    bench.table.overtaken = writes, lambda: bench.worker(1).process(sent.id)
    bench.worker().process(sent.id)
    taken = bench.stores.files.taken(sent.id)
    assert taken is not None
    assert (taken.holder, taken.file.status) == ("host:1", FileStatus.COMPLETED)
    assert len(bench.services.files.passages(bench.folder.id, Page())) == taken.file.total


@pytest.mark.parametrize("writes", [1, 2, 4])
def test_a_worker_whose_file_is_deleted_under_its_hands_brings_nothing_back(bench: Bench, tmp_path: Path, writes: int) -> None:
    sent = bench.send(text=LONG)
    bench.table.overtaken = writes, lambda: bench.services.files.delete(bench.folder.id, sent.id)
    bench.worker().process(sent.id)
    assert bench.left(sent.id) == []
    assert not any(path.is_file() for path in (tmp_path / "blobs").rglob("*"))


def test_the_text_of_a_file_goes_with_it_also_where_it_was_written_during_the_deletion(bench: Bench, tmp_path: Path) -> None:
    sent = bench.send(text=LONG)
    bench.table.overtaken = 1, lambda: bench.stores.writer.write(bench.stores.files.fence(sent.id))
    bench.worker().process(sent.id)
    bench.services.files.delete(bench.folder.id, sent.id)
    assert bench.left(sent.id) == []
    assert not any(path.is_file() for path in (tmp_path / "blobs").rglob("*"))


def test_pieces_of_a_folder_are_paged_across_its_files(bench: Bench) -> None:
    sent = [bench.send(f"{name}.txt", LONG) for name in "ab"]
    for file in sent:
        bench.worker().process(file.id)
    whole = bench.services.files.passages(bench.folder.id, Page())
    assert [file_id for file_id, _ in groupby(piece.file_id for piece in whole)] == [file.id for file in sent]
    half = len(whole) // 2
    first = bench.services.files.passages(bench.folder.id, Page(limit=half - 1))
    rest = bench.services.files.passages(bench.folder.id, Page(after=first[-1].id))
    assert [*first, *rest] == whole
    assert bench.services.files.passages(bench.folder.id, Page(descending=True)) == whole[::-1]


def test_a_list_with_too_much_content_is_refused(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_CONTENT", 5)
    for name in "ab":
        bench.worker().process(bench.send(f"{name}.txt", "four").id)
    assert [one.content for one in bench.services.files.page(bench.folder.id, Page(limit=1), content=True)] == ["four"]
    with pytest.raises(PayloadTooLarge, match="fewer files"):
        bench.services.files.page(bench.folder.id, Page(), content=True)
    assert len(bench.services.files.page(bench.folder.id, Page())) == 2


def test_pieces_as_large_as_a_folder_likes_are_stored(bench: Bench) -> None:
    """None of them is so large that it lies in a blob, and a hundred are more than one transaction takes."""
    nobody = {"embedding_endpoint_type": "none", "embedding_model": "none", "embedding_dim": 3, "embedding_chunk_size": 15_000}
    bench.folder = bench.services.folders.create(CreateFolder.model_validate({"name": "large", "embedding_config": nobody}))
    bench.services = services_of(bench.house.stores, bench.house.host, bench.house.engines).of(TENANT)
    sent = bench.send(text=("word " * 12_000 + "\n") * 90)
    bench.worker().process(sent.id)
    assert bench.shown(sent.id).processing_status is FileStatus.COMPLETED
