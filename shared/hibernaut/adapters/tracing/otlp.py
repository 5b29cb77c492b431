"""Spans to a collector by OTLP over HTTP with JSON (opentelemetry.io/docs/specs/otlp, "OTLP/HTTP"; opentelemetry-proto,
trace.proto).

The queue is bounded and drops the newest spans when it is full, so that a slow or unreachable collector never delays a turn. A
batch that the collector does not accept is dropped and logged. This module replaces OpenTelemetry's SDK and its exporter: their
import takes 115 ms of CPU and 256 modules at each cold start of a function, and their batches need a thread, which a frozen
function does not run.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hibernaut.ports.tracing import Attribute, EndedSpan

if TYPE_CHECKING:
    from httpx2 import Client

QUEUE = 2_048
"""The largest number of spans that wait."""
BATCH = 512
"""The largest number of spans in one request."""
PAUSE = 1.0
"""Seconds between two transmissions of a process that runs on."""
TIMEOUT = 2.0
"""Seconds for one request to the collector."""
AFTER_A_FAILURE = 30.0
"""Seconds without a request after one that failed, so that a collector that is away delays few invocations."""
KINDS = {"internal": 1, "server": 2, "client": 3}
STATUS_ERROR = 2
logger = logging.getLogger(__name__)


class OtlpExporter:
    """Sends spans in batches. Thread-safe.

    `endpoint`: the collector's base address, to which `/v1/traces` is added. `headers` returns the headers of each request, for
    example its key.
    `background`: a thread of this process sends; otherwise `flush` does, for a function that is frozen between two invocations.
    """

    def __init__(
        self,
        endpoint: str,
        headers: Callable[[], Mapping[str, str]],
        resource: Mapping[str, Attribute],
        *,
        background: bool,
        client: Client | None = None,
    ) -> None:
        self._url = f"{endpoint.rstrip('/')}/v1/traces"
        self._headers = headers
        self._resource = resource
        self._background = background
        self._http = client
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._waiting: list[EndedSpan] = []
        self._dropped = 0
        self._again = 0.0
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def take(self, span: EndedSpan) -> None:
        with self._lock:
            if len(self._waiting) >= QUEUE:
                self._dropped += 1
                return
            self._waiting.append(span)
            if self._background and self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="otlp")
                self._thread.start()

    def flush(self) -> None:
        if not self._background:
            self.send()

    def close(self) -> None:
        """Send what waits, and end the thread."""
        self._wake.set()
        if self._thread is not None:
            self._thread.join(TIMEOUT)
        self.send()

    def send(self) -> None:
        """Send all spans that wait. Raises nothing."""
        with self._sending:
            while time.monotonic() >= self._again and (batch := self._batch()):
                try:
                    failure = self._post(batch)
                except Exception as error:  # noqa: BLE001  whatever the collector or the network does, no turn may fail by it
                    failure = type(error).__qualname__
                if failure:
                    self._again = time.monotonic() + AFTER_A_FAILURE
                    logger.warning("spans not exported", extra={"spans": len(batch), "reason": failure})

    def _batch(self) -> list[EndedSpan]:
        with self._lock:
            batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
            dropped, self._dropped = self._dropped, 0
        if dropped:
            logger.warning("spans dropped", extra={"spans": dropped})
        return batch

    def _post(self, batch: Sequence[EndedSpan]) -> str:
        """Why the collector did not take the batch ("": it did). Raises: httpx2.HTTPError, SecretsUnavailable."""
        if self._http is None:
            from httpx2 import Client

            self._http = Client(timeout=TIMEOUT)
        body = json.dumps(document_of(batch, self._resource), separators=(",", ":"), ensure_ascii=False)
        answer = self._http.post(
            self._url, content=body.encode(), headers={**self._headers(), "content-type": "application/json"}
        )
        return "" if answer.status_code < 300 else f"status {answer.status_code}"

    def _run(self) -> None:
        while not self._wake.wait(PAUSE):
            self.send()


def document_of(batch: Sequence[EndedSpan], resource: Mapping[str, Attribute]) -> dict[str, Any]:
    """The request of an export: ExportTraceServiceRequest in its JSON form. Ids are hexadecimal there, and 64-bit numbers
    strings.
    """
    scope = {"scope": {"name": "hibernaut"}, "spans": [_span(span) for span in batch]}
    return {"resourceSpans": [{"resource": {"attributes": _attributes(resource)}, "scopeSpans": [scope]}]}


def _span(ended: EndedSpan) -> dict[str, Any]:
    parent = {"parentSpanId": ended.parent_id} if ended.parent_id else {}
    status = {"status": {"code": STATUS_ERROR, "message": ended.span.error}} if ended.span.error else {}
    failure: dict[str, Attribute] = {"error.type": ended.span.error} if ended.span.error else {}
    return {
        "traceId": ended.context.trace_id,
        "spanId": ended.context.span_id,
        **parent,
        "name": ended.span.name,
        "kind": KINDS[ended.span.kind],
        "startTimeUnixNano": str(ended.start_ns),
        "endTimeUnixNano": str(ended.end_ns),
        "attributes": _attributes({**ended.span.attributes, **failure}),
        **status,
    }


def _attributes(found: Mapping[str, Attribute]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in found.items()]


def _value(value: Attribute) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case _:
            return {"stringValue": value}
