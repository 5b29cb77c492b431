"""Compaction of an agent's own conversation by request (Letta V1 API, API 2.3), and its plan (an extension). `conversations`
has the route for the others.
"""

from __future__ import annotations

from fastapi import APIRouter, Response

from hibernaut.rest.dependencies import TheCaller, TheServices
from hibernaut.rest.http.json_responses import reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.schemas.ids import AgentId
from hibernaut.schemas.models.compaction import CompactionPlan, CompactionRequest, CompactionResponse

router = APIRouter(prefix="/v1/agents", tags=["agents"], route_class=LazyRoute)


@router.get("/{agent_id}/context/compaction", response_model=CompactionPlan)
def plan_compaction(services: TheServices, agent_id: AgentId) -> Response:
    """The messages that a compaction would drop now, and those that would stay. Calls no model and changes nothing."""
    return reply(services.compactions.planned(agent_id))


@router.post("/{agent_id}/summarize", response_model=CompactionResponse)
def summarize(services: TheServices, caller: TheCaller, agent_id: AgentId, request: CompactionRequest | None = None) -> Response:
    """Replace the oldest messages in context by a summary."""
    settings = request.compaction_settings if request else None
    return reply(services.compactions.on_request(agent_id, settings, key_id=caller.key_id))
