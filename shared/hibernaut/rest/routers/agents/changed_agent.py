"""The reply to a request that attaches something to an agent, or changes it there."""

from __future__ import annotations

from fastapi import Response

from hibernaut.rest.dependencies import Caller, Services
from hibernaut.rest.http.json_responses import plain, reply
from hibernaut.schemas.agents.agent import StoredAgent


def null_or_state(services: Services, caller: Caller, agent: StoredAgent) -> Response:
    """The reply is null for a 1.0 client, and the agent for other clients (API 1.4)."""
    return plain(None) if caller.is_1_0_client else reply(services.agents.states.of_one(agent))
