"""Empty lists of the resources that this server cannot create yet: a client that lists them gets no error (Letta V1 API, digest 2 and 3).

The routes that create and change these resources are in `rest.unserved_routes`. A list moves to its own router with its resource.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from hibernaut.domain.wire.listing import Page, page
from hibernaut.rest.dependencies import TheCaller
from hibernaut.rest.json_responses import plain
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries import Limit, Order
from hibernaut.schemas.base import JsonObject, Schema

router = APIRouter(prefix="/v1", tags=["to come"], route_class=LazyRoute)


class EmptyList(Schema):
    """A page of a list without entries. Every cursor is unknown and answers 404, as in every list."""

    before: str | None = None
    after: str | None = None
    limit: Limit = 50
    order: Order = "asc"

    def found(self) -> list[JsonObject]:
        """The empty page. Raises: NotFound for any cursor."""
        wanted = Page(limit=self.limit, before=self.before, after=self.after, descending=self.order == "desc")
        return page(list[JsonObject](), wanted, id_of=_id, place=_id)


def _id(entry: JsonObject) -> str:
    return str(entry["id"])


EmptyListQuery = Annotated[EmptyList, Query()]


@router.get("/mcp-servers", response_model=list[JsonObject])
@router.get("/sandbox-config", response_model=list[JsonObject])
async def list_nothing(_caller: TheCaller, query: EmptyListQuery) -> Response:
    """An empty page: this server cannot create these resources yet."""
    return plain(query.found())


@router.get("/tools/mcp/servers", response_model=JsonObject)
async def map_nothing(_caller: TheCaller) -> Response:
    """The MCP servers by name: none."""
    return plain({})
