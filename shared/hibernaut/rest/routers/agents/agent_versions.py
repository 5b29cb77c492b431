"""Versions of agents' settings, agents as they were, and forks. All of it is ours."""

from __future__ import annotations

from fastapi import APIRouter, Response

from hibernaut.rest.dependencies import TheCaller, TheServices
from hibernaut.rest.http.json_responses import replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.version_queries import PastQuery, VersionDiffQuery, VersionListQuery, VersionNumber
from hibernaut.schemas.agents.agent import AgentState
from hibernaut.schemas.agents.agent_version import AgentVersion, ForkAgent, PastAgent
from hibernaut.schemas.ids import AgentId
from hibernaut.schemas.memory.version import VersionDiff

router = APIRouter(prefix="/v1/agents/{agent_id}", tags=["versions"], route_class=LazyRoute)


@router.get("/versions", response_model=list[AgentVersion])
def list_agent_versions(services: TheServices, agent_id: AgentId, query: VersionListQuery) -> Response:
    """A page of the versions of an agent's settings, newest first. With `at`: the version in force at that time, with the
    settings.
    """
    if query.at is not None:
        return replies([services.agent_history.version_at(agent_id, query.at)])
    page = query.page()
    found = services.agent_history.page(
        agent_id, after=page.after, before=page.before, limit=page.limit, descending=page.descending
    )
    return replies(found)


@router.get("/versions/{version}", response_model=AgentVersion)
def retrieve_agent_version(services: TheServices, agent_id: AgentId, version: VersionNumber) -> Response:
    """The agent's settings after a version, without secrets."""
    return reply(services.agent_history.version(agent_id, version))


@router.get("/versions/{version}/diff", response_model=VersionDiff)
def diff_agent_versions(services: TheServices, agent_id: AgentId, version: VersionNumber, query: VersionDiffQuery) -> Response:
    """What differs from this version to the version `to`; without `to`, what this version changed."""
    return reply(services.agent_history.diff(agent_id, version, query.to))


@router.get("/past", response_model=PastAgent)
def retrieve_past_agent(services: TheServices, agent_id: AgentId, query: PastQuery) -> Response:
    """The agent as it was when a message was written, or at a time: settings, blocks with their values, tools."""
    return reply(services.agent_history.past(agent_id, at=query.at, message_id=query.message_id))


@router.post("/fork", response_model=AgentState)
def fork_agent(services: TheServices, caller: TheCaller, agent_id: AgentId, request: ForkAgent) -> Response:
    """Create an agent with the settings and the memory that this one had at a message, and with its messages up to there."""
    agent = services.agent_forks.fork(agent_id, request, user=caller.user_id, key_id=caller.key_id)
    return reply(services.agents.states.of_one(agent))
