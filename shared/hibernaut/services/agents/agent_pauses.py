"""Pausing an agent: it accepts no message until it is resumed. Runs accepted before the pause continue to their end."""

from __future__ import annotations

from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.schemas.agents.erasure_faults import ErasureRunning
from hibernaut.schemas.agents.pause import AgentPause, PauseAgent, StoredPause
from hibernaut.schemas.errors import NotFound
from hibernaut.services.records import Records
from hibernaut.store.agents.pauses import PauseStore


class AgentPauses:
    """The use cases of pauses."""

    def __init__(self, records: Records, pauses: PauseStore) -> None:
        self._records = records
        self._pauses = pauses

    def get(self, agent_id: str) -> AgentPause:
        """Whether the agent is paused. Raises: NotFound."""
        self._records.agent(agent_id)
        return _shown(agent_id, self._pauses.get(agent_id))

    def pause(self, agent_id: str, request: PauseAgent, *, key_id: str | None = None) -> AgentPause:
        """Pause the agent; an agent that is already paused keeps its time of pause. Raises: NotFound."""
        self._records.agent(agent_id)
        earlier = self._pauses.get(agent_id)
        if earlier is not None:
            return _shown(agent_id, earlier)
        pause = StoredPause(paused_at=self._records.clock.now(), key_id=key_id, reason=request.reason)
        try:
            self._records.writer.write(*self._pauses.pause(agent_id, pause))
        except ConditionFailed:
            raise NotFound(f"Agent with ID {agent_id} not found") from None
        return _shown(agent_id, pause)

    def resume(self, agent_id: str) -> AgentPause:
        """End the pause; does nothing if there is none. Raises: NotFound; ErasureRunning: the erasure of a person ends it."""
        self._records.agent(agent_id)
        pause = self._pauses.get(agent_id)
        if pause is not None and pause.erasure_id is not None:
            raise ErasureRunning(
                f"CONFLICT: Agent {agent_id} is paused until a person is erased from it; "
                f"GET /v1/erasures/{pause.erasure_id} shows how far that is.",
                pause.erasure_id,
            )
        self._records.writer.write(self._pauses.resume(agent_id))
        return _shown(agent_id, None)


def _shown(agent_id: str, pause: StoredPause | None) -> AgentPause:
    if pause is None:
        return AgentPause(agent_id=agent_id, paused=False)
    return AgentPause(agent_id=agent_id, paused=True, paused_at=pause.paused_at, key_id=pause.key_id, reason=pause.reason)
