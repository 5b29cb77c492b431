"""Messages of groups: send, list, reset (the routes of Letta V1 before it retired them; RT 9.4), and cancel.

The routes that send are asynchronous: their requests wait for the run on the event loop.
"""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, HTTPException, Response

from hibernaut.rest import run_responses
from hibernaut.rest.dependencies import TheCaller, TheServices, TheThreadPools
from hibernaut.rest.http.json_responses import plain, replies, reply
from hibernaut.rest.http.lanes import ADMISSIONS
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.queries import AgentMessageListQuery
from hibernaut.rest.routers.conversations.messages import (
    NOT_STREAMING,
    STABLE_CLIENTS_ONLY,
    OptionalCancel,
    ThePrepare,
    accepted_run,
)
from hibernaut.schemas.errors import Unprocessable
from hibernaut.schemas.ids import GroupId, MessageId
from hibernaut.schemas.messages.letta_message import LettaMessage, LettaResponse
from hibernaut.schemas.runs.run import Run
from hibernaut.schemas.runs.send import LettaAsyncRequest, LettaStreamingRequest

router = APIRouter(prefix="/v1/groups/{group_id}", tags=["groups"], route_class=LazyRoute)


@router.post("/messages", response_model=LettaResponse)
async def send_group_message(
    services: TheServices,
    pools: TheThreadPools,
    caller: TheCaller,
    group_id: GroupId,
    body: LettaStreamingRequest,
    prepared: ThePrepare,
) -> Response:
    """Send messages to a group and wait for what its agents say. With `streaming` the reply is a stream of server-sent events."""
    if body.streaming and not caller.is_1_0_client:
        raise Unprocessable(STABLE_CLIENTS_ONLY)
    if not body.streaming and (body.stream_tokens or body.background or not body.include_pings):
        raise Unprocessable(NOT_STREAMING)
    group_request = prepared(group_id, body, "send_message_streaming" if body.streaming else "send_message")
    request = await pools.run(ADMISSIONS, partial(services.group_messages.addressed, group_request))
    if body.streaming:
        return await run_responses.streamed(services, pools, request, pings=body.include_pings)
    return await run_responses.whole(services, pools, request)


@router.post("/messages/stream")
async def stream_group_message(
    services: TheServices,
    pools: TheThreadPools,
    group_id: GroupId,
    body: LettaStreamingRequest,
    prepared: ThePrepare,
) -> Response:
    """Send messages to a group. The reply is a stream of server-sent events, one for each text of an agent."""
    group_request = prepared(group_id, body, "send_message_streaming")
    request = await pools.run(ADMISSIONS, partial(services.group_messages.addressed, group_request))
    return await run_responses.streamed(services, pools, request, pings=body.include_pings)


@router.post("/messages/async", response_model=Run)
async def send_group_message_async(
    services: TheServices,
    pools: TheThreadPools,
    group_id: GroupId,
    body: LettaAsyncRequest,
    prepared: ThePrepare,
) -> Response:
    """Send messages to a group without waiting. The reply is the accepted run."""
    group_request = prepared(group_id, body, "send_message_async")
    request = await pools.run(ADMISSIONS, partial(services.group_messages.addressed, group_request))
    return reply(await accepted_run(services, pools, request))


@router.post("/messages/cancel")
def cancel_group_message(services: TheServices, group_id: GroupId, body: OptionalCancel) -> Response:
    """Cancel runs of a group. The agent that is working ends its turn."""
    return plain(services.cancelling.agent(services.group_messages.owner(group_id), body.run_ids))


@router.get("/messages", response_model=list[LettaMessage])
def list_group_messages(services: TheServices, group_id: GroupId, query: AgentMessageListQuery) -> Response:
    """A page of the log of a group, oldest message first: the messages to it and the replies of its agents, with their names."""
    return replies(services.group_messages.page(group_id, query.query()))


@router.patch("/messages/{message_id}", deprecated=True)
async def update_group_message(group_id: GroupId, message_id: MessageId) -> Response:  # noqa: ARG001 - the path names them
    """Always answers 405: messages are never changed."""
    raise HTTPException(405, "Messages cannot be changed: the log of a group is append-only.")


@router.patch("/reset-messages")
def reset_group_messages(services: TheServices, group_id: GroupId) -> Response:
    """Discard the messages that the group has not passed on to its agents yet. The log keeps all messages."""
    services.group_messages.reset(group_id)
    return plain(None)
