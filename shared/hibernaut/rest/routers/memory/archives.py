"""Archives, and their attachment to agents (Letta V1 API, API 2.7, 2.11 and 3)."""

from __future__ import annotations

from fastapi import APIRouter, Response

from hibernaut.rest.dependencies import TheCaller, TheServices
from hibernaut.rest.http.json_responses import nothing, plain, replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.record_queries import ArchiveListQuery, BlockAgentListQuery
from hibernaut.schemas.agents.agent import AgentState
from hibernaut.schemas.ids import AgentId, ArchiveId
from hibernaut.schemas.memory.passage import Archive, CreateArchive, UpdateArchive

router = APIRouter(prefix="/v1", tags=["archives"], route_class=LazyRoute)


@router.post("/archives", response_model=Archive)
def create_archive(services: TheServices, caller: TheCaller, request: CreateArchive) -> Response:
    """Create an archive. The embedding model of its passages cannot be changed later."""
    return reply(services.archives.create(request, user=caller.user_id))


@router.get("/archives", response_model=list[Archive])
def list_archives(services: TheServices, query: ArchiveListQuery) -> Response:
    """A page of archives."""
    found = services.archives.list(query.page(), name=query.name, agent_id=query.agent_id)
    return replies(found)


@router.get("/archives/{archive_id}", response_model=Archive)
def retrieve_archive(services: TheServices, archive_id: ArchiveId) -> Response:
    """One archive."""
    return reply(services.archives.retrieve(archive_id))


@router.patch("/archives/{archive_id}", response_model=Archive)
def update_archive(services: TheServices, caller: TheCaller, archive_id: ArchiveId, request: UpdateArchive) -> Response:
    """Change the name and the description. A null changes nothing."""
    return reply(services.archives.update(archive_id, request, user=caller.user_id))


@router.delete("/archives/{archive_id}", status_code=204)
def delete_archive(services: TheServices, archive_id: ArchiveId) -> Response:
    """Delete an archive with its passages. It is detached from all agents."""
    services.archives.delete(archive_id)
    return nothing()


@router.get("/archives/{archive_id}/agents", response_model=list[AgentState])
def list_archive_agents(services: TheServices, caller: TheCaller, archive_id: ArchiveId, query: BlockAgentListQuery) -> Response:
    """A page of the agents that the archive is attached to."""
    return replies(services.archives.agents(archive_id, query.page(), query.relations(caller)))


@router.patch("/agents/{agent_id}/archives/attach/{archive_id}")
def attach_archive(services: TheServices, agent_id: AgentId, archive_id: str) -> Response:
    """Attach an archive to an agent. A search of the agent covers all its archives."""
    services.archives.attach(agent_id, archive_id)
    return plain(None)


@router.patch("/agents/{agent_id}/archives/detach/{archive_id}")
def detach_archive(services: TheServices, agent_id: AgentId, archive_id: str) -> Response:
    """Detach an archive from an agent. The archive itself remains."""
    services.archives.detach(agent_id, archive_id)
    return plain(None)
