"""Messages of agents: send, list, retrieve, cancel (Letta V1 API, API 2.3, 2.15 and 5.1).

The routes that send are asynchronous: their requests wait for the run on the event loop.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Body, Depends, HTTPException, Response
from fastapi import Request as HttpRequest

from hibernaut.ports.tracing import context_in
from hibernaut.rest import run_responses
from hibernaut.rest.dependencies import Services, TheCaller, TheServices, TheThreadPools, principal_of
from hibernaut.rest.http import async_bridge
from hibernaut.rest.http.async_bridge import ThreadPools
from hibernaut.rest.http.json_responses import plain, replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.queries import AgentMessageListQuery, MessageListQuery
from hibernaut.rest.send_requests import send_request
from hibernaut.schemas.base import Schema
from hibernaut.schemas.errors import Unprocessable
from hibernaut.schemas.ids import AgentId, MessageId
from hibernaut.schemas.messages.letta_message import LettaMessage, LettaResponse
from hibernaut.schemas.runs.capture import Captured, CaptureMessages
from hibernaut.schemas.runs.run import Run
from hibernaut.schemas.runs.send import LettaAsyncRequest, LettaRequest, LettaStreamingRequest
from hibernaut.schemas.stop import RunStatus
from hibernaut.services.sending.sending import SendRequest, body_digest

router = APIRouter(prefix="/v1", tags=["messages"], route_class=LazyRoute)

NOT_STREAMING = (
    "Streaming options set without streaming enabled. "
    "Set streaming to true, or leave stream_tokens, background and include_pings at their defaults."
)
_COUNT = re.compile(r"[0-9]{1,9}")
"""A valid count of a client's retries. Any other text counts as 0."""
STABLE_CLIENTS_ONLY = "streaming=true is only supported for SDK v1.0+ clients."


class CancelRequest(Schema):
    """The runs to cancel. Without `run_ids`: the runs of the agent that have not ended."""

    run_ids: list[str] | None = None


OptionalCancel = Annotated[CancelRequest, Body(default_factory=CancelRequest)]
Prepare = Callable[[str, LettaRequest, str], SendRequest]


async def prepare(request: HttpRequest) -> Prepare:
    """A function that converts a route's body to a request to an agent, with the digest by which the server recognises a repeated
    body.
    """
    raw, principal = await request.body(), principal_of(request)
    count, caller = request.headers.get("x-stainless-retry-count", "0"), request.headers.get("traceparent", "")

    def prepared(agent_id: str, body: LettaRequest, run_type: str) -> SendRequest:
        digest, retry = body_digest(agent_id, raw), int(count) if _COUNT.fullmatch(count) else 0
        converted = send_request(agent_id, body, run_type, digest=digest, retry=retry, principal=principal)
        return replace(converted, traceparent=caller if context_in(caller) else None)

    return prepared


ThePrepare = Annotated[Prepare, Depends(prepare)]


@router.post("/agents/{agent_id}/messages", response_model=LettaResponse)
async def send_message(
    services: TheServices,
    pools: TheThreadPools,
    caller: TheCaller,
    agent_id: AgentId,
    body: LettaStreamingRequest,
    prepared: ThePrepare,
) -> Response:
    """Send messages and wait for the whole reply. With `streaming` the reply is a stream of server-sent events."""
    if body.streaming and not caller.is_1_0_client:
        raise Unprocessable(STABLE_CLIENTS_ONLY)
    if body.streaming:
        request = prepared(agent_id, body, "send_message_streaming")
        return await run_responses.streamed(services, pools, request, pings=body.include_pings)
    if body.stream_tokens or body.background or not body.include_pings:
        raise Unprocessable(NOT_STREAMING)
    return await run_responses.whole(services, pools, prepared(agent_id, body, "send_message"))


@router.post("/agents/{agent_id}/messages/stream")
async def stream_message(
    services: TheServices,
    pools: TheThreadPools,
    agent_id: AgentId,
    body: LettaStreamingRequest,
    prepared: ThePrepare,
) -> Response:
    """Send messages. The reply is a stream of server-sent events."""
    request = prepared(agent_id, body, "send_message_streaming")
    return await run_responses.streamed(services, pools, request, pings=body.include_pings)


@router.post("/agents/{agent_id}/messages/async", response_model=Run)
async def send_message_async(
    services: TheServices,
    pools: TheThreadPools,
    agent_id: AgentId,
    body: LettaAsyncRequest,
    prepared: ThePrepare,
) -> Response:
    """Send messages without waiting. The reply is the accepted run."""
    request = prepared(agent_id, body, "send_message_async")
    return reply(await accepted_run(services, pools, request))


async def accepted_run(services: Services, pools: ThreadPools, request: SendRequest) -> Run:
    """The run of a request that nobody waits for, as it is when it is accepted. Raises: HibernautError if the request is
    refused; RunUnreadable if it is accepted and the table stays busy.
    """
    run_id = await pools.take(partial(run_responses.begin, services, request))
    run = await async_bridge.accepted(pools, run_id, partial(services.runs.get, run_id))
    return run.model_copy(update={"status": RunStatus.CREATED, "completed_at": None, "stop_reason": None})


@router.post("/agents/{agent_id}/messages/cancel")
def cancel_message(services: TheServices, agent_id: AgentId, body: OptionalCancel) -> Response:
    """Cancel runs. The messages that they have written remain; pending approvals are withdrawn."""
    return plain(services.cancelling.agent(agent_id, body.run_ids))


@router.post("/agents/{agent_id}/messages/capture", response_model=Captured)
def capture_messages(services: TheServices, agent_id: AgentId, request: CaptureMessages) -> Response:
    """Store turns that another system produced in the agent's log. No model is called."""
    return reply(services.captures.capture(agent_id, request))


@router.get("/agents/{agent_id}/messages", response_model=list[LettaMessage])
def list_agent_messages(services: TheServices, agent_id: AgentId, query: AgentMessageListQuery) -> Response:
    """A page of the agent's log, oldest message first. Cursors are chronological."""
    return replies(services.messages.page(agent_id, query.query()))


@router.patch("/agents/{agent_id}/messages/{message_id}", deprecated=True)
async def update_message(agent_id: AgentId, message_id: MessageId) -> Response:  # noqa: ARG001 - the path names them
    """Always answers 405: messages are never changed."""
    raise HTTPException(405, "Messages cannot be changed: the log of an agent is append-only.")


@router.get("/messages", response_model=list[LettaMessage])
def list_messages(services: TheServices, query: MessageListQuery) -> Response:
    """A page of the merged logs of all agents, oldest message first."""
    return replies(services.messages.page_of_all(query.query()))


@router.get("/messages/{message_id}", response_model=list[LettaMessage])
def retrieve_message(services: TheServices, message_id: MessageId) -> Response:
    """The messages that one row of a log is rendered as."""
    return replies(services.messages.get(message_id))
