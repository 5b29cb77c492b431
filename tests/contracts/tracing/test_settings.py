"""Where spans go by the settings, and which callers' traces are continued."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.ports.tracing import NO_TRACER, SpanContext, context_in, run_context
from hibernaut.wiring.configuration.variables import BadSetting
from hibernaut.wiring.tracing import TracingSettings, home_tracer, tracing_in
from tests.support.clocks import ManualClock

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
RUN = "run-0199f2c0-7a10-4000-8a5b-3f1e2d4c5b00"


def test_without_a_collector_nothing_is_recorded() -> None:
    assert tracing_in({}) == TracingSettings()
    assert home_tracer(TracingSettings(), ManualClock()) is NO_TRACER


def test_headers_are_pairs_and_stay_out_of_the_text_of_the_settings() -> None:
    found = tracing_in(
        {"HIBERNAUT_OTLP_ENDPOINT": "https://otel.example.com", "HIBERNAUT_OTLP_HEADERS": "api-key=s3cret=, X-B = c"}
    )
    assert dict(found.headers) == {"api-key": "s3cret=", "x-b": "c"}
    assert hash(found)
    assert "s3cret" not in repr(found)


@pytest.mark.parametrize(
    "variables",
    [
        {"HIBERNAUT_OTLP_ENDPOINT": "otel.example.com"},
        {"HIBERNAUT_OTLP_HEADERS": "s3cret"},
        {"HIBERNAUT_OTLP_HEADERS": "=s3cret"},
    ],
)
def test_a_bad_setting_is_refused_by_its_name_and_without_keys(variables: dict[str, str]) -> None:
    ((name, _),) = variables.items()
    with pytest.raises(BadSetting, match=name) as refused:
        tracing_in(variables)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("header", [f"00-{TRACE}-{SPAN}-01", f"00-{TRACE}-{SPAN}-00", f"cc-{TRACE}-{SPAN}-01-more"])
def test_a_callers_span_is_read(header: str) -> None:
    assert context_in(header) == SpanContext(TRACE, SPAN)


@pytest.mark.parametrize(
    "header",
    [
        "",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-01-more",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
    ],
)
def test_what_the_standard_calls_invalid_is_ignored(header: str) -> None:
    assert context_in(header) is None


@given(st.text())
def test_no_header_raises(header: str) -> None:
    context_in(header)


def test_every_process_derives_the_same_span_of_a_run() -> None:
    assert run_context(RUN, None) == (SpanContext("0199f2c07a1040008a5b3f1e2d4c5b00", "8a5b3f1e2d4c5b00"), "")
    assert run_context(RUN, f"00-{TRACE}-{SPAN}-01") == (SpanContext(TRACE, "8a5b3f1e2d4c5b00"), SPAN)
