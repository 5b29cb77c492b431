"""Usage reports. V1 has no such route."""

from __future__ import annotations

from fastapi import APIRouter, Response

from hibernaut.rest.dependencies import TheServices
from hibernaut.rest.http.json_responses import reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.queries import UsageSpanQuery
from hibernaut.schemas.runs.usage_report import UsageReport

router = APIRouter(prefix="/v1/usage", tags=["usage"], route_class=LazyRoute)


@router.get("", response_model=UsageReport)
def report_usage(services: TheServices, query: UsageSpanQuery) -> Response:
    """The tokens and the cost of steps by day, agent, API key and model."""
    return reply(services.steps.usage(query.query()))
