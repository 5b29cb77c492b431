"""The settings of tracing, and the tracer that they ask for.

HIBERNAUT_OTLP_ENDPOINT   base address of a collector of OpenTelemetry, which gets spans at /v1/traces (default: none)
HIBERNAUT_OTLP_HEADERS    headers of each request to it, like `api-key=…`, separated by commas; on AWS a parameter of this name
AWS_XRAY_DAEMON_ADDRESS   host and port of the daemon of X-Ray, set by Lambda
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from hibernaut import __version__
from hibernaut.ports.clock import Clock
from hibernaut.ports.tracing import NO_TRACER, Tracer
from hibernaut.schemas.immutable import immutable
from hibernaut.wiring.configuration.variables import BadSetting, address_in

if TYPE_CHECKING:
    from hibernaut.adapters.tracing.spans import SpanExporter

ENDPOINT, HEADERS, DAEMON = "HIBERNAUT_OTLP_ENDPOINT", "HIBERNAUT_OTLP_HEADERS", "AWS_XRAY_DAEMON_ADDRESS"


@immutable
class TracingSettings:
    """Where spans go; hashable, as all settings of a function. `headers`: those of the environment. `daemon` is empty outside
    Lambda.
    """

    endpoint: str = ""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    daemon: str = ""


NO_TRACING = TracingSettings()


def tracing_in(variables: Mapping[str, str]) -> TracingSettings:
    """Raises: BadSetting."""
    return TracingSettings(
        address_in(variables, ENDPOINT), tuple(headers_of(variables.get(HEADERS, "")).items()), variables.get(DAEMON, "")
    )


def headers_of(text: str) -> dict[str, str]:
    """Headers like `name=value,name=value`. Raises: BadSetting, without the values, which may be keys."""
    pairs = [part.strip().partition("=") for part in text.split(",") if part.strip()]
    if any(not name.strip() or not equals for name, equals, _ in pairs):
        raise BadSetting(f"{HEADERS} must be headers like name=value, separated by commas")
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def home_tracer(settings: TracingSettings, clock: Clock) -> Tracer:
    """The tracer of a server that runs on: a thread sends the spans."""
    if not settings.endpoint:
        return NO_TRACER
    from hibernaut.adapters.tracing.otlp import OtlpExporter
    from hibernaut.adapters.tracing.spans import SpanTracer

    resource = {"service.name": "hibernaut", "service.version": __version__}
    return SpanTracer([OtlpExporter(settings.endpoint, lambda: dict(settings.headers), resource, background=True)], clock)


def function_tracer(
    settings: TracingSettings, clock: Clock, *, env: str, header: Callable[[], str], secret: Callable[[str], str | None]
) -> Tracer:
    """The tracer of a Lambda function. `header`: the trace header of the invocation. `secret`: reads a parameter by its name."""
    exporters: list[SpanExporter] = []
    if settings.daemon:
        from hibernaut.adapters.tracing.xray import XRayExporter

        exporters.append(XRayExporter(header, settings.daemon))
    if settings.endpoint:
        from hibernaut.adapters.tracing.otlp import OtlpExporter

        resource = {"service.name": "hibernaut", "service.version": __version__, "deployment.environment.name": env}
        exporters.append(OtlpExporter(settings.endpoint, lambda: headers_of(secret(HEADERS) or ""), resource, background=False))
    if not exporters:
        return NO_TRACER
    from hibernaut.adapters.tracing.spans import SpanTracer

    return SpanTracer(exporters, clock)
