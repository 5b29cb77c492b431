"""The actions of the WebSocket API: the use cases of the REST routes, with the permissions and the rate limits of those routes.

Knows the app's parts and the paths of the routes; must not know how connections are held.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, assert_never

from fastapi import FastAPI

from hibernaut.rest import run_responses
from hibernaut.rest.access import permissions
from hibernaut.rest.access.authentication import PRINCIPAL
from hibernaut.rest.dependencies import Services
from hibernaut.rest.http.async_bridge import ThreadPools
from hibernaut.rest.http.lanes import ACCESS, CONTROL
from hibernaut.rest.run_responses import Driving
from hibernaut.rest.send_requests import send_request
from hibernaut.schemas.access.api_key import Principal
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.runs.send import ConversationMessageRequest, LettaStreamingRequest, RetrieveStreamRequest
from hibernaut.schemas.runs.socket import ApproveAction, CancelAction, FollowAction, PlacedRequest, SendAction, StreamAction
from hibernaut.services.access.authentication import KEYLESS
from hibernaut.services.logs.run_follower import RunFollower
from hibernaut.services.logs.run_log import RunLog
from hibernaut.services.runs.cancellation import Outcome
from hibernaut.services.sending.sending import body_digest

if TYPE_CHECKING:
    from hibernaut.services.access.access import Access

OF_AGENT, OF_CONVERSATION = "/v1/agents/{agent_id}/messages", "/v1/conversations/{conversation_id}"
OF_RUN = "/v1/runs/{run_id}/stream"


@immutable
class Followed:
    """A run that a connection follows. `driving`: the work of this process for the run, if it performs the steps."""

    run_follower: RunFollower
    log: RunLog
    driving: Driving | None = None
    pings: bool = True


class SocketActions:
    """Performs the actions of all connections of an app."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._access: Access | None = app.state.access
        self.pools: ThreadPools = app.state.pools

    async def authenticated(self, presented: str | None) -> Principal:
        """The principal of a handshake. Raises: Unauthenticated, and what keeps the table from being read."""
        if self._access is None:
            return KEYLESS
        return await self.pools.run(ACCESS, partial(self._access.authentication.authenticate, presented))

    def still(self, digest: str) -> Principal:
        """The principal of a connection as it is now, by the digest of its key; blocks. Raises: Unauthenticated if the key was
        revoked; as `authenticated`.
        """
        return self._access.authentication.again(digest) if self._access is not None else KEYLESS

    async def used(self, principal: Principal) -> None:
        """Record the use of the principal's key, at most once a minute."""
        if self._access is not None and self._access.authentication.use_is_due(principal):
            await self.pools.look(partial(self._access.authentication.note_use, principal))

    async def followed(self, principal: Principal, action: StreamAction) -> Followed:
        """Accept what the action sends, or find the run that it names. Raises: HibernautError, ValidationError, ServerStops."""
        match action:
            case SendAction():
                return await self._send(principal, action, action.body)
            case ApproveAction():
                answer = {"type": "approval", "approvals": [one.model_dump() for one in action.approvals], "otid": action.otid}
                options = {"stream_tokens": action.stream_tokens, "include_pings": action.include_pings}
                return await self._send(principal, action, {"messages": [answer], **options})
            case FollowAction():
                return await self._found(principal, action)
        assert_never(action)

    async def cancelled(self, principal: Principal, action: CancelAction) -> dict[str, Outcome]:
        """Cancel what the action names; the outcome for each run. Raises: HibernautError."""
        services = await self._admitted(principal, action, "/cancel")
        if action.agent_id is not None:
            return await self.pools.run(CONTROL, partial(services.cancelling.agent, action.agent_id, action.run_ids))
        conversation = str(action.conversation_id)

        def cancel() -> dict[str, Outcome]:
            target = services.conversations.target(conversation, None)
            return services.cancelling.conversation(target.agent_id, target.head_id)

        return await self.pools.run(CONTROL, cancel)

    async def count(self, principal: Principal, path: str = "") -> None:
        """Count an action as a request. Raises: BudgetExceeded if there are too many in this second."""
        if self._access is not None:
            rates = self._access.rates
            for limit in rates.concerning(principal, path):
                await self.pools.run(ACCESS, partial(rates.admit, limit))

    async def _send(self, principal: Principal, action: SendAction | ApproveAction, fields: dict[str, object]) -> Followed:
        """Send to an agent as POST …/messages/stream does, or to a conversation as POST …/messages does."""
        body: LettaStreamingRequest | ConversationMessageRequest
        if action.agent_id is not None:
            body = LettaStreamingRequest.model_validate(fields)
            services = await self._admitted(principal, action, "/stream")
            request = send_request(
                action.agent_id,
                body,
                "send_message_streaming",
                digest=_digest(action.agent_id, fields),
                principal=principal,
            )
        else:
            body = ConversationMessageRequest.model_validate(fields)
            services = await self._admitted(principal, action, "/messages")
            target = await self.pools.look(partial(services.conversations.target, str(action.conversation_id), None))
            request = replace(
                send_request(
                    target.agent_id,
                    body,
                    "send_conversation_message",
                    digest=_digest(target.agent_id, fields),
                    principal=principal,
                ),
                conversation_id=target.record.id if target.record else None,
                background=body.background,
                when_busy="reject",
            )
        log, driving = await run_responses.followed(services, self.pools, request)
        return Followed(services.run_follower, log, driving, body.include_pings)

    async def _found(self, principal: Principal, action: FollowAction) -> Followed:
        if action.run_id is not None:
            services = await self._permitted(principal, OF_RUN, {"run_id": action.run_id})
            run_id = action.run_id
        else:
            conversation = str(action.conversation_id)
            services = await self._permitted(principal, f"{OF_CONVERSATION}/stream", {"conversation_id": conversation})
            target = await self.pools.look(partial(services.conversations.target, conversation, None))
            named = RetrieveStreamRequest(otid=action.otid)
            run_id = await run_responses.run_for(services, self.pools, target.head_id, named)
        log = await self.pools.look(partial(services.run_follower.resumed, run_id, action.starting_after))
        return Followed(services.run_follower, log, pings=action.include_pings)

    async def _admitted(self, principal: Principal, action: PlacedRequest, ending: str) -> Services:
        """The use cases of the principal's tenant, if it may call the route for the action's place."""
        if action.agent_id is not None:
            return await self._permitted(principal, OF_AGENT + ending, {"agent_id": action.agent_id})
        return await self._permitted(principal, OF_CONVERSATION + ending, {"conversation_id": str(action.conversation_id)})

    async def _permitted(self, principal: Principal, path: str, named: dict[str, str]) -> Services:
        """Raises: ScopeTooNarrow, BudgetExceeded."""
        await self.count(principal, path.format(**named))
        request = {"method": "POST", "path_params": named, "query_string": b"", "state": {PRINCIPAL: principal}, "app": self._app}
        await permissions.check(request, path)
        services: Services = self._app.state.services.of(principal.tenant)
        return services


def _digest(agent_id: str, fields: dict[str, object]) -> str:
    return body_digest(agent_id, json.dumps(fields, sort_keys=True).encode())
