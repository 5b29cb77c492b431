"""What a step stores beside its rows: the step record, the run's progress, the events for followers, the approval request. Pure
except for new ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from hibernaut.domain.agents.sleeptime import triggered_by
from hibernaut.domain.budgets import exhausted
from hibernaut.domain.turn.turn_values import Stepped, Turn
from hibernaut.domain.window import window
from hibernaut.domain.wire.letta_messages import Rendering, render
from hibernaut.domain.wire.run_trace import trace_id
from hibernaut.ports.clock import Ids
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.approval import PendingApproval
from hibernaut.schemas.runs.events import MessageEvent, RunEvent
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.schemas.runs.step import StoredStep
from hibernaut.schemas.runs.turn import Stamp
from hibernaut.schemas.stop import StopReason, status_after
from hibernaut.schemas.usage import CompletionTokensDetails, PromptTokensDetails
from hibernaut.services.steps.model_step import StepTiming
from hibernaut.services.steps.step_work import StepWork
from hibernaut.store.runs.transaction_values import INPUT_PAGE


def events_of(work: StepWork, rows: Sequence[Message], stamp: Stamp | None = None) -> list[RunEvent]:
    """The message events of a step's rows. Rows with the role `user`, which the server writes (heartbeats), have none (RT 2.3).
    `stamp` belongs to the reply of the rows; it lists the message types that were streamed already.
    """
    rendering = Rendering.of(work.state.run.request_config, legacy=work.turn.actor.spec.heartbeats)
    streamed: frozenset[str] = frozenset(stamp.shown) if stamp else frozenset()
    return [
        MessageEvent(message_id=row.id, index=index, streamed=message.message_type in streamed)
        for row in rows
        if row.role != "user"
        for index, message in enumerate(render(row, rendering))
    ]


def progressed(work: StepWork, stepped: Stepped, now: datetime) -> StoredRun:
    """The run after the step. It shares with the run before it what the step leaves as it is."""
    run = work.state.run.model_copy()
    model_called = stepped.stamp is not None and not stepped.resolved
    run.speaks_by_tool = work.turn.actor.spec.heartbeats
    run.sleeptime_group = triggered_by(work.agent)
    run.steps += int(model_called)
    run.usage = run.usage.plus(stepped.usage)
    run.called = work.effects.used.plus(run.called) if work.effects.used else run.called
    run.logprobs = stepped.logprobs if model_called else run.logprobs
    run.context_tokens = stepped.usage.total_tokens if model_called else run.context_tokens
    run.tool_history = [*run.tool_history, *stepped.called]
    run.last_return = stepped.last_return if stepped.called else run.last_return
    run.compactions, run.compact_for, run.resolve = 0, None, None
    run.input = run.input[INPUT_PAGE:]
    tool_ids = [tool.id for tool in work.turn.actor.tools if tool.name in stepped.called]
    run.tools_used = sorted({*run.tools_used, *tool_ids})
    if stepped.rows:
        run.first_message = run.first_message or stepped.rows[0].id
        run.last_message = stepped.rows[-1].id
    if stepped.stop is not None:
        ended(run, stepped.stop, now)
        run.error = stepped.error
    if stepped.stop is StopReason.BUDGET_EXCEEDED:
        exceeded = next(filter(None, map(exhausted, work.standings)))
        run.metadata = {**(run.metadata or {}), "budget": {"name": exceeded.limit_name, "subject": exceeded.subject}}
    return run


def measured(work: StepWork, turn: Turn) -> Head:
    """The head after the step, with the size of its request in our tokens and in the provider's, and the model that counted them.
    The measure stays unchanged if the provider reports no prompt tokens.
    """
    stepped = turn.stepped
    if stepped is None or stepped.resolved or stepped.usage.prompt_tokens <= 0:
        return work.after
    our_tokens = window.tokens(turn.messages) + turn.fixed_tokens
    measure = {"counted": our_tokens, "reported": stepped.usage.prompt_tokens, "measured_with": work.turn.actor.config.model}
    return work.after.model_copy(update=measure)


def approval_of(work: StepWork, stepped: Stepped, now: datetime) -> PendingApproval:
    """The record of the calls that need approval. Its deadline is the request's if the request sets one, else the agent's."""
    run = work.state.run
    options = run.options
    deadline = options.approval_deadline if options.approval_deadline_given else work.agent.approval_deadline
    return PendingApproval(
        run_id=run.id,
        agent_id=run.agent_id,
        conversation_id=run.conversation_id,
        step_id=stepped.rows[-1].step_id or "",
        request_id=stepped.rows[-1].id,
        calls=list(stepped.waiting),
        asked_at=now,
        deadline=now + timedelta(seconds=deadline) if isinstance(deadline, int) else deadline,
    )


def ended(run: StoredRun, reason: StopReason, now: datetime) -> None:
    """Mark the run as ended for this reason."""
    run.status = status_after(reason)
    run.stop_reason = reason
    run.completed_at = now
    run.total_duration_ns = int((now - run.created_at).total_seconds() * 1e9)


def step_record(work: StepWork, stepped: Stepped, timing: StepTiming, now: datetime, ids: Ids) -> StoredStep:
    """The step's stored record."""
    config, usage = work.turn.actor.config, stepped.usage
    now_ns = int(now.timestamp() * 1e9)
    return StoredStep(
        id=stepped.stamp.step_id if stepped.stamp else stepped.step_id or ids.new("step"),
        run_id=work.state.run.id,
        agent_id=work.agent.id,
        conversation_id=work.state.run.conversation_id,
        key_id=work.state.run.key_id,
        provider_name=config.provider_name or config.model_endpoint_type,
        provider_category=config.provider_category or "base",
        model=config.model,
        model_handle=config.handle,
        model_endpoint=config.model_endpoint,
        context_window_limit=config.context_window,
        completion_tokens=usage.completion_tokens,
        prompt_tokens=usage.prompt_tokens,
        total_tokens=usage.total_tokens,
        cached_input_tokens=usage.cached_input_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        completion_tokens_details=CompletionTokensDetails(reasoning_tokens=usage.reasoning_tokens),
        prompt_tokens_details=PromptTokensDetails(
            cached_tokens=usage.cached_input_tokens,
            cache_read_tokens=usage.cached_input_tokens,
            cache_creation_tokens=usage.cache_write_tokens,
        ),
        cost=usage.cost,
        price_list_date=usage.price_list_date,
        failed_calls=timing.failed_calls,
        stop_reason=stepped.stop,
        project_id=work.agent.project_id,
        trace_id=trace_id(work.state.run.id),
        status="failed" if stepped.error else "success",
        error_type=stepped.error.code if stepped.error else None,
        error_data={"message": stepped.error.message} if stepped.error else None,
        created_at=now,
        first_message=stepped.rows[0].id if stepped.rows else None,
        last_message=stepped.rows[-1].id if stepped.rows else None,
        step_start_ns=timing.started_ns,
        llm_request_start_ns=timing.llm_start_ns or None,
        llm_request_ns=timing.llm_ns or None,
        tool_execution_ns=timing.tools_ns or None,
        call_times=timing.calls,
        step_ns=max(0, now_ns - timing.started_ns),
    )
