"""Each request has one line, which nobody who calls can break, forge or fill with what they sent."""

from __future__ import annotations

import logging
import re
from typing import Any

import pytest
from fastapi.exceptions import RequestValidationError
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.local.logs import Fields
from hibernaut.rest.http.request_log import LONGEST_PATH, printable
from hibernaut.schemas.errors import HibernautError, NotFound
from tests.unit.rest.http.test_middleware import ask, failing, scope

SECRET = "planted-secret"
STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
LOG = "hibernaut.rest.http.request_log"


def lines(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name == LOG]


@pytest.mark.parametrize(
    ("error", "path", "headers", "expected"),
    [
        (NotFound(SECRET), "/fails", {}, ("INFO", "GET", "/fails", 404, "not_found")),
        (NotFound(SECRET), "/no/such/place", {}, ("INFO", "GET", "/no/such/place", 404, None)),
        (HibernautError(SECRET), "/fails", {}, ("WARNING", "GET", "/fails", 500, None)),
        (ValueError(SECRET), "/fails", {}, ("WARNING", "GET", "/fails", 500, None)),
        (NotFound(SECRET), "/fails", {"host": "evil.test"}, ("INFO", "GET", "/fails", 403, "foreign_host")),
    ],
)
def test_a_request_has_one_line_with_how_it_was_answered_and_why(
    error: Exception, path: str, headers: dict[str, str], expected: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        ask(failing(error), scope(path, headers) | {"query_string": SECRET.encode()})
    (record,) = lines(caplog)
    told = vars(record)
    assert (record.levelname, told["method"], told["path"], told["status"], told.get("error")) == expected
    assert told["ms"] >= 0
    assert SECRET not in str([vars(one) for one in caplog.records])


def test_a_refusal_is_seen_with_its_reason(caplog: pytest.LogCaptureFixture) -> None:
    ask(failing(ValueError()), scope("/fails", {"host": "evil.test"}))
    (refused,) = [record for record in caplog.records if record.getMessage() == "request refused"]
    assert refused.levelno == logging.WARNING
    assert "evil.test" in refused.__dict__["reason"]


def test_the_reason_of_a_refusal_is_told_to_who_looks_for_it_without_a_value_of_the_request(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fault = RequestValidationError(
        [{"loc": ("body", "names", SECRET), "msg": f"{SECRET} is no name", "input": SECRET, "type": "string_type"}]
    )
    with caplog.at_level(logging.DEBUG, logger=LOG):
        ask(failing(NotFound(f"There is no agent {SECRET}")), scope("/fails"))
        ask(failing(fault), scope("/fails"))
    told = [vars(record)["why"] for record in lines(caplog) if record.getMessage() == "request refused"]
    assert told == ["An unknown id, handle or label.", "body.names: string_type"]
    assert SECRET not in str([vars(one) for one in caplog.records])


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/v1/agents/agent-1", "/v1/agents/agent-1"),
        ("/v1\nERROR forged", "/v1%0AERROR%20forged"),
        ("/\x1b[2Jgone", "/%1B%5B2Jgone"),
        ("/\u202eevil", "/%E2%80%AEevil"),
        ("/" + "x" * 5000, "/" + "x" * (LONGEST_PATH - 1)),
    ],
)
def test_a_path_breaks_no_line(path: str, found: str) -> None:
    assert printable(path) == found


def test_a_path_is_quoted_wherever_it_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    ask(failing(ValueError()), scope("/fails") | {"path": "/fails/\x1b[31m\nERROR", "raw_path": b"/fails"})
    ask(failing(ValueError()), scope("/fails"))
    assert not any(STEERING.search(str(vars(record))) for record in caplog.records if record.name.startswith("hibernaut"))


@given(st.text(), st.text())
def test_a_line_of_the_terminal_is_one_line_whatever_it_quotes(message: str, field: str) -> None:
    record = logging.LogRecord("x", logging.INFO, "x.py", 1, "%s", (message,), None)
    record.field = field
    assert STEERING.search(Fields("%(levelname)s %(message)s").format(record)) is None
