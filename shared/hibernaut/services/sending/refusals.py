"""The refusal of messages to agents that are paused, and of messages whose sender is being erased."""

from __future__ import annotations

from hibernaut.schemas.agents.erasure_faults import ErasureRunning
from hibernaut.schemas.agents.pause import StoredPause
from hibernaut.schemas.base import wire_time
from hibernaut.schemas.errors import AgentPaused


def refuse_paused(agent_id: str, pause: StoredPause | None) -> None:
    """Raises: AgentPaused if the agent is paused; ErasureRunning if an erasure has paused it."""
    if pause is not None and pause.erasure_id is not None:
        raise ErasureRunning(
            f"CONFLICT: Agent {agent_id} accepts no messages while a person is erased from it; "
            f"GET /v1/erasures/{pause.erasure_id} shows how far that is.",
            pause.erasure_id,
        )
    if pause is not None:
        reason = f" ({pause.reason})" if pause.reason else ""
        raise AgentPaused(
            f"CONFLICT: Agent {agent_id} is paused since {wire_time(pause.paused_at)}{reason}. "
            f"POST /v1/agents/{agent_id}/resume lets it accept messages again."
        )


def refuse_erased(erasure_id: str | None) -> None:
    """Raises: ErasureRunning, if a message's sender is being erased."""
    if erasure_id is not None:
        raise ErasureRunning(
            "CONFLICT: The `sender_id` of a message names a person who is being erased; "
            f"GET /v1/erasures/{erasure_id} shows how far that is.",
            erasure_id,
        )
