"""Passages in the table: the passages of an archive, and the passages that are the pieces of a file. `store.memory.archives` has
the other parts of an archive.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice
from math import ceil

from hibernaut.ports.storage.table import ABSENT, PRESENT, Change, Delete, Item, Key, Put, Query, Value
from hibernaut.schemas.base import wire_time
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.passage import Archive, Passage
from hibernaut.schemas.memory.version import SERVER, Author, ChainReport, StoredVersion
from hibernaut.store.memory.folder_pieces import FolderPieces
from hibernaut.store.memory.passage_versions import MADE, made_in, report_of, report_of_ended
from hibernaut.store.memory.search_outbox import SearchOutbox
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec, json_of
from hibernaut.store.table.lists import lists
from hibernaut.store.table.lists.logs import IdRange
from hibernaut.store.table.lost_records import readable
from hibernaut.store.table.tenant_table import TenantTable
from hibernaut.store.versions import version_keys
from hibernaut.store.versions.version_keys import VersionPlace
from hibernaut.store.versions.version_store import Edit, RecordState, VersionStore, chain_of, content_of, signed

FEWEST, MOST_AT_ONCE = 10, 200
"""The smallest and the largest number of passages of one archive in one read of several archives."""
TOGETHER = 16
"""Archives, or files, whose first passages are read together."""
LIFE = "life"
"""The attribute of a passage's item that tells how often it was deleted and brought back; absent: never. It follows from the
version in `MADE`, which reads do not parse."""
OPEN = "open"
"""The state of an archive that is not deleted."""


@immutable
class PastPassage:
    """A passage that was deleted: its first version (None: older data), the version of its deletion, and its content."""

    made: StoredVersion | None
    ended: StoredVersion
    passage: Passage


@immutable
class RunPassage:
    """A passage that a run stored, with the number and the hash of the version that made it."""

    id: str
    tags: tuple[str, ...]
    version: int
    hash: str


class PassageStore:
    """Passages of archives and pieces of files. Reads raise StoreUnavailable (`store.table.retries`), and OSError if a blob
    cannot be read.
    """

    def __init__(self, table: TenantTable, codec: Codec, search_outbox: SearchOutbox, versions: VersionStore) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec
        self._versions = versions
        self._search_outbox = search_outbox
        self.of_folders = FolderPieces(table)

    def make(self, archive: Archive, token: str = "", *, count: int = 0) -> list[Change]:
        """The changes that create an archive and its list row. Condition: the id is free. `count`: the number of passages that
        the same transaction adds.
        """
        row = keys.archive_row(self._tenant, archive.id)
        attributes: dict[str, Value] = {"state": OPEN, "stamp": archive.id, "version": 1, "count": count, "wt": token}
        return [
            Put(self._codec.item(keys.archive(self._tenant, archive.id), archive, **attributes), ABSENT),
            Put({"pk": row.pk, "sk": row.sk, "name": archive.name, "created_at": wire_time(archive.created_at)}),
        ]

    def archives(self, after: str | None = None, limit: int | None = None) -> list[str]:
        """The ids of the archives after this one, oldest first; None: of all."""
        rows = self._table.query(keys.archive_row(self._tenant, "").pk, after=after, limit=limit)
        return [str(row["sk"]) for row in rows]

    def ids(self, archive_id: str) -> list[str]:
        """The ids of all passages of an archive, oldest first."""
        rows = self._table.query(keys.archive(self._tenant, archive_id).pk, prefix="PASSAGE#", names=("sk",))
        return [keys.last_part(str(row["sk"])) for row in rows]

    def piece_ids(self, file_ids: Sequence[str]) -> list[list[str]]:
        """The ids of all pieces of each file, in the order of its text."""
        queries = [Query(keys.file(self._tenant, file_id).pk, prefix="PASSAGE#", names=("sk",)) for file_id in file_ids]
        return [[keys.last_part(str(row["sk"])) for row in rows] for rows in self._table.query_many(queries)]

    def first_pieces(self, file_ids: Sequence[str], limit: int) -> Iterator[list[Passage]]:
        """The first pieces of each file, at most `limit`, in the order of its text. Several files are read together."""
        return self._first_of([keys.file(self._tenant, file_id).pk for file_id in file_ids], limit, descending=False)

    def newest(self, archive_ids: Sequence[str], limit: int) -> Iterator[list[Passage]]:
        """The newest passages of each archive, at most `limit`, newest first. Several archives are read together."""
        return self._first_of([keys.archive(self._tenant, archive_id).pk for archive_id in archive_ids], limit, descending=True)

    def _first_of(self, partitions: Sequence[str], limit: int, *, descending: bool) -> Iterator[list[Passage]]:
        size = min(limit, MOST_AT_ONCE)
        for start in range(0, len(partitions), TOGETHER):
            batch = partitions[start : start + TOGETHER]
            queries = [Query(pk, prefix="PASSAGE#", limit=size, descending=descending) for pk in batch]
            for one, items in zip(queries, self._table.query_many(queries), strict=True):
                items_of_one = islice(lists.continued(self._table, one, items, "sk"), limit)
                yield [*readable(self._passage, items_of_one)]

    def archive_records(self, archive_ids: Sequence[str]) -> dict[str, Archive]:
        """The archives that exist among these, by id, including archives in deletion."""
        places = {archive_id: keys.archive(self._tenant, archive_id) for archive_id in archive_ids}
        found = self._table.get_many(list(places.values())) if places else {}
        return {archive_id: self._codec.record(Archive, found[key]) for archive_id, key in places.items() if key in found}

    def get_many(self, archive_id: str, passage_ids: Sequence[str]) -> list[Passage]:
        """The passages of an archive that exist among these, in the order of `passage_ids`."""
        return self._read([keys.passage(self._tenant, archive_id, passage_id) for passage_id in passage_ids])

    def in_archives(self, archive_ids: Sequence[str], passage_id: str) -> list[tuple[str, Passage]]:
        """A passage in those of the archives that have it, each with the archive's id, read together."""
        places = {keys.passage(self._tenant, archive_id, passage_id): archive_id for archive_id in archive_ids}
        found = self._table.get_many(list(places))
        items = [(archive_id, found[key]) for key, archive_id in places.items() if key in found]
        return [(archive_id, passage) for archive_id, item in items for passage in readable(self._passage, [item])]

    def pieces(self, file_id: str, passage_ids: Sequence[str]) -> list[Passage]:
        """The pieces of a file that exist among these, in the order of `passage_ids`."""
        return self.pieces_of([(file_id, passage_id) for passage_id in passage_ids])

    def pieces_of(self, places: Sequence[tuple[str, str]]) -> list[Passage]:
        """The pieces that exist among these (a file's id and a passage's), in their order."""
        return self._read([keys.piece(self._tenant, file_id, passage_id) for file_id, passage_id in places])

    def before(self, archive_id: str, passage_id: str) -> Passage | None:
        """The passage before another one in its archive, by id; None for the first."""
        return next(iter(self.page(archive_id, IdRange(None, passage_id), limit=1, descending=True)), None)

    def piece_before(self, file_id: str, passage_id: str) -> Passage | None:
        """The piece before another one in its file; None for the first."""
        pk = keys.file(self._tenant, file_id).pk
        items = self._table.query(pk, prefix="PASSAGE#", before=f"PASSAGE#{passage_id}", limit=1, descending=True)
        return self._codec.record(Passage, items[0]) if items else None

    def existing(self, archive_id: str, passage_ids: Sequence[str]) -> set[str]:
        """The ids among these that the archive has."""
        return self._existing([keys.passage(self._tenant, archive_id, passage_id) for passage_id in passage_ids])

    def existing_pieces(self, file_id: str, passage_ids: Sequence[str]) -> set[str]:
        """The ids among these that the file has."""
        return self._existing([keys.piece(self._tenant, file_id, passage_id) for passage_id in passage_ids])

    def used(self, archive_id: str, passage_ids: Sequence[str]) -> set[str]:
        """The ids among these that the archive has, or had: the version that ended a passage for the first time is its second."""
        ended_keys = {self.history(archive_id, one).key(2): one for one in passage_ids}
        found = self._table.get_many([*(keys.passage(self._tenant, archive_id, one) for one in passage_ids), *ended_keys])
        return {ended_keys.get(key) or keys.last_part(key.sk) for key in found}

    def _existing(self, passage_keys: list[Key]) -> set[str]:
        return {keys.last_part(key.sk) for key in self._table.get_many(passage_keys)}

    def _read(self, passage_keys: list[Key]) -> list[Passage]:
        found = self._table.get_many(passage_keys)
        return [*readable(self._passage, (found[key] for key in passage_keys if key in found))]

    def add(self, archive_id: str, passages: Sequence[Passage], by: Author = SERVER) -> list[Change]:
        """The changes that add passages to an archive, each with its first version, and the pointer for the indexer. Condition:
        the ids are free.
        """
        ids = [passage.id for passage in passages]
        edits = [Edit(by, at=one.updated_at or one.created_at) for one in passages]
        puts = [self._added(archive_id, *each, None) for each in zip(passages, edits, strict=True)]
        return [*puts, *self._search_outbox.pointer(archive_id, "passage", ids)]

    def restore(self, archive_id: str, passage: Passage, edit: Edit, deletion: StoredVersion) -> list[Change]:
        """The changes that bring a deleted passage back. `deletion`: the version that deleted it. Condition: it is not there."""
        before = RecordState(deletion.version, chain_of(deletion, 0), None)
        put = self._added(archive_id, passage, edit, before)
        put = replace(put, item={**put.item, LIFE: deletion.version // 2})
        return [put, *self._search_outbox.pointer(archive_id, "passage", [passage.id])]

    def _added(self, archive_id: str, passage: Passage, edit: Edit, before: RecordState | None) -> Put:
        """A passage never changes, so its item holds its version too: an insert of many passages writes no item more."""
        place = self.history(archive_id, passage.id)
        version_json = json_of(self._versions.following(place, before, content_of(passage), edit))
        key = keys.passage(self._tenant, archive_id, passage.id)
        return Put(self._codec.item(key, passage, tags=json.dumps(passage.tags or []), **{MADE: version_json}), ABSENT)

    def ended(self, archive_id: str, item: Item, by: Author, at: datetime, token: str) -> Put:
        """The change that writes the last version of a passage, with the passage itself."""
        passage, first_version = self._codec.record(Passage, item), made_in(item)
        before = RecordState(
            first_version.version if first_version else 1,
            chain_of(first_version, 0) if first_version else "",
            content_of(passage),
        )
        version, _ = self._versions.put(self.history(archive_id, passage.id), before, None, Edit(by, at=at))
        last = signed(version, token)
        return replace(last, item={**last.item, MADE: item[MADE]}) if MADE in item else last

    def version(self, archive_id: str, passage_id: str) -> tuple[Passage, StoredVersion | None] | None:
        """A passage with the version that made it (None: older data); None if it is not there."""
        item = self._table.get(keys.passage(self._tenant, archive_id, passage_id))
        return (self._codec.record(Passage, item), made_in(item)) if item is not None else None

    def ended_lives(self, archive_id: str, passage_ids: Sequence[str]) -> dict[str, int | None]:
        """Of deleted passages the number of the life that ended last, from 0; None where a passage cannot come back."""
        archive = self._table.get(keys.archive(self._tenant, archive_id))
        if archive is None or archive.get("state", OPEN) != OPEN:
            return dict.fromkeys(passage_ids)
        places = [self.history(archive_id, one) for one in passage_ids]
        newest = self._table.query_many([Query(one.pk, prefix=one.prefix, limit=1, descending=True) for one in places])
        return {
            one: StoredVersion.model_validate_json(str(items[0]["meta"])).version // 2 - 1 if items else None
            for one, items in zip(passage_ids, newest, strict=True)
        }

    def past_versions(self, archive_id: str, passage_id: str, limit: int) -> list[PastPassage]:
        """The retained deleted lives of a passage, newest first."""
        place = self.history(archive_id, passage_id)
        items = self._versions.items(place, limit)
        return [
            PastPassage(
                made_in(item),
                StoredVersion.model_validate_json(str(item["meta"])),
                self._ended_passage(passage_id, item),
            )
            for item in items
        ]

    def made_by_run(
        self, archive_ids: Sequence[str], run_id: str, span: IdRange, most: int
    ) -> list[tuple[str, Passage, StoredVersion]]:
        """The passages with after < id < before that a run inserted, also those that were deleted since, with their archive and
        the version that made each. `most`: the largest number of passages of an archive, and of deleted ones, that are read.
        """
        found = dict[str, tuple[str, Passage, StoredVersion]]()
        for archive_id, passage_id, item, version in self._by_run(archive_ids, run_id, span, most):
            deleted = str(item["sk"]).startswith(version_keys.VERSION)
            passage = self._ended_passage(passage_id, item) if deleted else self._codec.record(Passage, item)
            found[passage_id] = (archive_id, passage, version)
        return list(found.values())

    def _by_run(
        self, archive_ids: Sequence[str], run_id: str, span: IdRange, most: int | None = None
    ) -> Iterator[tuple[str, str, Item, StoredVersion]]:
        """Archive, id, item and first version of the passages that a run inserted: of each archive those that were deleted since,
        then the others. The first items of all archives are read together.
        """
        parts = [(archive_id, prefix) for archive_id in archive_ids for prefix in (version_keys.VERSION, "PASSAGE#")]
        queries = [self._part(archive_id, prefix, span) for archive_id, prefix in parts]
        for (archive_id, _), query, first in zip(parts, queries, self._table.query_many(queries), strict=True):
            for item in islice(self._from(query, first), most):
                if (version := made_in(item)) is not None and version.by.run_id == run_id:
                    yield archive_id, str(item["sk"]).split("#")[1], item, version

    def _ended_passage(self, passage_id: str, item: Item) -> Passage:
        return Passage.model_validate({**(self._versions.link(item).before or {}), "id": passage_id})

    def history(self, archive_id: str, passage_id: str) -> VersionPlace:
        """Where the version is that ended a passage."""
        return version_keys.of_passage(self._tenant, archive_id, passage_id)

    def audited(self, archive_id: str, after: str = "", *, first: int = MOST_AT_ONCE) -> Iterator[tuple[str, ChainReport | None]]:
        """What an audit finds of each passage of an archive, by id, and then of each that was deleted; with the cursor behind it.
        Passages of older data have no version, and no report. `after`: a cursor; `first`: how many items are read at once.
        """
        pk = keys.archive(self._tenant, archive_id).pk
        passage_id, _, number = after.partition("@")
        if not number:
            for item in self._walk(pk, "PASSAGE#", f"PASSAGE#{passage_id}" if passage_id else None, first):
                found = keys.last_part(str(item["sk"]))
                yield found, report_of(archive_id, found, item, self._codec.record(Passage, item))
        behind = self.history(archive_id, passage_id).key(int(number)).sk if number else None
        for item in self._walk(pk, version_keys.VERSION, behind, first):
            _, found, at = str(item["sk"]).split("#")
            yield f"{found}@{int(at)}", report_of_ended(archive_id, found, self._versions.link(item))

    def of_run(self, archive_id: str, run_id: str, first: str, last: str) -> list[RunPassage]:
        """The passages of an archive with first < id < last that a run stored, and those of them that were deleted since."""
        found: dict[str, RunPassage] = {}
        for _, passage_id, item, version in self._by_run([archive_id], run_id, IdRange(first, last)):
            tags = tuple(json.loads(str(item.get("tags", "[]"))))
            found[passage_id] = RunPassage(passage_id, tags, version.version, version.hash)
        return list(found.values())

    def _walk(self, pk: str, prefix: str, after: str | None, size: int) -> Iterator[Item]:
        query = Query(pk, prefix=prefix, after=after, limit=size)
        yield from self._from(query, query.run(self._table.query))

    def _part(self, archive_id: str, prefix: str, span: IdRange) -> Query:
        after, before = (prefix + one if one else None for one in span)
        return Query(keys.archive(self._tenant, archive_id).pk, after=after, before=before, prefix=prefix, limit=MOST_AT_ONCE)

    def _from(self, query: Query, items: Sequence[Item]) -> Iterator[Item]:
        """The items of a query without its limit, whose first `items` have been read."""
        while items:
            yield from items
            items = replace(query, after=str(items[-1]["sk"])).run(self._table.query) if len(items) == query.limit else ()

    def ended_versions(self, archive_id: str, limit: int) -> list[Item]:
        """The items of versions that ended passages of an archive, with their blobs, for its deletion."""
        pk = keys.archive(self._tenant, archive_id).pk
        return self._table.query(pk, prefix=version_keys.VERSION, limit=limit, names=("blob",))

    def forget_versions(self, items: Sequence[Item]) -> list[Change]:
        """The changes that delete these items."""
        return [Delete(Key(str(item["pk"]), str(item["sk"]))) for item in items]

    def remove(self, archive_id: str, passage_ids: Sequence[str], *, must_exist: bool = True) -> list[Change]:
        """The changes that remove passages from an archive, with the pointer for the indexer. `must_exist`: each must exist."""
        condition = PRESENT if must_exist else ()
        deletes = [Delete(keys.passage(self._tenant, archive_id, passage_id), condition) for passage_id in passage_ids]
        return [*deletes, *self._search_outbox.pointer(archive_id, "passage", passage_ids, gone=True)]

    def items(self, archive_id: str, passage_ids: Sequence[str] | None = None, limit: int | None = None) -> list[Item]:
        """The items of these passages, or of the archive's first `limit` passages (None: of all). A deletion needs them to delete
        the blobs too.
        """
        if passage_ids is None:
            return self._table.query(keys.archive(self._tenant, archive_id).pk, prefix="PASSAGE#", limit=limit, names=("blob",))
        return list(self._table.get_many([keys.passage(self._tenant, archive_id, one) for one in passage_ids]).values())

    def page(self, archive_id: str, span: IdRange, *, limit: int, descending: bool = False) -> list[Passage]:
        """The passages with after < id < before in the order of their ids, which is the order of creation."""
        items = self._query_of(archive_id, span, limit, descending).run(self._table.query)
        return [*readable(self._passage, items)]

    def merged(self, archive_ids: Sequence[str], span: IdRange, *, first: int, descending: bool = False) -> Iterator[Passage]:
        """The passages of several archives with after < id < before, in the order of their ids, read lazily.

        `first`: how many are expected to be needed. The first reads of all archives are sent together.
        """
        size = first if len(archive_ids) == 1 else max(ceil(2 * first / max(len(archive_ids), 1)), FEWEST)
        read = self._table.query_many([self._query_of(archive_id, span, size, descending) for archive_id in archive_ids])
        walks = [self._further(*each, span, size, descending) for each in zip(archive_ids, read, strict=True)]
        yield from heapq.merge(*walks, key=lambda one: one.id, reverse=descending)

    def _further(self, archive_id: str, items: Sequence[Item], span: IdRange, size: int, descending: bool) -> Iterator[Passage]:
        """The passages of one archive, of which the first ones are read."""
        while True:
            yield from readable(self._passage, items)
            if len(items) < size:
                return
            last, size = keys.last_part(str(items[-1]["sk"])), min(2 * size, MOST_AT_ONCE)
            span = IdRange(span.after, last) if descending else IdRange(last, span.before)
            items = self._query_of(archive_id, span, size, descending).run(self._table.query)

    def _passage(self, item: Item) -> Passage:
        passage = self._codec.record(Passage, item)
        if LIFE in item:
            passage._life = int(str(item[LIFE]))
        return passage

    def _query_of(self, archive_id: str, span: IdRange, limit: int, descending: bool) -> Query:
        return Query(
            keys.archive(self._tenant, archive_id).pk,
            prefix="PASSAGE#",
            after=f"PASSAGE#{span.after}" if span.after else None,
            before=f"PASSAGE#{span.before}" if span.before else None,
            limit=limit,
            descending=descending,
        )
