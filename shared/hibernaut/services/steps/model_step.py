"""The model call of a step: its request, the choice of the model, and the effect of a failure on the run.

The call runs on its own thread (`services.models.model_retry`). If the run streams tokens, the worker's thread writes the pieces
of the reply to the run's event log. It stops as soon as the run has ended or another attempt holds the lease.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hibernaut.domain.agents.group_turns import is_group, next_reply
from hibernaut.domain.models import retries
from hibernaut.domain.models.model_settings import standing_in
from hibernaut.domain.turn import model_requests
from hibernaut.domain.turn.actor import CallResult
from hibernaut.domain.turn.turn_values import CallModel, CallsPending, Failed, Replayed, Replied, Turn
from hibernaut.domain.wire.deltas import DeltaRenderer, as_stored
from hibernaut.domain.wire.letta_messages import Rendering
from hibernaut.ports.clock import Clock
from hibernaut.ports.model import ModelReply, ModelRequest, Models, ModelToolCall
from hibernaut.schemas.errors import (
    MODEL_CALL_ERRORS,
    ContextWindowExceeded,
    HibernautError,
    InvalidModelResponse,
    ModelCredits,
    ModelError,
    NotFound,
)
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.schemas.runs.run import RunError
from hibernaut.schemas.runs.step import CallTime
from hibernaut.schemas.runs.turn import FailedCall, Journal, JournaledCall, Stamp
from hibernaut.schemas.stop import StopReason
from hibernaut.services.host import Host
from hibernaut.services.models.model_retry import SHORTEST_CALL, ModelRetry
from hibernaut.services.steps.spans import chat_span, note_reply
from hibernaut.services.steps.step_work import StepWork, answered_by
from hibernaut.services.steps.token_stream import DeltaSink
from hibernaut.services.steps.trace_recorder import TracedCall, TraceRecorder
from hibernaut.store.stores import TenantStores

LONGEST_CALL = 720.0
"""Seconds that one model call may take."""
_FAILURES: tuple[type[HibernautError], ...] = (*MODEL_CALL_ERRORS, *retries.KEY_OUTAGES)
"""The failures of a call after which a fallback model may answer."""
logger = logging.getLogger(__name__)


@dataclass(slots=True)
class StepTiming:
    """The times of a step: moments in nanoseconds since 1970, durations in nanoseconds; and the model calls of it that failed."""

    started_ns: int
    llm_start_ns: int = 0
    llm_ns: int = 0
    tools_ns: int = 0
    calls: list[CallTime] = field(default_factory=list)
    failed_calls: list[FailedCall] = field(default_factory=list)

    @classmethod
    def of(cls, journal: Journal | None, clock: Clock) -> StepTiming:
        """The times of the attempt that wrote the journal; without a journal, those of a step that starts now."""
        if journal is not None:
            return cls(journal.step_start_ns, journal.llm_start_ns, journal.llm_ns, failed_calls=journal.failed_calls)
        return cls(int(clock.now().timestamp() * 1e9))

    def tools_ran(self, seconds: float, clock: Clock, results: Sequence[CallResult], *, has_waited: bool) -> None:
        """Note the time of the step's tools, and of each call. `has_waited`: one of them has waited without a worker, which is
        all the time since the reply.
        """
        self.calls = [
            CallTime(tool_call_id=one.call.id, execution_ns=one.spent_ns) for one in results if one.spent_ns is not None
        ]
        since_reply = int(clock.now().timestamp() * 1e9) - self.llm_start_ns - self.llm_ns if has_waited else 0
        self.tools_ns = max(int(seconds * 1e9), since_reply)


class ModelStep:
    """Calls the model for one step's reply."""

    def __init__(self, stores: TenantStores, models: Models, host: Host, calls: ModelRetry) -> None:
        self._stores = stores
        self._models = models
        self._calls = calls
        self._host = host
        self._clock = host.clock
        self._ids = host.ids
        self._traces = TraceRecorder(stores, models, host)

    def ask(
        self, work: StepWork, turn: Turn, action: CallModel, timing: StepTiming, seconds: float
    ) -> tuple[StepWork, Replied | Failed]:
        """The model's reply with the ids of its rows, or the failure; and the work with the log's next event number and the model
        that replied. `seconds`: the time that the worker has left for the call.

        Raises: LeaseLost if the run has ended or another attempt holds the step; NotFound if it is the run of a deleted group.
        """
        started_at = self._clock.monotonic()
        timing.llm_start_ns = int(self._clock.now().timestamp() * 1e9)
        stamp = self._stamp(work)
        if is_group(work.agent.id):
            return work, Replied(self._of_group(work, turn), stamp)
        sink = DeltaSink(self._stores, self._host, work, self._renderer(work, turn, stamp, action))
        sink.failed_calls = timing.failed_calls
        deadline = started_at + seconds
        try:
            with self._host.tracer.span(chat_span(turn.actor.config)) as span:
                reply = self._complete(work, turn, action, sink, deadline)
                note_reply(span, reply)
        except MODEL_CALL_ERRORS as error:
            config = sink.speaker or turn.actor.config
            fields = {"run_id": turn.actor.run_id, "model": config.handle or config.model, "code": error.code}
            logger.warning("model call failed", extra=fields)
            self._trace(work, turn, action, sink, TracedCall(stamp.step_id, error, self._clock.monotonic() - started_at))
            return answered_by(replace(work, state=sink.state), sink.speaker), failure_of(error, stamp.step_id)
        timing.llm_ns = int((self._clock.monotonic() - started_at) * 1e9)
        self._trace(work, turn, action, sink, TracedCall(stamp.step_id, reply, timing.llm_ns / 1e9))
        streamed_types = sorted(sink.renderer.shown) if sink.renderer else []
        stamp = stamp.model_copy(update={"streamed": bool(streamed_types), "shown": streamed_types, "fallback": sink.speaker})
        return answered_by(replace(work, state=sink.state), sink.speaker), Replied(as_stored(turn.actor, reply), stamp)

    def _of_group(self, work: StepWork, turn: Turn) -> ModelReply:
        """The next step of a group, which no model decides. Raises: NotFound if the group does not exist any more."""
        group = self._stores.groups.get(work.agent.id)
        if group is None:
            raise NotFound(f"Group with ID {work.agent.id} not found")
        agents = self._stores.agents.get_many(group.agent_ids) if group.manager_agent_id else {}
        names = {agent_id: agent.name for agent_id, agent in agents.items()}
        return next_reply(group, names, turn.messages, work.state.run.id)

    def _trace(self, work: StepWork, turn: Turn, action: CallModel, sink: DeltaSink, call: TracedCall) -> None:
        sent_turn = turn if sink.speaker is None else replace(turn, actor=replace(turn.actor, config=sink.speaker))
        self._traces.keep(work, _request(work, sent_turn, action), call)

    def _renderer(self, work: StepWork, turn: Turn, stamp: Stamp, action: CallModel) -> DeltaRenderer | None:
        if not work.state.run.options.stream_tokens:
            return None
        rendering = Rendering.of(work.state.run.request_config, legacy=turn.actor.spec.heartbeats)
        return DeltaRenderer(turn.actor, stamp, rendering, parallel=action.parallel)

    def _complete(self, work: StepWork, turn: Turn, action: CallModel, sink: DeltaSink, deadline: float) -> ModelReply:
        """The reply of the agent's model, or of the first of its fallback models that can answer. `sink.speaker` is then the
        fallback.

        Raises: HibernautError, the first model's if all fail before a piece of a reply arrives, or that of a key which cannot be
        read now; LeaseLost.
        """
        try:
            return self._calls.complete(_request(work, turn, action), sink, deadline)
        except _FAILURES as error:
            first = newest = error
        for fallback in work.agent.fallback_models:
            if sink.has_begun or self._clock.monotonic() + SHORTEST_CALL > deadline:
                break
            if fallback.model == turn.actor.config.handle or not retries.helps(fallback, newest):
                continue
            try:
                config = self._configured(fallback.model, work, turn)
            except retries.KEY_OUTAGES as error:
                first = error
                continue
            if config is None:
                continue
            extra = {"run_id": turn.actor.run_id, "code": retries.failure_code(newest), "fallback": config.handle}
            logger.warning("fallback model is called", extra=extra)
            sink.speaker = config
            try:
                return self._calls.complete(_fallback_request(work, turn, config), sink, deadline)
            except _FAILURES as error:
                if sink.has_begun:
                    raise
                sink.speaker = None
                first = error if isinstance(error, retries.KEY_OUTAGES) else first
                logger.warning("fallback model failed", extra=extra | {"code": retries.failure_code(error)})
                newest = error
        raise first

    def _configured(self, handle: str, work: StepWork, turn: Turn) -> LLMConfig | None:
        """The configuration of a fallback model in the output form of the agent's own. None if no provider serves it."""
        try:
            return standing_in(self._models.config(handle), turn.actor.config, work.agent.agent_type)
        except MODEL_CALL_ERRORS:
            logger.warning("fallback model is unknown", extra={"run_id": turn.actor.run_id, "fallback": handle})
            return None

    def _stamp(self, work: StepWork) -> Stamp:
        assistant = self._ids.new("message", after=work.head.last_message)
        approval = self._ids.new("message", after=assistant)
        tool = self._ids.new("message", after=approval)
        return Stamp(
            step_id=self._ids.new("step"),
            assistant_id=assistant,
            approval_id=approval,
            tool_id=tool,
            heartbeat_id=self._ids.new("message", after=tool),
            at=self._clock.now(),
        )


def _request(work: StepWork, turn: Turn, action: CallModel) -> ModelRequest:
    return model_requests.model_request(
        turn.actor,
        turn.messages,
        work.system_text,
        action.offered,
        choice=action.choice,
        parallel=action.parallel,
        timeout=LONGEST_CALL,
    )


def _fallback_request(work: StepWork, turn: Turn, config: LLMConfig) -> ModelRequest:
    turn = replace(turn, actor=replace(turn.actor, config=config))
    return _request(work, turn, CallModel(*model_requests.plan(turn.actor, turn.history, turn.last_return)))


def failure_of(error: HibernautError, step_id: str | None = None) -> Failed:
    """The failure of a step whose model call raised this error, with the run's stop reason (RT 2.7, 2.8)."""
    run_error = RunError(code=error.code, message=error.detail)
    match error:
        case ContextWindowExceeded():
            return Failed(StopReason.CONTEXT_WINDOW_OVERFLOW_IN_SYSTEM_PROMPT, run_error, overflow=True, step_id=step_id)
        case InvalidModelResponse():
            return Failed(StopReason.INVALID_LLM_RESPONSE, run_error, step_id=step_id)
        case ModelCredits():
            return Failed(StopReason.INSUFFICIENT_CREDITS, run_error, step_id=step_id)
        case ModelError():
            return Failed(StopReason.LLM_API_ERROR, run_error, step_id=step_id)
        case _:
            return Failed(StopReason.ERROR, run_error, step_id=step_id)


def journal_of(replied: CallsPending, mark: str, timing: StepTiming) -> Journal:
    """The journal of a reply. `mark` names the step and the attempt."""
    reply = replied.reply
    return Journal(
        mark=mark,
        stamp=replied.stamp,
        text=reply.text,
        reasoning=list(reply.reasoning),
        calls=[JournaledCall(id=call.id, name=call.name, arguments=call.arguments) for call in reply.tool_calls],
        finish_reason=reply.finish_reason,
        usage=reply.usage,
        model=reply.model,
        request_id=reply.request_id,
        native=reply.native,
        logprobs=reply.logprobs,
        step_start_ns=timing.started_ns,
        llm_start_ns=timing.llm_start_ns,
        llm_ns=timing.llm_ns,
        failed_calls=timing.failed_calls,
        decisions=[call.decision for call in replied.calls if call.decision is not None],
    )


def replayed(journal: Journal) -> Replayed:
    """The journaled reply as an outcome."""
    return Replayed(reply_of(journal), journal.stamp, tuple(journal.decisions))


def reply_of(journal: Journal) -> ModelReply:
    """The model's reply, rebuilt from the journal."""
    return ModelReply(
        text=journal.text,
        reasoning=tuple(part for part in journal.reasoning if part.type in _REASONING),  # type: ignore[misc]
        tool_calls=tuple(ModelToolCall(call.id, call.name, call.arguments) for call in journal.calls),
        finish_reason=journal.finish_reason,
        usage=journal.usage,
        model=journal.model,
        request_id=journal.request_id,
        native=journal.native,
        logprobs=journal.logprobs,
    )


_REASONING = ("reasoning", "redacted_reasoning", "omitted_reasoning", "summarized_reasoning")
