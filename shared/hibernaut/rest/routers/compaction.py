"""Compacting an agent's conversation by request (Letta V1 API, digest 2.3). Conversations of their own have a route of their own."""

from __future__ import annotations

from fastapi import APIRouter, Response

from hibernaut.rest.dependencies import TheServices
from hibernaut.rest.json_responses import reply
from hibernaut.rest.lazy_routes import LateRoute
from hibernaut.schemas.compaction import CompactionRequest, CompactionResponse
from hibernaut.schemas.ids import AgentId

router = APIRouter(prefix="/v1/agents", tags=["agents"], route_class=LateRoute)


@router.post("/{agent_id}/summarize", response_model=CompactionResponse)
def summarize(services: TheServices, agent_id: AgentId, request: CompactionRequest | None = None) -> Response:
    """Put a summary in the place of the oldest messages in context."""
    settings = request.compaction_settings if request else None
    return reply(services.compactions.on_request(agent_id, settings))
