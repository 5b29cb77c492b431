"""Reading runs: one, lists with their filters, and what belongs to a run; and deleting them (Letta V1 API, digest 2.15, 3 and 4.8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hibernaut.domain.listing import Page, page
from hibernaut.domain.run_trace import spans
from hibernaut.ports.table import Item
from hibernaut.schemas.errors import Conflict, InvalidArgument, NotFound
from hibernaut.schemas.ids import is_id
from hibernaut.schemas.letta_message import LettaMessage
from hibernaut.schemas.run import Run, RunMetrics, StoredRun
from hibernaut.schemas.step import Step
from hibernaut.schemas.stop import ENDED, RunStatus, StopReason
from hibernaut.schemas.trace import Span
from hibernaut.schemas.usage import RunUsage, Usage, UsageStatistics
from hibernaut.services.messages import MessageQuery, Messages
from hibernaut.store import keys
from hibernaut.store.conversations import Conversations
from hibernaut.store.erasure import Erasure
from hibernaut.store.runs import Runs as StoredRuns
from hibernaut.store.steps import Steps as StoredSteps


@dataclass(frozen=True, slots=True)
class RunQuery:
    """Which runs. Empty sets and None do not filter; `active` keeps those that have not ended."""

    page: Page
    agent_ids: Sequence[str] = ()
    statuses: frozenset[RunStatus] = field(default_factory=frozenset)
    stop_reason: StopReason | None = None
    background: bool | None = None
    conversation_id: str | None = None
    active: bool = False


class Runs:
    def __init__(
        self, *, runs: StoredRuns, steps: StoredSteps, messages: Messages, conversations: Conversations, erasure: Erasure
    ) -> None:
        self._runs = runs
        self._steps = steps
        self._messages = messages
        self._conversations = conversations
        self._erasure = erasure

    def get(self, tenant: str, run_id: str) -> Run:
        """Raises: InvalidArgument for what is no run id, NotFound."""
        return self._stored(tenant, run_id).wire()

    def page(self, tenant: str, query: RunQuery) -> list[Run]:
        """A page of runs; cursors follow the order asked for. Raises: NotFound for a cursor.

        A cursor need not pass the filter: the run that it names may have ended since the page before.
        """
        rows = self._rows(tenant, query.agent_ids)
        cursors = (query.page.before, query.page.after)
        kept = [row for row in rows if _kept(row, query) or _id_of(row) in cursors]
        asked = page(kept, query.page, id_of=_id_of, place=_id_of)
        ids = [_id_of(row) for row in asked]
        found = self._runs.get_many(tenant, ids)
        return [found[run_id].run.wire() for run_id in ids if run_id in found]

    def messages(self, tenant: str, run_id: str, query: MessageQuery) -> list[LettaMessage]:
        """A page of the run's messages, its input among them. Raises: InvalidArgument, NotFound."""
        run = self._stored(tenant, run_id)
        conversation = run.conversation_id or run.agent_id
        return self._messages.range(tenant, conversation, run.first_message, run.last_message, query)

    def steps(self, tenant: str, run_id: str, asked: Page) -> list[Step]:
        """A page of the run's steps. Raises: InvalidArgument, NotFound."""
        self._stored(tenant, run_id)
        found = page(self._steps.of_run(tenant, run_id), asked, id_of=lambda step: step.id, place=lambda step: step.id)
        return [step.wire() for step in found]

    def usage(self, tenant: str, run_id: str) -> RunUsage:
        """The tokens of all steps together, and those of the summaries that made room for them. Raises: InvalidArgument, NotFound."""
        run = self._stored(tenant, run_id)
        shown = RunUsage.of(run.usage)
        shown.summaries = UsageStatistics.of(run.summaries) if run.summaries != Usage() else None
        return shown

    def metrics(self, tenant: str, run_id: str) -> RunMetrics:
        """Raises: InvalidArgument, NotFound."""
        run = self._stored(tenant, run_id)
        return RunMetrics(
            id=run.id,
            agent_id=run.agent_id,
            run_start_ns=int(run.created_at.timestamp() * 1_000_000) * 1000,
            run_ns=run.total_duration_ns,
            num_steps=run.steps,
            tools_used=run.tools_used,
            base_template_id=run.base_template_id,
        )

    def trace(self, tenant: str, run_id: str, limit: int) -> list[Span]:
        """The first spans of the run, in the order in which they began. Raises: InvalidArgument, NotFound."""
        return spans(self._stored(tenant, run_id), self._steps.of_run(tenant, run_id))[:limit]

    def delete(self, tenant: str, run_id: str) -> Run:
        """Take away a run that is over, with its steps, events and whatever else it left but messages; the run as it was.

        Raises: InvalidArgument, NotFound, Conflict while it goes on, waits, or waits for an approval.
        """
        run = self._stored(tenant, run_id)
        if run.status not in ENDED:
            raise Conflict(f"CONFLICT: Run {run_id} has not ended. Cancel it before you delete it.")
        head = self._conversations.head(tenant, run.conversation_id or run.agent_id)
        if head is not None and head.pending == run_id:
            raise Conflict(f"CONFLICT: Run {run_id} waits for an approval. Answer it, or cancel the run, before you delete it.")
        self._erasure.run(tenant, run)
        return run.wire()

    def _stored(self, tenant: str, run_id: str) -> StoredRun:
        if not is_id(run_id, "run"):
            raise InvalidArgument(f"Invalid run ID format: {run_id}. Expected format: 'run-<uuid4>'")
        state = self._runs.get(tenant, run_id)
        if state is None:
            raise NotFound(f"Run with id {run_id} not found.")
        return state.run

    def _rows(self, tenant: str, agent_ids: Sequence[str]) -> Sequence[Item]:
        if not agent_ids:
            return self._runs.all_rows(tenant)
        return [row for agent_id in dict.fromkeys(agent_ids) for row in self._runs.rows(tenant, agent_id)]


def _id_of(row: Item) -> str:
    return keys.last_part(str(row["sk"]))


def _kept(row: Item, query: RunQuery) -> bool:
    status = RunStatus(str(row["status"]))
    return (
        (not query.statuses or status in query.statuses)
        and (query.stop_reason is None or row["stop_reason"] == query.stop_reason.value)
        and (query.background is None or row["background"] is query.background)
        and (query.conversation_id is None or row["conversation"] == query.conversation_id)
        and not (query.active and status in ENDED)
    )
