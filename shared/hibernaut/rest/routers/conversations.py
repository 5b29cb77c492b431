"""Conversations and their messages (Letta V1 API, digest 2.16).

Where a path takes `AnyConversationId`, it also means an agent's own conversation: `default` with the agent's id, or that id in its place.
A message to a conversation that is busy is refused unless the request wants it otherwise (digest 7).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Body, Query, Response

from hibernaut.rest import run_responses
from hibernaut.rest.conversation_queries import ConversationListQuery, ConversationMessageListQuery, ForkOptions
from hibernaut.rest.dependencies import TheCaller, TheLanes, TheServices
from hibernaut.rest.json_responses import plain, replies, reply
from hibernaut.rest.lazy_routes import LateRoute
from hibernaut.rest.routers.messages import NOT_STREAMING, ThePrepare
from hibernaut.schemas.compaction import CompactionResponse
from hibernaut.schemas.conversation_record import Conversation, CreateConversation, DirectRequest, UpdateConversation
from hibernaut.schemas.errors import ApprovalPending, Conflict, Unprocessable
from hibernaut.schemas.ids import AgentId, AnyConversationId, ConversationId
from hibernaut.schemas.letta_message import LettaMessage, LettaResponse
from hibernaut.schemas.send import ConversationMessageRequest, RetrieveStreamRequest

router = APIRouter(prefix="/v1/conversations", tags=["conversations"], route_class=LateRoute)
OptionalCreate = Annotated[CreateConversation, Body(default_factory=CreateConversation)]
OptionalDirect = Annotated[DirectRequest, Body(default_factory=DirectRequest)]
OptionalStream = Annotated[RetrieveStreamRequest, Body(default_factory=RetrieveStreamRequest)]


@router.post("", response_model=Conversation)
def create_conversation(
    services: TheServices, caller: TheCaller, agent_id: Annotated[AgentId, Query()], body: OptionalCreate
) -> Response:
    """Begin a conversation with an agent."""
    conversations = services.conversations
    made = conversations.openings.create(agent_id, body, user=caller.user_id)
    return reply(conversations.shown(made))


@router.get("", response_model=list[Conversation])
def list_conversations(services: TheServices, query: ConversationListQuery) -> Response:
    """A page of conversations, of one agent or of all; the cursor follows the order asked for."""
    return replies(services.conversations.list(query.query()))


@router.get("/{conversation_id}", response_model=Conversation)
def retrieve_conversation(services: TheServices, conversation_id: ConversationId) -> Response:
    """One conversation."""
    return reply(services.conversations.retrieve(conversation_id))


@router.patch("/{conversation_id}", response_model=Conversation)
def update_conversation(
    services: TheServices, caller: TheCaller, conversation_id: ConversationId, body: UpdateConversation
) -> Response:
    """Change what the request names; null clears it."""
    return reply(services.conversations.update(conversation_id, body, user=caller.user_id))


@router.delete("/{conversation_id}")
def delete_conversation(services: TheServices, conversation_id: ConversationId) -> Response:
    """End its run and delete it; forks of it keep what they share."""
    services.conversations.delete(conversation_id)
    return plain(None)


@router.post("/{conversation_id}/cancel")
def cancel_conversation(services: TheServices, conversation_id: AnyConversationId, agent_id: AgentId | None = None) -> Response:
    """End what is under way in the conversation: what it has written stays."""
    target = services.conversations.target(conversation_id, agent_id)
    return plain(services.cancelling.conversation(target.agent_id, target.head_id))


@router.post("/{conversation_id}/fork", response_model=Conversation)
def fork_conversation(
    services: TheServices, caller: TheCaller, conversation_id: AnyConversationId, options: ForkOptions
) -> Response:
    """A new conversation that begins with what is in this one's context."""
    conversations = services.conversations
    target = conversations.target(conversation_id, options.agent_id)
    made = conversations.openings.fork(
        target.head_id,
        parent=target.record,
        message_id=options.message_id,
        hidden=options.hidden,
        user=caller.user_id,
    )
    return reply(conversations.shown(made))


@router.post("/{conversation_id}/recompile", response_model=str)
def recompile_conversation(
    services: TheServices, conversation_id: AnyConversationId, body: OptionalDirect, dry_run: bool = False
) -> Response:
    """The system message as memory is now; stored unless it is a dry run."""
    target = services.conversations.target(conversation_id, body.agent_id)
    return plain(services.conversations.recompile(target, dry_run=dry_run))


@router.post("/{conversation_id}/compact", response_model=CompactionResponse)
def compact_conversation(services: TheServices, conversation_id: AnyConversationId, body: OptionalDirect) -> Response:
    """Put a summary in the place of the oldest messages in context."""
    target = services.conversations.target(conversation_id, body.agent_id)
    return reply(services.compactions.on_request(target.head_id, body.compaction_settings))


@router.get("/{conversation_id}/messages", response_model=list[LettaMessage])
def list_conversation_messages(
    services: TheServices, conversation_id: AnyConversationId, query: ConversationMessageListQuery
) -> Response:
    """A page of its messages in the order asked for; cursors are chronological, and an unknown one counts as none."""
    target = services.conversations.target(conversation_id, query.agent_id)
    return replies(services.messages.conversation_page(target.agent_id, target.head_id, query.query()))


@router.post("/{conversation_id}/messages", response_model=LettaResponse)
async def send_conversation_message(
    services: TheServices,
    lanes: TheLanes,
    conversation_id: AnyConversationId,
    body: ConversationMessageRequest,
    prepared: ThePrepare,
) -> Response:
    """Send messages; the answer comes as server-sent events, or whole if `streaming` is false."""
    find = partial(services.conversations.target, conversation_id, body.agent_id)
    target = await lanes.look(find)
    asked = replace(
        prepared(target.agent_id, body, "send_conversation_message"),
        conversation_id=target.record.id if target.record else None,
        background=body.background,
        when_busy="reject",
    )
    if body.streaming:
        return await run_responses.streamed(services, lanes, asked, pings=body.include_pings)
    if body.stream_tokens or body.background or not body.include_pings:
        raise Unprocessable(NOT_STREAMING)
    try:
        return await run_responses.whole(services, lanes, asked)
    except ApprovalPending as waiting:
        raise Conflict(waiting.detail) from waiting  # a text alone, unlike on the agents' routes (digest 5.4)


@router.post("/{conversation_id}/stream")
async def resume_conversation_stream(
    services: TheServices, lanes: TheLanes, conversation_id: AnyConversationId, body: OptionalStream
) -> Response:
    """What came after the event that the caller has seen last, and what still comes: of the run named, of the message's, or under way."""
    find = partial(services.conversations.target, conversation_id, body.agent_id)
    conversation = (await lanes.look(find)).head_id
    run_id = await run_responses.run_for(services, lanes, conversation, body)
    return await run_responses.resumed(services, lanes, run_id, body)
