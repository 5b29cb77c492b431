"""A strict reader of request bodies in JSON: it accepts only values that can be stored, read again and sent on unchanged.

JSON permits values that a record cannot return unchanged: numbers beyond the range of the engines, an unpaired surrogate,
unlimited nesting. The reader refuses them in every field. Knows JSON; must not know any route.

A large body holds up all other requests for as long as Python works on it, so no check calls Python for each element or each
number: what stands outside of strings is searched as a text, and only a body that it may refuse is read with a check of each
number.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Coroutine
from functools import partial
from itertools import accumulate
from typing import Any, NoReturn

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute

from hibernaut.rest.http.async_bridge import ThreadPools
from hibernaut.schemas.base import Json

DEEPEST = 100
"""Largest nesting of lists and objects. Readers of records stop at 200 levels, and a record adds levels of its own."""
LARGEST = 2**63 - 1
"""Largest integer: 64 bits, as in every engine."""
MOST_VALUES = 200_000
"""The largest number of commas and brackets outside of strings, which is about that of the values. A value takes some hundred
bytes of memory, however short its text, and more if a field refuses it.
"""
SHORT = 100_000
"""Bytes of a body that is read on the event loop. A longer one is read on a thread."""
_LONGEST = len(str(LARGEST)) + 1
_HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")
"""An escaped surrogate: a whole pair, or half of one."""


class JsonRoute(APIRoute):
    """A route that reads its body with this reader."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await handler(_JsonRequest(request.scope, request.receive))

        return handle


class _JsonRequest(Request):
    async def json(self) -> Json:
        body = await self.body()
        if len(body) <= SHORT:
            return read(body)
        pools: ThreadPools = self.app.state.pools
        return await pools.parse(partial(read, body))


def read(body: bytes, *, most: int = MOST_VALUES) -> Json:
    """The value of a JSON text. `most`: the largest number of commas and brackets outside of its strings.

    Raises: json.JSONDecodeError if it is not JSON; HTTPException (413) if it has too many values, (400) if one cannot be stored.
    """
    encoding = json.detect_encoding(body)  # UTF-8, or what the first bytes reveal: some clients on Windows send UTF-16
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError:
        _refuse("it is not UTF-8 text")
    if encoding != "utf-8":
        body = text.encode()
    brackets = _brackets(body)
    is_long = brackets + body.count(b",") > most
    outside = _without_strings(body) if is_long or brackets > DEEPEST or _is_suspect(body) else b""
    if is_long and (marks := _brackets(outside) + outside.count(b",")) > most:
        detail = f"The JSON text has {marks} commas and brackets outside of its strings, and at most {most} are read."
        raise HTTPException(413, detail)
    decoder = _CHECKING_DECODER if _may_exceed(outside) else _DECODER
    try:
        value: Json = decoder.decode(text)
    except RecursionError:
        _refuse_depth()
    if _brackets(outside) > DEEPEST and _depth(outside) > DEEPEST:
        _refuse_depth()
    if _HALF_PAIR.search(text):
        _check_pairs(value)
    return value


def _whole(digits: str) -> int:
    if len(digits) > _LONGEST or not -LARGEST <= (number := int(digits)) <= LARGEST:
        _refuse(f"its whole numbers may go to {LARGEST} and down to its negative")
    return number


def _float(digits: str) -> float:
    if math.isinf(number := float(digits)):
        _refuse("its numbers may go to 1.7976931348623157e308 and down to its negative")
    return number


def _refuse_constant(name: str) -> NoReturn:
    _refuse(f"{name} is no number in JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
"""Reads numbers without a Python call for each."""
_CHECKING_DECODER = json.JSONDecoder(parse_int=_whole, parse_float=_float, parse_constant=_refuse_constant)
"""Checks the range of each number."""
_CLASSES = bytes(
    0x30 if byte in b"0123456789" else 0x65 if byte in b"eE" else byte if byte == 0x2B else 0x20 for byte in range(256)
)
"""Digits become 0, both cases of e become e, + stays, and all else becomes a space."""
_LONG = b"0" * len(str(LARGEST))
_EXPONENTS = (b"0e000", b"0e+000")
"""A number of many digits, and an exponent of three digits, by their classes."""


def _above(bound: str) -> str:
    """A pattern for the numbers above `bound` that have as many digits."""
    first, rest = int(bound[0]), bound[1:]
    if not rest:
        return f"[{first + 1}-9]" if first < 9 else "(?!)"
    greater = rf"[{first + 1}-9]\d{{{len(rest)}}}|" if first < 9 else ""
    return f"(?:{greater}{first}{_above(rest)})"


_FAR = re.compile(rb"\+?0*+(?:29\d|[3-9]\d\d|[1-9]\d{3})")
"""An exponent from 290."""
_LONG_NUMBERS = re.compile(rb"[\d.eE+-]{%d,}+" % len(_LONG))
_EXCEEDING = re.compile(
    rf"""
    -?(?:
    (?: \d{{{len(_LONG) + 1},}}+ | {_above(str(LARGEST))} ) (?! \d | \.\d | [eE][+-]?\d)
    | \d{{20,}}+ (?:\.\d*+)? [eE]\+?0*+ [1-9]\d\d
    | \d{{200,}}+ [.eE]
    )""".encode(),
    re.VERBOSE,
)
"""Of the long numbers all that are out of range, and some floating ones near the bound: one of d digits before its point with
the exponent x is below 10 to the power of d + x, and may exceed the range if that sum exceeds 308.
"""
_DELTAS = bytes(0x01 if byte in b"[{" else 0xFF for byte in range(256))
"""An opening bracket is one level more, as a signed byte; a closing one is one less."""
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")


def _is_suspect(text: bytes) -> bool:
    """Whether a number may be out of range, by a quick look that takes words of strings for numbers."""
    classes = text.translate(_CLASSES)
    return _LONG in classes or any(mark in classes for mark in _EXPONENTS)


def _may_exceed(outside: bytes) -> bool:
    """Whether a number of a text without strings may be out of range."""
    classes = outside.translate(_CLASSES)
    if any(mark in classes for mark in _EXPONENTS):
        exponents = outside.replace(b"E", b"e").split(b"e")[1:]
        if any(map(_FAR.match, exponents)):
            return True
    return _LONG in classes and any(map(_EXCEEDING.match, _LONG_NUMBERS.findall(outside)))


def _without_strings(body: bytes) -> bytes:
    r"""The text outside of the strings, with a quotation mark for each. In JSON a backslash stands in strings alone; without the
    pairs of them, one before a quotation mark escapes it.
    """
    plain = body.replace(rb"\\", b"").replace(rb"\"", b"") if b"\\" in body else body
    return b'"'.join(plain.split(b'"')[::2])


def _brackets(text: bytes) -> int:
    """The number of opening brackets."""
    return text.count(b"[") + text.count(b"{")


def _depth(outside: bytes) -> int:
    """The nesting of a valid JSON text without its strings."""
    deltas = memoryview(outside.translate(_DELTAS, _NO_BRACKETS)).cast("b")
    return max(accumulate(deltas), default=0)


def _check_pairs(value: Json) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        _refuse("its text is not valid Unicode, where \\u spells half of a surrogate pair")


def _refuse_depth() -> NoReturn:
    _refuse(f"its lists and objects may stand within each other {DEEPEST} deep")


def _refuse(reason: str) -> NoReturn:
    raise HTTPException(400, f"INVALID_ARGUMENT: The request's body cannot be stored: {reason}.")
