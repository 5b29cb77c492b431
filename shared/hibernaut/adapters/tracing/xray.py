"""Subsegments of AWS X-Ray, sent to the daemon of the function's environment by UDP (AWS X-Ray developer guide, "Sending trace
data to AWS X-Ray" and "Segment documents").

Lambda makes the segment of each invocation and names it in the trace header; this module adds what happens inside. Nothing is
sent if the invocation is not sampled. The SDK of X-Ray is not used: its import takes 370 ms of CPU.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hibernaut.ports.tracing import EndedSpan

HEADER = b'{"format": "json", "version": 1}\n'
LARGEST = 60_000
"""Bytes of a document, below the 64 KB of a segment."""
MOST_CHARACTERS = 200
_NAME = re.compile(r"[^\w\s.:/%&#=+\-@]")
_KEY = re.compile(r"[^A-Za-z0-9_]")
_ROOT = re.compile(r"1-[0-9a-f]{8}-[0-9a-f]{24}")


class XRayExporter:
    """Sends each span as a subsegment of the invocation that it ends in. Thread-safe.

    `header` returns the trace header of the invocation: `Root=…;Parent=…;Sampled=1`. `daemon`: host and port.
    """

    def __init__(self, header: Callable[[], str], daemon: str) -> None:
        self._header = header
        host, _, port = daemon.rpartition(":")
        self._daemon = (host, int(port))
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)

    def take(self, span: EndedSpan) -> None:
        if (
            span.span.kind == "server"
        ):  # Lambda and the gateway have segments of their own for requests; a run has many invocations.
            return
        trace = dict(part.partition("=")[::2] for part in self._header().split(";"))
        if trace.get("Sampled") != "1" or not trace.get("Parent") or not _ROOT.fullmatch(trace.get("Root", "")):
            return
        document = HEADER + json.dumps(subsegment(span, trace["Root"], trace["Parent"])).encode()
        if len(document) <= LARGEST:
            with suppress(OSError):  # A full buffer or a missing daemon loses a subsegment and nothing else.
                self._socket.sendto(document, self._daemon)

    def flush(self) -> None:
        """Does nothing: every subsegment was sent when it ended."""

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def subsegment(ended: EndedSpan, root: str, invocation: str) -> dict[str, Any]:
    """The document of a subsegment. What began outside any other span is a child of the invocation's segment."""
    span = ended.span
    return {
        "name": _NAME.sub("_", span.name)[:MOST_CHARACTERS],
        "id": ended.context.span_id,
        "trace_id": root,
        "parent_id": invocation if ended.outermost else ended.parent_id,
        "type": "subsegment",
        "start_time": ended.start_ns / 1e9,
        "end_time": ended.end_ns / 1e9,
        **({"namespace": "remote"} if span.kind == "client" else {}),
        **({"fault": True} if span.error else {}),
        "annotations": {_KEY.sub("_", name): value for name, value in span.attributes.items()},
    }
