"""What the transactions of the run protocol write, as values. Must not know conditions or items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Literal

from hibernaut.domain.budgets import NOTHING_SPENT, Spending
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.events.facts import Fact
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.approval import PendingApproval
from hibernaut.schemas.runs.events import RunEvent
from hibernaut.schemas.runs.step import StoredStep
from hibernaut.store.runs.runs import RunState

INPUT_PAGE = 40
"""Messages of a run's input that one transaction appends to the log: as many as fit with its other changes. Further messages of
the request are stored on the run. The run's first step appends them page by page before it calls the model."""


@immutable
class IdempotencyMark:
    """An idempotency key of an accepted request: a fingerprint or an otid with a time to live of `life` seconds.

    `original`: the mark was written by a first send, not by a retry. `replaces`: the `ttl` of the expired mark that this one
    overwrites.
    """

    kind: Literal["otid", "fingerprint"]
    value: str
    life: int
    original: bool
    replaces: int | None = None


@immutable
class StepWrites:
    """The output of a step: rows of the log, the record of the step, and events for the run's event log.

    `system`: the new system message, if the same transaction rewrites it. `spent`: what the model calls behind it have used.
    `facts`: what events tell of it.
    """

    rows: Sequence[Message] = ()
    step: StoredStep | None = None
    events: Sequence[RunEvent] = ()
    system: Message | None = None
    spent: Spending = NOTHING_SPENT
    facts: Sequence[Fact] = ()


@immutable
class Handover:
    """The next owner of the conversation: a run and the messages of its input, or no run.

    `fresh` None: the run is the first of the queue. Otherwise the same transaction creates the run, with these marks of its
    request.
    """

    run: RunState | None = None
    rows: Sequence[Message] = ()
    fresh: Sequence[IdempotencyMark] | None = None


@immutable
class RunEnding:
    """The end of a run: its last state and its successor.

    `outside`: the run as it was read, where a cancel, a request or the sweep ends it instead of its worker.
    `asks`: the approval that the last step requests. A pending approval holds the conversation; no run succeeds.
    """

    state: RunState
    succession: Handover = field(default_factory=Handover)
    outside: RunState | None = None
    asks: PendingApproval | None = None


@immutable
class ApprovalConsumption:
    """A consumed approval and the rows that the same transaction appends to the log."""

    record: PendingApproval
    rows: Sequence[Message] = ()


@immutable
class RepairPlan:
    """A head before and after its repair. `lost`: the ids of queue entries without a waiting run."""

    before: Head
    after: Head
    rows: Sequence[Message]
    lost: Sequence[str]
    succession: Handover
