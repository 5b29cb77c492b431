"""Pausing agents. All of it is ours: V1 has no pauses."""

from __future__ import annotations

from fastapi import APIRouter, Response

from hibernaut.rest.dependencies import TheCaller, TheServices
from hibernaut.rest.http.json_responses import reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.schemas.agents.pause import AgentPause, PauseAgent
from hibernaut.schemas.ids import AgentId

router = APIRouter(prefix="/v1/agents/{agent_id}", tags=["agents"], route_class=LazyRoute)


@router.get("/pause", response_model=AgentPause)
def retrieve_pause(services: TheServices, agent_id: AgentId) -> Response:
    """Whether the agent is paused."""
    return reply(services.agent_pauses.get(agent_id))


@router.post("/pause", response_model=AgentPause)
def pause_agent(services: TheServices, caller: TheCaller, agent_id: AgentId, request: PauseAgent | None = None) -> Response:
    """Pause the agent: it accepts no messages, and its schedules stand still. What was accepted before goes on."""
    return reply(services.agent_pauses.pause(agent_id, request or PauseAgent(), key_id=caller.key_id))


@router.post("/resume", response_model=AgentPause)
def resume_agent(services: TheServices, agent_id: AgentId) -> Response:
    """End the pause."""
    return reply(services.agent_pauses.resume(agent_id))
