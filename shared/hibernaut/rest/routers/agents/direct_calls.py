"""Previews of model requests, and model calls without a run (Letta V1 API, API 3)."""

from __future__ import annotations

from fastapi import APIRouter, Response

from hibernaut.rest.dependencies import TheCaller, TheServices
from hibernaut.rest.http.json_responses import plain, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.ids import AgentId, AnyConversationId
from hibernaut.schemas.models.generation import GenerateRequest, GenerateResponse
from hibernaut.schemas.runs.send import ConversationMessageRequest, LettaStreamingRequest

router = APIRouter(prefix="/v1", tags=["messages"], route_class=LazyRoute)


@router.post("/agents/{agent_id}/generate", response_model=GenerateResponse)
def generate(services: TheServices, caller: TheCaller, agent_id: AgentId, request: GenerateRequest) -> Response:
    """Ask the agent's model one question, without the agent's memory and tools. Nothing is stored."""
    return reply(services.direct_calls.generate(agent_id, request, key_id=caller.key_id))


@router.post("/agents/{agent_id}/messages/preview-raw-payload", response_model=JsonObject)
def preview_message(services: TheServices, agent_id: AgentId, body: LettaStreamingRequest) -> Response:
    """The request body that the server would send to the model's provider for these messages. Nothing is sent or stored."""
    return plain(services.direct_calls.preview(agent_id, None, body))


@router.post("/conversations/{conversation_id}/messages/preview-raw-payload", response_model=JsonObject)
def preview_conversation_message(
    services: TheServices, conversation_id: AnyConversationId, body: ConversationMessageRequest
) -> Response:
    """The request body that the server would send for these messages of a conversation. Nothing is sent or stored."""
    target = services.conversations.target(conversation_id, body.agent_id)
    conversation = target.record.id if target.record else None
    return plain(services.direct_calls.preview(target.agent_id, conversation, body))
