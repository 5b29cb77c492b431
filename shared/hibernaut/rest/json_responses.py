"""Bodies of replies: models go to JSON bytes in one call, instead of being walked, validated and written by the framework.

Every key is always there, null or not (Letta V1 API, digest 1.7).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from fastapi import Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from hibernaut.domain.wire.listing import FilteredPage
from hibernaut.schemas.base import Json

JSON = "application/json"
NEXT = "x-hibernaut-next"
"""The header of a page that ended before it was full and before the list did: the cursor from which the list goes on."""
M = TypeVar("M", bound=BaseModel)


def reply(model: BaseModel) -> Response:
    """One model."""
    return Response(_bytes(model), media_type=JSON)


def replies(models: Iterable[BaseModel]) -> Response:
    """A list of models."""
    return Response(b"[" + b",".join(map(_bytes, models)) + b"]", media_type=JSON)


def sought(page: FilteredPage[M]) -> Response:
    """A page of what passed a filter."""
    response = replies(page.rows)
    if page.rest is not None:
        cursor, place = page.rest
        response.headers[NEXT] = f"{cursor}={place}"
    return response


def plain(value: Json, status: int = 200) -> Response:
    """A value that is JSON already: a number, a text, null."""
    return JSONResponse(value, status)


def nothing() -> Response:
    """No body (204)."""
    return Response(status_code=204)


def _bytes(model: BaseModel) -> bytes:
    """As `model_dump_json` writes it, without the way through text: a list of agents may have megabytes of ids."""
    # A model whose building is deferred is built by its first instance that is validated; here it may be the first of its kind.
    type(model).model_rebuild()
    return model.__pydantic_serializer__.to_json(model, by_alias=True)
