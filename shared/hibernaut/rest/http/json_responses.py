"""Bodies of replies. A model is serialised to JSON bytes in one call, because the framework would traverse and validate it again.

A body contains every key of its model, including null values (Letta V1 API, API 1.7).
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
"""The header of a page that is neither full nor the last one: the cursor of the next request, such as `after=step-…`."""
M = TypeVar("M", bound=BaseModel)


def reply(model: BaseModel) -> Response:
    """One model."""
    return Response(_bytes(model), media_type=JSON)


def created(model: BaseModel) -> Response:
    """One new model (201)."""
    return Response(_bytes(model), 201, media_type=JSON)


def accepted(model: BaseModel) -> Response:
    """One model whose work has begun (202)."""
    return Response(_bytes(model), 202, media_type=JSON)


def replies(models: Iterable[BaseModel]) -> Response:
    """A list of models."""
    return Response(b"[" + b",".join(map(_bytes, models)) + b"]", media_type=JSON)


def filtered(page: FilteredPage[M]) -> Response:
    """A page of a filtered list. If it is neither full nor the last one, the header `x-hibernaut-next` has the next cursor."""
    response = replies(page.rows)
    if page.rest is not None:
        cursor, place = page.rest
        response.headers[NEXT] = f"{cursor}={place}"
    return response


def plain(value: Json, status: int = 200) -> Response:
    """A JSON value that is not a model, such as a number, a text or null."""
    return JSONResponse(value, status)


def nothing() -> Response:
    """A reply without a body (204)."""
    return Response(status_code=204)


def _bytes(model: BaseModel) -> bytes:
    """The bytes of `model_dump_json`, without the conversion to text: a list of agents may have megabytes of ids."""
    # A model with a deferred build is built when its first instance is validated. This one may not have been validated.
    type(model).model_rebuild()
    return model.__pydantic_serializer__.to_json(model, by_alias=True)
