"""Agents (Letta V1 API, API 2.2 and 3). Their blocks, tools and messages have routers of their own."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Response

from hibernaut.rest.access.client_rights import check_changed
from hibernaut.rest.dependencies import TheCaller, ThePrincipal, TheServices
from hibernaut.rest.http.json_responses import plain, replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.record_queries import AgentCountQuery, AgentListQuery, AgentRelationsQuery
from hibernaut.schemas.agents.agent import (
    AgentState,
    ContextWindowOverview,
    CreateAgentRequest,
    Memory,
    ResetMessages,
    UpdateAgent,
)
from hibernaut.schemas.ids import AgentId

router = APIRouter(prefix="/v1/agents", tags=["agents"], route_class=LazyRoute)


@router.post("", response_model=AgentState)
def create_agent(
    services: TheServices, caller: TheCaller, request: CreateAgentRequest, x_project_id: Annotated[str | None, Header()] = None
) -> Response:
    """Create an agent."""
    if request.project_id is None:
        request.project_id = x_project_id
    agent = services.agents.creation.create(request, user=caller.user_id, key_id=caller.key_id)
    return reply(services.agents.states.of_one(agent))


@router.get("", response_model=list[AgentState])
def list_agents(services: TheServices, caller: TheCaller, query: AgentListQuery) -> Response:
    """A page of agents. Hidden agents are omitted unless `show_hidden_agents` is set. `agent_ids`: these agents alone, as far as
    they exist.
    """
    relations, order_by = query.relations(caller), query.sort_by or query.order_by
    if query.agent_ids is not None:
        return replies(services.agents.some(query.agent_ids, relations))
    return replies(services.agents.list(query.filter(), query.page(), order_by, relations))


@router.get("/count", response_model=int)
def count_agents(services: TheServices, query: AgentCountQuery) -> Response:
    """The number of agents. Hidden agents are omitted unless `show_hidden_agents` is set."""
    return plain(services.agents.count(query.filter()))


@router.get("/{agent_id}", response_model=AgentState)
def retrieve_agent(services: TheServices, caller: TheCaller, agent_id: AgentId, query: AgentRelationsQuery) -> Response:
    """One agent."""
    return reply(services.agents.retrieve(agent_id, query.relations(caller)))


@router.patch("/{agent_id}", response_model=AgentState)
def update_agent(
    services: TheServices, caller: TheCaller, principal: ThePrincipal, agent_id: AgentId, request: UpdateAgent
) -> Response:
    """Change the fields that the request sets. A null changes nothing."""
    check_changed(principal, request)
    agent = services.agents.updates.update(agent_id, request, user=caller.user_id, key_id=caller.key_id)
    return reply(services.agents.states.of_one(agent))


@router.delete("/{agent_id}")
def delete_agent(services: TheServices, caller: TheCaller, agent_id: AgentId) -> Response:
    """Delete the agent and its messages. Its blocks remain."""
    services.agents.delete(agent_id, key_id=caller.key_id)
    return plain({"message": f"Agent id={agent_id} successfully deleted"})


@router.patch("/{agent_id}/reset-messages", response_model=AgentState)
def reset_messages(services: TheServices, agent_id: AgentId, request: ResetMessages | None = None) -> Response:
    """Empty the context window and begin it with a newly compiled system message. The log keeps all messages."""
    opening = request is not None and request.add_default_initial_messages
    agent = services.agents.windows.reset(agent_id, opening=opening)
    return reply(services.agents.states.of_one(agent))


@router.post("/{agent_id}/recompile", response_model=str)
@router.post("/{agent_id}/system-prompt/recompile", response_model=str, deprecated=True)
def recompile(services: TheServices, agent_id: AgentId, update_timestamp: bool = False, dry_run: bool = False) -> Response:
    """Compile the system message from the current memory, and store it unless `dry_run` is set."""
    return plain(services.agents.windows.recompile(agent_id, update_time=update_timestamp, dry_run=dry_run))


@router.get("/{agent_id}/context", response_model=ContextWindowOverview, deprecated=True)
def retrieve_context(services: TheServices, agent_id: AgentId) -> Response:
    """The contents of the agent's context window, with their sizes in tokens."""
    return reply(services.agents.windows.overview(agent_id))


@router.get("/{agent_id}/core-memory", response_model=Memory, deprecated=True)
def retrieve_core_memory(services: TheServices, agent_id: AgentId) -> Response:
    """The agent's core memory."""
    return reply(services.agents.retrieve(agent_id).memory)
