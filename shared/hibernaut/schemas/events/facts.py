"""What events tell: small facts with ids, never contents. `docs/events.md` shows an example of each.

The facts are dataclasses and not models, because every step imports them. The names of the fields are a contract with receivers:
a field may be added; none is renamed or removed.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from hibernaut.schemas.immutable import immutable

EventType = Literal["run.finished", "approval.requested", "memory.changed", "budget.crossed", "webhook.disabled"]
EVENT_TYPES: tuple[EventType, ...] = (
    "run.finished",
    "approval.requested",
    "memory.changed",
    "budget.crossed",
    "webhook.disabled",
)
PING = "ping"
"""The type of the event that a test of a webhook sends. Nobody subscribes to it."""
MOST_TOOL_NAMES = 20
"""The largest number of tool names in one event."""
MOST_AGENT_IDS = 100


@immutable
class RunFinished:
    """A run has ended, however it ended. `error`: the code of a failed run's error. `duration_ms`: since the run was created."""

    type: ClassVar[EventType] = "run.finished"
    run_id: str
    agent_id: str
    conversation_id: str | None
    status: str
    stop_reason: str
    error: str | None
    background: bool
    created_at: str
    duration_ms: int
    steps: int
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


@immutable
class ApprovalRequested:
    """A run has ended with calls that wait for an answer. `request_id`: the message with the request. `tools`: the names of the
    tools that wait for the answer, at most `MOST_TOOL_NAMES`. `deadline`: when the calls are denied without an answer; null:
    never.
    """

    type: ClassVar[EventType] = "approval.requested"
    run_id: str
    agent_id: str
    conversation_id: str | None
    request_id: str
    tools: tuple[str, ...]
    deadline: str | None


@immutable
class MemoryChanged:
    """A block of core memory has changed. `by`: a step of an agent's run, or a request to the API.

    `agent_id`: the agent of the run or of the route; null if the request named the block alone. `agent_ids`: the affected agents;
    for a request, the agents with this block, at most `MOST_AGENT_IDS`. `run_id`: null for a request.
    `created`: a tool created a block for its agent. `attached`, `detached`: an existing block was attached to the agent or
    detached from it.
    """

    type: ClassVar[EventType] = "memory.changed"
    block_id: str
    label: str | None
    change: Literal["created", "updated", "attached", "detached", "deleted"]
    by: Literal["run", "api"]
    agent_id: str | None
    agent_ids: tuple[str, ...]
    run_id: str | None


@immutable
class BudgetCrossed:
    """A budget's limit is reached (`limit`), or the share of it at which the server warns (`warning`). `budget`: the name of the
    limit.

    `subject`: `tenant`, an API key's id or an agent's id. `limit` and `used` are decimal numbers as texts, because amounts of
    money are exact.
    """

    type: ClassVar[EventType] = "budget.crossed"
    subject: str
    scope: str
    budget: str
    level: str
    limit: str
    used: str
    agent_id: str | None


@immutable
class WebhookDisabled:
    """The server has disabled a webhook. The other webhooks receive this event. `reason`: `gone` (it answered 410) or `failing`
    (for days).
    """

    type: ClassVar[EventType] = "webhook.disabled"
    webhook_id: str
    name: str
    reason: str
    agent_id: None = None


Fact = RunFinished | ApprovalRequested | MemoryChanged | BudgetCrossed | WebhookDisabled
