"""Progress of a call that waits for an agent: the reply as server-sent events, in which notifications come before the result.

A client asks for it by a token (`_meta.progressToken`) in a call of a tool that waits. Sources: the pages "Progress" and
"Streamable HTTP" of the MCP specification. Knows events and lines; must not know any tool.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

from fastapi.responses import StreamingResponse
from starlette.datastructures import Headers

from hibernaut.rest.http.async_bridge import ServerStops, ThreadPools, follow
from hibernaut.rest.mcp.wire import INTERNAL_ERROR, ProtocolError, RequestId, RpcRequest
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.messages.letta_message import ApprovalRequestMessage, ToolCallMessage
from hibernaut.services.logs.run_follower import RunFollower
from hibernaut.services.logs.run_log import LoggedEvent, RunLog

EVENTS = "text/event-stream"
LONGEST_TOKEN = 1_000
"""Characters of a token that is a text."""
STILL = "The agent works."
STOPPING = "The server stops. The run goes on when it is back: call get_run with its run_id."
Tell = Callable[[str], None]
"""Tells the client one line about what the agent does."""


def token_of(call: RpcRequest, headers: Headers) -> RequestId | None:
    """The progress token of a call, if the client requests progress and accepts events; else None."""
    meta = call.params.get("_meta")
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    takes = any(EVENTS in each.lower() for each in headers.getlist("accept"))
    if not takes or isinstance(token, bool) or not isinstance(token, str | int):
        return None
    return token if isinstance(token, int) or len(token) <= LONGEST_TOKEN else None


def streamed(call: RpcRequest, token: RequestId, answer: Callable[[Tell], Awaitable[JsonObject]]) -> StreamingResponse:
    """The reply to a call as events: a notification for each progress line, then the message that `answer` returns. A disconnect
    of the client ends the wait.
    """
    return StreamingResponse(_events(call, token, answer), media_type=EVENTS, headers={"cache-control": "no-cache"})


async def _events(call: RpcRequest, token: RequestId, answer: Callable[[Tell], Awaitable[JsonObject]]) -> AsyncIterator[str]:
    lines: asyncio.Queue[str | None] = asyncio.Queue()
    work = asyncio.ensure_future(answer(lines.put_nowait))
    work.add_done_callback(lambda _: lines.put_nowait(None))
    count = 0
    try:
        while (line := await lines.get()) is not None:
            count += 1
            params = {"progressToken": token, "progress": count, "message": line}
            yield _event({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        try:
            yield _event(work.result())
        except ServerStops:
            yield _event(ProtocolError(INTERNAL_ERROR, STOPPING, request_id=call.request_id).body())
    finally:
        work.cancel()


async def tell_of(run_follower: RunFollower, pools: ThreadPools, run_id: str, tell: Tell) -> None:
    """Tell what the agent does in a run, until the run ends, and that it works when there is nothing to say for a while. Raises:
    NotFound.
    """
    log = await pools.look(partial(run_follower.log, run_id))
    async for line in follow(run_follower, pools, log, partial(_new_lines, log)):
        tell(line or STILL)


def _new_lines(log: RunLog) -> list[str]:
    """The news of the log as one line; none if there are none."""
    lines = [line for one in log.look() if (line := _line(one))]
    return [" ".join(lines)] if lines else []


def _line(one: LoggedEvent) -> str:
    match one.message:
        case ToolCallMessage(tool_call=first, tool_calls=calls):
            return f"The agent calls {', '.join(str(call.name) for call in calls or [first])}."
        case ApprovalRequestMessage():
            return "The agent asks for an approval."
        case _:
            return ""


def _event(message: JsonObject) -> str:
    return f"event: message\ndata: {json.dumps(message, ensure_ascii=False, separators=(',', ':'))}\n\n"
