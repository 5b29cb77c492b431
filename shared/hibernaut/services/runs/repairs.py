"""Repairs conversations whose state is inconsistent because something outside the run protocol has changed them.

Examples of causes are an import, a manual write, or a partial restore of the table. Examples of damage are calls without a
return, an owner that is not running, a pending approval without a record, and a wrong queue count. One transaction repairs the
conversation, and a report lists the repairs. A consistent active run, pending approval or queue stays as it is.
"""

from __future__ import annotations

import logging

from hibernaut.domain.window.open_calls import INTERRUPTED, LAST_ROWS, Closing, closed, open_at_end
from hibernaut.ports.runs.workflow import RunRef
from hibernaut.ports.storage.table import Change
from hibernaut.schemas.agents.conversation import Head, Window
from hibernaut.schemas.errors import InvalidArgument, NotFound
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.repair import Repair
from hibernaut.schemas.stop import RunStatus
from hibernaut.services.host import Host
from hibernaut.services.turns.approvals import ApprovalAnswers
from hibernaut.services.turns.handovers import Handovers
from hibernaut.store.runs.runs import RunState
from hibernaut.store.runs.transaction_values import Handover, RepairPlan
from hibernaut.store.stores import TenantStores
from hibernaut.store.table.optimistic_retry import until_settled

TRIES = 20
logger = logging.getLogger(__name__)


@immutable
class _Diagnosis:
    """The damage that was found: `rows` are missing from the log, `window` is the corrected window, `queue` holds the runs that
    wait.
    """

    report: Repair
    rows: list[Message]
    window: Window
    queue: list[RunState]


class Repairs:
    """Finds and repairs inconsistent conversations."""

    def __init__(self, stores: TenantStores, host: Host, *, approvals: ApprovalAnswers, handovers: Handovers) -> None:
        self._stores = stores
        self._host = host
        self._approvals = approvals
        self._handovers = handovers

    def agent_of(self, conversation: str) -> str | None:
        """The id of the agent that the conversation belongs to; None if the conversation does not exist."""
        head = self._stores.conversations.head(conversation)
        return head.agent_id if head else None

    def repair(self, conversation: str) -> Repair:
        """Repair one conversation, and report what was repaired.

        Raises: NotFound; InvalidArgument if its system message is lost; Conflict if it keeps changing for `TRIES` attempts.
        """

        def attempt() -> Repair:
            head = self._stores.conversations.head(conversation)
            if head is None:
                raise NotFound(f"Agent with ID {conversation} not found")
            found = self._look(head)
            if not found.report.changed:
                return found.report
            self._mend(head, found)
            logger.warning("conversation repaired", extra={"conversation_id": conversation})
            return found.report

        return until_settled(attempt, f"Conversation {conversation} is too busy to be repaired; try again.", tries=TRIES)

    def _look(self, head: Head) -> _Diagnosis:
        owner = self._owner(head)
        record = self._approvals.pending(head)
        queue, lost_runs = self._queue(head)
        window, lost_pins = self._window(head)
        calls = []
        if owner is None and record is None:
            tail = self._stores.conversations.page(head.id, limit=LAST_ROWS, descending=True)
            calls = open_at_end(tail[::-1])
        report = Repair(
            closed_calls=[call.id for call in calls],
            released_run=head.owner if owner is None else None,
            withdrawn_approval=head.pending if record is None else None,
            dropped_from_queue=lost_runs,
            dropped_from_window=lost_pins,
            waiting=len(queue),
            active_run=head.owner if owner else None,
            pending_approval=record.request_id if record else None,
        )
        faults = calls or report.released_run or report.withdrawn_approval or lost_runs or lost_pins
        report.changed = bool(faults) or head.waiting != len(queue) or (owner is None and record is None and bool(queue))
        rows = []
        if calls:
            agent = self._stores.agents.get(head.agent_id)
            message_id = self._host.ids.new("message", after=head.last_message)
            conversation = None if head.id == head.agent_id else head.id
            zone = agent.timezone if agent else "UTC"
            closing = Closing(message_id, head.agent_id, conversation, None, self._host.clock.now(), zone)
            rows.append(closed(calls, INTERRUPTED, closing))
        return _Diagnosis(report, rows, window, queue)

    def _owner(self, head: Head) -> RunState | None:
        """The run that owns the conversation, if it is running."""
        state = self._stores.runs.get(head.owner) if head.owner else None
        return state if state is not None and state.run.status is RunStatus.RUNNING else None

    def _queue(self, head: Head) -> tuple[list[RunState], list[str]]:
        """The queued runs that wait, and the ids in the queue whose runs do not."""
        run_ids = self._stores.conversations.queue(head.id)
        states = self._stores.runs.get_many(run_ids)
        queued = [states[run_id] for run_id in run_ids if run_id in states and states[run_id].run.status is RunStatus.CREATED]
        queued_ids = {state.run.id for state in queued}
        return queued, [run_id for run_id in run_ids if run_id not in queued_ids]

    def _window(self, head: Head) -> tuple[Window, list[str]]:
        """The window without pins to lost rows, and the ids of these. Raises: InvalidArgument if the system message is lost."""
        pinned = head.window.pinned
        found = {row.id for row in self._stores.conversations.messages(head.id, pinned)}
        lost = [message_id for message_id in pinned if message_id not in found]
        if pinned and pinned[0] in lost:
            raise InvalidArgument(
                "INVALID_ARGUMENT: The system message of this conversation is lost; reset its messages instead."
            )
        return head.window.model_copy(update={"pinned": [each for each in pinned if each in found]}), lost

    def _mend(self, head: Head, found: _Diagnosis) -> None:
        now, token, report = self._host.clock.now(), self._host.ids.token(), found.report
        free = report.active_run is None and report.pending_approval is None
        last = found.rows[-1].id if found.rows else head.last_message
        succession = self._handovers.to(found.queue[0], last, now) if free and found.queue else Handover()
        after = head.model_copy(
            update={
                "owner": report.active_run,
                "pending": head.pending if report.pending_approval else None,
                "waiting": len(found.queue),
                "window": found.window,
            }
        )
        mended = RepairPlan(head, after, found.rows, tuple(report.dropped_from_queue), succession)
        changes: list[Change] = self._stores.transactions.mend(mended, token, now)
        self._stores.writer.write(*changes, token=token)
        if succession.run is not None:
            self._host.workflow.start(RunRef(self._stores.tenant, succession.run.run.id))
