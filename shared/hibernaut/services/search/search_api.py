"""The searches of the API and of agents' tools: scopes, filters, and the shapes of the results.

`hybrid_search` finds the records; this module translates a request into a scope. A time span that ends before it begins is an
error. A search without a query returns the newest passages where Letta V1 does so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from hibernaut.domain.search import index_documents
from hibernaut.domain.search.index_documents import OWN_CONVERSATIONS, reach_of, searchable_text
from hibernaut.domain.times import local_time, moment_of
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.errors import InvalidArgument, NotFound
from hibernaut.schemas.memory.passage import Passage
from hibernaut.schemas.memory.search_index import SearchMode
from hibernaut.schemas.memory.searches import (
    AgentMessageHit,
    AgentMessageSearch,
    ArchivalHit,
    ArchivalHits,
    ArchivalSearch,
    MessageHit,
    MessageSearch,
    PassageHit,
    PassageSearch,
)
from hibernaut.schemas.messages.message import INTERNAL, Message
from hibernaut.services.logs.messages import DEFAULT_CONVERSATION
from hibernaut.services.records import no_archive
from hibernaut.services.search.hybrid_search import HybridSearch, SearchHit, SearchResult, SearchScope, fits
from hibernaut.store.stores import TenantStores
from hibernaut.store.table.lists.logs import IdRange

TOP_K = 5
"""Default number of results of an archival search."""
MOST_PLACES = 200
"""The largest number of archives that a search without a query reads."""
MOST_READ = 20_000
"""The largest number of passages that a search without a query reads."""
CHUNK = 50
"""The smallest number of passages that the first read of a search without a query expects to need."""
R = TypeVar("R")


class SearchApi:
    """The searches that the API and agents' tools call."""

    def __init__(self, stores: TenantStores, memory: HybridSearch) -> None:
        self._stores = stores
        self._memory = memory

    # archival memory

    def archival(
        self, agent: StoredAgent, scope: SearchScope, query: str, *, mode: SearchMode = "hybrid", limit: int = TOP_K
    ) -> SearchResult[Passage]:
        """The passages of the agent's archives that match the query and pass the filters of `scope`; empty without a query."""
        places = tuple(archive.id for archive in self._stores.archives.open_of_agent(agent.id))
        if not places or not query.strip():
            return SearchResult()
        return self._memory.passages(_at(scope, places), query, mode=mode, limit=limit)

    def of_agent(self, agent_id: str, request: ArchivalSearch) -> ArchivalHits:
        """An agent's archival search, in the API's form. Raises: NotFound, InvalidArgument for an invalid time or span."""
        agent = self._agent(agent_id)
        start = _moment("start_datetime", request.start_datetime, agent.timezone)
        end = _moment("end_datetime", request.end_datetime, agent.timezone, end=True)
        scope = passage_filter(request.tags or (), all_tags=request.tag_match_mode == "all", span=checked_span(start, end))
        found = self.archival(agent, scope, request.query, mode=request.search_mode, limit=request.top_k or TOP_K)
        hits = [archival_hit(hit.record, agent.timezone) for hit in found.hits]
        return ArchivalHits(results=hits, count=len(hits), search=standing(found))

    def passages(self, request: PassageSearch) -> tuple[list[PassageHit], str | None]:
        """Search an agent's archives, one archive, or all archives; without a query, the newest passages.

        The second value names the limits of the search, as `standing`. Raises: NotFound, InvalidArgument.
        """
        span = checked_span(request.start_date, request.end_date)
        scope = passage_filter(request.tags or (), all_tags=request.tag_match_mode == "all", span=span)
        scope = _at(scope, self._places(request))
        if request.query and request.query.strip():
            found = self._memory.passages(scope, request.query, mode=request.search_mode, limit=request.limit)
            found = self._in_open_archives(found) if scope.places is None else found
        else:
            found = self._newest(scope, request.limit)
        return [_passage_hit(hit) for hit in found.hits], standing(found)

    def _places(self, request: PassageSearch) -> tuple[str, ...] | None:
        if request.agent_id is not None:
            agent = self._agent(request.agent_id)
            return tuple(archive.id for archive in self._stores.archives.open_of_agent(agent.id))
        if request.archive_id is None:
            return None
        if self._stores.archives.get(request.archive_id) is None:
            raise no_archive(request.archive_id)
        return (request.archive_id,)

    def _in_open_archives(self, found: SearchResult[Passage]) -> SearchResult[Passage]:
        """The hits without those of archives that are being deleted."""
        ids = list(dict.fromkeys(hit.record.archive_id or "" for hit in found.hits))
        archives = self._stores.archives.get_many([one for one in ids if one])
        return _with(found, [hit for hit in found.hits if hit.record.archive_id in archives])

    def _newest(self, scope: SearchScope, limit: int) -> SearchResult[Passage]:
        """The newest passages that pass the filters, with score 0."""
        places = scope.places if scope.places is not None else self._stores.passages.archives()[::-1]
        merged = self._stores.passages.merged(places[:MOST_PLACES], IdRange(), first=max(limit + 1, CHUNK), descending=True)
        hits, rows_read = list[SearchHit[Passage]](), 0
        for passage in merged:
            if len(hits) == limit or rows_read == MOST_READ:
                break
            rows_read += 1
            if passes(passage, scope):
                hits.append(SearchHit(passage, 0.0))
        return SearchResult(tuple(hits), incomplete=len(places) > MOST_PLACES or rows_read == MOST_READ)

    # messages

    def messages(self, request: MessageSearch) -> tuple[list[MessageHit], str | None]:
        """Search messages. Raises: NotFound for the agent, InvalidArgument for the dates."""
        found = self._search_messages(request, places=self._agents_named(request.agent_id))
        return [_message_hit(hit) for hit in found.hits], standing(found)

    def agents_messages(self, request: AgentMessageSearch) -> tuple[list[AgentMessageHit], str | None]:
        """Search messages, of the agents of a project or a template if named; the hits hold the stored rows. Raises: as
        `messages`.
        """
        places = self._agents_named(request.agent_id)
        if request.project_id is not None or request.template_id is not None:
            agent_ids = [
                str(row["sk"])
                for row in self._stores.agents.rows()
                if (request.project_id is None or row["project_id"] == request.project_id)
                and (request.template_id is None or row["template_id"] == request.template_id)
            ]
            places = tuple(one for one in agent_ids if places is None or one in places)
        found = self._search_messages(request, places=places, roles=tuple(request.roles or ()))
        return [_agent_message_hit(hit) for hit in found.hits], standing(found)

    def _search_messages(
        self, request: MessageSearch, *, places: tuple[str, ...] | None, roles: tuple[str, ...] = ()
    ) -> SearchResult[Message]:
        start, end = checked_span(request.start_date, request.end_date)
        scope = SearchScope("message", places, roles=roles, start=start, end=end)
        if request.conversation_id is not None:
            scope = self._in_conversation(scope, request.conversation_id, request.agent_id)
        if not request.query.strip() or scope.places == ():
            return SearchResult()
        found = self._memory.messages(scope, request.query, mode=request.search_mode, limit=request.limit)
        return self._of_agents(found) if scope.places is None else found

    def _of_agents(self, found: SearchResult[Message]) -> SearchResult[Message]:
        """The hits without those of agents that are being deleted."""
        agent_rows = self._stores.agents.rows_of(list({hit.record.agent_id for hit in found.hits}))
        return _with(found, [hit for hit in found.hits if hit.record.agent_id in agent_rows])

    def _in_conversation(self, scope: SearchScope, conversation: str, agent_id: str | None) -> SearchScope:
        """The scope narrowed to one conversation; `default` without an agent means the default conversations of all agents.

        A conversation that does not exist narrows the scope to no place.
        """
        log = agent_id if conversation == DEFAULT_CONVERSATION else conversation
        if log is None:
            return replace(scope, reach=OWN_CONVERSATIONS)
        head = self._stores.conversations.head(log)
        if head is None or (scope.places is not None and head.agent_id not in scope.places):
            return replace(scope, places=())
        return replace(scope, places=(head.agent_id,), reach=reach_of(head))

    def _agents_named(self, agent_id: str | None) -> tuple[str, ...] | None:
        return None if agent_id is None else (self._agent(agent_id).id,)

    def _agent(self, agent_id: str) -> StoredAgent:
        agent = self._stores.agents.get(agent_id)
        if agent is None:
            raise NotFound(f"Agent with ID {agent_id} not found")
        return agent


def standing(found: SearchResult[R]) -> str | None:
    """The limits of a search result, comma-separated: "asleep", "incomplete", "words-only"; None if the search was complete."""
    flags = (("asleep", found.asleep), ("incomplete", found.incomplete), ("words-only", found.words_only and not found.asleep))
    return ", ".join(name for name, holds in flags if holds) or None


def passage_filter(
    tags: Sequence[str], *, all_tags: bool = False, span: tuple[datetime | None, datetime | None] = (None, None)
) -> SearchScope:
    """The scope of a passage search with these filters, over all archives. `span`: inclusive start and end."""
    return SearchScope("passage", None, tags=tuple(tags), tag_match="all" if all_tags else "any", start=span[0], end=span[1])


def passes(passage: Passage, scope: SearchScope) -> bool:
    """Whether a passage passes the filters, by the same rules as in the index."""
    return fits(index_documents.of_passage("", "", "", passage), scope)


def archival_hit(passage: Passage, timezone: str) -> ArchivalHit:
    """A passage in the shape of archival search results; its time is in the agent's time zone."""
    timestamp = local_time(passage.created_at, timezone).isoformat()
    return ArchivalHit(id=passage.id, timestamp=timestamp, content=passage.text, tags=passage.tags or [])


def checked_span(start: datetime | None, end: datetime | None) -> tuple[datetime | None, datetime | None]:
    """The span itself. Raises: InvalidArgument if it ends before it begins."""
    if start is not None and end is not None and start > end:
        raise InvalidArgument("INVALID_ARGUMENT: The span of time ends before it begins.")
    return start, end


def _moment(name: str, text: str | None, timezone: str, *, end: bool = False) -> datetime | None:
    if not text:
        return None
    try:
        return moment_of(text, timezone, end=end)
    except ValueError:
        detail = f"{name} must be an ISO 8601 date or time, such as 2026-03-01 or 2026-03-01T14:30."
        raise InvalidArgument(f"INVALID_ARGUMENT: {detail}") from None


def _at(scope: SearchScope, places: tuple[str, ...] | None) -> SearchScope:
    return SearchScope("passage", places, tags=scope.tags, tag_match=scope.tag_match, start=scope.start, end=scope.end)


def _with(found: SearchResult[R], hits: Sequence[SearchHit[R]]) -> SearchResult[R]:
    return replace(found, hits=tuple(hits))


def _passage_hit(hit: SearchHit[Passage]) -> PassageHit:
    ranks = {"combined_score": hit.score, "vector_rank": hit.vector_rank, "fts_rank": hit.lexical_rank}
    return PassageHit(passage=hit.record, score=hit.score, metadata=ranks)


def _message_hit(hit: SearchHit[Message]) -> MessageHit:
    row = hit.record
    return MessageHit(
        message_type="user_message" if row.role == "user" else "assistant_message",
        message_id=row.id,
        agent_id=row.agent_id,
        conversation_id=row.conversation_id,
        created_at=row.created_at,
        content=searchable_text(row) or row.text(),
        score=hit.score,
        fts_rank=hit.lexical_rank,
        vector_rank=hit.vector_rank,
    )


def _agent_message_hit(hit: SearchHit[Message]) -> AgentMessageHit:
    return AgentMessageHit(
        embedded_text=searchable_text(hit.record) or hit.record.text(),
        message=hit.record.model_dump(mode="json", exclude=set(INTERNAL)),
        fts_rank=hit.lexical_rank,
        vector_rank=hit.vector_rank,
        rrf_score=hit.score,
    )
