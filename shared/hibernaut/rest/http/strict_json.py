"""A strict reader of request bodies in JSON: it accepts only values that can be stored, read again and sent on unchanged.

JSON permits values that a record cannot return unchanged: numbers beyond the range of the engines, an unpaired surrogate,
unlimited nesting. The reader refuses them in every field. Knows JSON; must not know any route.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Coroutine
from itertools import chain
from typing import Any, NoReturn

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute

from hibernaut.schemas.base import Json

DEEPEST = 100
"""Largest nesting of lists and objects. Readers of records stop at 200 levels, and a record adds levels of its own."""
LARGEST = 2**63 - 1
"""Largest integer: 64 bits, as in every engine."""
_CONTAINERS = (dict, list)
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
        return read(await self.body())


def read(body: bytes) -> Json:
    """The value of a JSON text. Raises: json.JSONDecodeError if it is not JSON; HTTPException (400) if a value cannot be
    stored.
    """
    encoding = json.detect_encoding(body)  # UTF-8, or what the first bytes reveal: some clients on Windows send UTF-16
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError:
        _refuse("it is not UTF-8 text")
    decoder = _CHECKING_DECODER if encoding != "utf-8" or _may_exceed(body) else _DECODER
    try:
        value: Json = decoder.decode(text)
    except RecursionError:
        _refuse_depth()
    if text.count("[") + text.count("{") > DEEPEST and _is_too_deep(value):
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
"""An exponent of three digits, by its classes."""
_DIGITS = re.compile(b"0+")
_BEFORE_A_NUMBER = b"[:, \t\r\n-"


def _may_exceed(body: bytes) -> bool:
    """Whether a number of the UTF-8 text may be out of range. Looks at long digits alone; those that begin a string are none."""
    classes = body.translate(_CLASSES)
    if any(mark in classes for mark in _EXPONENTS):
        return True
    begin = classes.find(_LONG)
    while begin >= 0:
        run = _DIGITS.match(classes, begin)
        end = run.end() if run else begin
        number = begin == 0 or body[begin - 1] in _BEFORE_A_NUMBER
        if number and (end - begin > len(_LONG) or int(body[begin:end]) > LARGEST):
            return True
        begin = classes.find(_LONG, end)
    return False


def _check_pairs(value: Json) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        _refuse("its text is not valid Unicode, where \\u spells half of a surrogate pair")


def _is_too_deep(value: Json) -> bool:
    """Whether the nesting exceeds DEEPEST. Checks level by level, because the nesting may exceed Python's recursion limit."""
    level: list[Json] = [[value]]
    for _ in range(DEEPEST + 1):
        parts = chain.from_iterable(found.values() if type(found) is dict else found for found in level)
        level = [part for part in parts if type(part) in _CONTAINERS]
        if not level:
            return False
    return True


def _refuse_depth() -> NoReturn:
    _refuse(f"its lists and objects may stand within each other {DEEPEST} deep")


def _refuse(reason: str) -> NoReturn:
    raise HTTPException(400, f"INVALID_ARGUMENT: The request's body cannot be stored: {reason}.")
