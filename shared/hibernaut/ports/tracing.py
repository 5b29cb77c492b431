"""The port by which use cases tell what they do and how long it takes: spans with a name, times and a few facts.

A span never contains a prompt, a message, an argument or a result. Attributes have the names of OpenTelemetry's semantic
conventions for generative AI (opentelemetry.io/docs/specs/semconv/gen-ai, version 1.41), or begin with `hibernaut.`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

Attribute = str | int | float | bool
SpanKind = Literal["internal", "server", "client"]
_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")


class SpanContext(NamedTuple):
    """The place of a span: 32 and 16 hexadecimal digits."""

    trace_id: str
    span_id: str


def context_in(traceparent: str) -> SpanContext | None:
    """The caller's span in a header `traceparent`; None if it is not valid (W3C Trace Context, "traceparent header")."""
    found = _TRACEPARENT.fullmatch(traceparent.strip())
    if found is None or (traceparent.startswith("00") and found[4]):
        return None
    return SpanContext(found[1], found[2])


def run_context(run_id: str, traceparent: str | None) -> tuple[SpanContext, str]:
    """The span of a run, and the id of its parent ("": none). Every worker of a run derives the same one from the run's id, so
    that all of its steps are in one trace. With a `traceparent` it is the caller's trace.
    """
    digits = re.sub(r"[^0-9a-f]", "", run_id.partition("-")[2])[:32].rjust(32, "1")
    caller = context_in(traceparent) if traceparent else None
    return (SpanContext(caller.trace_id, digits[16:]), caller.span_id) if caller else (SpanContext(digits, digits[16:]), "")


@dataclass(slots=True)
class ActiveSpan:
    """A span under way. `error`: the code of the failure with which it ends."""

    name: str
    kind: SpanKind = "internal"
    attributes: dict[str, Attribute] = field(default_factory=dict)
    error: str = ""


class EndedSpan(NamedTuple):
    """A span with its place and times in nanoseconds since 1970. `parent_id` "": it has none. `outermost`: it began outside any
    other span of its process.
    """

    span: ActiveSpan
    context: SpanContext
    parent_id: str
    start_ns: int
    end_ns: int
    outermost: bool = True


class Tracer(Protocol):
    """Records spans. No method raises, and none waits for anybody."""

    def span(self, span: ActiveSpan, parent: SpanContext | None = None) -> AbstractContextManager[ActiveSpan]:
        """The context of a span; spans that begin in it are its children. `parent`: the parent of a span that begins outside any
        other.
        """

    def batch(self) -> AbstractContextManager[None]:
        """What ends in the context is sent together at its end, by a host that sends by itself."""

    def ended(self, span: EndedSpan) -> None:
        """Record a span that has ended, and that began in another process."""

    def close(self) -> None:
        """Send what waits, at the end of the process."""


class _NoTracer:
    """Records nothing."""

    def span(self, span: ActiveSpan, parent: SpanContext | None = None) -> AbstractContextManager[ActiveSpan]:
        del parent
        return nullcontext(span)

    def batch(self) -> AbstractContextManager[None]:
        return nullcontext()

    def ended(self, span: EndedSpan) -> None:
        """Does nothing."""

    def close(self) -> None:
        """Does nothing."""


NO_TRACER: Tracer = _NoTracer()


def known(found: Mapping[str, Attribute | None]) -> dict[str, Attribute]:
    """The attributes that are not None."""
    return {name: value for name, value in found.items() if value is not None}
