"""Sending messages to agents and reading them (Letta V1 API, digest 2.3, 2.15 and 5.1).

The sending routes are the only asynchronous ones: while a run goes on, its request waits on the loop.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Body, Depends, HTTPException, Response
from fastapi import Request as HttpRequest

from hibernaut.rest import run_responses
from hibernaut.rest.dependencies import TheCaller, TheLanes, TheServices
from hibernaut.rest.json_responses import plain, replies, reply
from hibernaut.rest.lazy_routes import LateRoute
from hibernaut.rest.queries import AgentMessageListQuery, MessageListQuery
from hibernaut.schemas.base import Schema
from hibernaut.schemas.errors import InvalidArgument, Unprocessable
from hibernaut.schemas.ids import AgentId, MessageId
from hibernaut.schemas.letta_message import LettaMessage, LettaResponse
from hibernaut.schemas.run import Run
from hibernaut.schemas.send import LettaAsyncRequest, LettaRequest, LettaStreamingRequest
from hibernaut.schemas.stop import RunStatus
from hibernaut.services.runs.sending import SendRequest, body_digest

router = APIRouter(prefix="/v1", tags=["messages"], route_class=LateRoute)

NOT_STREAMING = (
    "Streaming options set without streaming enabled. "
    "Set streaming to true, or leave stream_tokens, background and include_pings at their defaults."
)
_COUNT = re.compile(r"[0-9]{1,9}")
"""A client's count of its tries; what looks otherwise counts as none."""
STABLE_CLIENTS_ONLY = "streaming=true is only supported for SDK v1.0+ clients."


class CancelRequest(Schema):
    """Which runs to cancel; without `run_ids` those of the agent that have not ended."""

    run_ids: list[str] | None = None


OptionalCancel = Annotated[CancelRequest, Body(default_factory=CancelRequest)]
Prepare = Callable[[str, LettaRequest, str], SendRequest]


async def prepare(request: HttpRequest) -> Prepare:
    """How a route makes a request to an agent of its body: with what recognises a body that is sent again (architecture 5)."""
    body = await request.body()
    count = request.headers.get("x-stainless-retry-count", "0")

    def prepared(agent_id: str, given: LettaRequest, run_type: str) -> SendRequest:
        if given.messages is not None and not given.messages:
            raise Unprocessable("Messages must not be empty")
        return SendRequest(
            agent_id=agent_id,
            body=given,
            run_type=run_type,
            digest=body_digest(agent_id, body),
            retry=int(count) if _COUNT.fullmatch(count) else 0,
            background=isinstance(given, LettaAsyncRequest) or (isinstance(given, LettaStreamingRequest) and given.background),
            callback_url=_callable(given.callback_url) if isinstance(given, LettaAsyncRequest) else None,
        )

    return prepared


def _callable(url: str | None) -> str | None:
    """The address to call at the end of a run. Raises: InvalidArgument where nothing can be called there."""
    if url is None:
        return None
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise InvalidArgument("INVALID_ARGUMENT: callback_url must be an http or https address.")
    return url


ThePrepare = Annotated[Prepare, Depends(prepare)]


@router.post("/agents/{agent_id}/messages", response_model=LettaResponse)
async def send_message(
    services: TheServices,
    lanes: TheLanes,
    caller: TheCaller,
    agent_id: AgentId,
    body: LettaStreamingRequest,
    prepared: ThePrepare,
) -> Response:
    """Send messages and wait for the whole answer; with `streaming` it comes as server-sent events."""
    if body.streaming and not caller.is_1_0_client:
        raise Unprocessable(STABLE_CLIENTS_ONLY)
    if body.streaming:
        asked = prepared(agent_id, body, "send_message_streaming")
        return await run_responses.streamed(services, lanes, asked, pings=body.include_pings)
    if body.stream_tokens or body.background or not body.include_pings:
        raise Unprocessable(NOT_STREAMING)
    return await run_responses.whole(services, lanes, prepared(agent_id, body, "send_message"))


@router.post("/agents/{agent_id}/messages/stream")
async def stream_message(
    services: TheServices,
    lanes: TheLanes,
    agent_id: AgentId,
    body: LettaStreamingRequest,
    prepared: ThePrepare,
) -> Response:
    """Send messages; the answer comes as server-sent events."""
    asked = prepared(agent_id, body, "send_message_streaming")
    return await run_responses.streamed(services, lanes, asked, pings=body.include_pings)


@router.post("/agents/{agent_id}/messages/async", response_model=Run)
async def send_message_async(
    services: TheServices,
    lanes: TheLanes,
    agent_id: AgentId,
    body: LettaAsyncRequest,
    prepared: ThePrepare,
) -> Response:
    """Send messages and go away: the answer is the run, as it was accepted."""
    asked = prepared(agent_id, body, "send_message_async")

    def work() -> Run:
        run = services.runs.get(run_responses.begin(services, asked))
        accepted = {"status": RunStatus.CREATED, "completed_at": None, "stop_reason": None}
        return run.model_copy(update=accepted)

    return reply(await lanes.take(work))


@router.post("/agents/{agent_id}/messages/cancel")
def cancel_message(services: TheServices, agent_id: AgentId, body: OptionalCancel) -> Response:
    """End runs: what they have written stays, what they wait for is let go."""
    return plain(services.cancelling.agent(agent_id, body.run_ids))


@router.get("/agents/{agent_id}/messages", response_model=list[LettaMessage])
def list_agent_messages(services: TheServices, agent_id: AgentId, query: AgentMessageListQuery) -> Response:
    """A page of the agent's log, always from old to new; cursors are chronological."""
    return replies(services.messages.page(agent_id, query.query()))


@router.patch("/agents/{agent_id}/messages/{message_id}", deprecated=True)
async def update_message(agent_id: AgentId, message_id: MessageId) -> Response:  # noqa: ARG001 - the path names them
    """Refused: what was said is never changed."""
    raise HTTPException(405, "Messages cannot be changed: the log of an agent is append-only.")


@router.get("/messages", response_model=list[LettaMessage])
def list_messages(services: TheServices, query: MessageListQuery) -> Response:
    """A page of the logs of all agents together, from old to new."""
    return replies(services.messages.page_of_all(query.query()))


@router.get("/messages/{message_id}", response_model=list[LettaMessage])
def retrieve_message(services: TheServices, message_id: MessageId) -> Response:
    """What one row of a log is shown as."""
    return replies(services.messages.get(message_id))
