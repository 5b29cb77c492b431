"""Archives in the table: the record, the list row, and the links to the agents that the archive is attached to.
`store.memory.passages` has the passages.

Each change of an archive's passages writes a new `stamp` and their `count` to the archive's item, with the condition that the
archive is open. So no passage gets into an archive in deletion, and a reader that compares stamps detects every change. A counter
per tag makes the tags known without a read of all passages. A deleted archive's item stays for a while in the state closed,
because the indexer must know where its passages were.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from hibernaut.ports.storage.table import PRESENT, Change, Check, Delete, Item, Key, Op, Put, Query, Term, Update, eq
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.base import wire_time
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.passage import Passage, StoredArchive, default_archive_id
from hibernaut.schemas.memory.version import SERVER, Author, StoredVersion
from hibernaut.store.memory.passages import OPEN, PassageStore
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec, freed
from hibernaut.store.table.lists.row_lists import RowList
from hibernaut.store.table.lost_records import readable
from hibernaut.store.table.tenant_table import TenantTable
from hibernaut.store.versions.version_store import Edit

CLOSED = "closed"
"""The state of a deleted archive."""
REMEMBERED = timedelta(days=7)
"""The retention of a deleted archive's item: longer than any pointer to its passages waits for the indexer."""


@immutable
class ArchiveTotals:
    """The number of passages, and their tags in alphabetical order."""

    count: int
    tags: tuple[str, ...]


class ArchiveStore:
    """Archives, their links and totals. Reads raise StoreUnavailable (`store.table.retries`), and OSError if a blob cannot be
    read.
    """

    def __init__(self, table: TenantTable, codec: Codec, passages: PassageStore) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec
        self._passages = passages

    def get(self, archive_id: str) -> StoredArchive | None:
        """The archive; None if there is none, or if it is deleted."""
        return self.get_many([archive_id]).get(archive_id)

    def get_many(self, archive_ids: Sequence[str]) -> dict[str, StoredArchive]:
        """The existing archives among these that are not deleted, by id."""
        found = self._open(archive_ids)
        return {archive.id: archive for archive in readable(self._read, found.values())}

    def _open(self, archive_ids: Sequence[str]) -> dict[str, Item]:
        places = {archive_id: keys.archive(self._tenant, archive_id) for archive_id in archive_ids}
        found = self._table.get_many(list(places.values()))
        items = {archive_id: found[key] for archive_id, key in places.items() if key in found}
        return {archive_id: item for archive_id, item in items.items() if item["state"] == OPEN}

    def _read(self, item: Item) -> StoredArchive:
        archive = self._codec.record(StoredArchive, item)
        archive.version = int(item["version"])
        return archive

    def listed(self) -> RowList:
        """The list rows of all archives."""
        return RowList(self._table, keys.archive_row(self._tenant, "archive").pk, mark="name")

    def rows_of(self, archive_ids: Sequence[str]) -> list[Item]:
        """The list rows that exist of these archives."""
        return list(self._table.get_many([keys.archive_row(self._tenant, archive_id) for archive_id in archive_ids]).values())

    def change(self, before: StoredArchive, after: StoredArchive, token: str) -> list[Change]:
        """The changes from `before` to `after`. Conditions: the version is that of `before`, and the archive is open."""
        key, row = keys.archive(self._tenant, after.id), keys.archive_row(self._tenant, after.id)
        attributes = {**self._codec.body(key, after), "version": before.version + 1, "wt": token}
        return [
            Update(key, set=attributes, when=eq(version=before.version, state=OPEN), frees=freed(key, before)),
            Update(row, set={"name": after.name}),
        ]

    # passages

    def put(self, archive_id: str, passages: Sequence[Passage], token: str, by: Author = SERVER) -> list[Change]:
        """The changes that add passages to an open archive: one per passage, one per distinct tag, and two more."""
        touch = self._touch(archive_id, len(passages), token)
        return [touch, *self._passages.add(archive_id, passages, by), *self._tagged(archive_id, tags_of(passages), 1)]

    def restore(self, archive_id: str, passage: Passage, edit: Edit, deletion: StoredVersion, token: str) -> list[Change]:
        """The changes that bring a deleted passage back to an open archive. Condition: it is not there."""
        touch, tags = self._touch(archive_id, 1, token), self._tagged(archive_id, tags_of([passage]), 1)
        return [touch, *self._passages.restore(archive_id, passage, edit, deletion), *tags]

    def take(self, archive_id: str, item: Item, at: datetime, token: str, by: Author = SERVER) -> list[Change]:
        """The changes that remove a passage from an open archive, with its last version. `item`: the passage's item. Condition:
        the passage exists.
        """
        passage_id, tags = keys.last_part(str(item["sk"])), Counter(json.loads(str(item["tags"])))
        touch, last_version = self._touch(archive_id, -1, token), self._passages.ended(archive_id, item, by, at, token)
        return [touch, *self._passages.remove(archive_id, [passage_id]), *self._tagged(archive_id, tags, -1), last_version]

    def erase(self, archive_id: str, passage_id: str, tags: Sequence[str], token: str) -> list[Change]:
        """The changes that remove a passage from an open archive, and write no version. Condition: the passage exists."""
        removal = self._passages.remove(archive_id, [passage_id])
        return [self._touch(archive_id, -1, token), *removal, *self._tagged(archive_id, Counter(tags), -1)]

    def _touch(self, archive_id: str, more: int, token: str) -> Update:
        """The change of stamp and count. A repeated write fails its condition on the stamp."""
        fresh = (Term("state", Op.EQ, OPEN), Term("stamp", Op.NE, token))
        return Update(keys.archive(self._tenant, archive_id), set={"stamp": token, "wt": token}, add={"count": more}, when=fresh)

    def _tagged(self, archive_id: str, tags: Counter[str], step: int) -> list[Change]:
        return [
            Update(keys.archive_tag(self._tenant, archive_id, tag), add={"count": step * times}) for tag, times in tags.items()
        ]

    # deleting

    def close(self, archive: StoredArchive, at: datetime) -> list[Change]:
        """The changes that close an archive: lists do not show it, no passage can be added, and its name and description are
        erased. Condition: the archive is open.
        """
        key, ttl = keys.archive(self._tenant, archive.id), int((at + REMEMBERED).timestamp())
        bare = archive.model_copy(update={"name": "", "description": None, "metadata": None})
        body = self._codec.body(key, bare)
        update = Update(key, set={"state": CLOSED, "ttl": ttl, **body}, when=eq(state=OPEN), frees=freed(key, archive))
        return [update, Delete(keys.archive_row(self._tenant, archive.id))]

    def has_remains(self, archive_id: str) -> bool:
        """Whether a closed archive still has links, tags or passages."""
        key = keys.archive(self._tenant, archive_id)
        return any(item["sk"] != key.sk for item in self._table.query(key.pk, limit=2, names=("sk",)))

    def tags(self, archive_id: str, limit: int | None = None) -> list[Item]:
        """The tag counters of an archive; a counter may be 0."""
        return self._table.query(keys.archive_tag(self._tenant, archive_id, "").pk, prefix="TAG#", limit=limit)

    def forget_tags(self, tags: Sequence[Item]) -> list[Change]:
        """The changes that delete these tag counters."""
        return [Delete(Key(str(item["pk"]), str(item["sk"]))) for item in tags]

    # links

    def of_agent(self, agent_id: str) -> list[str]:
        """The ids of the archives that are attached to the agent, in the order of attachment. Some of them may be deleted."""
        return attached(self._table.query(keys.agent(self._tenant, agent_id).pk, prefix="ARCH#"))

    def open_of_agent(self, agent_id: str) -> list[StoredArchive]:
        """The open archives that are attached to the agent, in the order of attachment."""
        ids = self.of_agent(agent_id)
        found = self.get_many(ids) if ids else {}
        return [found[archive_id] for archive_id in ids if archive_id in found]

    def agents_of(self, archive_id: str) -> list[str]:
        """The ids of the agents that the archive is attached to, oldest first."""
        links = self._table.query(keys.archive(self._tenant, archive_id).pk, prefix="AGENT#")
        return [keys.last_part(str(link["sk"])) for link in links]

    def links(self, archive_id: str) -> RowList:
        """The links to the agents that the archive is attached to."""
        return RowList(self._table, keys.archive(self._tenant, archive_id).pk, "AGENT#")

    def attach(self, archive_id: str, agent_id: str, at: datetime) -> list[Change]:
        """The changes that create the links in both directions."""
        forth, back = (
            keys.agent_archive(self._tenant, agent_id, archive_id),
            keys.archive_agent(self._tenant, archive_id, agent_id),
        )
        return [Put({"pk": forth.pk, "sk": forth.sk, "at": wire_time(at)}), Put({"pk": back.pk, "sk": back.sk})]

    def must_be_open(self, archive_id: str, agent_id: str) -> list[Change]:
        """The conditions of an attachment: the archive is open, and the agent exists."""
        return [
            Check(keys.archive(self._tenant, archive_id), eq(state=OPEN)),
            Check(keys.agent(self._tenant, agent_id), PRESENT),
        ]

    def detach(self, archive_id: str, agent_id: str) -> list[Change]:
        """The changes that delete the links in both directions."""
        return [
            Delete(keys.agent_archive(self._tenant, agent_id, archive_id)),
            Delete(keys.archive_agent(self._tenant, archive_id, agent_id)),
        ]

    # totals and inserts of an agent

    def stamp(self, ids: Sequence[str]) -> str:
        """A stamp that changes whenever one of these archives gains or loses a passage or is deleted; "" without open
        archives.
        """
        found = self._open(ids) if ids else {}
        return " ".join(f"{archive_id}:{found[archive_id]['stamp']}" for archive_id in ids if archive_id in found)

    def totals(self, agent_id: str) -> ArchiveTotals:
        """The number of passages in all open archives of the agent, and all their tags."""
        ids = self.of_agent(agent_id)
        found = self._open(ids) if ids else {}
        queries = [Query(keys.archive_tag(self._tenant, archive_id, "").pk, prefix="TAG#") for archive_id in found]
        used_rows = [row for rows in self._table.query_many(queries) for row in rows if int(row["count"]) > 0]
        tags = {str(row["sk"]).removeprefix("TAG#") for row in used_rows}
        return ArchiveTotals(sum(int(item["count"]) for item in found.values()), tuple(sorted(tags)))

    def insert(self, agent: StoredAgent, passages: Sequence[Passage], token: str, by: Author = SERVER) -> list[Change]:
        """The changes that add passages to the agent's first open archive. For an agent without one they create and attach an
        archive.
        """
        attached = self.open_of_agent(agent.id)
        if attached:
            return self.put(attached[0].id, [in_archive(passage, attached[0]) for passage in passages], token, by)
        archive = self._own(agent, passages[0])
        return [
            *self._passages.make(archive, token, count=len(passages)),
            *self.attach(archive.id, agent.id, archive.created_at),
            *self._passages.add(archive.id, [in_archive(passage, archive) for passage in passages], by),
            *self._tagged(archive.id, tags_of(passages), 1),
        ]

    def _own(self, agent: StoredAgent, first: Passage) -> StoredArchive:
        """A new archive for an agent. Its id has the agent's uuid, or the uuid of the first passage if the agent's is taken by an
        earlier archive, which was detached or deleted.
        """
        own_id = default_archive_id(agent.id)
        is_taken = self._table.get(keys.archive(self._tenant, own_id)) is not None
        return StoredArchive(
            id=f"archive-{first.id[-36:]}" if is_taken else own_id,
            name=f"{agent.name}'s Archive",
            embedding_config=agent.embedding_config,
            created_at=first.updated_at or first.created_at,
        )


def tags_of(passages: Sequence[Passage]) -> Counter[str]:
    """The number of these passages by tag."""
    return Counter(tag for passage in passages for tag in set(passage.tags or ()))


def in_archive(passage: Passage, archive: StoredArchive) -> Passage:
    """The passage with the id and the embedding configuration of its archive."""
    return passage.model_copy(update={"archive_id": archive.id, "embedding_config": archive.embedding_config})


def attached(links: Sequence[Item]) -> list[str]:
    """The ids of the archives in these links of an agent, in the order of attachment."""
    return [keys.last_part(str(link["sk"])) for link in sorted(links, key=lambda link: (str(link["at"]), str(link["sk"])))]
