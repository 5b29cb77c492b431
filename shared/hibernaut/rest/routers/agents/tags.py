"""The tags of agents (Letta V1 API, API 2.15)."""

from __future__ import annotations

from fastapi import APIRouter, Response

from hibernaut.rest.dependencies import TheServices
from hibernaut.rest.http.json_responses import plain
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.record_queries import TagListQuery

router = APIRouter(prefix="/v1/tags", tags=["tags"], route_class=LazyRoute)


@router.get("", response_model=list[str])
def list_tags(services: TheServices, query: TagListQuery) -> Response:
    """A page of the tags of agents, in alphabetical order."""
    text = query.name if query.name is not None else query.query_text
    return plain(list(services.agents.tags(text, query.page())))
