"""Cancelling what an agent, or one of its conversations, is at: runs under way, runs that wait, and requests for an approval."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Literal

from hibernaut.schemas.errors import Conflict
from hibernaut.schemas.ids import is_id
from hibernaut.schemas.stop import ENDED, RunStatus, StopReason
from hibernaut.services.turns.run_termination import RunTermination
from hibernaut.store import keys
from hibernaut.store.stores import TenantStores

CHUNK = 1000
"""List rows that are read at once."""
MOST_READ = 10_000
"""List rows that are looked at for runs that have not ended."""
Outcome = Literal["cancelled", "failed"]


class Cancellation:
    """Cancels the runs of an agent or of one conversation."""

    def __init__(self, stores: TenantStores, endings: RunTermination) -> None:
        self._runs = stores.runs
        self._conversations = stores.conversations
        self._endings = endings

    def agent(self, agent_id: str, run_ids: Sequence[str] | None = None) -> dict[str, Outcome]:
        """These runs of the agent, or all that have not ended, and what its own conversation waits for. Raises: Conflict for none.

        In other conversations than its own, all are those among its newest 10,000 runs. A run that has ended is told as cancelled and stays as it is (digest 6.6); one of another agent as failed.
        """
        if run_ids is not None:
            return {run_id: self._one(agent_id, run_id) for run_id in dict.fromkeys(run_ids)}
        newest = islice(self._runs.walk([agent_id], chunk=CHUNK, descending=True), MOST_READ)
        found = [keys.last_part(str(row["sk"])) for row in newest if RunStatus(str(row["status"])) not in ENDED]
        found += [run_id for run_id in self._held(agent_id) if run_id not in found]
        if not found:
            raise Conflict(f"No active runs to cancel for agent {agent_id}")
        return {run_id: self._one(agent_id, run_id) for run_id in found}

    def conversation(self, agent_id: str, conversation: str) -> dict[str, Outcome]:
        """The same for one conversation; the agent's own bears the agent's id. Raises: Conflict for none."""
        found = self._held(conversation)
        if not found:
            raise Conflict(f"No active runs to cancel for conversation {conversation}")
        return {run_id: self._one(agent_id, run_id) for run_id in found}

    def _held(self, conversation: str) -> list[str]:
        """The runs of a conversation, the newest first: those that wait go before the one that would hand over to them."""
        head = self._conversations.head(conversation)
        if head is None:
            return []
        waiting = self._conversations.queue(conversation) if head.waiting else []
        return [*reversed(waiting), *(run_id for run_id in (head.owner, head.pending) if run_id)]

    def _one(self, agent_id: str, run_id: str) -> Outcome:
        state = self._runs.get(run_id) if is_id(run_id, "run") else None
        if state is None or state.run.agent_id != agent_id:
            return "failed"
        try:
            self._endings.end(run_id, StopReason.CANCELLED)
        except Conflict:
            return "failed"
        return "cancelled"
