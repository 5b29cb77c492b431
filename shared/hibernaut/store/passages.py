"""Archival memory in the table: archives and their passages. Searching here is a walk over one archive: the index comes before it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from hibernaut.ports.table import ABSENT, PRESENT, Change, Delete, Key, Put, Table
from hibernaut.schemas.agent import StoredAgent
from hibernaut.schemas.passage import Archive, Passage, default_archive_id
from hibernaut.store import keys
from hibernaut.store.codec import Codec
from hibernaut.store.unindexed import Unindexed


@dataclass(frozen=True, slots=True)
class Counted:
    """How many passages an agent has, and their tags in alphabetical order."""

    count: int
    tags: tuple[str, ...]


class Passages:
    def __init__(self, table: Table, codec: Codec, unindexed: Unindexed) -> None:
        self._table = table
        self._codec = codec
        self._unindexed = unindexed

    def counted(self, tenant: str, agent_id: str) -> Counted:
        pk = keys.archive(tenant, default_archive_id(agent_id)).pk
        rows = self._table.query(pk, prefix="PASSAGE#", names=("tags",))
        tags = {tag for row in rows for tag in json.loads(str(row["tags"]))}
        return Counted(len(rows), tuple(sorted(tags)))

    def of_agent(self, tenant: str, agent_id: str) -> list[Passage]:
        """All passages of the agent's archive, oldest first."""
        pk = keys.archive(tenant, default_archive_id(agent_id)).pk
        return [self._codec.record(Passage, item) for item in self._table.query(pk, prefix="PASSAGE#")]

    def make(self, tenant: str, archive: Archive) -> list[Change]:
        """The changes that bring an archive and its list row into being."""
        row = keys.archive_row(tenant, archive.id)
        return [
            Put(self._codec.item(keys.archive(tenant, archive.id), archive), ABSENT),
            Put({"pk": row.pk, "sk": row.sk, "name": archive.name}),
        ]

    def archives(self, tenant: str) -> list[str]:
        """The ids of all archives, oldest first."""
        return [str(row["sk"]) for row in self._table.query(keys.archive_row(tenant, "").pk)]

    def ids(self, tenant: str, archive_id: str) -> list[str]:
        """The ids of all passages of an archive, oldest first."""
        rows = self._table.query(keys.archive(tenant, archive_id).pk, prefix="PASSAGE#", names=("sk",))
        return [keys.last_part(str(row["sk"])) for row in rows]

    def newest(self, tenant: str, archive_id: str, limit: int) -> list[Passage]:
        """The newest passages of an archive, the newest first."""
        pk = keys.archive(tenant, archive_id).pk
        items = self._table.query(pk, prefix="PASSAGE#", limit=limit, descending=True)
        return [self._codec.record(Passage, item) for item in items]

    def archive(self, tenant: str, archive_id: str) -> Archive | None:
        item = self._table.get(keys.archive(tenant, archive_id))
        return self._codec.record(Archive, item) if item else None

    def get_many(self, tenant: str, archive_id: str, passage_ids: Sequence[str]) -> list[Passage]:
        """The passages of an archive that exist among these, in the order asked for."""
        return self._read([keys.passage(tenant, archive_id, passage_id) for passage_id in passage_ids])

    def pieces(self, tenant: str, file_id: str, passage_ids: Sequence[str]) -> list[Passage]:
        """The pieces of a file that exist among these, in the order asked for."""
        return self._read([keys.piece(tenant, file_id, passage_id) for passage_id in passage_ids])

    def _read(self, wanted: list[Key]) -> list[Passage]:
        found = self._table.get_many(wanted)
        return [self._codec.record(Passage, found[key]) for key in wanted if key in found]

    def insert(self, tenant: str, agent: StoredAgent, passages: list[Passage]) -> list[Change]:
        """The changes that add passages to the agent's archive, and make the archive where there is none yet."""
        archive_id = default_archive_id(agent.id)
        key = keys.archive(tenant, archive_id)
        changes: list[Change] = []
        if self._table.get(key) is None:
            archive = Archive(
                id=archive_id,
                name=f"{agent.name}'s Archive",
                embedding_config=agent.embedding_config,
                created_at=agent.created_at,
            )
            changes += self.make(tenant, archive)
        return [*changes, *self.add(tenant, archive_id, passages)]

    def add(self, tenant: str, archive_id: str, passages: Sequence[Passage]) -> list[Change]:
        """The changes that add passages to an archive."""
        ids = [passage.id for passage in passages]
        items = [
            Put(self._codec.item(keys.passage(tenant, archive_id, one.id), one, tags=json.dumps(one.tags or [])), ABSENT)
            for one in passages
        ]
        return [*items, *self._unindexed.pointer(tenant, archive_id, "passage", ids)]

    def remove(self, tenant: str, archive_id: str, passage_id: str) -> list[Change]:
        """The changes that take a passage out of its archive. It must be there."""
        gone = Delete(keys.passage(tenant, archive_id, passage_id), PRESENT)
        return [gone, *self._unindexed.pointer(tenant, archive_id, "passage", [passage_id], gone=True)]
