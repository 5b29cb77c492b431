"""Resuming the stream of a run (Letta V1 API, API 6.5)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Response

from hibernaut.rest import run_responses
from hibernaut.rest.dependencies import TheServices, TheThreadPools
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.schemas.runs.send import RetrieveStreamRequest

router = APIRouter(prefix="/v1/runs", tags=["runs"], route_class=LazyRoute)


@router.post("/{run_id}/stream")
async def retrieve_run_stream(
    services: TheServices,
    pools: TheThreadPools,
    run_id: str,
    body: Annotated[RetrieveStreamRequest, Body(default_factory=RetrieveStreamRequest)],
) -> Response:
    """Resume the stream of a run after the last event that the client has received, as server-sent events."""
    return await run_responses.resumed(services, pools, run_id, body)
