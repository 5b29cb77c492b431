"""The tags of agents (Letta V1 API, digest 2.15)."""

from __future__ import annotations

from fastapi import APIRouter, Response

from hibernaut.rest.dependencies import TheServices
from hibernaut.rest.json_responses import plain
from hibernaut.rest.lazy_routes import LateRoute
from hibernaut.rest.record_queries import TagListQuery

router = APIRouter(prefix="/v1/tags", tags=["tags"], route_class=LateRoute)


@router.get("", response_model=list[str])
def list_tags(services: TheServices, query: TagListQuery) -> Response:
    """A page of the tags that agents bear."""
    text = query.name if query.name is not None else query.query_text
    return plain(list(services.agents.tags(text, query.page())))
