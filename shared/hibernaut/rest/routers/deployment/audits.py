"""The audit of versions, for administrators of a tenant. All of it is ours: V1 keeps no versions."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from hibernaut.rest.dependencies import TheServices
from hibernaut.rest.http.json_responses import reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.schemas.base import Schema, Whole
from hibernaut.schemas.memory.version import AuditPage

router = APIRouter(prefix="/v1/audit", tags=["audit"], route_class=LazyRoute)


class AuditSpan(Schema):
    """A page of an audit. `after`: the `next` of the page before."""

    after: str | None = Field(default=None, max_length=300)
    limit: Whole = Field(default=50, ge=1, le=100)


@router.get("", response_model=AuditPage)
def audit_versions(services: TheServices, query: Annotated[AuditSpan, Query()]) -> Response:
    """Check the chains of versions of agents, blocks and passages, page by page. `fault` of a record names the first broken
    link.
    """
    return reply(services.audits.page(query.after, query.limit))
