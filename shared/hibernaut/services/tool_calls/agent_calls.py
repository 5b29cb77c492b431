"""The seam between a step's tool calls and the use case that sends messages to other agents
(`services.sending.agent_messages`).
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from hibernaut.domain.turn.actor import Call
from hibernaut.schemas.runs.turn import ClaimedResult
from hibernaut.services.steps.step_work import StepWork


class RepliesPending(Exception):
    """A call waits for replies of other agents. They wake the run; at `until` the call returns without those that are missing."""

    def __init__(self, until: datetime) -> None:
        self.until = until
        super().__init__(f"replies are awaited until {until.isoformat()}")


class CallRefused(Exception):
    """The call cannot be made; the text says why, and nothing was sent."""


class AgentCalls(Protocol):
    """Performs calls to other agents."""

    def call(self, work: StepWork, call: Call) -> ClaimedResult:
        """The result of a call. A repeated call continues the first one and sends nothing twice. What the model can mend is an
        error result.

        Raises: RepliesPending; LeaseLost; StoreUnavailable.
        """
