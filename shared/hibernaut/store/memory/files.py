"""Files in the table: the record, the row in its folder, the name, the pieces, and the files that agents have open; in blobs: the
bytes and the text.

This module has reads, changes that a use case combines into a transaction, and the access to the blobs. One worker at a time
processes a file: it sets a token and a lease when it takes the file, and each of its later changes has the condition that the
token is unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hibernaut.domain.wire.listing import Page
from hibernaut.ports.storage.table import (
    ABSENT,
    MAX_CHANGES,
    PRESENT,
    Change,
    ConditionFailed,
    Delete,
    Item,
    Key,
    Put,
    Query,
    Update,
    Value,
    eq,
)
from hibernaut.schemas.base import wire_time
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.file import ENDED, Desk, FileStatus, StoredFile
from hibernaut.schemas.memory.passage import Passage
from hibernaut.store.memory.search_outbox import SearchOutbox
from hibernaut.store.table import blob_keys, keys
from hibernaut.store.table.bodies.codec import Codec, freed
from hibernaut.store.table.lists.row_lists import RowList
from hibernaut.store.table.lost_records import readable
from hibernaut.store.table.tenant_table import TenantBlobs, TenantTable
from hibernaut.store.table.writer import Writer

TRIES = 10
"""Attempts to complete a file before `complete` gives up because of concurrent changes."""
GONE = "gone"
"""The token of a file that is being deleted. No worker can take such a file."""


@immutable
class FileRow:
    """A file in a folder's list. `readable`: the text of the file is stored, so agents can open it."""

    file_id: str
    folder_id: str
    name: str
    created_at: str
    readable: bool
    lines: int
    characters: int


@immutable
class LeasedFile:
    """A file with its lease. `lease`: the end of the lease in milliseconds since 1970; 0: no worker holds the file."""

    file: StoredFile
    token: str
    holder: str
    lease: int


class FileStore:
    """Files, their pieces and bytes. Reads raise StoreUnavailable (`store.table.retries`), and OSError if a blob cannot be
    read.
    """

    def __init__(self, table: TenantTable, codec: Codec, blobs: TenantBlobs, search_outbox: SearchOutbox, writer: Writer) -> None:
        self._table = table
        self._tenant = table.tenant
        self._writer = writer
        self._codec = codec
        self._blobs = blobs
        self._search_outbox = search_outbox

    def get(self, file_id: str) -> StoredFile | None:
        """The file, or None."""
        leased = self.taken(file_id)
        return _as_shown(leased.file) if leased else None

    def taken(self, file_id: str) -> LeasedFile | None:
        """The file with its lease, or None."""
        item = self._table.get(keys.file(self._tenant, file_id))
        if item is None or "v" not in item:
            return None
        return LeasedFile(self._read(item), str(item["take"]), str(item["holder"]), int(item["lease"]))

    def get_many(self, file_ids: Sequence[str]) -> dict[str, StoredFile]:
        """The files that exist among these, by id."""
        if not file_ids:
            return {}
        found = self._table.get_many([keys.file(self._tenant, file_id) for file_id in file_ids])
        files = [_as_shown(file) for file in readable(self._read, found.values())]
        return {file.id: file for file in files}

    def _read(self, item: Item) -> StoredFile:
        file = self._codec.record(StoredFile, item)
        file.embedded = int(item.get("embedded", 0))
        return file

    def by_name(self, folder_id: str, name: str) -> str | None:
        """The id of the file with this name in a folder, or None."""
        item = self._table.get(keys.folder_file_name(self._tenant, folder_id, name))
        return str(item["file"]) if item else None

    def names(self, folder_id: str) -> set[str]:
        """The names of all files of a folder."""
        rows = self._table.query(keys.folder(self._tenant, folder_id).pk, prefix="NAME#", names=("sk",))
        return {str(row["sk"]).removeprefix("NAME#") for row in rows}

    def rows(self, folder_id: str) -> list[FileRow]:
        """The files of a folder, oldest first."""
        return [_row(folder_id, item) for item in self._table.query(keys.folder(self._tenant, folder_id).pk, prefix="FILE#")]

    def rows_by_folder(self, folder_ids: Sequence[str]) -> dict[str, list[FileRow]]:
        """The files of each of the folders, oldest first, read at once."""
        queries = [Query(keys.folder(self._tenant, folder_id).pk, prefix="FILE#") for folder_id in folder_ids]
        found = zip(folder_ids, self._table.query_many(queries), strict=True)
        return {folder_id: [_row(folder_id, item) for item in items] for folder_id, items in found}

    def page(self, folder_id: str, request: Page) -> list[FileRow]:
        """A page of the files of a folder, by creation time. Raises: NotFound for a cursor."""
        row_list = RowList(self._table, keys.folder(self._tenant, folder_id).pk, "FILE#", mark="name")
        return [_row(folder_id, item) for item in row_list.page(request)]

    def rows_of(self, folder_ids: Sequence[str], file_id: str) -> list[FileRow]:
        """The row of a file in those of the folders that have it."""
        found = self._table.get_many([keys.folder_file(self._tenant, folder_id, file_id) for folder_id in folder_ids])
        return [_row(key.pk.rsplit("#", 1)[1], item) for key, item in found.items()]

    def create(self, file: StoredFile, due_ms: int, token: str) -> list[Change]:
        """The changes that create a file. Conditions: the id is free, and for the last change, the name is free in the folder.
        From `due_ms` on, the sweep starts the ingestion.
        """
        key = keys.file(self._tenant, file.id)
        row = keys.folder_file(self._tenant, file.folder_id, file.id)
        name = keys.folder_file_name(self._tenant, file.folder_id, file.name)
        attributes: dict[str, Value] = {"embedded": 0, "take": "", "holder": "", "lease": 0, "wt": token}
        return [
            Put({**self._codec.item(key, file, **attributes), **keys.due(file.id, due_ms)}, ABSENT),
            Put({"pk": row.pk, "sk": row.sk, **_listed(file)}),
            Put({"pk": name.pk, "sk": name.sk, "file": file.id}, ABSENT),
        ]

    def take(self, before: LeasedFile, after: LeasedFile) -> Update:
        """The change by which a worker takes the file. Condition: no worker has taken it since `before` was read."""
        return self._change(after, before.token)

    def work(self, after: LeasedFile, token: str) -> list[Change]:
        """The changes by the worker that took the file with `token`. Condition: the token is unchanged. A file with a final
        status leaves the index DUE.
        """
        row = Update(keys.folder_file(self._tenant, after.file.folder_id, after.file.id), set=_listed(after.file), when=PRESENT)
        return [self._change(after, token), row]

    def _change(self, after: LeasedFile, token: str) -> Update:
        key = keys.file(self._tenant, after.file.id)
        has_ended = after.file.status in ENDED
        attributes: dict[str, Value] = {**self._codec.body(key, after.file), "take": after.token, "holder": after.holder}
        attributes |= {"lease": after.lease, "wt": after.token}
        attributes |= {"embedded": after.file.embedded} if has_ended else keys.due(after.file.id, after.lease)
        return Update(
            key,
            set=attributes,
            remove=("due_pk", "due_sk") if has_ended else (),
            when=eq(take=token),
            frees=freed(key, after.file),
        )

    def count_embedded(self, file_id: str, number: int) -> Update:
        """The change that counts embedded pieces, in the transaction that removes their pointer. Condition: the file exists."""
        return Update(keys.file(self._tenant, file_id), add={"embedded": number}, when=PRESENT)

    def complete(self, file_id: str, *, force: bool = False) -> None:
        """Complete a file in the status `embedding` if all its pieces are counted as embedded. `force`: complete it whatever the
        count is.

        Gives up after `TRIES` concurrent changes. Raises: StoreUnavailable, TableError.
        """
        for _ in range(TRIES):
            before = self.taken(file_id)
            if before is None or before.file.status is not FileStatus.EMBEDDING:
                return
            if not force and before.file.embedded < (before.file.total or 0):
                return
            completed = before.file.model_copy(update={"status": FileStatus.COMPLETED, "embedded": before.file.total or 0})
            token = f"{before.token}.done"
            try:
                self._writer.write(*self.work(LeasedFile(completed, token, "", 0), before.token), token=token)
                return
            except ConditionFailed:
                continue

    def pieces(self, file: StoredFile, passages: Sequence[Passage]) -> list[Change]:
        """The changes that store pieces of a file, with the pointer for the indexer."""
        puts: list[Change] = [
            Put(self._codec.item(keys.piece(self._tenant, file.id, passage.id), passage, tags="[]")) for passage in passages
        ]
        ids = [passage.id for passage in passages]
        return [*puts, *self._search_outbox.pointer(file.folder_id, "file", ids, within=file.id)]

    def unindexed(self, file: StoredFile) -> bool:
        """Whether the outbox has pointers to pieces of the file in the states NEW or EMBED."""
        pointers = self._table.query(keys.unindexed(self._tenant, file.folder_id, "", "").pk, names=("sk", "within"))
        return any(one["within"] == file.id and not str(one["sk"]).startswith(("GONE#", "AGAIN#")) for one in pointers)

    def fence(self, file_id: str) -> Update:
        """The change that fences a file: no worker can change it afterwards. Condition: the file exists."""
        return Update(
            keys.file(self._tenant, file_id),
            set={"take": GONE, "wt": GONE, "lease": 0},
            remove=("due_pk", "due_sk"),
            when=PRESENT,
        )

    def forget_pieces(self, file: StoredFile) -> Iterator[list[Change]]:
        """The transactions that delete the pieces, each with the pointer by which the indexer removes them from the index.

        The caller writes each transaction before it requests the next one, which first deletes the blobs of the deleted pieces.
        Raises: StoreUnavailable, OSError.
        """
        most = MAX_CHANGES - 1
        while page := self._table.query(keys.file(self._tenant, file.id).pk, prefix="PASSAGE#", limit=most, names=("sk", "blob")):
            piece_keys = [Key(str(item["pk"]), str(item["sk"])) for item in page]
            ids = [keys.last_part(key.sk) for key in piece_keys]
            yield [
                *(Delete(key) for key in piece_keys),
                *self._search_outbox.pointer(file.folder_id, "file", ids, within=file.id, gone=True),
            ]
            for item in page:
                if blob := str(item["blob"]):
                    self._blobs.delete(blob)

    def delete(self, file: StoredFile) -> list[Change]:
        """The changes that delete a file after its pieces."""
        key = keys.file(self._tenant, file.id)
        return [
            Delete(key, frees=freed(key, file)),
            Delete(keys.folder_file(self._tenant, file.folder_id, file.id)),
            Delete(keys.folder_file_name(self._tenant, file.folder_id, file.name), eq(file=file.id)),
        ]

    def desk(self, agent_id: str) -> Desk:
        """The files that an agent has open."""
        item = self._table.get(keys.desk(self._tenant, agent_id))
        return Desk() if item is None else self._desk(item)

    def _desk(self, item: Item) -> Desk:
        desk = self._codec.record(Desk, item)
        desk.version = int(item["version"])
        return desk

    def desks(self, agent_ids: Sequence[str]) -> dict[str, Desk]:
        """The desks of these agents, by agent id. An agent without a desk is left out."""
        owners = {keys.desk(self._tenant, agent_id): agent_id for agent_id in agent_ids}
        return {owners[key]: self._desk(item) for key, item in self._table.get_many(list(owners)).items()}

    def put_desk(self, agent_id: str, before: Desk, after: Desk, token: str) -> Put:
        """The change of a desk. Condition: the version is that of `before`."""
        record = after.model_copy(update={"version": before.version + 1})
        key = keys.desk(self._tenant, agent_id)
        item = self._codec.item(key, record, version=record.version, wt=token)
        return Put(item, eq(version=before.version) if before.version else ABSENT, freed(key, before))

    def put_bytes(self, file_id: str, data: bytes) -> None:
        """Store the bytes that were sent to the API. Raises: OSError."""
        self._blobs.put(blob_keys.file_blob(self._tenant, file_id), data)

    def bytes_of(self, file_id: str) -> bytes:
        """The bytes as they were sent to the API or uploaded to the bucket. Raises: KeyError if there are none, OSError."""
        try:
            return self._blobs.get(blob_keys.file_blob(self._tenant, file_id))
        except KeyError:
            return self._blobs.get(blob_keys.upload_blob(self._tenant, file_id))

    def upload_blob(self, file_id: str) -> str:
        """The key of the blob to which a client uploads the bytes directly."""
        return blob_keys.upload_blob(self._tenant, file_id)

    def put_text(self, file_id: str, part: int, text: str) -> None:
        """Store a part of the extracted text. Raises: OSError."""
        self._blobs.put(blob_keys.text_blob(self._tenant, file_id, part), text.encode())

    def text_of(self, file_id: str, part: int) -> str:
        """A part of the extracted text. Raises: KeyError if there is no such part, OSError."""
        return self._blobs.get(blob_keys.text_blob(self._tenant, file_id, part)).decode()

    def forget_blobs(self, file: StoredFile) -> None:
        """Delete the bytes and the text of a file. Raises: OSError."""
        for blob in (blob_keys.file_blob, blob_keys.upload_blob):
            self._blobs.delete(blob(self._tenant, file.id))
        for part in range(len(file.parts)):
            self._blobs.delete(blob_keys.text_blob(self._tenant, file.id, part))


def _as_shown(file: StoredFile) -> StoredFile:
    """The file as clients see it: a file whose last piece is embedded is completed, even if no worker has written the status
    yet.
    """
    whole = file.status is FileStatus.EMBEDDING and file.total is not None and file.embedded >= file.total
    return file.model_copy(update={"status": FileStatus.COMPLETED, "embedded": file.total}) if whole else file


def _listed(file: StoredFile) -> dict[str, Value]:
    """The attributes of a file's list row."""
    return {
        "name": file.name,
        "created_at": wire_time(file.created_at),
        "readable": file.readable,
        "lines": file.lines,
        "characters": file.characters,
    }


def _row(folder_id: str, item: Item) -> FileRow:
    return FileRow(
        file_id=keys.last_part(str(item["sk"])),
        folder_id=folder_id,
        name=str(item["name"]),
        created_at=str(item["created_at"]),
        readable=bool(item["readable"]),
        lines=int(item["lines"]),
        characters=int(item["characters"]),
    )
