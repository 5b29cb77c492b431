"""The WebSocket API on connections of this process: `/v1/ws`, beside the routes of the app.

A connection reads one message at a time. Each follow is a task that waits for its client: what the client does not read, the
server does not read from the log, so nothing accumulates. A client that takes nothing for `stall` seconds is disconnected, and
the run goes on.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from fastapi import FastAPI
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from hibernaut.rest.access.origin_policy import OriginPolicy
from hibernaut.rest.sockets import messages
from hibernaut.rest.sockets.actions import SocketActions
from hibernaut.rest.sockets.handshake import check_holder, check_page, chosen_protocol, key_of
from hibernaut.rest.sockets.streams import stream
from hibernaut.schemas.access.api_key import Principal
from hibernaut.schemas.errors import Conflict, ConnectionLimit, NotFound, Unauthenticated
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.runs.socket import CancelAction, PingAction, SocketAction, StreamAction, UnfollowAction

PATH = "/v1/ws"
CHECK_EVERY = 5.0
"""Seconds between two checks of the key of a connection that only follows."""
REFUSED, TOO_SLOW, NO_TEXT = 1008, 1013, 1003
"""Close codes (RFC 6455, 7.4.1; 1013 in the IANA registry): the key was revoked; the client does not read; a binary message."""
logger = logging.getLogger(__name__)


@immutable
class SocketLimits:
    """`connections` of one tenant, `follows` of one connection, and the seconds for which a client may take nothing."""

    connections: int = 500
    follows: int = 16
    stall: float = 30.0


USUAL_LIMITS = SocketLimits()


class ConnectionClosed(Exception):
    """The connection is closed, or about to be."""


class SocketEndpoint:
    """Serves the connections of one app."""

    def __init__(self, app: FastAPI, policy: OriginPolicy, limits: SocketLimits = USUAL_LIMITS) -> None:
        self._actions = SocketActions(app)
        self._policy = policy
        self._limits = limits
        self._open: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        socket = WebSocket(scope, receive, send)
        await socket.receive()
        try:
            principal = await self._admitted(scope)
        except Exception as error:  # noqa: BLE001  every error is an answer; an unknown one is logged by its place
            logger.info("socket refused", extra={"error": messages.typed_error(error).code})
            await socket.send_denial_response(messages.denial(error))
            return
        self._open[principal.tenant] += 1
        try:
            await socket.accept(chosen_protocol(scope["subprotocols"]))
            logger.info("socket connected", extra={"key": principal.key_id})
            await _ClientConnection(socket, self._actions, principal, self._limits).serve()
        finally:
            self._open[principal.tenant] -= 1

    async def _admitted(self, scope: Scope) -> Principal:
        check_page(scope, self._policy)
        if scope["path"].rstrip("/") != PATH:
            raise NotFound(f"There is no WebSocket at this path; connect to {PATH}.")
        principal = await self._actions.authenticated(key_of(scope))
        check_holder(scope, principal)
        await self._actions.count(principal)
        if self._open[principal.tenant] >= self._limits.connections:
            raise ConnectionLimit(f"CONNECTION_LIMIT: The tenant has {self._limits.connections} connections; close some of them.")
        return principal


class _ClientConnection:
    """One connection, from its acceptance to its end."""

    def __init__(self, socket: WebSocket, actions: SocketActions, principal: Principal, limits: SocketLimits) -> None:
        self._socket = socket
        self._actions = actions
        self._principal = principal
        self._limits = limits
        self._follows: dict[str, asyncio.Task[None]] = {}
        self._closing: tuple[int, str] | None = None
        self._ended = asyncio.Event()

    async def serve(self) -> None:
        """Serve until either side closes. Runs that were begun go on."""
        reading, ended = asyncio.ensure_future(self._read()), asyncio.ensure_future(self._ended.wait())
        try:
            await asyncio.wait({reading, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            tasks = [reading, ended, *self._follows.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            code, reason = self._closing or (1000, "")
            with suppress(Exception):  # the client has closed, or its connection is lost
                await self._socket.close(code, reason)
            logger.info("socket closed", extra={"key": self._principal.key_id, "code": code})

    async def _read(self) -> None:
        with suppress(WebSocketDisconnect, ConnectionClosed):
            while True:
                message = await self._socket.receive()
                if message["type"] != "websocket.receive":
                    return
                text = message.get("text")
                if text is None:
                    self._end(NO_TEXT, "messages are JSON text")
                    return
                await self._take(text)

    async def _take(self, text: str) -> None:
        request_id = None
        try:
            value = messages.value_of(text)
            request_id = messages.request_id_of(value)
            action = messages.action_of(value)
            self._principal = await self._actions.pools.look(partial(self._actions.still, self._principal.digest))
            await self._perform(action)
        except (ConnectionClosed, asyncio.CancelledError):
            raise
        except Exception as error:  # noqa: BLE001  every error is an answer; an unknown one is logged by its place
            await self._refuse(error, request_id)
        await self._actions.used(self._principal)

    async def _perform(self, action: SocketAction) -> None:
        match action:
            case PingAction():
                await self._actions.count(self._principal)
                await self._send(messages.pong(action.request_id))
            case UnfollowAction():
                follow = self._follows.get(action.follow)
                if follow is None:
                    raise NotFound(f"This connection follows no run for the request {action.follow}.")
                follow.cancel()
            case CancelAction():
                outcomes = await self._actions.cancelled(self._principal, action)
                await self._send(messages.cancelled(action.request_id, outcomes))
            case _:
                self._begin(action)

    def _begin(self, action: StreamAction) -> None:
        if action.request_id in self._follows:
            raise Conflict(f"CONFLICT: The request {action.request_id} is under way; use another request_id.")
        if len(self._follows) >= self._limits.follows:
            raise ConnectionLimit(f"CONNECTION_LIMIT: This connection follows {self._limits.follows} runs; unfollow one of them.")
        task = asyncio.ensure_future(self._follow(action))
        self._follows[action.request_id] = task
        task.add_done_callback(lambda _: self._follows.pop(action.request_id, None))

    async def _follow(self, action: StreamAction) -> None:
        with suppress(ConnectionClosed):
            try:
                await self._streamed(action)
            except ConnectionClosed:
                raise
            except Exception as error:  # noqa: BLE001  every error is an answer; an unknown one is logged by its place
                await self._refuse(error, action.request_id)

    async def _streamed(self, action: StreamAction) -> None:
        followed = await self._actions.followed(self._principal, action)
        log, sent, whole = followed.log, followed.log.shown_seq, False
        try:
            async for number, text in stream(self._actions.pools, followed, action.request_id, self._keep()):
                await self._send(text)
                sent = number
            whole = log.at_end
        finally:
            if not whole and self._closing is None:
                with suppress(ConnectionClosed):
                    await self._send(messages.interrupted(action.request_id, log.run_id, sent))

    def _keep(self) -> Callable[[], None]:
        """Checks the key once in `CHECK_EVERY` seconds."""
        checked = time.monotonic()

        def keep() -> None:
            nonlocal checked
            if time.monotonic() - checked >= CHECK_EVERY:
                checked = time.monotonic()
                self._principal = self._actions.still(self._principal.digest)

        return keep

    async def _refuse(self, error: Exception, request_id: str | None) -> None:
        await self._send(messages.refusal(error, request_id))
        if isinstance(error, Unauthenticated):
            self._end(REFUSED, "unauthenticated")
            raise ConnectionClosed

    async def _send(self, text: str) -> None:
        """Raises: ConnectionClosed."""
        if self._closing is not None:
            raise ConnectionClosed
        try:
            async with asyncio.timeout(self._limits.stall):
                await self._socket.send_text(text)
        except TimeoutError:
            self._end(TOO_SLOW, "the client does not read")
            raise ConnectionClosed from None
        except (WebSocketDisconnect, RuntimeError) as error:
            raise ConnectionClosed from error

    def _end(self, code: int, reason: str) -> None:
        if self._closing is None:
            self._closing = code, reason
        self._ended.set()
