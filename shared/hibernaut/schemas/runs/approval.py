"""Tool calls that wait for a person or for the client: the request and its answer (Letta V1 API, API 5.4).

The record of a pending approval belongs to the run that requested it. It is consumed once, and is neither deleted nor reused.
"""

from typing import Literal

from pydantic import ConfigDict, Field

from hibernaut.schemas.base import Moment, Schema
from hibernaut.schemas.messages.letta_message import WireToolReturn
from hibernaut.schemas.runs.send import ClientTool
from hibernaut.schemas.runs.turn import JournaledCall
from hibernaut.schemas.stored import Stored
from hibernaut.schemas.tools.tool_policy import CallDecision

DEFAULT_DEADLINE = 7 * 24 * 3600
"""The default deadline in seconds after which an unanswered approval is denied; the agent or the request may set another."""

How = Literal["answered", "interrupted", "deadline", "cancelled"]
"""The ways to consume a pending approval."""


class PendingCall(JournaledCall):
    """A pending call of a reply. `held`: a person or the client must answer it; the other calls of the reply wait for this
    answer.

    `client`: the client runs it. `refusal` is the error for the model, for a call that must not run. `decision`: the decision of
    a tool policy.
    """

    held: bool = False
    client: bool = False
    refusal: str | None = None
    decision: CallDecision | None = None


class ApprovalCall(Schema):
    """A call of a reply of which some calls wait. `needs_answer`: an answer must name it; else it only waits with the others.
    `by_client`: the client runs it and sends its return. `policy`: the name of the tool policy that decided about it.
    """

    tool_call_id: str
    name: str
    arguments: str
    needs_answer: bool
    by_client: bool
    policy: str | None = None


class RunApproval(Schema):
    """The wire form, an extension. `message_id`: the approval request. `deadline` null: no time limit. `client_tools`: the client
    tools of the request; the answer repeats them if the model may continue to call them. `how` and `answered_by` (a run) are null
    while the calls wait.
    """

    run_id: str
    agent_id: str
    conversation_id: str | None
    message_id: str
    asked_at: Moment
    deadline: Moment | None
    calls: list[ApprovalCall]
    client_tools: list[ClientTool]
    how: How | None
    answered_by: str | None


class PendingApproval(Stored):
    """The calls of one reply if some need an answer: these come first, then the others.

    `request_id` is the message with the request; `step_id` is the step of the reply and of the returns. `deadline` None: no time
    limit. `consumed_by` is the run that the answer started (or the requesting run itself, if it was cancelled); `answer` is the
    fingerprint of that answer.
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

    def wire(self, client_tools: list[ClientTool]) -> RunApproval:
        """The wire form. `client_tools`: those of the request."""
        return RunApproval(
            **{name: getattr(self, name) for name in ("run_id", "agent_id", "conversation_id", "asked_at", "deadline", "how")},
            message_id=self.request_id,
            calls=[
                ApprovalCall(
                    tool_call_id=call.id,
                    name=call.name,
                    arguments=call.arguments,
                    needs_answer=call.held,
                    by_client=call.client,
                    policy=call.decision.name if call.decision else None,
                )
                for call in self.calls
            ],
            client_tools=client_tools,
            answered_by=self.consumed_by,
        )


class Verdict(Schema):
    """The resolution of one pending call: it runs, it is denied with a reason, or the client provides its return (stored as
    `given`).
    """

    model_config = ConfigDict(serialize_by_alias=True)

    call: PendingCall
    decision: Literal["run", "deny", "given"]
    reason: str | None = None
    client_return: WireToolReturn | None = Field(default=None, validation_alias="given", serialization_alias="given")


class Resolution(Schema):
    """The open calls in the log at the start of a run. The run's first step commits a return for each of them, in this
    order.

    `step_id` is the step of the calls.
    """

    step_id: str
    verdicts: list[Verdict]
