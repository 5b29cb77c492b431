"""Asking the model: the request of a step, the one retry policy, and what a failure means for the run (architecture 3, no hidden retries)."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from hibernaut.domain import retries
from hibernaut.domain.model_requests import model_request
from hibernaut.domain.turn import Asked, CallModel, Failed, Replied, Turn
from hibernaut.ports.clock import Clock
from hibernaut.ports.model import Models
from hibernaut.schemas.errors import (
    ContextWindowExceeded,
    HibernautError,
    InvalidModelResponse,
    ModelCredits,
    ModelError,
)
from hibernaut.schemas.model_call import ModelReply, ModelRequest, ModelToolCall
from hibernaut.schemas.run import RunError
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.turn import Journal, JournaledCall, Stamp
from hibernaut.services.host import Host
from hibernaut.services.turn_work import Work

LONGEST_CALL = 720.0
"""Seconds that one model call may take (architecture 3, long steps)."""
logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Timing:
    """When what of a step happened: nanoseconds since 1970, and spans in nanoseconds."""

    started_ns: int
    llm_start_ns: int = 0
    llm_ns: int = 0
    tools_ns: int = 0

    @classmethod
    def of(cls, journal: Journal | None, clock: Clock) -> Timing:
        """The times of a step: those of the attempt that journaled, where there is one."""
        if journal is not None:
            return cls(journal.step_start_ns, journal.llm_start_ns, journal.llm_ns)
        return cls(int(clock.now().timestamp() * 1e9))


class Asking:
    def __init__(self, models: Models, host: Host) -> None:
        self._models = models
        self._clock = host.clock
        self._ids = host.ids

    def ask(self, work: Work, turn: Turn, action: CallModel, timing: Timing, seconds: float) -> Replied | Failed:
        """The model's reply with the ids of its rows, or why there is none. `seconds` is what the worker has left for it."""
        began = self._clock.monotonic()
        timing.llm_start_ns = int(self._clock.now().timestamp() * 1e9)
        request = model_request(
            turn.actor,
            turn.messages,
            work.system_text,
            action.offered,
            choice=action.choice,
            parallel=action.parallel,
            timeout=max(1.0, min(LONGEST_CALL, seconds)),
        )
        try:
            reply = self._complete(request, began + seconds)
        except HibernautError as error:
            logger.warning("model call failed", extra={"run_id": turn.actor.run_id, "code": error.code})
            return failure_of(error)
        timing.llm_ns = int((self._clock.monotonic() - began) * 1e9)
        return Replied(reply, self._stamp(work))

    def _complete(self, request: ModelRequest, deadline: float) -> ModelReply:
        """Ask, and ask again where it may help and there is time. Raises: ModelError, NotFound."""
        model = self._models.of(request.config)
        attempt = 0
        while True:
            attempt += 1
            try:
                return model.complete(request)
            except ModelError as error:
                wait = retries.delay(attempt, error, self._chance())
                if wait is None or self._clock.monotonic() + wait >= deadline:
                    raise
                logger.info("model call is tried again", extra={"code": error.code, "attempt": attempt, "seconds": wait})
                self._clock.sleep(wait)

    def _chance(self) -> float:
        """A number from 0 to 1, for jitter."""
        return int(self._ids.token()[:8], 16) / 0xFFFFFFFF

    def _stamp(self, work: Work) -> Stamp:
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


def failure_of(error: HibernautError) -> Failed:
    """What a failed call means for the run (run-time digest 2.7, 2.8)."""
    told = RunError(code=error.code, message=error.detail)
    match error:
        case ContextWindowExceeded():
            return Failed(StopReason.CONTEXT_WINDOW_OVERFLOW_IN_SYSTEM_PROMPT, told, overflow=True)
        case InvalidModelResponse():
            return Failed(StopReason.INVALID_LLM_RESPONSE, told)
        case ModelCredits():
            return Failed(StopReason.INSUFFICIENT_CREDITS, told)
        case ModelError():
            return Failed(StopReason.LLM_API_ERROR, told)
        case _:
            return Failed(StopReason.ERROR, told)


def journal_of(asked: Asked, mark: str, timing: Timing) -> Journal:
    """The reply as it is journaled."""
    reply = asked.reply
    return Journal(
        mark=mark,
        stamp=asked.stamp,
        text=reply.text,
        reasoning=list(reply.reasoning),
        calls=[JournaledCall(id=call.id, name=call.name, arguments=call.arguments) for call in reply.tool_calls],
        finish_reason=reply.finish_reason,
        usage=reply.usage,
        model=reply.model,
        request_id=reply.request_id,
        step_start_ns=timing.started_ns,
        llm_start_ns=timing.llm_start_ns,
        llm_ns=timing.llm_ns,
    )


def reply_of(journal: Journal) -> ModelReply:
    """The journaled reply, as the model gave it."""
    return ModelReply(
        text=journal.text,
        reasoning=tuple(part for part in journal.reasoning if part.type in _REASONING),  # type: ignore[misc]
        tool_calls=tuple(ModelToolCall(call.id, call.name, call.arguments) for call in journal.calls),
        finish_reason=journal.finish_reason,
        usage=journal.usage,
        model=journal.model,
        request_id=journal.request_id,
    )


_REASONING = ("reasoning", "redacted_reasoning", "omitted_reasoning", "summarized_reasoning")
