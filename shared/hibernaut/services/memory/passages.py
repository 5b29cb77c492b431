"""Passages: insert them into archives, list and delete them (Letta V1 API, API 2.8 and 2.11). `search_api` searches them.

The id of a passage sorts by its time, also if the caller sets that time: a list by id is a list by time, and every id is a
cursor.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence

from hibernaut.domain.search.passage_texts import checked
from hibernaut.domain.wire.listing import FilteredPage, filtered_page
from hibernaut.ports.storage.table import MAX_BYTES
from hibernaut.schemas.errors import InvalidArgument, NotFound
from hibernaut.schemas.ids import as_of, is_id
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.passage import Archive, CreatePassage, IdentifiedPassage, Passage
from hibernaut.schemas.memory.version import Author
from hibernaut.services.memory.archives import Archives
from hibernaut.services.records import Records, by_key
from hibernaut.store.memory import archives
from hibernaut.store.stores import TenantStores
from hibernaut.store.table.bodies.codec import INLINE_BYTES
from hibernaut.store.table.lists.logs import IdRange

TOGETHER = 90
"""The largest number of passages plus their distinct tags in one transaction."""
_BYTES = MAX_BYTES // 2
CHUNK = 200
"""The largest number of passages that the first read of a list expects to need."""
MOST_READ = 20_000
"""The largest number of passages that a list with `search` reads."""


@immutable
class PassageList:
    """The parameters of a page of passages. Cursors are chronological: `after` means later, `before` earlier, in either order."""

    after: str | None = None
    before: str | None = None
    limit: int = 100
    search: str | None = None
    ascending: bool = True


class Passages:
    """The use cases of passages."""

    def __init__(self, stores: TenantStores, records: Records, archives: Archives) -> None:
        self._stores = stores
        self._records = records
        self._archives = archives

    def create(
        self, archive_id: str, requests: Sequence[CreatePassage], *, user: str | None = None, key_id: str | None = None
    ) -> list[Passage]:
        """Insert passages into an archive. Everything is checked before the first write.

        Up to 90 passages and distinct tags together, and 2 MB, are one transaction; more are written in several, in order.
        Passages whose chosen ids the archive has are returned as they are; those with the ids of deleted ones are left out.
        Raises: NotFound, InvalidArgument, Conflict.
        """
        archive = self._archives.retrieve(archive_id)
        passages = [archives.in_archive(self._new_passage(one, user), archive) for one in requests]
        chosen_ids = {one.id for one in requests if isinstance(one, IdentifiedPassage) and one.id is not None}
        for batch in _pages(passages):
            self._add(archive, batch, by_key(key_id).by, chosen_ids)
        if not chosen_ids:
            return passages
        by_id = {
            one.id: one for one in self._stores.passages.get_many(archive_id, list(dict.fromkeys(one.id for one in passages)))
        }
        return [by_id[one.id] for one in passages if one.id in by_id]

    def _add(self, archive: Archive, passages: Sequence[Passage], by: Author, chosen: Collection[str]) -> None:
        """Add passages; those with chosen ids only if the archive has never had them."""
        distinct = list({one.id: one for one in passages}.values())

        def attempt() -> None:
            self._archives.retrieve(archive.id)
            requested = [one.id for one in distinct if one.id in chosen]
            used = self._stores.passages.used(archive.id, requested) if requested else set()
            if new := [one for one in distinct if one.id not in used]:
                token = self._records.ids.token()
                self._records.writer.write(*self._stores.archives.put(archive.id, new, token, by), token=token)

        self._records.until_settled(attempt)

    def create_for(
        self, agent_id: str, request: CreatePassage, *, user: str | None = None, key_id: str | None = None
    ) -> list[Passage]:
        """Insert a passage into the agent's first archive, which is created if missing. Raises: NotFound, InvalidArgument,
        Conflict.
        """
        passage = self._new_passage(request, user)

        def attempt() -> None:
            agent, token = self._records.agent(agent_id), self._records.ids.token()
            inserted = self._stores.archives.insert(agent, [passage], token, by_key(key_id).by)
            self._records.writer.write(*inserted, token=token)

        self._records.until_settled(attempt)
        return [found for _, found in self._found(agent_id, passage.id)] or [passage]

    def _new_passage(self, request: CreatePassage, user: str | None) -> Passage:
        """The passage of a request, without its archive. Raises: InvalidArgument."""
        text, tags = checked(request.text, request.tags)
        now, chosen_id = self._records.clock.now(), request.id if isinstance(request, IdentifiedPassage) else None
        id_now = chosen_id or self._records.ids.new("passage")
        timed = id_now if request.created_at is None else as_of(id_now, request.created_at)
        if chosen_id is not None and (request.created_at is None or timed != chosen_id):
            raise InvalidArgument(
                f"INVALID_ARGUMENT: The id {chosen_id} does not begin with the milliseconds of the passage's created_at."
            )
        return Passage(
            id=timed,
            text=text,
            metadata=request.metadata or {},
            tags=tags,
            created_at=request.created_at or now,
            updated_at=now,
            created_by_id=user,
            last_updated_by_id=user,
        )

    def delete(self, archive_id: str, passage_id: str, *, key_id: str | None = None) -> None:
        """Delete a passage of an archive. Raises: NotFound, Conflict."""

        def attempt() -> None:
            self._archives.retrieve(archive_id)
            items = self._stores.passages.items(archive_id, [passage_id])
            if not items:
                raise _no_passage(passage_id)
            now, token = self._records.clock.now(), self._records.ids.token()
            removal = self._stores.archives.take(archive_id, items[0], now, token, by_key(key_id).by)
            self._records.writer.write(*removal, token=token)
            self._records.deletion.forget_blobs(items)

        self._records.until_settled(attempt)

    def delete_of(self, agent_id: str, passage_id: str, *, key_id: str | None = None) -> None:
        """Delete a passage from the agent's archive that holds it. Raises: NotFound, Conflict."""
        self._records.agent(agent_id)
        for archive_id, _ in self._found(agent_id, passage_id):
            return self.delete(archive_id, passage_id, key_id=key_id)
        raise _no_passage(passage_id)

    def _found(self, agent_id: str, passage_id: str) -> list[tuple[str, Passage]]:
        archives = self._stores.archives.open_of_agent(agent_id)
        return self._stores.passages.in_archives([archive.id for archive in archives], passage_id)

    def list(self, agent_id: str, query: PassageList) -> FilteredPage[Passage]:
        """A page of the passages of all the agent's archives, by time. `search` matches in any case, within 20,000 passages of
        the cursor.

        Raises: NotFound for the agent, InvalidArgument for a cursor.
        """
        self._records.agent(agent_id)
        for cursor in (query.after, query.before):
            if cursor is not None and not is_id(cursor, "passage"):
                raise InvalidArgument(f"INVALID_ARGUMENT: {cursor} is no passage's id.")
        archives = self._stores.archives.open_of_agent(agent_id)
        span, first = IdRange(query.after, query.before), CHUNK if query.search else max(1, min(query.limit + 1, CHUNK))
        passages = self._stores.passages.merged(
            [archive.id for archive in archives], span, first=first, descending=not query.ascending
        )
        needle = (query.search or "").casefold()
        return filtered_page(
            passages,
            lambda one: needle in one.text.casefold(),
            limit=query.limit,
            most=max(MOST_READ, 0 if needle else query.limit),
            cursor="after" if query.ascending else "before",
            id_of=lambda one: one.id,
        )


def _no_passage(passage_id: str) -> NotFound:
    return NotFound(f"Passage not found with id='['{passage_id}']'")


def _pages(passages: Sequence[Passage]) -> Iterator[list[Passage]]:
    some, size, tags = list[Passage](), 0, set[str]()
    for passage in passages:
        more = min(len(passage.model_dump_json()), INLINE_BYTES) + len(json.dumps(passage.tags)) + 1_000
        borne = tags.union(passage.tags or ())
        if some and (len(some) + 1 + len(borne) > TOGETHER or size + more > _BYTES):
            yield some
            some, size, borne = [], 0, set(passage.tags or ())
        some.append(passage)
        size, tags = size + more, borne
    if some:
        yield some
