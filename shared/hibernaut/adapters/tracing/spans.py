"""The engine of the port `Tracer`: finds the parent of each span, and hands ended spans to exporters.

Knows contexts and times. Must not know a protocol.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from hibernaut.ports.clock import Clock
from hibernaut.ports.tracing import ActiveSpan, EndedSpan, SpanContext


class SpanExporter(Protocol):
    """Takes ended spans. No method raises."""

    def take(self, span: EndedSpan) -> None:
        """Keep the span for a later transmission, or drop it."""

    def flush(self) -> None:
        """Called where the outermost span of a thread has ended, or a batch of them."""

    def close(self) -> None:
        """Send what waits, at the end of the process."""


_current: ContextVar[SpanContext | None] = ContextVar("span", default=None)
_batching: ContextVar[bool] = ContextVar("batch of spans", default=False)


class SpanTracer:
    """Records spans for all exporters. Thread-safe if they are. A thread's spans nest by its context."""

    def __init__(
        self, exporters: Sequence[SpanExporter], clock: Clock, ids: Callable[[], str] = lambda: secrets.token_hex(8)
    ) -> None:
        """`ids` makes ids of spans: 16 hexadecimal digits."""
        self._exporters = exporters
        self._clock = clock
        self._ids = ids

    @contextmanager
    def span(self, span: ActiveSpan, parent: SpanContext | None = None) -> Iterator[ActiveSpan]:
        outer = _current.get()
        above = outer or parent
        context = SpanContext(above.trace_id if above else self._ids() + self._ids(), self._ids())
        mark = _current.set(context)
        start = self._now()
        try:
            yield span
        except BaseException as error:
            span.error = span.error or type(error).__qualname__
            raise
        finally:
            _current.reset(mark)
            parent_id = above.span_id if above else ""
            self.ended(EndedSpan(span, context, parent_id, start, max(start, self._now()), outermost=outer is None))

    def ended(self, span: EndedSpan) -> None:
        for exporter in self._exporters:
            exporter.take(span)
        if _current.get() is None and not _batching.get():
            self._flush()

    @contextmanager
    def batch(self) -> Iterator[None]:
        mark = _batching.set(True)
        try:
            yield
        finally:
            _batching.reset(mark)
            self._flush()

    def close(self) -> None:
        for exporter in self._exporters:
            exporter.close()

    def _flush(self) -> None:
        for exporter in self._exporters:
            exporter.flush()

    def _now(self) -> int:
        return int(self._clock.now().timestamp() * 1e9)
