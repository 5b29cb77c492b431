"""Serves the messages of the MCP endpoint. No session is stored: every message is served by what it says itself, by any process
of the deployment.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from fastapi import Request, Response
from pydantic import ValidationError

from hibernaut import __version__
from hibernaut.rest.dependencies import Caller, Services
from hibernaut.rest.http.async_bridge import ThreadPools
from hibernaut.rest.mcp import memory_tools, run_tools
from hibernaut.rest.mcp.forms import RunReport
from hibernaut.rest.mcp.open_calls import CallKey, OpenCalls
from hibernaut.rest.mcp.progress import Tell, streamed, token_of
from hibernaut.rest.mcp.tool import AgentTool, ToolContext
from hibernaut.rest.mcp.wire import (
    HANDSHAKE,
    INVALID_PARAMS,
    JSON,
    META_SERVER,
    METHOD_NOT_FOUND,
    SESSION,
    STATELESS,
    Notice,
    ProtocolError,
    RequestId,
    RpcRequest,
    message_of,
)
from hibernaut.schemas.access.api_key import Principal
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import HibernautError

TOOLS: Mapping[str, AgentTool] = {tool.name: tool for tool in (*memory_tools.TOOLS, *run_tools.TOOLS)}
SERVER: JsonObject = {"name": "hibernaut", "title": "Hibernaut", "version": __version__}
CAPABILITIES: JsonObject = {"tools": {"listChanged": False}}
INSTRUCTIONS = (
    "The tools of this server reach stateful agents, each with a memory of its own that outlives this conversation. list_agents shows them; send_message "
    "talks to one; search_memory and read_blocks read what one knows."
)
SHORTEST_TTL = 60_000
"""Milliseconds for which a client may keep the list of tools."""
MOST_FAULTS = 10
"""The largest number of faults in arguments that a result lists."""


class McpEndpoint:
    """The endpoint for one request, with its caller and its services."""

    def __init__(self, request: Request, services: Services, pools: ThreadPools, caller: Caller, *, principal: Principal) -> None:
        self._request = request
        self._services = services
        self._pools = pools
        self._caller = caller
        self._principal = principal
        self._open: OpenCalls = request.app.state.open_calls

    async def serve(self) -> Response:
        """The reply to the request's message."""
        raw = await self._request.body()
        try:
            message = message_of(raw, self._request.headers)
            if isinstance(message, Notice):
                self._note(message)
                return Response(status_code=202)
            token = token_of(message, self._request.headers)
            if token is not None and self._waits(message):
                return streamed(message, token, partial(self._reply_with_progress, message, raw))
            result = await self._result(message, raw)
        except ProtocolError as error:
            return _json(error.body(), error.status)
        response = _json(_reply(message, result))
        if message.method == "initialize":
            response.headers[SESSION] = f"hib-{secrets.token_hex(16)}"
        return response

    def _waits(self, call: RpcRequest) -> bool:
        """Whether the call is one of a tool that waits for an agent."""
        tool = TOOLS.get(str(call.params.get("name"))) if call.method == "tools/call" else None
        return tool is not None and tool.waits

    async def _reply_with_progress(self, call: RpcRequest, raw: bytes, tell: Tell) -> JsonObject:
        """The reply to a call. Its progress is reported until then; a disconnect of the client cancels it."""
        return _reply(call, await self._run_tool(call, raw, tell))

    def _note(self, notice: Notice) -> None:
        """Take note of a notification. A cancellation ends the wait of the call that it names, if this process serves it."""
        request_id = notice.params.get("requestId")
        if notice.method == "notifications/cancelled" and isinstance(request_id, str | int):
            key = self._key(notice.session, request_id)
            if key is not None:
                self._open.end(key)

    async def _result(self, call: RpcRequest, raw: bytes) -> JsonObject:
        """Raises: ProtocolError."""
        match call.method:
            case "initialize" if not call.is_stateless:
                return _initialized(call)
            case "ping" if not call.is_stateless:
                return {}
            case "server/discover" if call.is_stateless:
                about = {"supportedVersions": [*STATELESS, *reversed(HANDSHAKE)], "capabilities": CAPABILITIES}
                return {**about, "instructions": INSTRUCTIONS, "ttlMs": SHORTEST_TTL, "cacheScope": "public"}
            case "tools/list":
                return self._tools(call)
            case "tools/call":
                return await self._run_tool(call, raw)
            case _:
                raise call.failed(METHOD_NOT_FOUND, f"The method {call.method[:100]!r} is not served.")

    def _tools(self, call: RpcRequest) -> JsonObject:
        if call.params.get("cursor") is not None:
            raise call.failed(INVALID_PARAMS, "There is no page at this cursor: all tools are on the first one.")
        listed: JsonObject = {"tools": [tool.described() for tool in TOOLS.values() if tool.offered_to(self._principal)]}
        return listed | ({"ttlMs": SHORTEST_TTL, "cacheScope": "private"} if call.is_stateless else {})

    async def _run_tool(self, call: RpcRequest, raw: bytes, tell: Tell | None = None) -> JsonObject:
        name, arguments = call.params.get("name"), call.params.get("arguments")
        tool = TOOLS.get(name) if isinstance(name, str) else None
        if tool is None:
            raise call.failed(INVALID_PARAMS, f"There is no tool {str(name)[:100]!r}.")
        try:
            parsed = tool.arguments.model_validate({} if arguments is None else arguments)
        except ValidationError as error:
            return _failed(_faults(tool, error))
        context = ToolContext(
            self._services, self._pools, self._caller, self._principal, asgi=self._request.scope, call=call, raw=raw, tell=tell
        )
        try:
            with ExitStack() as stack:
                over = stack.enter_context(self._open.waiting(self._key(call.session, call.request_id)))
                if tell is None:
                    stack.callback(asyncio.ensure_future(self._closed(over)).cancel)
                result = await tool.run(replace(context, over=over), parsed)
        except HibernautError as error:
            return _failed(error.detail)
        found = result.model_dump(mode="json")
        is_error = isinstance(result, RunReport) and result.status == "failed"
        return {"content": [_text(json.dumps(found, ensure_ascii=False))], "structuredContent": found, "isError": is_error}

    async def _closed(self, over: asyncio.Event) -> None:
        """Set the event when the client closes the connection, which ends a call in every revision."""
        while (await self._request.receive())["type"] != "http.disconnect":
            pass
        over.set()

    def _key(self, session: str | None, request_id: RequestId) -> CallKey | None:
        """The key of a call in a session. Ids of other calls are not unique: nobody may end the wait of another client by a
        number.
        """
        if session is None:
            return None
        principal = self._principal
        return CallKey(principal.tenant, principal.key_id, session, request_id, isinstance(request_id, str))


def _initialized(call: RpcRequest) -> JsonObject:
    revision = call.params.get("protocolVersion")
    if not isinstance(revision, str):
        raise call.failed(INVALID_PARAMS, "`protocolVersion` must name a protocol revision.")
    agreed = revision if revision in HANDSHAKE else HANDSHAKE[-1]
    return {"protocolVersion": agreed, "capabilities": CAPABILITIES, "serverInfo": SERVER, "instructions": INSTRUCTIONS}


def _reply(call: RpcRequest, result: JsonObject) -> JsonObject:
    """The message with the result of a request."""
    payload = {"resultType": "complete", **result, "_meta": {META_SERVER: SERVER}} if call.is_stateless else result
    return {"jsonrpc": "2.0", "id": call.request_id, "result": payload}


def _faults(tool: AgentTool, error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"{'.'.join(map(str, fault['loc'])) or 'arguments'}: {fault['msg']}" for fault in faults[:MOST_FAULTS]]
    return f"INVALID_ARGUMENT: The arguments of {tool.name} are wrong. {'; '.join(lines)}"


def _failed(detail: str) -> JsonObject:
    """The result of a call that was refused or failed. It is a result and no error of the protocol, so that a model reads it."""
    return {"content": [_text(detail)], "isError": True}


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _json(body: JsonObject, status: int = 200) -> Response:
    return Response(json.dumps(body, ensure_ascii=False, separators=(",", ":")), status, media_type=JSON)
