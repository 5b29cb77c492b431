"""Archives: create, find, update, delete, attach and detach them (Letta V1 API, API 2.7 and 2.11).

No agent owns an archive: one that an agent's first insert created outlives the agent, as in Letta V1, because other agents may be
attached to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from hibernaut.domain.wire.listing import Page, page
from hibernaut.ports.model import Models
from hibernaut.ports.storage.table import ConditionFailed, Item
from hibernaut.schemas.agents.agent import AgentState
from hibernaut.schemas.errors import Conflict, InvalidArgument
from hibernaut.schemas.memory.passage import Archive, CreateArchive, StoredArchive, UpdateArchive
from hibernaut.services.agents.agents import Agents
from hibernaut.services.models.embedding_choice import chosen_embedding
from hibernaut.services.records import Records, no_archive
from hibernaut.store.stores import TenantStores
from hibernaut.store.table import keys

MOST_ATTACHED = 50
"""The largest number of archives of one agent. Its searches cover all of them."""
DELETED_AT_ONCE = 90
"""The largest number of passages that one transaction deletes, besides its other changes."""


class Archives:
    """The use cases of archives."""

    def __init__(self, stores: TenantStores, records: Records, *, models: Models, agents: Agents) -> None:
        self._stores = stores
        self._archives = stores.archives
        self._records = records
        self._models = models
        self._agents = agents

    def create(self, request: CreateArchive, *, user: str | None = None) -> Archive:
        """Create an archive. Its embedding configuration cannot be changed later. An archive that has the id of the request is
        returned as it is.

        Raises: NotFound (the embedding's handle), Conflict (an archive with the id was deleted a short time ago).
        """
        now = self._records.clock.now()
        archive = StoredArchive(
            id=request.id or self._records.ids.new("archive"),
            name=request.name,
            description=request.description,
            embedding_config=chosen_embedding(request, self._models),
            created_at=now,
            updated_at=now,
            created_by_id=user,
            last_updated_by_id=user,
        )

        def attempt() -> Archive:
            if request.id is not None and (existing := self._archives.get(request.id)) is not None:
                return existing
            if request.id is not None and request.id in self._stores.passages.archive_records([request.id]):
                raise Conflict(f"CONFLICT: The archive {request.id} was deleted here, and its id is not free yet.")
            token = self._records.ids.token()
            self._records.writer.write(*self._stores.passages.make(archive, token), token=token)
            return archive

        return self._records.until_settled(attempt)

    def retrieve(self, archive_id: str) -> StoredArchive:
        """The archive. Raises: NotFound."""
        archive = self._archives.get(archive_id)
        if archive is None:
            raise no_archive(archive_id)
        return archive

    def update(self, archive_id: str, request: UpdateArchive, *, user: str | None = None) -> Archive:
        """Apply the fields that are not null. Raises: NotFound, Conflict."""
        changes = request.model_dump(exclude_none=True)

        def attempt() -> Archive:
            before = self.retrieve(archive_id)
            if not changes:
                return before
            touched = {"updated_at": self._records.clock.now(), "last_updated_by_id": user or before.last_updated_by_id}
            after, token = before.model_copy(update={**changes, **touched}), self._records.ids.token()
            self._records.writer.write(*self._archives.change(before, after, token), token=token)
            return after

        return self._records.until_settled(attempt)

    def list(self, page_query: Page, *, name: str | None = None, agent_id: str | None = None) -> Sequence[Archive]:
        """A page of the archives in the order of their ids, which is that of their creation; an agent's own archive bears the
        agent's uuid and takes the agent's place in the order. Only those with this name, or attached to this agent.

        Raises: NotFound for a cursor.
        """

        def named(rows: Sequence[Item]) -> Sequence[Item]:
            return [row for row in rows if name is None or row["name"] == name]

        if agent_id is None:
            rows = self._archives.listed().page(page_query, named)
        else:
            rows = page(named(self._archives.rows_of(self._archives.of_agent(agent_id))), page_query, id_of=_id, place=_id)
        ids = [_id(row) for row in rows]
        found = self._archives.get_many(ids)
        return [found[archive_id] for archive_id in ids if archive_id in found]

    def agents(self, archive_id: str, page: Page, include: frozenset[str]) -> Sequence[AgentState]:
        """A page of the agents that the archive is attached to. Raises: NotFound for the archive or a cursor."""
        self.retrieve(archive_id)
        return self._agents.among(self._archives.links(archive_id), page, include)

    def attach(self, agent_id: str, archive_id: str) -> None:
        """Attach an archive to an agent; idempotent. Raises: NotFound, InvalidArgument (over `MOST_ATTACHED` archives),
        Conflict.
        """

        def attempt() -> None:
            self._records.agent(agent_id)
            self.retrieve(archive_id)
            attached = self._archives.of_agent(agent_id)
            if archive_id in attached:
                return
            if len(attached) >= MOST_ATTACHED:
                raise InvalidArgument(f"INVALID_ARGUMENT: An agent has at most {MOST_ATTACHED} archives.")
            now = self._records.clock.now()
            links = self._archives.attach(archive_id, agent_id, now)
            self._records.writer.write(*self._archives.must_be_open(archive_id, agent_id), *links)

        self._records.until_settled(attempt)

    def detach(self, agent_id: str, archive_id: str) -> None:
        """Detach an archive from an agent; idempotent. Raises: NotFound for the agent or the archive."""
        self._records.agent(agent_id)
        self.retrieve(archive_id)
        self._records.writer.write(*self._archives.detach(archive_id, agent_id))

    def delete(self, archive_id: str) -> None:
        """Close the archive for inserts, detach it from its agents, then delete its passages in several transactions.

        A second call resumes an interrupted deletion. Raises: NotFound.
        """
        delete_archive(self._stores, self._records, archive_id)


def delete_archive(stores: TenantStores, records: Records, archive_id: str) -> None:
    """Delete an archive, as `Archives.delete`. Raises: NotFound."""
    archives, passages = stores.archives, stores.passages
    if (archive := archives.get(archive_id)) is not None:
        with suppress(ConditionFailed):  # closed already, by an earlier attempt or another request
            records.writer.write(*archives.close(archive, records.clock.now()))
    elif not archives.has_remains(archive_id):
        raise no_archive(archive_id)
    links = [change for agent_id in archives.agents_of(archive_id) for change in archives.detach(archive_id, agent_id)]
    records.write(links, [], "")
    while tags := archives.tags(archive_id, limit=DELETED_AT_ONCE):
        records.writer.write(*archives.forget_tags(tags))
    while items := passages.items(archive_id, limit=DELETED_AT_ONCE):
        ids = [keys.last_part(str(item["sk"])) for item in items]
        records.writer.write(*passages.remove(archive_id, ids, must_exist=False))
        records.deletion.forget_blobs(items)
    while items := passages.ended_versions(archive_id, limit=DELETED_AT_ONCE):
        records.writer.write(*passages.forget_versions(items))
        records.deletion.forget_blobs(items)


def _id(row: Item) -> str:
    return str(row["sk"])
