"""Searches of passages and messages (Letta V1 API, API 2.8 and 2.15).

The header `x-hibernaut-search` says why a search was limited: `asleep`, `incomplete` or `words-only`.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from hibernaut.rest.dependencies import TheServices
from hibernaut.rest.http.json_responses import replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.schemas.ids import AgentId
from hibernaut.schemas.memory.searches import (
    AgentMessageHit,
    AgentMessageSearch,
    ArchivalHits,
    ArchivalSearch,
    MessageHit,
    MessageSearch,
    PassageHit,
    PassageSearch,
)

router = APIRouter(prefix="/v1", tags=["searches"], route_class=LazyRoute)

HEADER = "x-hibernaut-search"
ArchivalSearchQuery = Annotated[ArchivalSearch, Query()]


@router.get("/agents/{agent_id}/archival-memory/search", response_model=ArchivalHits)
def search_agent_passages(services: TheServices, agent_id: AgentId, query: ArchivalSearchQuery) -> Response:
    """The passages of an agent's archival memory that match a query, best first."""
    found = services.searches.of_agent(agent_id, query)
    return _marked(reply(found), found.search)


@router.post("/passages/search", response_model=list[PassageHit])
def search_passages(services: TheServices, request: PassageSearch) -> Response:
    """Search the passages of an agent, of an archive, or of all archives. Without a query: the newest passages."""
    hits, standing = services.searches.passages(request)
    return _marked(replies(hits), standing)


@router.post("/messages/search", response_model=list[MessageHit])
def search_messages(services: TheServices, request: MessageSearch) -> Response:
    """Search the messages of all conversations, or of one."""
    hits, standing = services.searches.messages(request)
    return _marked(replies(hits), standing)


@router.post("/agents/messages/search", response_model=list[AgentMessageHit])
def search_agents_messages(services: TheServices, request: AgentMessageSearch) -> Response:
    """Search messages; the hits contain the stored rows of the log."""
    hits, standing = services.searches.agents_messages(request)
    return _marked(replies(hits), standing)


def _marked(response: Response, standing: str | None) -> Response:
    if standing is not None:
        response.headers[HEADER] = standing
    return response
