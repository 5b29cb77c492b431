"""Keeping what a step sent to its provider and received, for whoever looks for a fault. One blob a call; a failure to keep it fails no step."""

from __future__ import annotations

import logging

from hibernaut.domain.redaction import without_words
from hibernaut.ports.model import ModelReply, ModelRequest, Models
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import HibernautError
from hibernaut.schemas.trace import ProviderTrace
from hibernaut.services.host import Host
from hibernaut.services.steps.step_work import StepWork
from hibernaut.store.stores import Stores

logger = logging.getLogger(__name__)


class TraceRecorder:
    """As the host's setting says: all of a call, its form without words, or nothing."""

    def __init__(self, stores: Stores, models: Models, host: Host) -> None:
        self._traces = stores.traces
        self._models = models
        self._host = host

    def keep(self, work: StepWork, step_id: str, request: ModelRequest, reply: ModelReply, *, seconds: float) -> None:
        """The trace of a call that took so many seconds. Secrets that are configured are struck out of it."""
        if self._host.traces == "off":
            return
        run = work.state.run
        try:
            sent, received = self._bodies(request, reply)
            trace = ProviderTrace(
                id=f"provider_trace-{step_id[-36:]}",
                request_json=sent,
                response_json=received,
                step_id=step_id,
                agent_id=run.agent_id,
                agent_tags=work.agent.tags,
                run_id=run.id,
                llm_config=request.config.model_dump(mode="json"),
                latency_ms=int(seconds * 1000),
                created_at=self._host.clock.now(),
            )
            self._traces.put(work.tenant, trace)
        except (OSError, HibernautError) as error:
            logger.warning("trace not kept", extra={"run_id": run.id, "error": type(error).__qualname__})

    def _bodies(self, request: ModelRequest, reply: ModelReply) -> tuple[JsonObject, JsonObject]:
        exchange = reply.exchange
        if exchange is not None:
            sent, received = exchange.shown(exchange.sent), exchange.shown(exchange.received)
        else:
            sent, received = self._models.of(request.config).payload(request), _told(reply)
        if self._host.traces == "redacted":
            sent, received = without_words(sent), without_words(received)
        return sent, received


def _told(reply: ModelReply) -> JsonObject:
    """What a model of this process said, which has no wire."""
    calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in reply.tool_calls]
    return {"content": reply.text, "tool_calls": calls, "finish_reason": reply.finish_reason, "model": reply.model}
