"""The WebSocket API on connections that API Gateway holds: each of its events is an invocation of its own.

A worker processes each message that follows a run, and outlives the message: it performs the action, drives the accepted run, and
posts the events. No turn depends on a connection. Before its time limit, a worker starts the next worker, which continues after
the last posted event. A follow is a row of the connection. A worker claims its job in this row, so that a job delivered twice is
done once. Without the row the worker stops.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Network, IPv6Network, ip_address

from fastapi import FastAPI
from starlette.types import Scope

from hibernaut.ports.clock import Clock, Ids
from hibernaut.ports.events.sockets import ClientConnections, ConnectionGone, NotPosted, SocketWorkers
from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.rest.access.origin_policy import OriginPolicy
from hibernaut.rest.sockets import messages
from hibernaut.rest.sockets.actions import Followed, SocketActions
from hibernaut.rest.sockets.endpoint import PATH, USUAL_LIMITS, SocketLimits
from hibernaut.rest.sockets.handshake import check_holder, check_page, chosen_protocol, key_of, offered_in
from hibernaut.rest.sockets.streams import stream
from hibernaut.schemas.access.api_key import Principal
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import Conflict, ConnectionLimit, Forbidden, InvalidArgument, NotFound, Unauthenticated
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.runs.socket import CancelAction, FollowAction, PingAction, SocketAction, StreamAction, UnfollowAction
from hibernaut.store.access.connections import StoredConnection
from hibernaut.store.stores import Stores

CHECK_EVERY = 2.0
"""Seconds between two reads of the connection's key and of its follow by a worker."""
PROTOCOL_HEADER = "Sec-WebSocket-Protocol"
logger = logging.getLogger(__name__)


@immutable
class GatewayParts:
    """What the connections need beyond the app. `callers`: the address ranges that may connect (None: all), because a WebSocket
    API has no resource policy.
    """

    stores: Stores
    connections: ClientConnections
    clock: Clock
    ids: Ids
    policy: OriginPolicy
    callers: tuple[IPv4Network | IPv6Network, ...] | None = ()
    limits: SocketLimits = USUAL_LIMITS


class _Unfollowed(Exception):
    """The follow has ended, or belongs to another worker."""


class GatewaySockets:
    """Handles the events of a WebSocket API of API Gateway, and the jobs of its workers."""

    def __init__(self, app: FastAPI, parts: GatewayParts) -> None:
        self._actions = SocketActions(app)
        self._pools = self._actions.pools
        self._parts = parts
        self._store = parts.stores.connections
        self._write = parts.stores.writer.write

    async def connect(self, event: JsonObject) -> JsonObject:
        """The answer to a handshake: accepted, or a status with its error."""
        try:
            scope = _scope(event)
            principal = await self._admitted(scope, event["requestContext"]["identity"]["sourceIp"])
            connection = StoredConnection(event["requestContext"]["connectionId"], principal.tenant, principal.digest)
            await self._pools.look(partial(self._open, connection))
        except Exception as error:  # noqa: BLE001  every error is an answer; an unknown one is logged by its place
            denial = messages.denial(error)
            logger.info("socket refused", extra={"error": messages.typed_error(error).code, "status": denial.status_code})
            headers = {"content-type": "application/json"}
            return {"statusCode": denial.status_code, "headers": headers, "body": bytes(denial.body).decode()}
        logger.info("socket connected", extra={"key": principal.key_id})
        await self._actions.used(principal)
        chosen = chosen_protocol(scope["subprotocols"])
        return {"statusCode": 200, "headers": {PROTOCOL_HEADER: chosen} if chosen else {}}

    def disconnect(self, connection_id: str) -> None:
        """Forget a connection that has ended."""
        connection = self._store.get(connection_id, self._parts.clock.now())
        if connection is not None:
            self._write(*self._store.close(connection))

    async def message(self, connection_id: str, text: str | None, workers: SocketWorkers) -> None:
        """Perform the action of a message, or start a worker for it. `text` None: a binary message."""
        connection = await self._pools.look(partial(self._store.get, connection_id, self._parts.clock.now()))
        if connection is None:
            await self._close(connection_id)
            return
        request_id, name = None, ""
        try:
            if text is None:
                raise InvalidArgument("INVALID_ARGUMENT: Messages are JSON text; a binary message has no meaning.")
            value = messages.value_of(text)
            request_id = messages.request_id_of(value)
            action = messages.action_of(value)
            name = action.action
            principal = await self._pools.look(partial(self._actions.still, connection.digest))
            await self._perform(connection, principal, action, workers)
            await self._actions.used(principal)
            logger.info("socket action", extra={"action": name})
        except ConnectionGone:
            logger.info("socket gone", extra={"action": name})
        except Exception as error:  # noqa: BLE001  every error is an answer; an unknown one is logged by its place
            logger.info("socket action", extra={"action": name or "unreadable", "error": messages.typed_error(error).code})
            await self._refuse(connection_id, error, request_id)

    async def work(self, job: JsonObject, workers: SocketWorkers) -> None:
        """Do the job of a worker: follow a run and post its events."""
        connection_id, request_id, worker = job["connection_id"], job["request_id"], job["worker"]
        token, now = self._parts.ids.token(), self._parts.clock.now()
        claim = self._store.claim(connection_id, request_id, worker, now, token)
        try:
            await self._pools.look(partial(self._write, claim, token=token))
        except ConditionFailed:
            logger.info("socket job not claimed", extra={"worker": worker})
            return
        following = _Worker(connection_id, request_id, worker)
        followed: Followed | None = None
        try:
            action = messages.action_of(job["action"])
            if not isinstance(action, StreamAction):
                raise InvalidArgument("INVALID_ARGUMENT: A job follows a run.")
            principal = await self._pools.look(partial(self._standing, following))
            followed = await self._actions.followed(principal, action)
            await self._post_all(following, followed)
            await self._after(following, followed, workers)
        except (ConnectionGone, _Unfollowed, NotPosted) as error:
            following.ended = {ConnectionGone: "gone", NotPosted: "not posted"}.get(type(error), "unfollowed")
            await self._notify_interrupted(following, followed)
        except Exception as error:  # noqa: BLE001  every error is an answer; an unknown one is logged by its place
            following.ended = messages.typed_error(error).code
            await self._refuse(connection_id, error, request_id)
            await self._forget(following)
        finally:
            if followed is not None and followed.driving is not None:
                await asyncio.wait({followed.driving})  # The run goes on without its connection.
            fields = {"follow": following.ended, "posts": following.posts, "gone": int(following.ended == "gone")}
            logger.info("socket follow ended", extra=fields)

    async def _admitted(self, scope: Scope, address: str) -> Principal:
        callers = self._parts.callers
        if callers is not None and not any(ip_address(address) in each for each in callers):
            raise Forbidden("FORBIDDEN: This address may not call the API.")
        check_page(scope, self._parts.policy)
        principal = await self._actions.authenticated(key_of(scope))
        check_holder(scope, principal)
        await self._actions.count(principal)
        now, most = self._parts.clock.now(), self._parts.limits.connections
        if await self._pools.look(partial(self._store.count, principal.tenant, now)) >= most:
            raise ConnectionLimit(f"CONNECTION_LIMIT: The tenant has {most} connections; close some of them.")
        return principal

    def _open(self, connection: StoredConnection) -> None:
        self._write(*self._store.open(connection, self._parts.clock.now()))

    async def _perform(
        self, connection: StoredConnection, principal: Principal, action: SocketAction, workers: SocketWorkers
    ) -> None:
        match action:
            case PingAction():
                await self._actions.count(principal)
                await self._post(connection.id, messages.pong(action.request_id))
            case UnfollowAction():
                follows = await self._pools.look(partial(self._store.follows, connection.id, self._parts.clock.now()))
                if action.follow not in follows.open:
                    raise NotFound(f"This connection follows no run for the request {action.follow}.")
                await self._pools.look(partial(self._write, self._store.unfollow(connection.id, action.follow)))
            case CancelAction():
                outcomes = await self._actions.cancelled(principal, action)
                await self._post(connection.id, messages.cancelled(action.request_id, outcomes))
            case _:
                await self._pools.look(partial(self._begin, connection, action, workers))

    def _begin(self, connection: StoredConnection, action: StreamAction, workers: SocketWorkers) -> None:
        """Add the follow, and start its worker. Raises: Conflict, ConnectionLimit, ServerBusy."""
        now, most, name = self._parts.clock.now(), self._parts.limits.follows, action.request_id
        follows = self._store.follows(connection.id, now)
        if len(follows.open - {name}) >= most:
            raise ConnectionLimit(f"CONNECTION_LIMIT: This connection follows {most} runs; unfollow one of them.")
        token = self._parts.ids.token()
        try:
            if name in follows.open:
                raise ConditionFailed({})
            self._write(self._store.follow(connection.id, name, follows.expiries.get(name), now, token), token=token)
        except ConditionFailed:
            raise Conflict(f"CONFLICT: The request {name} is under way; use another request_id.") from None
        try:
            workers.start(_job(connection.id, name, 0, action.model_dump(mode="json")))
        except Exception:  # whatever the worker's start raises: a follow without a worker would bar its name
            self._write(self._store.unfollow(connection.id, name))
            raise

    def _standing(self, following: _Worker) -> Principal:
        """The principal of the connection. Raises: ConnectionGone, _Unfollowed, Unauthenticated."""
        now = self._parts.clock.now()
        connection, claimed = self._store.standing(following.connection_id, following.request_id, following.number, now)
        if connection is None:
            raise ConnectionGone(following.connection_id)
        if not claimed:
            raise _Unfollowed
        return self._actions.still(connection.digest)

    async def _post_all(self, following: _Worker, followed: Followed) -> None:
        """Post the messages of the run until it ends, or the worker's time."""
        log = followed.log
        following.run_id, following.sent = log.run_id, log.shown_seq
        texts = stream(self._pools, followed, following.request_id, self._keep(following), greets=following.number == 0)
        async for number, text in texts:
            await self._post(following.connection_id, text)
            following.posts += 1
            following.sent = number

    def _keep(self, following: _Worker) -> Callable[[], None]:
        """Checks the connection, the follow and the key once in `CHECK_EVERY` seconds."""
        clock = self._parts.clock
        checked = clock.monotonic()

        def keep() -> None:
            nonlocal checked
            if clock.monotonic() - checked >= CHECK_EVERY:
                checked = clock.monotonic()
                self._standing(following)

        return keep

    async def _after(self, following: _Worker, followed: Followed, workers: SocketWorkers) -> None:
        """End the follow at the end of its run; else leave the rest to the next worker."""
        log = followed.log
        if log.done:
            following.ended = "done" if log.at_end else "deleted"
            if not log.at_end:
                await self._post(following.connection_id, _interrupted(following))
            await self._forget(following)
            return
        following.ended = "next worker"
        rest = FollowAction(
            action="follow",
            request_id=following.request_id,
            run_id=log.run_id,
            starting_after=following.sent,
            include_pings=followed.pings,
        )
        job = _job(following.connection_id, following.request_id, following.number + 1, rest.model_dump(mode="json"))
        await self._pools.look(partial(workers.start, job))

    async def _notify_interrupted(self, following: _Worker, followed: Followed | None) -> None:
        """Notify an open connection that its follow has ended."""
        if following.ended != "gone":
            with suppress(ConnectionGone, NotPosted):
                if followed is not None:
                    await self._post(following.connection_id, _interrupted(following))
        if following.ended == "not posted":
            await self._forget(following)

    async def _forget(self, following: _Worker) -> None:
        change = self._store.unfollow(following.connection_id, following.request_id)
        await self._pools.look(partial(self._write, change))

    async def _refuse(self, connection_id: str, error: Exception, request_id: str | None) -> None:
        with suppress(ConnectionGone, NotPosted):
            await self._post(connection_id, messages.refusal(error, request_id))
            if isinstance(error, Unauthenticated):
                await self._close(connection_id)

    async def _post(self, connection_id: str, text: str) -> None:
        """Raises: ConnectionGone, NotPosted."""
        await self._pools.look(partial(self._parts.connections.post, connection_id, text))

    async def _close(self, connection_id: str) -> None:
        await self._pools.look(partial(self._parts.connections.close, connection_id))


@dataclass(slots=True)
class _Worker:
    """One worker of a follow. `sent`: the number of the last event that was posted."""

    connection_id: str
    request_id: str
    number: int
    run_id: str = ""
    sent: int = 0
    posts: int = 0
    ended: str = "done"


def _interrupted(following: _Worker) -> str:
    return messages.interrupted(following.request_id, following.run_id, following.sent)


def _job(connection_id: str, request_id: str, worker: int, action: JsonObject) -> JsonObject:
    return {"connection_id": connection_id, "request_id": request_id, "worker": worker, "action": action}


def _scope(event: JsonObject) -> Scope:
    """The handshake as an ASGI scope, as far as it is judged."""
    from urllib.parse import urlencode

    found = event.get("multiValueHeaders") or {name: [value] for name, value in (event.get("headers") or {}).items()}
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, values in found.items() for value in values]
    query = event.get("multiValueQueryStringParameters") or event.get("queryStringParameters") or {}
    offered = [value for name, value in headers if name == PROTOCOL_HEADER.lower().encode()]
    return {
        "type": "websocket",
        "scheme": "wss",
        "path": PATH,
        "query_string": urlencode(query, doseq=True).encode(),
        "headers": headers,
        "server": None,
        "subprotocols": [name for value in offered for name in offered_in(value.decode("latin-1"))],
    }
