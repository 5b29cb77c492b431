"""Repair of a conversation that is inconsistent after an import or a manual change of the table. The V1 server has no such
route.
"""

from __future__ import annotations

from fastapi import APIRouter, Response

from hibernaut.rest.dependencies import TheServices
from hibernaut.rest.http.json_responses import reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.ids import AgentId
from hibernaut.schemas.runs.repair import Repair
from hibernaut.services.logs.messages import DEFAULT_CONVERSATION

router = APIRouter(prefix="/v1", tags=["messages"], route_class=LazyRoute)


@router.post("/agents/{agent_id}/messages/repair", response_model=Repair)
def repair_messages(services: TheServices, agent_id: AgentId, conversation_id: str | None = None) -> Response:
    """Find and correct calls without a return, owners that are not running, approvals without a record, and a wrong count of the
    queue. The reply reports the corrections.
    """
    services.agents.retrieve(agent_id, frozenset())
    conversation = agent_id if conversation_id in (None, DEFAULT_CONVERSATION) else conversation_id or agent_id
    if services.repairs.agent_of(conversation) != agent_id:
        raise NotFound(f"Conversation not found with id='['{conversation_id}']' for agent '{agent_id}'.")
    return reply(services.repairs.repair(conversation))
