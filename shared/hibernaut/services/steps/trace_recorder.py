"""Stores what a step sent to its provider and what it received, its error included, for debugging. One blob per step; a failure
to store it fails no step.
"""

from __future__ import annotations

import logging

from hibernaut.domain.trace_forms import without_words
from hibernaut.ports.model import ModelReply, ModelRequest, Models
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import HibernautError, ModelError
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.runs.trace import ProviderTrace
from hibernaut.services.host import Host
from hibernaut.services.steps.step_work import StepWork
from hibernaut.store.stores import TenantStores

logger = logging.getLogger(__name__)


@immutable
class TracedCall:
    """A step's model call, which took so many seconds: its reply, or the error that it ended with."""

    step_id: str
    outcome: ModelReply | HibernautError
    seconds: float


class TraceRecorder:
    """Stores calls by the host's setting `traces`: whole, their form without texts, or not at all."""

    def __init__(self, stores: TenantStores, models: Models, host: Host) -> None:
        self._traces = stores.traces
        self._models = models
        self._host = host

    def keep(self, work: StepWork, request: ModelRequest, call: TracedCall) -> None:
        """Store the trace of a call, without configured secrets."""
        if self._host.traces == "off":
            return
        run = work.state.run
        try:
            request_json, response_json = self._bodies(request, call.outcome)
            trace = ProviderTrace(
                id=f"provider_trace-{call.step_id[-36:]}",
                request_json=request_json,
                response_json=response_json,
                step_id=call.step_id,
                agent_id=run.agent_id,
                agent_tags=work.agent.tags,
                run_id=run.id,
                llm_config=request.config.model_dump(mode="json"),
                latency_ms=int(call.seconds * 1000),
                created_at=self._host.clock.now(),
            )
            self._traces.put(trace)
        except (OSError, ValueError, RecursionError, HibernautError) as error:
            # A provider's body may also hold what no JSON text can (a lone surrogate), or be nested too deeply.
            logger.warning("trace not kept", extra={"run_id": run.id, "error": type(error).__qualname__})

    def _payload(self, request: ModelRequest) -> JsonObject:
        """The request as it would be sent; empty if the adapter refuses it, so that nothing was sent."""
        try:
            return self._models.of(request.config).payload(request)
        except ModelError:
            return {}

    def _bodies(self, request: ModelRequest, outcome: ModelReply | HibernautError) -> tuple[JsonObject, JsonObject]:
        exchange = outcome.exchange if isinstance(outcome, ModelReply | ModelError) else None
        if exchange is not None:
            sent, received = exchange.redact(exchange.sent), exchange.redact(exchange.received)
        else:
            sent = self._payload(request)
            received = _reply_in_process(outcome) if isinstance(outcome, ModelReply) else {}
        if isinstance(outcome, HibernautError):
            received = {"error": {"type": outcome.code, "message": outcome.detail}, **received}
        if self._host.traces == "redacted":
            sent, received = without_words(sent), without_words(received)
        return sent, received


def _reply_in_process(reply: ModelReply) -> JsonObject:
    """The reply of a model inside this process, which has no wire."""
    calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in reply.tool_calls]
    return {"content": reply.text, "tool_calls": calls, "finish_reason": reply.finish_reason, "model": reply.model}
