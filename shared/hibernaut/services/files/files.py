"""Files: upload, list, retrieve and delete them (Letta V1 API, API 2.12; RT 8.1). `ingestion` reads them.

An upload stores the bytes first, then the record, then starts the ingestion: a crash in between never shows an incomplete file.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import IO

from hibernaut.domain.files.file_texts import chosen_name, free_name, kind_of, plain_name
from hibernaut.domain.wire.listing import Page
from hibernaut.ports.memory.ingest import Ingest
from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.schemas.errors import Conflict, NotFound, PayloadTooLarge, UnsupportedMedia
from hibernaut.schemas.ids import is_id
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.file import AnnounceUpload, Duplicates, FileMetadata, FileStatus, StoredFile
from hibernaut.schemas.memory.passage import Passage
from hibernaut.services.parallel_map import in_parallel
from hibernaut.services.prompt.file_views import FileViews
from hibernaut.services.records import Records
from hibernaut.store.memory.files import FileRow
from hibernaut.store.memory.passages import PassageStore
from hibernaut.store.table.optimistic_retry import until_settled

MEBIBYTE = 1024 * 1024
DEFAULT_LIMIT = 50 * MEBIBYTE
"""The default limit of one file, in bytes."""
MOST_CONTENT = 50_000_000
"""The largest total of characters in one list with `content`."""
UNTOLD_MS = 60_000
"""Milliseconds after which the sweep takes up a file whose ingestion has not begun."""


@immutable
class Upload:
    """An uploaded file. `file` is read from its current position, the beginning; `name` is chosen in place of `file_name`, and
    may be a path.
    """

    file: IO[bytes]
    file_name: str
    content_type: str | None
    name: str | None = None


@immutable
class Uploaded:
    """The result of an upload. `skipped`: the folder had a file of this name, and `file` is that one."""

    file: FileMetadata
    skipped: bool = False


class Files:
    """The use cases of files. `limit`: the largest size of one file, in bytes."""

    def __init__(
        self,
        records: Records,
        pieces: PassageStore,
        views: FileViews,
        ingest: Ingest,
        *,
        limit: int = DEFAULT_LIMIT,
        threads: int = 1,
    ) -> None:
        """`limit`: the largest number of bytes of a file. `threads`: the number of files of a folder that are deleted at once."""
        self._records = records
        self._threads = threads
        self._files = records.files
        self._pieces = pieces
        self._views = views
        self._ingest = ingest
        self.limit = limit

    def upload(self, folder_id: str, upload: Upload, duplicates: Duplicates) -> Uploaded:
        """Store a file and start its ingestion.

        Raises: NotFound, InvalidArgument (the name), UnsupportedMedia, PayloadTooLarge, Conflict, OSError.
        """
        folder = self._records.folder(folder_id)
        original, media_type = _name_and_type(upload)
        if duplicates == "skip" and (existing := self._by_name(folder_id, original)):
            return Uploaded(existing.wire(folder), skipped=True)
        data = upload.file.read(self.limit + 1)
        if len(data) > self.limit:
            raise self._too_large()
        file = self._new_file(folder_id, original, media_type, len(data))
        file_id = file.id
        self._files.put_bytes(file_id, data)
        try:
            stored = self._store(file, duplicates)
        except BaseException:  # on any failure: bytes without a record would never be deleted
            self._files.forget_blobs(file)
            raise
        if stored.id != file_id:
            self._files.forget_blobs(file)
            return Uploaded(stored.wire(folder), skipped=True)
        self._ingest.start(self._records.tenant, file_id)
        return Uploaded(stored.wire(folder))

    def expect(self, folder_id: str, announcement: AnnounceUpload, *, good_for: timedelta) -> Uploaded:
        """Create the record of a file whose bytes arrive by a direct upload, which begins within `good_for`. Raises: as
        `upload`.
        """
        folder = self._records.folder(folder_id)
        original, media_type = _name_and_type(announcement)
        if announcement.file_size > self.limit:
            raise self._too_large()
        file = self._new_file(folder_id, original, media_type, announcement.file_size)
        file.status = FileStatus.PENDING
        stored = self._store(file, announcement.duplicate_handling, after=good_for)
        return Uploaded(stored.wire(folder), skipped=stored.id != file.id)

    def _too_large(self) -> PayloadTooLarge:
        return PayloadTooLarge(f"The file is over the limit of {self.limit / MEBIBYTE:g} MB ({self.limit} bytes).")

    def _new_file(self, folder_id: str, name: str, media_type: str, size: int) -> StoredFile:
        now = self._records.clock.now()
        return StoredFile(
            id=self._records.ids.new("file"),
            folder_id=folder_id,
            name=name,
            original_name=name,
            media_type=media_type,
            size=size,
            created_at=now,
            updated_at=now,
        )

    def _store(self, file: StoredFile, duplicates: Duplicates, *, after: timedelta = timedelta()) -> StoredFile:
        """Write the record; `duplicates` decides what happens if the name is taken. `after`: the longest wait for the bytes.

        Raises: NotFound, Conflict.
        """

        def attempt() -> StoredFile:
            existing = self._by_name(file.folder_id, file.original_name)
            if existing is not None and duplicates == "skip":
                return existing
            if existing is not None and duplicates == "error":
                raise Conflict(f"CONFLICT: A file called '{file.original_name}' already exists in the folder.")
            if existing is not None and duplicates == "replace":
                self._delete(existing)
            names = self._files.names(file.folder_id) if duplicates == "suffix" and existing else ()
            record = file.model_copy(update={"name": free_name(file.original_name, names)})
            token = self._records.ids.token()
            due = int((self._records.clock.now() + after).timestamp() * 1000) + UNTOLD_MS
            folder_exists = self._records.folders.must_exist(file.folder_id)
            try:
                self._records.writer.write(folder_exists, *self._files.create(record, due, token), token=token)
            except ConditionFailed as failure:
                if 0 in failure.failed:
                    raise NotFound(_no_folder(file.folder_id)) from None
                raise
            return record

        return until_settled(attempt, "CONFLICT: The name keeps being taken by other uploads; try again.")

    def _by_name(self, folder_id: str, name: str) -> StoredFile | None:
        file_id = self._files.by_name(folder_id, name)
        return self._files.get(file_id) if file_id else None

    def page(self, folder_id: str, page_query: Page, *, content: bool = False) -> list[FileMetadata]:
        """A page of a folder's files, by creation time; names without the folder's name.

        Raises: NotFound for the folder or a cursor, PayloadTooLarge (over `MOST_CONTENT` characters of `content`).
        """
        self._records.folder(folder_id)
        rows = self._files.page(folder_id, page_query)
        if content and sum(row.characters for row in rows) > MOST_CONTENT:
            raise PayloadTooLarge(
                f"The texts of these files have over {MOST_CONTENT} characters: ask for fewer files at once (limit)."
            )
        found = self._files.get_many([row.file_id for row in rows])
        files = [found[row.file_id] for row in rows if row.file_id in found]
        now = self._records.clock.now()
        return [file.wire(None, self._views.content(file) if content else None, now=now) for file in files]

    def retrieve(self, folder_id: str, file_id: str, *, content: bool = False) -> FileMetadata:
        """A file of a folder, with its text if `content`. Raises: NotFound."""
        file = self._file(folder_id, file_id)
        return file.wire(None, self._views.content(file) if content else None, now=self._records.clock.now())

    def passages(self, folder_id: str, page_query: Page) -> Sequence[Passage]:
        """A page of the pieces of all files of a folder, in the order of the files and of their texts. Raises: NotFound."""
        self._records.folder(folder_id)
        return self._pieces.pieces_of(
            [(place.file_id, place.id) for place in self._pieces.of_folders.page(folder_id, page_query)]
        )

    def delete(self, folder_id: str, file_id: str) -> None:
        """Delete a file with its pieces and blobs. Raises: NotFound."""
        self._delete(self._file(folder_id, file_id))

    def delete_all(self, folder_id: str) -> None:
        """Delete every file of a folder."""
        in_parallel(self._threads, self._delete_row, self._files.rows(folder_id))

    def _delete_row(self, row: FileRow) -> None:
        if (file := self._files.get(row.file_id)) is not None:
            self._delete(file)

    def _delete(self, file: StoredFile) -> None:
        """Fence off its workers, then delete the pieces, the record and the blobs. While the file is listed, a second call
        resumes.
        """
        try:
            self._records.writer.write(self._files.fence(file.id))
        except ConditionFailed:
            return
        for page_of_changes in self._files.forget_pieces(file):
            self._records.writer.write(*page_of_changes)
        last = self._files.get(file.id) or file
        self._records.writer.write(*self._files.delete(last))
        self._files.forget_blobs(last)

    def _file(self, folder_id: str, file_id: str) -> StoredFile:
        file = self._files.get(file_id) if is_id(file_id, "file") else None
        if file is None or file.folder_id != folder_id:
            raise NotFound(f"FileMetadata not found with id='['{file_id}']'")
        return file


def _name_and_type(file: Upload | AnnounceUpload) -> tuple[str, str]:
    """The name in the folder, and the media type by that name, or else by the file's own one.

    Raises: InvalidArgument, UnsupportedMedia.
    """
    name = chosen_name(file.name) if file.name else plain_name(file.file_name)
    try:
        return name, kind_of(name, file.content_type)[1]
    except UnsupportedMedia:
        return name, kind_of(file.file_name, file.content_type)[1]


def _no_folder(folder_id: str) -> str:
    return f"Source not found with id='['{folder_id}']'"
