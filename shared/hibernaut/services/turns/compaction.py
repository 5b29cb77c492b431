"""Compaction of the context window: a summary replaces the oldest messages, or they are dropped if no summary is available.

Between two steps of a run, a worker takes the lease for a compaction and commits it as it does for a step. The summary, the
window, the recompiled system message, the events and the run's progress are one transaction; a worker that dies before it leaves
no trace. On request (`on_request`) a conversation is compacted without a run, and the request fails if the window would not
shrink. Compaction never removes messages from the log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from hibernaut.domain.budgets import Spending
from hibernaut.domain.turn.actor import actor_of
from hibernaut.domain.turn.model_requests import tools_size
from hibernaut.domain.turn.turn_machine import MAX_COMPACTIONS
from hibernaut.domain.window import sent_messages, summaries, window
from hibernaut.domain.window.compaction import Measures, merged
from hibernaut.ports.model import Models
from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.errors import Busy, InvalidArgument, NotFound
from hibernaut.schemas.faults.run_faults import no_run
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.models.compaction import CompactionPlan, CompactionResponse
from hibernaut.schemas.models.model_settings import CompactionSettings
from hibernaut.schemas.runs.events import CompactionEvent, MessageEvent
from hibernaut.schemas.stop import RunStatus
from hibernaut.schemas.usage import Usage, UsageStatistics
from hibernaut.services.budgets.budget_checks import BudgetChecks
from hibernaut.services.host import Host
from hibernaut.services.models.conversation_model import agent_in
from hibernaut.services.models.model_retry import CancellationWatch
from hibernaut.services.models.summarizer import Summarizer, SummaryBudget, SummarySubject
from hibernaut.services.prompt.recompilation import PromptSubject
from hibernaut.services.prompt.system_messages import SystemMessages, system_row
from hibernaut.services.steps.step_lease import AdvanceResult, LeaseLost, StepLease, check_held
from hibernaut.services.steps.step_work import StepLoader, StepWork
from hibernaut.services.turns.unit_of_work import UnitOfWork, UnitWriter
from hibernaut.services.turns.window_reduction import CompactionInput, CompactionResult, WindowReduction, plan_of
from hibernaut.store.conversations.conversations import LoadedConversation
from hibernaut.store.runs.transaction_values import StepWrites
from hibernaut.store.stores import TenantStores

LONGEST = 300.0
"""The time limit of a compaction in seconds. After it, the window is reduced without a summary."""
MARGIN = 10.0
"""Seconds that a worker reserves for the commit."""
BY_REQUEST = "summarize"
"""The trigger of a compaction on request."""
_BUSY = "CONFLICT: Cannot compact the conversation: another request is currently being processed for it"
logger = logging.getLogger(__name__)


@immutable
class CompactionParts:
    """The collaborators of `Compaction`."""

    lease: StepLease
    loader: StepLoader
    prompts: SystemMessages
    writer: UnitWriter
    summarizer: Summarizer
    budgets: BudgetChecks


class Compaction:
    """Compacts a conversation's window, between two steps of a run or on request."""

    def __init__(self, stores: TenantStores, host: Host, models: Models, parts: CompactionParts) -> None:
        self._stores = stores
        self._models = models
        self._host = host
        self._parts = parts
        self._smaller = WindowReduction(host, parts.summarizer)
        self._clock = host.clock
        self._ids = host.ids

    def compact(self, run_id: str, *, time_left: Callable[[], float] | None = None) -> AdvanceResult:
        """Compact the window for the run's next step. `time_left` returns the seconds that this worker has left.

        An error of the summariser does not fail the compaction. The summariser's call is closed when the run ends. Raises:
        NotFound if the run does not exist, and the errors of the table.
        """
        state = self._stores.runs.get(run_id)
        if state is None:
            raise no_run(run_id)
        if state.run.status is not RunStatus.RUNNING:
            return AdvanceResult("waiting" if state.run.status is RunStatus.CREATED else "finished", state.run.steps)
        if state.run.compact_for is None or state.journal:
            return AdvanceResult("advance", state.run.steps)
        if self._parts.lease.held_by_another(state):
            return AdvanceResult("busy", state.run.steps)
        seconds = min(LONGEST, (time_left() if time_left else LONGEST + MARGIN) - MARGIN)
        deadline = self._clock.monotonic() + seconds
        try:
            with self._parts.lease.acquire(state, max(1.0, seconds + MARGIN)) as leased:
                work = self._parts.loader.load(leased)
                if work.head.owner != run_id:
                    raise LeaseLost
                watch = CancellationWatch(self._host, partial(check_held, self._stores.runs, leased), run_id)
                budget = SummaryBudget(watch, deadline)
                return self._commit(work, self._smaller.reduce(self._window_input(work), budget), budget.used)
        except LeaseLost:
            return self._after(run_id)

    def _after(self, run_id: str) -> AdvanceResult:
        state = self._stores.runs.get(run_id)
        if state is None or state.ended:
            return AdvanceResult("finished", state.run.steps if state else 0)
        return AdvanceResult("busy", state.run.steps)

    def _window_input(self, work: StepWork) -> CompactionInput:
        turn, run = work.turn, work.state.run
        subject = SummarySubject(
            actor=turn.actor,
            system=work.system_text,
            settings=merged(work.agent.compaction_settings, None),
            fixed_tokens=turn.fixed_tokens,
            correction=turn.correction,
        )
        size = window.tokens(turn.messages) + turn.fixed_tokens
        exceeded = run.compact_for == "context_window_exceeded"
        measures = Measures.of(turn.actor.config.context_window, size, turn.fixed_tokens, turn.correction, exceeded=exceeded)
        trigger = run.compact_for or ""
        return CompactionInput(turn.messages, work.head, subject, measures, trigger, run_id=run.id, again=run.compactions)

    def _commit(self, work: StepWork, result: CompactionResult | None, used: Usage) -> AdvanceResult:
        run = work.state.run.model_copy(deep=True)
        run.summaries, spent = run.summaries.plus(used), Spending.of(used, steps=0)
        run.compactions = run.compactions + 1 if result else MAX_COMPACTIONS
        run.compact_for = None
        state = replace(work.state, run=run, lease=0, token=f"{work.state.token}.compact")
        if result is None:
            logger.warning("window cannot be made smaller", extra={"run_id": run.id})
            self._parts.writer.write(UnitOfWork(work.head, work.head, state, StepWrites(spent=spent)))
            return AdvanceResult("advance", run.steps)
        subject = PromptSubject(agent_in(work.agent, work.record, self._models), work.blocks)
        after, system = self._compiled(subject, work.head, work.turn.messages, result)
        writes = StepWrites(spent=spent)
        if result.summary is None:
            after.version += 1  # No row is added, but caches of the window must be invalidated.
        if result.summary is not None:
            row, data = (
                result.summary,
                {"trigger": work.state.run.compact_for, "context_window": work.turn.actor.config.context_window},
            )
            event = CompactionEvent(summary_id=row.id, at=row.created_at, data=data)
            writes = StepWrites([row], None, [event, MessageEvent(message_id=row.id, index=0)], spent=spent)
            run.first_message, run.last_message = run.first_message or row.id, row.id
        rewrite = self._stores.conversations.put_message(work.head.id, system, rewrite=True)
        self._parts.writer.write(UnitOfWork(work.head, after, state, writes, [rewrite]))
        logger.info("window compacted", extra={"run_id": run.id, "summary": result.summary is not None})
        return AdvanceResult("advance", run.steps)

    def _compiled(
        self, subject: PromptSubject, head: Head, messages: tuple[Message, ...], result: CompactionResult
    ) -> tuple[Head, Message]:
        """The head with the reduced window, and the recompiled system message. Within a run only compaction changes the prompt's
        prefix.
        """
        summary_id = result.summary.id if result.summary else None
        after = head.model_copy(update={"window": window.narrowed(head.window, messages, result.kept, summary_id)})
        added = int(result.summary is not None)
        extended = after.model_copy(update={"messages": head.messages + added})
        compiled = self._parts.prompts.compiled(subject.agent, extended, blocks=subject.blocks, in_window=len(result.messages))
        old = messages[0]
        row = system_row(
            old.id, subject.agent, compiled, old.created_at, old.conversation_id
        )  # The prefix is frozen again, without an update of its contents.
        return after.model_copy(update={"compiled": compiled.source}), row

    def on_request(
        self, head_id: str, settings: CompactionSettings | None = None, *, key_id: str | None = None
    ) -> CompactionResponse:
        """Compact a conversation that no run owns. `head_id` is a conversation's id (`conv-…`), or an agent's id for its default
        conversation. `settings` override the agent's. `key_id`: the caller's API key.

        The summariser's call is closed when another request changes the conversation. Raises: NotFound; Busy if a run or a
        pending approval holds the conversation; BudgetExceeded; InvalidArgument if the window would not have fewer messages; the
        errors of the summariser's model call. On an error nothing has changed.
        """
        loaded = self._loaded(head_id)
        self._free(loaded.head)
        window_input, subject = self._window_of(loaded, settings)
        if all(row.role == "summary" for row in window_input.messages[1:]) and len(window_input.messages) > 1:
            summary = "\n".join(summaries.unpacked(row) for row in window_input.messages[1:])
            return _response(summary, len(window_input.messages), len(window_input.messages), Usage())
        budget = SummaryBudget(
            CancellationWatch(self._host, partial(self._unmoved, loaded.head)), self._clock.monotonic() + LONGEST
        )
        budgets = self._parts.budgets.admit_call(loaded.head.agent_id, key_id)
        try:
            result = self._smaller.summarise_first(window_input, budget)
        except LeaseLost as lost:
            raise self._refusal(head_id) from lost
        finally:
            self._parts.budgets.spend(budgets, Spending.of(budget.used, steps=0))
        if result is None or result.summary is None or len(result.messages) >= len(window_input.messages):
            raise InvalidArgument(
                "INVALID_ARGUMENT: Compaction would not leave fewer messages in context; there is too little to summarize."
            )
        self._write(subject, loaded, result, result.summary)
        return _response(result.text, len(window_input.messages), len(result.messages), budget.used)

    def planned(self, head_id: str) -> CompactionPlan:
        """What a compaction on request would drop now, by the agent's settings. `head_id` as for `on_request`; a run may hold the
        conversation. Neither calls a model nor writes. Raises: NotFound.
        """
        window_input, _ = self._window_of(self._loaded(head_id), None)
        return plan_of(window_input)

    def _window_of(
        self, loaded: LoadedConversation, settings: CompactionSettings | None
    ) -> tuple[CompactionInput, PromptSubject]:
        head, stores = loaded.head, self._stores
        agent = stores.agents.get(head.agent_id)
        if agent is None:
            raise NotFound(f"Agent with ID {head.agent_id} not found")
        record = stores.conversation_records.get(head.id) if head.id != agent.id else None
        prompt = PromptSubject(agent_in(agent, record, self._models), self._parts.prompts.blocks_of(agent, record))
        stored = stores.tools.get_many(agent.tool_ids)
        tools = [stored[tool_id] for tool_id in agent.tool_ids if tool_id in stored]
        actor = actor_of(prompt.agent, tools, record.id if record else None)
        window.measured(loaded.messages)
        messages, fixed = sent_messages.as_sent(loaded.messages, actor.config.context_window), tools_size(actor)
        correction = window.correction_for(head, actor.config.model, messages, fixed)
        subject = SummarySubject(actor, messages[0].text(), merged(agent.compaction_settings, settings), fixed, correction)
        size = window.tokens(messages) + fixed
        measures = Measures.of(actor.config.context_window, size, fixed, correction, exceeded=False)
        return CompactionInput(messages, head, subject, measures, BY_REQUEST), prompt

    def _write(self, subject: PromptSubject, loaded: LoadedConversation, result: CompactionResult, summary: Message) -> None:
        """Write the compacted window. Raises: Busy if another request changed the conversation meanwhile."""
        head, conversations = loaded.head, self._stores.conversations
        after, system = self._compiled(subject, head, loaded.messages, result)
        fields = {"version": head.version + 1, "last_message": summary.id, "newest": [summary.id], "messages": head.messages + 1}
        token = self._ids.token()
        try:
            self._stores.writer.write(
                conversations.change_head(head, after.model_copy(update=fields), token),
                conversations.put_message(head.id, summary),
                conversations.put_message(head.id, system, rewrite=True),
                token=token,
            )
        except ConditionFailed as failure:
            raise self._refusal(head.id) from failure

    def _unmoved(self, head: Head) -> None:
        """Raises: LeaseLost if the conversation has changed since `head` was read, so that the summary cannot be written."""
        now = self._stores.conversations.head(head.id)
        if now is None or (now.owner, now.pending, now.version) != (head.owner, head.pending, head.version):
            raise LeaseLost

    def _refusal(self, head_id: str) -> Busy:
        """The error for a conversation that changed meanwhile. Raises: NotFound; Busy with the id of the run that holds it
        now.
        """
        self._free(self._loaded(head_id).head)
        return Busy(f"{_BUSY}. Please try again.", None)

    def _loaded(self, head_id: str) -> LoadedConversation:
        conversation = self._stores.conversations.load(head_id)
        if conversation is None:
            noun = "Agent with ID" if head_id.startswith("agent-") else "Conversation"
            raise NotFound(f"{noun} {head_id} not found")
        return conversation

    def _free(self, head: Head) -> None:
        """Raises: Busy if a run owns the conversation or an approval is pending."""
        holder = head.owner or head.pending
        if holder is not None:
            raise Busy(f"{_BUSY} (run_id={holder}). Please wait for it to complete.", holder)


def _response(summary: str, before: int, after: int, consumed: Usage) -> CompactionResponse:
    usage = UsageStatistics.of(consumed)
    return CompactionResponse(summary=summary, num_messages_before=before, num_messages_after=after, usage=usage)
