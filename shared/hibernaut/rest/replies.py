"""Bodies of replies: models go to JSON bytes in one call, instead of being walked, validated and written by the framework.

Every key is always there, null or not (Letta V1 API, digest 1.7).
"""

from __future__ import annotations

from collections.abc import Iterable

from fastapi import Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from hibernaut.schemas.base import Json

JSON = "application/json"


def reply(model: BaseModel) -> Response:
    """One model."""
    return Response(model.model_dump_json(by_alias=True), media_type=JSON)


def replies(models: Iterable[BaseModel]) -> Response:
    """A list of models."""
    return Response("[" + ",".join(model.model_dump_json(by_alias=True) for model in models) + "]", media_type=JSON)


def plain(value: Json, status: int = 200) -> Response:
    """A value that is JSON already: a number, a text, null."""
    return JSONResponse(value, status)
