"""Ingests uploaded files in the background: extracts the text, cuts it into pieces, opens it for agents (RT 8.1).

Each file is a job of its own. It stands in the index DUE until it is ingested; its worker holds a lease; finished work is not
repeated. A worker that dies loses nothing, and two workers do no harm. A file that cannot be read ends in an error with the
reason, and does not delay other files.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

from hibernaut.domain.files import file_views
from hibernaut.domain.files.file_texts import Unreadable, kind_of, lines_of, parts_of
from hibernaut.domain.files.piece_ids import piece_id
from hibernaut.domain.search.chunking import Chunk, chunks
from hibernaut.ports.memory.embedder import Embedder, EmbedderFailed, Embedders
from hibernaut.ports.storage.table import MAX_BYTES, MAX_CHANGES, Change, ConditionFailed
from hibernaut.schemas.errors import UnsupportedMedia
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.file import ENDED, FileStatus, StoredFile, TextPart
from hibernaut.schemas.memory.folder import StoredFolder
from hibernaut.schemas.memory.passage import Passage
from hibernaut.services.host import Host
from hibernaut.services.prompt.file_views import FileViews, limits_of
from hibernaut.store.memory.files import GONE, LeasedFile
from hibernaut.store.stores import TenantStores
from hibernaut.store.table.bodies.codec import INLINE_BYTES

LEASE = timedelta(minutes=5)
"""The duration of a worker's lease on a file. Each batch of pieces renews it."""
SECONDS_TO_READ = 120.0
"""The time limit of a parser, in seconds."""
MOST_TAKES = 5
"""The largest number of attempts on a file; then it ends in an error, because it may be what kills its workers."""
LOOK_AGAIN = timedelta(minutes=30)
"""The interval of the checks on a file that waits for its embedding."""
BATCH = MAX_CHANGES - 4
"""The largest number of pieces in one transaction, besides the file's own changes and the pointer."""
_BYTES_OF_A_CHARACTER, _PIECE_OVERHEAD = 6, 1_000
"""The size of a piece's item: at most so many bytes per character of its text (as JSON), and so many bytes besides."""
PIECE_TOKENS, OVERLAP = 300, 25
"""The default size of a piece, and its overlap with the next one, in tokens."""
CHARACTERS_PER_TOKEN = 4
TRIES = 5
logger = logging.getLogger(__name__)


class _Lost(Exception):
    """Another worker holds the file now, or the file was deleted."""


@immutable
class _Job:
    """A file that this worker has leased."""

    taken: LeasedFile

    @property
    def file(self) -> StoredFile:
        return self.taken.file


class Ingestion:
    """Ingests the uploaded files of one tenant."""

    def __init__(self, stores: TenantStores, host: Host, embedders: Embedders, *, indexed: bool = True) -> None:
        """`indexed`: an index is fed from the table, whose workers embed the pieces."""
        self._stores = stores
        self._files = stores.files
        self._host = host
        self._reader = host.reader
        self._embedders = embedders
        self._indexed = indexed
        self._views = FileViews(stores)

    def process(self, file_id: str) -> None:
        """Ingest the file, unless it is ingested already, deleted, or leased by another worker.

        Raises: OSError, TableError; the sweep retries then.
        """
        job = self._take(file_id)
        if job is None:
            return
        try:
            if job.file.status is FileStatus.EMBEDDING:
                self._look_after(job)
            else:
                self._read(job)
        except _Lost:
            logger.info("file left to another worker", extra={"file_id": file_id})

    def _take(self, file_id: str) -> _Job | None:
        before = self._files.taken(file_id)
        if before is None or before.file.status in ENDED or before.token == GONE or self._alive(before):
            return None
        file = before.file.model_copy(update={"takes": before.file.takes + 1})
        after = LeasedFile(file, self._host.ids.token(), self._host.holder, self._until(LEASE))
        try:
            self._stores.writer.write(self._files.take(before, after), token=after.token)
        except ConditionFailed:
            return None
        return _Job(after)

    def _alive(self, leased: LeasedFile) -> bool:
        """Whether another worker's lease on the file is valid."""
        if self._host.alone and leased.holder != self._host.holder:
            return False
        return leased.lease > self._until(timedelta())

    def _until(self, span: timedelta) -> int:
        return int((self._host.clock.now() + span).timestamp() * 1000)

    def _read(self, job: _Job) -> None:
        if job.file.takes > MOST_TAKES:
            self._fail(job, f"The file could not be read: {MOST_TAKES} tries did not come to an end.")
            return
        try:
            text = self._text(job)
        except (Unreadable, UnsupportedMedia) as error:
            self._fail(job, str(error))
            return
        except KeyError:
            self._fail(job, "The bytes of the file are gone. Upload it again.")
            return
        job = self._store_text(job, text)
        self._open_for_agents(job)
        self._finish(self._store_pieces(job, text))

    def _text(self, job: _Job) -> str:
        """The text of the file, stored or newly extracted. Raises: Unreadable, UnsupportedMedia, KeyError (no bytes), OSError."""
        if job.file.readable:
            return "".join(self._views.parts(job.file))
        kind, _ = kind_of(job.file.name, job.file.media_type)
        return self._reader.text(self._files.bytes_of(job.file.id), kind, seconds=SECONDS_TO_READ)

    def _store_text(self, job: _Job, text: str) -> _Job:
        """Store the text in parts, then the record that refers to them. Raises: _Lost."""
        if job.file.readable:
            return job
        first, parts = 1, []
        for number, part in enumerate(parts_of(text)):
            self._files.put_text(job.file.id, number, part)
            parts.append(TextPart(first_line=first, characters=len(part)))
            first += part.count("\n")
        try:
            return self._write(job, parts=parts, lines=len(lines_of(text)), characters=len(text), readable=True)
        except _Lost:
            now = self._files.taken(job.file.id)
            if now is None or now.token == GONE:  # deleted meanwhile by a request that does not know these parts
                self._files.forget_blobs(job.file.model_copy(update={"parts": parts}))
            raise

    def _open_for_agents(self, job: _Job) -> None:
        """Open the new file for the agents that have the folder, within each agent's limit of open files."""
        for agent_id in self._stores.folders.agents_of(job.file.folder_id):
            agent = self._stores.agents.get(agent_id)
            if agent is None:
                continue
            for _ in range(TRIES):
                file_ids = {file.row.file_id for file in self._views.attached(agent)}
                desk = self._files.desk(agent_id)
                if job.file.id in desk.last_accessed:  # it was closed there, or came closed in an agent file
                    break
                now = self._host.clock.now()
                filled = file_views.filled(desk, [job.file.id], most=limits_of(agent)[0], attached=file_ids, now=now)
                if filled == desk:
                    break
                token = self._host.ids.token()
                try:
                    self._stores.writer.write(self._files.put_desk(agent_id, desk, filled, token), token=token)
                    break
                except ConditionFailed:
                    continue

    def _store_pieces(self, job: _Job, text: str) -> _Job:
        """Store the missing pieces in batches, each with the file's progress, then the total number. Raises: _Lost."""
        folder = self._stores.folders.get(job.file.folder_id)
        if folder is None:
            raise _Lost
        count = job.file.written
        to_do = enumerate(self._chunks(folder, text, self._last(job)), count)
        for pieces in _batches(_piece(job.file, folder, index, chunk) for index, chunk in to_do):
            count += len(pieces)
            job = self._write(job, self._files.pieces(job.file, pieces), written=count)
        return self._write(job, total=count)

    def _last(self, job: _Job) -> Chunk | None:
        """The last stored piece, from which the cutting resumes; None before the first.

        The following pieces may be cut with another token counter, because the embedder has become reachable or unreachable.
        """
        if not job.file.written:
            return None
        (piece,) = self._stores.passages.pieces(job.file.id, [piece_id(job.file.id, job.file.written - 1)])
        start = int((piece.metadata or {})["start"])
        return Chunk(piece.text, start, start + len(piece.text))

    def _chunks(self, folder: StoredFolder, text: str, after: Chunk | None) -> Iterator[Chunk]:
        config = folder.embedding_config
        limit = (config.embedding_chunk_size if config else None) or PIECE_TOKENS
        embedder = self._embedders.of(config)
        if embedder is None:
            return chunks(text, limit, _estimated, OVERLAP, after=after)
        return chunks(text, min(limit, embedder.max_tokens), _counter(embedder), OVERLAP, after=after)

    def _finish(self, job: _Job) -> None:
        """Complete a file that needs no embedding; else set it to EMBEDDING until the index workers have counted all its
        pieces.
        """
        folder = self._stores.folders.get(job.file.folder_id)
        embeds = self._indexed and folder is not None and self._embedders.of(folder.embedding_config) is not None
        if not embeds or not job.file.total:
            self._write(job, status=FileStatus.COMPLETED)
            return
        self._write(job, status=FileStatus.EMBEDDING, lease=LOOK_AGAIN)
        self._files.complete(job.file.id)

    def _look_after(self, job: _Job) -> None:
        """Check a file that waits for its embedding: complete it if no pointer to it is pending, else schedule the next check."""
        if self._files.unindexed(job.file):
            self._write(job, lease=LOOK_AGAIN)
        else:
            self._files.complete(job.file.id, force=True)

    def _fail(self, job: _Job, reason: str) -> None:
        logger.info("file not read", extra={"file_id": job.file.id, "folder_id": job.file.folder_id})
        self._write(job, status=FileStatus.ERROR, error=reason)

    def _write(self, job: _Job, further: Sequence[Change] = (), *, lease: timedelta = LEASE, **fields: object) -> _Job:
        """Write the changed file and further changes in one transaction, and renew the lease. Raises: _Lost."""
        file = job.file.model_copy(update={**fields, "updated_at": self._host.clock.now()})
        after = replace(job.taken, file=file, lease=self._until(lease))
        if file.status is FileStatus.EMBEDDING:
            after = replace(after, holder="")
        try:
            changes = self._files.work(after, job.taken.token)
            self._stores.writer.write(*changes, *further, token=after.token)
        except ConditionFailed:
            raise _Lost from None
        return _Job(after)


def _counter(embedder: Embedder) -> Callable[[str], int]:
    """The token counter of the embedder; an estimate by characters if the embedder fails to count."""
    try:
        embedder.count("")
    except EmbedderFailed:
        return _estimated
    return embedder.count


def _batches(pieces: Iterable[Passage]) -> Iterator[list[Passage]]:
    """Batches that fit one transaction by number and by size: the pieces of a folder may be large."""
    some, size = list[Passage](), 0
    for piece in pieces:
        more = min(len(piece.text) * _BYTES_OF_A_CHARACTER, INLINE_BYTES) + _PIECE_OVERHEAD
        if some and (len(some) == BATCH or size + more > MAX_BYTES * 3 // 4):
            yield some
            some, size = [], 0
        some.append(piece)
        size += more
    if some:
        yield some


def _estimated(text: str) -> int:
    return max(1, len(text) // CHARACTERS_PER_TOKEN)


def _piece(file: StoredFile, folder: StoredFolder, index: int, chunk: Chunk) -> Passage:
    """A piece as a passage. It is not validated again: its parts are valid, and a file has thousands of pieces."""
    return Passage.model_construct(
        id=piece_id(file.id, index),
        text=chunk.text,
        source_id=file.folder_id,
        file_id=file.id,
        file_name=file.name,
        embedding_config=folder.embedding_config,
        metadata={"index": index, "start": chunk.start},
        created_at=file.created_at,
        updated_at=file.created_at,
    )
