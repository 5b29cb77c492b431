"""Passages of archives, and the archival memory of agents (Letta V1 API, API 2.8 and 2.11)."""

from __future__ import annotations

from fastapi import APIRouter, Response

from hibernaut.rest.dependencies import TheCaller, TheServices
from hibernaut.rest.http.json_responses import filtered, nothing, plain, replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.record_queries import AgentPassageListQuery
from hibernaut.schemas.ids import AgentId, ArchiveId, PassageId
from hibernaut.schemas.memory.passage import CreatePassage, CreatePassages, Passage

router = APIRouter(prefix="/v1", tags=["passages"], route_class=LazyRoute)


@router.post("/archives/{archive_id}/passages", response_model=Passage)
def create_passage(services: TheServices, caller: TheCaller, archive_id: ArchiveId, request: CreatePassage) -> Response:
    """Create a passage in an archive."""
    (passage,) = services.passages.create(archive_id, [request], user=caller.user_id, key_id=caller.key_id)
    return reply(passage)


@router.post("/archives/{archive_id}/passages/batch", response_model=list[Passage])
def create_passages(services: TheServices, caller: TheCaller, archive_id: ArchiveId, request: CreatePassages) -> Response:
    """Create passages in an archive: up to 90 in one transaction, more in pages of that size."""
    return replies(services.passages.create(archive_id, request.passages, user=caller.user_id, key_id=caller.key_id))


@router.delete("/archives/{archive_id}/passages/{passage_id}", status_code=204)
def delete_passage(services: TheServices, caller: TheCaller, archive_id: ArchiveId, passage_id: PassageId) -> Response:
    """Delete a passage of an archive."""
    services.passages.delete(archive_id, passage_id, key_id=caller.key_id)
    return nothing()


@router.post("/agents/{agent_id}/archival-memory", response_model=list[Passage])
def create_agent_passage(services: TheServices, caller: TheCaller, agent_id: AgentId, request: CreatePassage) -> Response:
    """Create a passage in an agent's archival memory. The reply is a list of one passage."""
    return replies(services.passages.create_for(agent_id, request, user=caller.user_id, key_id=caller.key_id))


@router.get("/agents/{agent_id}/archival-memory", response_model=list[Passage])
def list_agent_passages(services: TheServices, agent_id: AgentId, query: AgentPassageListQuery) -> Response:
    """A page of an agent's archival memory, ordered by time. Cursors are chronological."""
    return filtered(services.passages.list(agent_id, query.query()))


@router.delete("/agents/{agent_id}/archival-memory/{memory_id}")
def delete_agent_passage(services: TheServices, caller: TheCaller, agent_id: AgentId, memory_id: PassageId) -> Response:
    """Delete a passage of an agent's archival memory."""
    services.passages.delete_of(agent_id, memory_id, key_id=caller.key_id)
    return plain({"message": f"Memory id={memory_id} successfully deleted"})
