"""The JSON of requests, as far as it can be kept: what is let in here can be stored, read again, and sent on.

JSON has room for values that no record gives back as they were: numbers beyond what engines hold, half of a surrogate pair, lists in
lists without end. They are refused at the door, whatever field they are in. Knows JSON; must not know any route.
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
"""Lists and objects within each other: readers of records stop at 200, and a record puts its own around them."""
LARGEST = 2**63 - 1
"""Of whole numbers: 64 bits, as in every engine."""
_CONTAINERS = (dict, list)
_LONGEST = len(str(LARGEST)) + 1
_HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")
"""Where half of a surrogate pair may stand, or a whole one."""


class JsonRoute(APIRoute):
    """A route whose body is read by these rules."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await handler(_JsonRequest(request.scope, request.receive))

        return handle


class _JsonRequest(Request):
    async def json(self) -> Json:
        return read(await self.body())


def read(body: bytes) -> Json:
    """The value of a JSON text. Raises: json.JSONDecodeError for what is no JSON; HTTPException (400) for what cannot be kept."""
    encoding = json.detect_encoding(body)  # UTF-8, but for some clients of Windows, which say so by the first bytes
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError:
        _refuse("it is not UTF-8 text")
    decoder = _COUNTING if _LONG in body.translate(_DIGITS) or encoding != "utf-8" else _DECODER
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


def _broken(digits: str) -> float:
    if math.isinf(number := float(digits)):
        _refuse("its numbers may go to 1.7976931348623157e308 and down to its negative")
    return number


def _no_number(name: str) -> NoReturn:
    _refuse(f"{name} is no number in JSON")


_DECODER = json.JSONDecoder(parse_float=_broken, parse_constant=_no_number)
"""Reads whole numbers without a call of Python for each. All of them fit where none has as many digits as the largest."""
_COUNTING = json.JSONDecoder(parse_int=_whole, parse_float=_broken, parse_constant=_no_number)
_DIGITS = bytes(ord("0") if byte in b"0123456789" else ord(" ") for byte in range(256))
_LONG = b"0" * len(str(LARGEST))


def _check_pairs(value: Json) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        _refuse("its text is not valid Unicode, where \\u spells half of a surrogate pair")


def _is_too_deep(value: Json) -> bool:
    """Looks level by level, because there may be more levels than Python has calls."""
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
    raise HTTPException(400, f"INVALID_ARGUMENT: The request's body cannot be kept: {reason}.")
