"""Reads, lists and deletes runs, and reads what belongs to a run (Letta V1 API, API 2.15, 3 and 4.8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from hibernaut.domain.agents.group_turns import shown_usage
from hibernaut.domain.aws_prices import PRICES_DATE, cost_of
from hibernaut.domain.wire.listing import FilteredPage, Page, filtered_page, page
from hibernaut.domain.wire.run_failures import shown_run
from hibernaut.domain.wire.run_trace import spans
from hibernaut.ports.storage.table import Item
from hibernaut.schemas.errors import Conflict, InvalidArgument, NotFound
from hibernaut.schemas.faults.run_faults import no_run
from hibernaut.schemas.ids import is_id
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.letta_message import LettaMessage
from hibernaut.schemas.runs.approval import RunApproval
from hibernaut.schemas.runs.run import Run, RunMetrics, StoredRun
from hibernaut.schemas.runs.step import Step
from hibernaut.schemas.runs.trace import Span as TraceSpan
from hibernaut.schemas.stop import ENDED, RunStatus, StopReason
from hibernaut.schemas.usage import RunUsage, Usage, UsageStatistics
from hibernaut.services.logs.messages import MessageLists, MessageQuery
from hibernaut.store.conversations.conversations import ConversationStore
from hibernaut.store.deletion import Deletion
from hibernaut.store.runs.approvals import ApprovalStore
from hibernaut.store.runs.runs import RunState
from hibernaut.store.runs.runs import RunStore as StoredRuns
from hibernaut.store.runs.steps import StepStore as StoredSteps
from hibernaut.store.table import keys
from hibernaut.store.table.lists.logs import IdRange

CHUNK = 200
"""The number of list rows in the first read of a query without a limit."""
MOST_READ = 10_000
"""The maximum number of list rows that are searched for one page."""


@immutable
class RunQuery:
    """The filter and page of a list of runs. Empty sequences and None do not filter. `active`: only runs that have not ended."""

    page: Page
    agent_ids: Sequence[str] = ()
    statuses: frozenset[RunStatus] = field(default_factory=frozenset)
    stop_reason: StopReason | None = None
    background: bool | None = None
    conversation_id: str | None = None
    active: bool = False


class Runs:
    """Reads, lists and deletes runs."""

    def __init__(
        self,
        *,
        runs: StoredRuns,
        steps: StoredSteps,
        messages: MessageLists,
        approvals: ApprovalStore,
        conversations: ConversationStore,
        deletion: Deletion,
    ) -> None:
        self._runs = runs
        self._steps = steps
        self._messages = messages
        self._approvals = approvals
        self._conversations = conversations
        self._deletion = deletion

    def get(self, run_id: str) -> Run:
        """One run. Raises: InvalidArgument for a malformed run id, NotFound."""
        return shown_run(self._stored(run_id))

    def page(self, query: RunQuery) -> FilteredPage[Run]:
        """A page of runs. Cursors follow the requested order. At most 10,000 list rows from the page's start are searched.

        A cursor need not match the filter: its run may have ended since the previous page. Raises: NotFound for an unknown
        cursor.
        """
        page_query = query.page
        self._check_cursors(query)
        # The page before a cursor is adjacent to it, so the search starts at the cursor.
        backwards = page_query.before is not None and page_query.after is None
        span = (
            IdRange(page_query.before, page_query.after)
            if page_query.descending
            else IdRange(page_query.after, page_query.before)
        )
        first, descending = (page_query.limit or CHUNK) + 1, page_query.descending != backwards
        if query.active:
            open_page = filtered_page(
                self._runs.walk_open(span, first=first, descending=descending),
                lambda state: _passes_open(state.run, query),
                limit=page_query.limit or MOST_READ,
                most=MOST_READ,
                cursor="before" if backwards else "after",
                id_of=lambda state: state.run.id,
            )
            runs = [shown_run(state.run) for state in open_page.rows]
            return FilteredPage(runs[::-1] if backwards else runs, open_page.rest)
        found = filtered_page(
            self._runs.walk(self._agents_searched(query), span, first=first, descending=descending),
            lambda row: _passes(row, query),
            limit=page_query.limit or MOST_READ,
            most=MOST_READ,
            cursor="before" if backwards else "after",
            id_of=_id_of,
        )
        ids = [_id_of(row) for row in (found.rows[::-1] if backwards else found.rows)]
        states = self._runs.get_many(ids)
        return FilteredPage([shown_run(states[run_id].run) for run_id in ids if run_id in states], found.rest)

    def messages(self, run_id: str, query: MessageQuery) -> list[LettaMessage]:
        """A page of the run's messages, including its input, of the types that its request selects. Raises: InvalidArgument,
        NotFound.
        """
        return self._messages.of_run(self._stored(run_id), query)

    def approval(self, run_id: str) -> RunApproval:
        """The calls for which the run requested approval. Raises: InvalidArgument, NotFound (the run, or it requested none)."""
        run, state = self._stored(run_id), self._approvals.get(run_id)
        if state is None:
            raise NotFound(f"Run '{run_id}' has asked for no answer.")
        return state.record.wire(run.options.client_tools or [])

    def waiting(self, page_query: Page, agent_id: str | None = None) -> FilteredPage[RunApproval]:
        """A page of the pending approvals, in the order of their runs; of one agent or of all.

        At most 10,000 approvals are searched. A cursor need not wait any more: it may have been answered since the previous page.
        """
        backwards = page_query.before is not None and page_query.after is None
        span = (
            IdRange(page_query.before, page_query.after)
            if page_query.descending
            else IdRange(page_query.after, page_query.before)
        )
        found = filtered_page(
            self._approvals.walk_waiting(
                span, first=(page_query.limit or CHUNK) + 1, descending=page_query.descending != backwards
            ),
            lambda record: agent_id is None or record.agent_id == agent_id,
            limit=page_query.limit or MOST_READ,
            most=MOST_READ,
            cursor="before" if backwards else "after",
            id_of=lambda record: record.run_id,
        )
        records = found.rows[::-1] if backwards else found.rows
        runs = self._runs.get_many([record.run_id for record in records])
        existing = [record for record in records if record.run_id in runs]
        return FilteredPage([record.wire(runs[record.run_id].run.options.client_tools or []) for record in existing], found.rest)

    def steps(self, run_id: str, page_query: Page) -> list[Step]:
        """A page of the run's steps. Raises: InvalidArgument, NotFound."""
        self._stored(run_id)
        found = page(self._steps.of_run(run_id), page_query, id_of=lambda step: step.id, place=lambda step: step.id)
        return [step.wire() for step in found]

    def usage(self, run_id: str) -> RunUsage:
        """The tokens of all steps, and those of the summaries that compaction made for the run. Raises: InvalidArgument,
        NotFound.
        """
        run = self._stored(run_id)
        usage = RunUsage.of(shown_usage(run).usage)
        if run.aws is not None:
            usage.aws, usage.aws_cost, usage.aws_price_list_date = run.aws, cost_of(run.aws), PRICES_DATE
        usage.summaries = UsageStatistics.of(run.summaries) if run.summaries != Usage() else None
        return usage

    def metrics(self, run_id: str) -> RunMetrics:
        """The run's durations and counts. Raises: InvalidArgument, NotFound."""
        state = self._state(run_id)
        run = state.run
        return RunMetrics(
            attempts=state.attempt,
            sweeps=state.sweeps,
            take_ups=list(state.take_ups),
            id=run.id,
            agent_id=run.agent_id,
            run_start_ns=int(run.created_at.timestamp() * 1_000_000) * 1000,
            run_ns=run.total_duration_ns,
            num_steps=run.steps,
            tools_used=run.tools_used,
            base_template_id=run.base_template_id,
        )

    def trace(self, run_id: str, limit: int) -> list[TraceSpan]:
        """The run's first `limit` spans, ordered by start. Raises: InvalidArgument, NotFound."""
        return spans(self._stored(run_id), self._steps.of_run(run_id))[:limit]

    def delete(self, run_id: str) -> Run:
        """Delete an ended run with its steps, events and all else that belongs to it except messages. Returns the deleted run.

        Raises: InvalidArgument, NotFound; Conflict if the run has not ended, or waits for an approval.
        """
        run = self._stored(run_id)
        if run.status not in ENDED:
            raise Conflict(f"CONFLICT: Run {run_id} has not ended. Cancel it before you delete it.")
        head = self._conversations.head(run.conversation_id or run.agent_id)
        if head is not None and head.pending == run_id:
            raise Conflict(f"CONFLICT: Run {run_id} waits for an approval. Answer it, or cancel the run, before you delete it.")
        self._deletion.run(run)
        return shown_run(run)

    def _stored(self, run_id: str) -> StoredRun:
        return self._state(run_id).run

    def _state(self, run_id: str) -> RunState:
        if not is_id(run_id, "run"):
            raise InvalidArgument(f"Invalid run ID format: {run_id}. Expected format: 'run-<uuid4>'")
        state = self._runs.get(run_id)
        if state is None:
            raise no_run(run_id)
        return state

    def _agents_searched(self, query: RunQuery) -> Sequence[str]:
        """The agents whose runs are searched; empty means all agents. For a conversation, this is its agent."""
        conversation_id = query.conversation_id or ""
        head = self._conversations.head(conversation_id) if not query.agent_ids and is_id(conversation_id, "conv") else None
        return [head.agent_id] if head else query.agent_ids

    def _check_cursors(self, query: RunQuery) -> None:
        """Raises: NotFound if a cursor is not a run, or not a run of the requested agents."""
        cursors = [cursor for cursor in (query.page.before, query.page.after) if cursor is not None]
        states = self._runs.get_many([cursor for cursor in cursors if is_id(cursor, "run")])
        for cursor in cursors:
            if cursor not in states or (query.agent_ids and states[cursor].run.agent_id not in query.agent_ids):
                raise NotFound(f"There is no entry with the id {cursor} in this list.")


def _id_of(row: Item) -> str:
    return keys.last_part(str(row["sk"]))


def _passes(row: Item, query: RunQuery) -> bool:
    status = RunStatus(str(row["status"]))
    return (
        (not query.statuses or status in query.statuses)
        and (query.stop_reason is None or row["stop_reason"] == query.stop_reason.value)
        and (query.background is None or row["background"] is query.background)
        and (query.conversation_id is None or row["conversation"] == query.conversation_id)
    )


def _passes_open(run: StoredRun, query: RunQuery) -> bool:
    """The filter of open runs."""
    return (
        (not query.agent_ids or run.agent_id in query.agent_ids)
        and (not query.statuses or run.status in query.statuses)
        and (query.stop_reason is None or run.stop_reason is query.stop_reason)
        and (query.background is None or bool(run.background) is query.background)
        and (query.conversation_id is None or run.conversation_id == query.conversation_id)
    )
