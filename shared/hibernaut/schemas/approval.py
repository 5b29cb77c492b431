"""Tool calls that wait for a person or for the client: what is asked, and what was answered (Letta V1 API, digest 5.4).

The record of a pending approval belongs to the run that asked. It is consumed once, and neither deleted nor used again.
"""

from __future__ import annotations

from typing import Literal

from hibernaut.schemas.base import Moment, Schema
from hibernaut.schemas.letta_message import WireToolReturn
from hibernaut.schemas.stored import Stored
from hibernaut.schemas.turn import JournaledCall

DEFAULT_DEADLINE = 7 * 24 * 3600
"""Seconds until an approval that nobody answers is denied, where neither the agent nor the request says otherwise."""

How = Literal["answered", "interrupted", "deadline", "cancelled"]
"""By what a pending approval was consumed."""


class PendingCall(JournaledCall):
    """A call of the reply that waits. `held`: a person or the client must answer it; the others only wait with it.

    `client`: the client runs it. `refusal` is what the model is told of a call that is not to be run at all.
    """

    held: bool = False
    client: bool = False
    refusal: str | None = None


class PendingApproval(Stored):
    """The calls of one reply of which some need an answer: those first, then the others that wait with them.

    `request_id` is the message that shows the request; `step_id` the step that the reply belongs to, and its returns too. `deadline`
    None: it waits for ever. `consumed_by` is the run that the answer made (or the asking run itself, where it was cancelled), and
    `answer` the fingerprint of that answer.
    """

    run_id: str
    agent_id: str
    conversation_id: str | None = None
    step_id: str
    request_id: str
    calls: list[PendingCall]
    asked_at: Moment
    deadline: Moment | None = None
    consumed_by: str | None = None
    how: How | None = None
    answer: str = ""

    @property
    def held(self) -> list[PendingCall]:
        """The calls that an answer must name."""
        return [call for call in self.calls if call.held]


class Verdict(Schema):
    """What becomes of one call that waited: it is run, it is denied for a reason, or the client gave its result."""

    call: PendingCall
    decision: Literal["run", "deny", "given"]
    reason: str | None = None
    given: WireToolReturn | None = None


class Resolution(Schema):
    """The calls that stand open in the log when a run begins: its first step commits a return for each, in this order.

    `step_id` is that of the step which made the calls.
    """

    step_id: str
    verdicts: list[Verdict]
