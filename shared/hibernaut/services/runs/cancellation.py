"""Cancels the work of an agent or of one conversation: active runs, queued runs, and pending approval requests."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Literal

from hibernaut.schemas.errors import Conflict
from hibernaut.schemas.ids import is_id
from hibernaut.schemas.stop import ENDED, RunStatus, StopReason
from hibernaut.services.turns.run_termination import RunTermination
from hibernaut.store.stores import TenantStores
from hibernaut.store.table import keys

CHUNK = 1000
"""The number of list rows in one read."""
MOST_READ = 10_000
"""The maximum number of list rows that are searched for runs that have not ended."""
Outcome = Literal["cancelled", "failed"]


class Cancellation:
    """Cancels the runs of an agent or of one conversation."""

    def __init__(self, stores: TenantStores, termination: RunTermination) -> None:
        self._runs = stores.runs
        self._conversations = stores.conversations
        self._termination = termination

    def agent(self, agent_id: str, run_ids: Sequence[str] | None = None) -> dict[str, Outcome]:
        """Cancel these runs of the agent; without `run_ids`, all that have not ended, and the pending approval of its default
        conversation. In other conversations only runs among the agent's newest 10,000 are found.

        Returns the outcome for each run id. A run that has ended is reported as cancelled and stays as it is (API 6.6); a run
        of another agent is reported as failed. Raises: Conflict if there is nothing to cancel.
        """
        if run_ids is not None:
            return {run_id: self._one(agent_id, run_id) for run_id in dict.fromkeys(run_ids)}
        newest = islice(self._runs.walk([agent_id], first=CHUNK, descending=True), MOST_READ)
        found = [keys.last_part(str(row["sk"])) for row in newest if RunStatus(str(row["status"])) not in ENDED]
        found += [run_id for run_id in self._runs_of(agent_id) if run_id not in found]
        if not found:
            raise Conflict(f"No active runs to cancel for agent {agent_id}")
        return {run_id: self._one(agent_id, run_id) for run_id in found}

    def conversation(self, agent_id: str, conversation: str) -> dict[str, Outcome]:
        """Cancel the runs and the pending approval of one conversation. The id of an agent's default conversation is the agent's
        id.

        Returns the outcome for each run id. Raises: Conflict if there is nothing to cancel.
        """
        found = self._runs_of(conversation)
        if not found:
            raise Conflict(f"No active runs to cancel for conversation {conversation}")
        return {run_id: self._one(agent_id, run_id) for run_id in found}

    def _runs_of(self, conversation: str) -> list[str]:
        """The runs of a conversation, the newest first: queued runs precede the run that would hand the conversation over to
        them.
        """
        head = self._conversations.head(conversation)
        if head is None:
            return []
        queued = self._conversations.queue(conversation) if head.waiting else []
        return [*reversed(queued), *(run_id for run_id in (head.owner, head.pending) if run_id)]

    def _one(self, agent_id: str, run_id: str) -> Outcome:
        state = self._runs.get(run_id) if is_id(run_id, "run") else None
        if state is None or state.run.agent_id != agent_id:
            return "failed"
        try:
            self._termination.end(run_id, StopReason.CANCELLED)
        except Conflict:
            return "failed"
        return "cancelled"
