"""Archives in the table: the record, its list row, and the links that say where it is attached. What lies in one is `store.passages`.

Whatever changes an archive's passages writes a fresh `stamp` to its item, on the condition that it is open: nothing gets into an
archive that is being deleted, and who remembers the stamps knows without counting whether anything changed. A deleted archive's item
stays for a while, closed: the indexer must know where its passages stood.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from hibernaut.ports.table import PRESENT, Change, Check, Delete, Item, Op, Put, Table, Term, Update, eq
from hibernaut.schemas.agent import StoredAgent
from hibernaut.schemas.base import wire_time
from hibernaut.schemas.passage import Passage, StoredArchive, default_archive_id
from hibernaut.store import keys
from hibernaut.store.codec import Codec
from hibernaut.store.passages import OPEN, Counted, Passages

CLOSED = "closed"
REMEMBERED = timedelta(days=7)
"""How long a deleted archive's item stays: longer than any pointer to its passages waits for the indexer."""


class Archives:
    def __init__(self, table: Table, codec: Codec, passages: Passages) -> None:
        self._table = table
        self._codec = codec
        self._passages = passages

    def get(self, tenant: str, archive_id: str) -> StoredArchive | None:
        return self.get_many(tenant, [archive_id]).get(archive_id)

    def get_many(self, tenant: str, archive_ids: Sequence[str]) -> dict[str, StoredArchive]:
        """Those that are there and open."""
        found = self._open(tenant, archive_ids)
        return {archive_id: self._read(item) for archive_id, item in found.items()}

    def _open(self, tenant: str, archive_ids: Sequence[str]) -> dict[str, Item]:
        places = {archive_id: keys.archive(tenant, archive_id) for archive_id in archive_ids}
        found = self._table.get_many(list(places.values()))
        items = {archive_id: found[key] for archive_id, key in places.items() if key in found}
        return {archive_id: item for archive_id, item in items.items() if item["state"] == OPEN}

    def _read(self, item: Item) -> StoredArchive:
        archive = self._codec.record(StoredArchive, item)
        archive.version = int(item["version"])
        return archive

    def rows(self, tenant: str) -> list[Item]:
        """The list rows of all archives, oldest first."""
        return self._table.query(keys.archive_row(tenant, "archive").pk)

    def change(self, tenant: str, before: StoredArchive, after: StoredArchive, token: str) -> list[Change]:
        """The change from what was read to `after`, on the condition that it is still so."""
        key, row = keys.archive(tenant, after.id), keys.archive_row(tenant, after.id)
        changed = {**self._codec.body(key, after), "version": before.version + 1, "wt": token}
        return [
            Update(key, set=changed, when=eq(version=before.version, state=OPEN)),
            Update(row, set={"name": after.name}),
        ]

    def touch(self, tenant: str, archive_id: str, token: str) -> Update:
        """The change that goes with every change of the archive's passages. Written a second time it fails on its own mark."""
        fresh = (Term("state", Op.EQ, OPEN), Term("stamp", Op.NE, token))
        return Update(keys.archive(tenant, archive_id), set={"stamp": token, "wt": token}, when=fresh)

    # deleting

    def close(self, tenant: str, archive_id: str, at: datetime) -> list[Change]:
        """The changes that end an archive: it is not shown any more, and nothing gets into it."""
        ttl = int((at + REMEMBERED).timestamp())
        closed = Update(keys.archive(tenant, archive_id), set={"state": CLOSED, "ttl": ttl}, when=eq(state=OPEN))
        return [closed, Delete(keys.archive_row(tenant, archive_id))]

    # links

    def of_agent(self, tenant: str, agent_id: str) -> list[str]:
        """The ids of what is attached to the agent, in the order of attachment. Those of deleted archives may be among them."""
        links = self._table.query(keys.agent(tenant, agent_id).pk, prefix="ARCH#")
        return [keys.last_part(str(link["sk"])) for link in sorted(links, key=lambda link: (str(link["at"]), str(link["sk"])))]

    def open_of_agent(self, tenant: str, agent_id: str) -> list[StoredArchive]:
        """The archives that are attached to the agent, in the order of attachment."""
        ids = self.of_agent(tenant, agent_id)
        found = self.get_many(tenant, ids) if ids else {}
        return [found[archive_id] for archive_id in ids if archive_id in found]

    def agents_of(self, tenant: str, archive_id: str) -> list[str]:
        """The ids of the agents that the archive is attached to, oldest first."""
        links = self._table.query(keys.archive(tenant, archive_id).pk, prefix="AGENT#")
        return [keys.last_part(str(link["sk"])) for link in links]

    def attach(self, tenant: str, archive_id: str, agent_id: str, at: datetime) -> list[Change]:
        """The link, both ways."""
        ours, theirs = keys.agent_archive(tenant, agent_id, archive_id), keys.archive_agent(tenant, archive_id, agent_id)
        return [Put({"pk": ours.pk, "sk": ours.sk, "at": wire_time(at)}), Put({"pk": theirs.pk, "sk": theirs.sk})]

    def there(self, tenant: str, archive_id: str, agent_id: str) -> list[Change]:
        """The conditions for attaching: both exist."""
        return [
            Check(keys.archive(tenant, archive_id), eq(state=OPEN)),
            Check(keys.agent(tenant, agent_id), PRESENT),
        ]

    def detach(self, tenant: str, archive_id: str, agent_id: str) -> list[Change]:
        return [
            Delete(keys.agent_archive(tenant, agent_id, archive_id)),
            Delete(keys.archive_agent(tenant, archive_id, agent_id)),
        ]

    # what agents know of their archives

    def stamp(self, tenant: str, agent_id: str) -> str:
        """Changes whenever a passage comes into an archive of the agent's or goes, or an archive does. "" where there is none."""
        ids = self.of_agent(tenant, agent_id)
        found = self._open(tenant, ids) if ids else {}
        return " ".join(f"{archive_id}:{found[archive_id]['stamp']}" for archive_id in ids if archive_id in found)

    def counted(self, tenant: str, agent_id: str) -> Counted:
        """How many passages the agent's archives hold together, and all their tags."""
        ids = self.of_agent(tenant, agent_id)
        each = [self._passages.counted(tenant, archive_id) for archive_id in (self._open(tenant, ids) if ids else ())]
        return Counted(sum(one.count for one in each), tuple(sorted({tag for one in each for tag in one.tags})))

    def insert(self, tenant: str, agent: StoredAgent, passages: Sequence[Passage], token: str) -> list[Change]:
        """The changes that add passages to the first of the agent's archives; to one of its own, made now, where it has none."""
        attached = self.open_of_agent(tenant, agent.id)
        opening: list[Change]
        if attached:
            archive, opening = attached[0], [self.touch(tenant, attached[0].id, token)]
        else:
            archive = self._own(tenant, agent, passages[0])
            opening = self.made(tenant, archive, agent.id, token)
        put = [in_archive(passage, archive) for passage in passages]
        return [*opening, *self._passages.add(tenant, archive.id, put)]

    def made(self, tenant: str, archive: StoredArchive, agent_id: str, token: str) -> list[Change]:
        """The changes that make an archive and attach it."""
        return [
            *self._passages.make(tenant, archive, token),
            *self.attach(tenant, archive.id, agent_id, archive.created_at),
        ]

    def _own(self, tenant: str, agent: StoredAgent, first: Passage) -> StoredArchive:
        """An agent's first own archive bears its uuid; a later one, where that was detached or deleted, the first passage's."""
        own = default_archive_id(agent.id)
        taken = self._table.get(keys.archive(tenant, own)) is not None
        return StoredArchive(
            id=f"archive-{first.id[-36:]}" if taken else own,
            name=f"{agent.name}'s Archive",
            embedding_config=agent.embedding_config,
            created_at=first.updated_at or first.created_at,
        )


def in_archive(passage: Passage, archive: StoredArchive) -> Passage:
    """The passage as it lies in an archive, which says how it is embedded."""
    return passage.model_copy(update={"archive_id": archive.id, "embedding_config": archive.embedding_config})
