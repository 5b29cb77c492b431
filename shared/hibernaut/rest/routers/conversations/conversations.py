"""Conversations and their messages (Letta V1 API, API 2.16).

A path parameter of type `AnyConversationId` may also name an agent's own conversation: `default` with an `agent_id`, or the
agent's id. A message to a busy conversation is refused unless the request sets `when_busy` (API 7).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Body, Query, Response

from hibernaut.rest import run_responses
from hibernaut.rest.access.client_rights import check_begun
from hibernaut.rest.dependencies import TheCaller, ThePrincipal, TheServices, TheThreadPools
from hibernaut.rest.http.json_responses import plain, replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.conversation_queries import ConversationListQuery, ConversationMessageListQuery, ForkOptions
from hibernaut.rest.routers.conversations.messages import NOT_STREAMING, ThePrepare
from hibernaut.schemas.agents.conversation_record import Conversation, CreateConversation, DirectRequest, UpdateConversation
from hibernaut.schemas.errors import ApprovalPending, Conflict, Unprocessable
from hibernaut.schemas.ids import AgentId, AnyConversationId, ConversationId
from hibernaut.schemas.messages.letta_message import LettaMessage, LettaResponse
from hibernaut.schemas.models.compaction import CompactionResponse
from hibernaut.schemas.runs.send import ConversationMessageRequest, RetrieveStreamRequest

router = APIRouter(prefix="/v1/conversations", tags=["conversations"], route_class=LazyRoute)
OptionalCreate = Annotated[CreateConversation, Body(default_factory=CreateConversation)]
OptionalDirect = Annotated[DirectRequest, Body(default_factory=DirectRequest)]
OptionalStream = Annotated[RetrieveStreamRequest, Body(default_factory=RetrieveStreamRequest)]


@router.post("", response_model=Conversation)
def create_conversation(
    services: TheServices,
    caller: TheCaller,
    principal: ThePrincipal,
    agent_id: Annotated[AgentId, Query()],
    body: OptionalCreate,
) -> Response:
    """Create a conversation with an agent."""
    check_begun(principal, body)
    conversations = services.conversations
    conversation = conversations.openings.create(agent_id, body, user=caller.user_id)
    return reply(conversations.shown(conversation))


@router.get("", response_model=list[Conversation])
def list_conversations(services: TheServices, query: ConversationListQuery) -> Response:
    """A page of conversations, of one agent or of all agents. The cursor follows the requested order."""
    return replies(services.conversations.list(query.query()))


@router.get("/{conversation_id}", response_model=Conversation)
def retrieve_conversation(services: TheServices, conversation_id: ConversationId) -> Response:
    """One conversation."""
    return reply(services.conversations.retrieve(conversation_id))


@router.patch("/{conversation_id}", response_model=Conversation)
def update_conversation(
    services: TheServices, caller: TheCaller, conversation_id: ConversationId, body: UpdateConversation
) -> Response:
    """Change the fields that the request sets. A null clears a field."""
    return reply(services.conversations.update(conversation_id, body, user=caller.user_id))


@router.delete("/{conversation_id}")
def delete_conversation(services: TheServices, conversation_id: ConversationId) -> Response:
    """Cancel the conversation's run and delete the conversation. Forks keep the messages that they share with it."""
    services.conversations.delete(conversation_id)
    return plain(None)


@router.post("/{conversation_id}/cancel")
def cancel_conversation(services: TheServices, conversation_id: AnyConversationId, agent_id: AgentId | None = None) -> Response:
    """Cancel the conversation's runs. The messages that they have written remain."""
    target = services.conversations.target(conversation_id, agent_id)
    return plain(services.cancelling.conversation(target.agent_id, target.head_id))


@router.post("/{conversation_id}/fork", response_model=Conversation)
def fork_conversation(
    services: TheServices, caller: TheCaller, conversation_id: AnyConversationId, options: ForkOptions
) -> Response:
    """Create a conversation that begins with the messages in this one's context."""
    conversations = services.conversations
    target = conversations.target(conversation_id, options.agent_id)
    conversation = conversations.openings.fork(
        target.head_id,
        parent=target.record,
        message_id=options.message_id,
        hidden=options.hidden,
        user=caller.user_id,
    )
    return reply(conversations.shown(conversation))


@router.post("/{conversation_id}/recompile", response_model=str)
def recompile_conversation(
    services: TheServices, conversation_id: AnyConversationId, body: OptionalDirect, dry_run: bool = False
) -> Response:
    """Compile the system message from the current memory, and store it unless `dry_run` is set."""
    target = services.conversations.target(conversation_id, body.agent_id)
    return plain(services.conversations.recompile(target, dry_run=dry_run))


@router.post("/{conversation_id}/compact", response_model=CompactionResponse)
def compact_conversation(
    services: TheServices, caller: TheCaller, conversation_id: AnyConversationId, body: OptionalDirect
) -> Response:
    """Replace the oldest messages in context by a summary."""
    target = services.conversations.target(conversation_id, body.agent_id)
    return reply(services.compactions.on_request(target.head_id, body.compaction_settings, key_id=caller.key_id))


@router.get("/{conversation_id}/messages", response_model=list[LettaMessage])
def list_conversation_messages(
    services: TheServices, conversation_id: AnyConversationId, query: ConversationMessageListQuery
) -> Response:
    """A page of the conversation's messages in the requested order. Cursors are chronological; an unknown one is ignored."""
    target = services.conversations.target(conversation_id, query.agent_id)
    return replies(services.messages.conversation_page(target.agent_id, target.head_id, query.query()))


@router.post("/{conversation_id}/messages", response_model=LettaResponse)
async def send_conversation_message(
    services: TheServices,
    pools: TheThreadPools,
    conversation_id: AnyConversationId,
    body: ConversationMessageRequest,
    prepared: ThePrepare,
) -> Response:
    """Send messages. The reply is a stream of server-sent events, or whole if `streaming` is false."""
    find = partial(services.conversations.target, conversation_id, body.agent_id)
    target = await pools.look(find)
    request = replace(
        prepared(target.agent_id, body, "send_conversation_message"),
        conversation_id=target.record.id if target.record else None,
        background=body.background,
        when_busy="reject",
    )
    if body.streaming:
        return await run_responses.streamed(services, pools, request, pings=body.include_pings)
    if body.stream_tokens or body.background or not body.include_pings:
        raise Unprocessable(NOT_STREAMING)
    try:
        return await run_responses.whole(services, pools, request)
    except ApprovalPending as waiting:
        raise Conflict(waiting.detail) from waiting  # `detail` is a text here, unlike on the agents' routes (API 5.4)


@router.post("/{conversation_id}/stream")
async def resume_conversation_stream(
    services: TheServices, pools: TheThreadPools, conversation_id: AnyConversationId, body: OptionalStream
) -> Response:
    """Resume a stream after the last event that the client has received. The run is the one in the request, the run of the
    message in the request, or the conversation's current run.
    """
    find = partial(services.conversations.target, conversation_id, body.agent_id)
    conversation = (await pools.look(find)).head_id
    run_id = await run_responses.run_for(services, pools, conversation, body)
    return await run_responses.resumed(services, pools, run_id, body)
