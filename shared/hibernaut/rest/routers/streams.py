"""Coming back to a run's stream (Letta V1 API, digest 6.5)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Response

from hibernaut.rest import run_responses
from hibernaut.rest.dependencies import TheLanes, TheServices
from hibernaut.rest.lazy_routes import LateRoute
from hibernaut.schemas.send import RetrieveStreamRequest

router = APIRouter(prefix="/v1/runs", tags=["runs"], route_class=LateRoute)


@router.post("/{run_id}/stream")
async def retrieve_run_stream(
    services: TheServices,
    lanes: TheLanes,
    run_id: str,
    body: Annotated[RetrieveStreamRequest, Body(default_factory=RetrieveStreamRequest)],
) -> Response:
    """What came after the event that the caller has seen last, and what still comes, as server-sent events."""
    return await run_responses.resumed(services, lanes, run_id, body)
