"""Reads steps, and writes feedback on them (Letta V1 API, API 2.15 and 4.8)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice

from hibernaut.domain.models.usage_rows import usage_rows, usage_total
from hibernaut.domain.wire.listing import FilteredPage, filtered_page
from hibernaut.schemas.errors import InvalidArgument, NotFound
from hibernaut.schemas.ids import compose
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.letta_message import LettaMessage
from hibernaut.schemas.runs.step import ModifyFeedback, Step, StepMetrics, StepUsage, StoredStep
from hibernaut.schemas.runs.trace import ProviderTrace
from hibernaut.schemas.runs.usage_report import UsageReport
from hibernaut.services.logs.messages import MessageLists, MessageQuery
from hibernaut.store.runs.steps import StepStore as StoredSteps
from hibernaut.store.runs.traces import Traces
from hibernaut.store.table.lists.logs import IdRange
from hibernaut.store.table.writer import Writer

CHUNK = 200
"""The number of steps in the first read of a report."""
MOST_READ = 10_000
"""The maximum number of steps that are searched for one page."""


@immutable
class StepQuery:
    """The filter and page of a list of steps. None and empty sequences do not filter. `tags`: a step has at least one of them.
    `feedback`: a step has this feedback. `has_feedback`: a step has any feedback (True) or none (False).
    """

    limit: int = 50
    before: str | None = None
    after: str | None = None
    descending: bool = True
    start: datetime | None = None
    end: datetime | None = None
    agent_id: str | None = None
    model: str | None = None
    trace_ids: Sequence[str] = ()
    feedback: str | None = None
    has_feedback: bool | None = None
    tags: Sequence[str] = ()
    project_id: str | None = None


@immutable
class UsageQuery:
    """Which steps a report adds up: those of a time, an agent, an API key, a model (its handle or its name), made before a
    cursor.
    """

    start: datetime | None = None
    end: datetime | None = None
    agent_id: str | None = None
    model: str | None = None
    before: str | None = None
    key_id: str | None = None


class Steps:
    """Reads steps and writes feedback on them."""

    def __init__(self, *, steps: StoredSteps, messages: MessageLists, writer: Writer, traces: Traces) -> None:
        self._steps = steps
        self._traces = traces
        self._messages = messages
        self._writer = writer

    def get(self, step_id: str) -> Step:
        """One step. Raises: NotFound."""
        return self._stored(step_id).wire()

    def page(self, query: StepQuery) -> FilteredPage[Step]:
        """A page of steps. Cursors follow the requested order. At most 10,000 steps from the page's start are searched.

        Raises: NotFound for an unknown cursor.
        """
        for cursor in (query.before, query.after):
            if cursor is not None:
                self._stored(cursor)
        found = filtered_page(
            self._all(query),
            lambda step: _passes(step, query),
            limit=query.limit,
            most=MOST_READ,
            cursor="before" if _backwards(query) else "after",
            id_of=lambda step: step.id,
        )
        steps = [step.wire() for step in found.rows]
        # The page before a cursor is adjacent to it, so the search starts at the cursor.
        return FilteredPage(steps[::-1] if _backwards(query) else steps, found.rest)

    def usage(self, query: UsageQuery) -> UsageReport:
        """The usage of steps by day, agent, key and model. It reads the newest 10,000 steps, and returns the cursor at which it
        stopped.

        Raises: InvalidArgument where the time ends before it begins, NotFound for a cursor.
        """
        if query.start is not None and query.end is not None and query.start > query.end:
            raise InvalidArgument("INVALID_ARGUMENT: end_date is before start_date.")
        if query.before is not None:
            self._stored(query.before)
        high = min(filter(None, (query.before, _edge(query.end, last=True))), default=None)
        steps = list(islice(self._steps.walk_usage(IdRange(_edge(query.start), high), first=CHUNK), MOST_READ + 1))
        next_cursor = steps[MOST_READ - 1].id if len(steps) > MOST_READ else None
        rows = usage_rows(step for step in steps[:MOST_READ] if _reported(step, query))
        return UsageReport(rows=rows, total=usage_total(rows), next=next_cursor)

    def metrics(self, step_id: str) -> StepMetrics:
        """The step's start times and durations in nanoseconds. Raises: NotFound."""
        step = self._stored(step_id)
        return StepMetrics(
            id=step.id,
            provider_id=step.provider_id,
            run_id=step.run_id,
            agent_id=step.agent_id,
            step_start_ns=step.step_start_ns,
            llm_request_start_ns=step.llm_request_start_ns,
            llm_request_ns=step.llm_request_ns,
            tool_execution_ns=step.tool_execution_ns,
            call_times=step.call_times,
            step_ns=step.step_ns,
            project_id=step.project_id,
        )

    def trace(self, step_id: str) -> ProviderTrace | None:
        """The step's request to its provider and the response; None if no trace was stored, or it has expired. Raises:
        NotFound.
        """
        step = self._stored(step_id)
        return self._traces.get(step.run_id or "", step.id)

    def messages(self, step_id: str, query: MessageQuery) -> list[LettaMessage]:
        """A page of the step's messages. Raises: NotFound."""
        step = self._stored(step_id)
        conversation = step.conversation_id or step.agent_id or ""
        return self._messages.range(conversation, step.first_message, step.last_message, query)

    def change_feedback(self, step_id: str, feedback: ModifyFeedback) -> Step:
        """Set or clear the step's feedback and tags. Fields that the request omits stay unchanged. Raises: NotFound."""
        step = self._stored(step_id)
        if "feedback" in feedback.model_fields_set:
            step.feedback = feedback.feedback
        if feedback.tags is not None:
            step.tags = feedback.tags
        self._writer.write(self._steps.change(step))
        return step.wire()

    def _stored(self, step_id: str) -> StoredStep:
        step = self._steps.get(step_id)
        if step is None:
            raise NotFound(f"Step with id {step_id} not found.")
        return step

    def _all(self, query: StepQuery) -> Iterator[StoredStep]:
        """The steps between the cursors and dates, in the order of the search."""
        low, high = (query.before, query.after) if query.descending else (query.after, query.before)
        low = max(filter(None, (low, _edge(query.start))), default=None)
        high = min(filter(None, (high, _edge(query.end, last=True))), default=None)
        descending = query.descending != _backwards(query)
        return self._steps.walk(IdRange(low, high), first=query.limit + 1, descending=descending)


def _backwards(query: StepQuery) -> bool:
    return query.before is not None and query.after is None


def _edge(moment: datetime | None, *, last: bool = False) -> str | None:
    """The smallest step id of a moment's millisecond; with `last`, of the next millisecond."""
    if moment is None:
        return None
    return compose("step", int(moment.timestamp() * 1000) + (1 if last else 0), 0, 0)


def _reported(step: StepUsage, query: UsageQuery) -> bool:
    return (
        query.agent_id in (None, step.agent_id)
        and query.key_id in (None, step.key_id)
        and query.model in (None, step.model_handle, step.model)
    )


def _passes(step: StoredStep, query: StepQuery) -> bool:
    return (
        (query.agent_id is None or step.agent_id == query.agent_id)
        and (query.model is None or step.model == query.model)
        and (not query.trace_ids or step.trace_id in query.trace_ids)
        and (query.feedback is None or step.feedback == query.feedback)
        and (query.has_feedback is None or (step.feedback is not None) is query.has_feedback)
        and (not query.tags or bool(set(query.tags) & set(step.tags)))
        and (query.project_id is None or step.project_id == query.project_id)
    )
