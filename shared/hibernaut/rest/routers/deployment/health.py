"""Liveness and readiness (Letta V1 API, API 2.1 and 3)."""

from __future__ import annotations

from fastapi import APIRouter, Response

from hibernaut import __version__
from hibernaut.rest.http.json_responses import plain
from hibernaut.rest.lazy_routes import LazyRoute

LETTA_VERSION = "0.16.8"
"""The last release of Letta with the V1 server. Clients such as Letta Code ask for an update if the server reports an older
one.
"""

router = APIRouter(prefix="/v1", tags=["health"], route_class=LazyRoute)


@router.get("/health")
async def health() -> Response:
    """Whether the process answers, with the release of Letta that this server stands in for and its own version."""
    return plain({"version": LETTA_VERSION, "status": "ok", "hibernaut_version": __version__})


@router.get("/ready")
async def ready() -> Response:
    """Whether requests can be served. Every part is created at its first use, so a process that answers is ready."""
    return plain({"status": "ready", "ready": True})
