"""The JSON of requests: what can be kept comes in as it is, all else is refused with what was expected."""

from __future__ import annotations

import json
import math
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import pytest
from fastapi import FastAPI, HTTPException
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from hibernaut.rest.http.async_bridge import ThreadPools
from hibernaut.rest.http.errors import MOST_ERRORS, validation_body
from hibernaut.rest.http.lanes import BODIES
from hibernaut.rest.http.strict_json import DEEPEST, LARGEST, MOST_VALUES, SHORT, JsonRoute, read
from hibernaut.schemas.base import Json, Moment, Schema, Whole
from hibernaut.schemas.runs.send import RetrieveStreamRequest


def is_read(body: bytes) -> bool:
    try:
        read(body)
    except HTTPException:
        return False
    return True


def numbers(value: Json) -> Iterator[float]:
    """All numbers of a value that may be too large."""
    match value:
        case bool() | None | str():
            return
        case int():
            yield value
        case float():
            yield value if math.isfinite(value) else math.inf
        case list():
            yield from chain.from_iterable(map(numbers, value))
        case dict():
            yield from chain.from_iterable(map(numbers, value.values()))


def depth(value: Json) -> int:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if parts is None else 1 + max(map(depth, parts), default=0)


class Sample(Schema):
    number: Whole = 0
    share: float = 0.0
    at: Moment | None = None


@pytest.mark.parametrize(
    "value", [{"a": [1, None, "é😀\x00", LARGEST, -LARGEST, 1.5]}, "[" * 1000, json.loads("[" * DEEPEST + "]" * DEEPEST), {}, 7]
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_what_can_be_kept_is_read_as_it_is(value: Json, encoding: str) -> None:
    assert read(json.dumps(value).encode(encoding)) == value
    assert read(json.dumps(value, ensure_ascii=False).encode(encoding)) == value


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"[NaN]", "NaN"),
        (b'{"a": -Infinity}', "Infinity"),
        (b"1e400", "1.79"),
        (str(LARGEST + 1).encode(), str(LARGEST)),
        (b"-" + b"9" * 5000, str(LARGEST)),
        (rb'"\ud800"', "surrogate"),
        (rb'{"\udfff": 1}', "surrogate"),
        (b'"\xed\xa0\x80"', "UTF-8"),
        (b"\xff\xfe{", "UTF-8"),
        (b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1), str(DEEPEST)),
        (b'{"a":' * 100_000, str(DEEPEST)),
    ],
)
def test_what_cannot_be_kept_is_refused_with_what_was_expected(body: bytes, expected: str) -> None:
    with pytest.raises(HTTPException) as refused:
        read(body)
    assert refused.value.status_code == 400
    assert expected in refused.value.detail


def test_the_bounds_of_depth_and_of_numbers_are_exact() -> None:
    for depth, fits in ((DEEPEST, True), (DEEPEST + 1, False)):
        for opening, closing in (("[", "]"), ('{"a":', "}")):
            body = (opening * depth + "1" + closing * depth).encode()
            assert is_read(body) is fits
            assert is_read(b'{"brackets": "[[{{", "a":' + body + b"}") is (depth < DEEPEST)
    for number, fits in ((LARGEST, True), (-LARGEST, True), (LARGEST + 1, False), (-LARGEST - 1, False), (10**30, False)):
        for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32-be"):
            assert is_read(f"[{number}]".encode(encoding)) is fits


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.floats()
        | st.integers()
        | st.integers(2**62, 2**65)
        | st.integers(10**18, 10**20).map(float)
        | st.text(st.characters(codec="utf-8"), max_size=5)
        | st.text("0189eE+-., :[", max_size=40),
        lambda values: (
            st.lists(values, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=3), values, max_size=4)
        ),
        max_leaves=20,
    ),
    st.integers(0, DEEPEST + 2),
    st.booleans(),
)
def test_only_what_a_record_gives_back_is_read_and_all_of_it(value: Json, wrapped: int, ascii_only: bool) -> None:
    for _ in range(wrapped):
        value = [value]
    fits = (
        all(-LARGEST <= one <= LARGEST or (math.isfinite(one) and isinstance(one, float)) for one in numbers(value))
        and depth(value) <= DEEPEST
    )
    body = json.dumps(value, ensure_ascii=ascii_only).encode()
    assert is_read(body) is fits
    if fits:
        assert read(body) == json.loads(body)


def by_the_number(body: bytes) -> Json:
    """The plain way: a call of Python for each number, and one for each list and object."""

    def whole(digits: str) -> int:
        if len(digits) > 20 or abs(int(digits)) > LARGEST:
            raise HTTPException(400)
        return int(digits)

    def floating(digits: str) -> float:
        if math.isinf(float(digits)):
            raise HTTPException(400)
        return float(digits)

    def constant(_name: str) -> float:
        raise HTTPException(400)

    value: Json = json.JSONDecoder(parse_int=whole, parse_float=floating, parse_constant=constant).decode(body.decode())
    if depth(value) > DEEPEST:
        raise HTTPException(400)
    return value


def outcome(reader: Callable[[bytes], Json], body: bytes) -> object:
    try:
        return repr(reader(body))
    except HTTPException as refused:
        return refused.status_code
    except json.JSONDecodeError as error:
        return error.msg, error.pos


DIGITS = st.text("0123456789", min_size=1, max_size=25) | st.integers(-20, 20).map(lambda more: str(LARGEST + more))
WHOLES = DIGITS.map(lambda digits: digits.lstrip("0") or "0") | st.integers(190, 320).map(lambda length: "9" * length)
EXPONENTS = st.builds(
    "{}{}{}{}".format, st.sampled_from("eE"), st.sampled_from(["", "+", "-"]), st.sampled_from(["", "00"]), DIGITS
)
NUMBERS = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-"]),
    WHOLES,
    st.just("") | DIGITS.map(lambda digits: "." + digits),
    st.just("") | EXPONENTS | st.integers(280, 320).map(lambda power: f"e{power}"),
)
PIECES = ['"', "\\", "5e123", "1e400", "12345678901234567890", "[", "]", "{", "}", ",", " ", "é"]
STRINGS = st.lists(st.sampled_from(PIECES), max_size=6).map("".join).map(json.dumps)
TEXTS = st.recursive(
    NUMBERS | STRINGS | st.sampled_from(["true", "false", "null", "NaN", "-Infinity"]),
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda parts: f"[{','.join(parts)}]")
        | st.lists(st.tuples(STRINGS, inner), max_size=4).map(lambda parts: "{" + ",".join(f"{k}: {v}" for k, v in parts) + "}")
    ),
    max_leaves=12,
)


@settings(max_examples=1000)
@given(TEXTS, st.sampled_from([0, 0, 0, DEEPEST - 3, DEEPEST, DEEPEST + 1]), st.integers(0, 200), st.sampled_from(["", *PIECES]))
def test_a_text_is_read_or_refused_as_by_a_check_of_each_number(text: str, wrapped: int, place: int, broken: str) -> None:
    body = "[" * wrapped + text + "]" * wrapped
    for each in (body, body[:place] + broken + body[place + 1 :]):
        assert outcome(read, each.encode()) == outcome(by_the_number, each.encode())


@pytest.mark.parametrize(
    "value",
    [
        [list(range(100))] * 500,
        [[share / 7 for share in range(100)]] * 500,
        [list(range(10**18, 10**18 + 100))] * 500,
        [list(range(100))] * 500 + ["12345678901234567890"],
        [list(range(100))] * 500 + ["order 12345678901234567890", 'a quote " and 5e123'],
        [list(range(100))] * 500 + [{"id": "agent-3f5e123a-0000-4000-8000-000000000000"}],
        ["12345678901234567890"] * 20_000,
        [[list(range(100))] * 500, [[]] * (DEEPEST + 1)],
        [*range(50_000), 1e123, 1_732_822_000_000_000_000, 0.00012345678901234567],
    ],
    ids=[
        "whole",
        "floating",
        "of nineteen digits",
        "beside an id of twenty digits",
        "beside texts with numbers",
        "beside an id of hexadecimal digits",
        "in strings",
        "beside many lists",
        "beside long ones",
    ],
)
def test_a_body_of_numbers_is_read_without_a_call_of_python_for_each(value: Json) -> None:
    """The event loop reads bodies, so that each call of Python for one number of a large body holds up all other requests."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    body = json.dumps(value).encode()
    sys.setprofile(count)
    try:
        read(body)
    finally:
        sys.setprofile(None)
    assert calls < 100


@pytest.mark.parametrize("body", [b"", b"{", b"[1,]", b'"\x00"', b"{} {}"])
def test_what_is_no_json_is_told_as_such(body: bytes) -> None:
    with pytest.raises(json.JSONDecodeError):
        read(body)


@pytest.mark.parametrize("value", ["{}", "[]", '{"a":0}', "0.5", '"a"', '"]"', r'"\""'])
def test_a_body_of_too_many_values_is_refused_before_any_of_them_is_made(value: str) -> None:
    marks = 1 + (value[0] in "[{")
    most = (MOST_VALUES - 1 + (marks == 1)) // marks
    fits = f"[{','.join([value] * most)}]".encode()
    assert len(read(fits)) == most  # type: ignore[arg-type]
    for body in (fits[:-1] + f",{value},{value}]".encode(), fits[:-1] + f",{value},{value}, broken".encode()):
        with pytest.raises(HTTPException) as refused:
            read(body)
        assert refused.value.status_code == 413
        assert f"at most {MOST_VALUES}" in refused.value.detail


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_what_stands_in_strings_is_one_value(encoding: str) -> None:
    text = ', "and so on" [1], {2}, \\' * MOST_VALUES
    assert read(json.dumps([text]).encode(encoding)) == [text]


def test_a_route_reads_its_body_by_these_rules() -> None:
    app = FastAPI()
    app.router.route_class = JsonRoute

    @app.post("/")
    def kept(body: dict[str, float]) -> dict[str, float]:
        return body

    with TestClient(app) as client:
        answers = [
            client.post("/", content=body, headers={"content-type": "application/json"}) for body in (b'{"a": 1}', b'{"a": NaN}')
        ]
    assert [answer.status_code for answer in answers] == [200, 400]


def test_a_large_body_is_read_on_a_thread_and_a_small_one_where_it_comes() -> None:
    read_on: list[str] = []

    class Noted(ThreadPools):
        async def parse(self, job: Callable[[], Any]) -> Any:
            return await super().parse(lambda: read_on.append(threading.current_thread().name) or job())

    app = FastAPI()
    app.state.pools = Noted()
    app.router.route_class = JsonRoute

    @app.post("/")
    def kept(body: dict[str, str]) -> int:
        return len(body["a"])

    with TestClient(app) as client:
        assert [client.post("/", json={"a": "x" * length}).json() for length in (10, SHORT)] == [10, SHORT]
        assert len(read_on) == 1
        assert read_on[0].startswith(BODIES.name)
        for body, status in (
            (b'{"a": NaN, "b": "' + b"x" * SHORT + b'"}', 400),
            (b'{"a": "' + b"x" * SHORT, 422),
            (b"[" + b"0," * MOST_VALUES, 413),
        ):
            assert client.post("/", content=body, headers={"content-type": "application/json"}).status_code == status
    app.state.pools.end()


@pytest.mark.parametrize(
    "fields",
    [
        {"number": "9" * 400},
        {"number": -(2**63)},
        {"share": "nan"},
        {"share": "-inf"},
        {"at": "0001-01-01T00:00:00+14:00"},
        {"at": "9999-12-31T23:59:59-14:00"},
    ],
)
def test_a_field_takes_what_a_record_gives_back(fields: Json) -> None:
    with pytest.raises(ValidationError):
        Sample.model_validate(fields)


def test_the_first_and_the_last_moment_are_read_again_as_they_were_written() -> None:
    for at in ("0001-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z"):
        sample = Sample.model_validate({"at": at})
        assert json.loads(sample.model_dump_json())["at"] == at
        assert Sample.model_validate_json(sample.model_dump_json()) == sample


def test_a_fields_own_bounds_hold_beside_those_of_every_number() -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        RetrieveStreamRequest.model_validate({"starting_after": -1})


def test_an_error_tells_the_beginning_of_what_was_sent() -> None:
    found = [{"type": "string_type", "loc": ("body", number), "msg": "wrong", "input": "x" * 1_000_000} for number in range(500)]
    detail = validation_body(found)["detail"]
    assert detail.startswith("[{'type': 'string_type', 'loc': ('body', 0), 'msg': 'wrong', 'input': 'xxx")
    assert len(detail) < 30_000
    assert f"{500 - MOST_ERRORS} more errors" in detail
