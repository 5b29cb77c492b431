"""A collector of OpenTelemetry on loopback, which refuses what OTLP over HTTP with JSON forbids
(opentelemetry.io/docs/specs/otlp, "JSON Protobuf Encoding"; opentelemetry-proto, trace.proto and common.proto).
"""

from __future__ import annotations

import json
import re
from types import TracebackType
from typing import Any, Self

from tests.support.json_server import JsonServer

SPAN = {"traceId", "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano", "attributes", "status"}
VALUES = {"stringValue": str, "boolValue": bool, "intValue": str, "doubleValue": float}
_IDS = {"traceId": r"(?!0{32})[0-9a-f]{32}", "spanId": r"(?!0{16})[0-9a-f]{16}", "parentSpanId": r"(?!0{16})[0-9a-f]{16}"}


class Refused(Exception):
    """The request breaks a rule; the message says which."""


def need(so: bool, rule: str) -> None:
    if not so:
        raise Refused(rule)


class OtlpCollector:
    """Keeps the spans of all accepted requests; `refusals` has the reasons of the others. `status` 200: it accepts."""

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.spans: list[dict[str, Any]] = []
        self.resources: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.bodies: list[bytes] = []
        self.refusals: list[str] = []
        self._server = JsonServer(self._answer)
        self.url = self._server.address

    def _answer(self, path: str, headers: dict[str, str], sent: bytes) -> tuple[int, Any]:
        self.headers.append(headers)
        self.bodies.append(sent)
        if self.status != 200:
            return self.status, {}
        try:
            need(path == "/v1/traces", "traces go to /v1/traces")
            need(headers["content-type"] == "application/json", "the content type of JSON is application/json")
            self._take(json.loads(sent))
        except Refused as refusal:
            self.refusals.append(str(refusal))
            return 400, {"message": str(refusal)}
        return 200, {}

    def _take(self, document: dict[str, Any]) -> None:
        for one in document["resourceSpans"]:
            self.resources.append(_attributes(one["resource"]["attributes"]))
            for scope in one["scopeSpans"]:
                for span in scope["spans"]:
                    _check(span)
                    self.spans.append({**span, "attributes": _attributes(span["attributes"])})

    def named(self, start: str) -> list[dict[str, Any]]:
        return [span for span in self.spans if span["name"].startswith(start)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.close()


def _check(span: dict[str, Any]) -> None:
    need(set(span) <= SPAN, f"a span has no fields {sorted(set(span) - SPAN)}")
    for name, form in _IDS.items():
        need(name not in span or re.fullmatch(form, span[name]) is not None, f"{name} is hexadecimal and not zero")
    times = [span["startTimeUnixNano"], span["endTimeUnixNano"]]
    need(all(isinstance(time, str) and time.isdecimal() for time in times), "64-bit numbers are strings")
    need(int(times[0]) <= int(times[1]), "a span does not end before it starts")
    need(span["kind"] in range(1, 6), "a kind is a number")
    need(bool(span["name"]), "a span has a name")
    need(span.get("status", {}).get("code", 0) in (0, 1, 2), "a status has a code")


def _attributes(listed: list[dict[str, Any]]) -> dict[str, Any]:
    found = {}
    for one in listed:
        ((kind, value),) = one["value"].items()
        need(isinstance(value, VALUES.get(kind, ())), f"a value is one of {sorted(VALUES)}")
        need(one["key"] not in found, f"the attribute {one['key']} is there twice")
        found[one["key"]] = int(value) if kind == "intValue" else value
    return found
