"""The JSON of requests, as far as it can be kept: what is let in here can be stored, read again, and sent on.

JSON has room for values that no record gives back as they were: numbers beyond what engines hold, half of a surrogate pair, lists in
lists without end. They are refused at the door, whatever field they are in. Knows JSON; must not know any route.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, NoReturn

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute

from hibernaut.schemas.base import Json

DEEPEST = 100
"""Lists and objects within each other: readers of records stop at 200, and a record puts its own around them."""
LARGEST = 2**63 - 1
"""Of whole numbers: 64 bits, as in every engine."""
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
    try:
        value: Json = _DECODER.decode(text)
    except RecursionError:
        _refuse_depth()
    if text.count("[") + text.count("{") > DEEPEST and _depth(value) > DEEPEST:
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


_DECODER = json.JSONDecoder(parse_int=_whole, parse_float=_broken, parse_constant=_no_number)


def _check_pairs(value: Json) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        _refuse("its text is not valid Unicode, where \\u spells half of a surrogate pair")


def _depth(value: Json) -> int:
    return max((depth for depth, _ in _values(value)), default=0)


def _values(value: Json) -> Iterator[tuple[int, Json]]:
    """All lists and objects, each with its depth; by a list of what is left, because there may be more levels than calls."""
    left = [(1, value)]
    while left:
        depth, found = left.pop()
        parts = found.values() if isinstance(found, dict) else found
        if isinstance(found, dict | list):
            yield depth, found
            left += [(depth + 1, part) for part in parts if isinstance(part, dict | list)]


def _refuse_depth() -> NoReturn:
    _refuse(f"its lists and objects may stand within each other {DEEPEST} deep")


def _refuse(reason: str) -> NoReturn:
    raise HTTPException(400, f"INVALID_ARGUMENT: The request's body cannot be kept: {reason}.")
