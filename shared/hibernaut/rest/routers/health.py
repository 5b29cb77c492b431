"""Is the server there, and can it serve (Letta V1 API, digest 2.1 and 3)."""

from __future__ import annotations

from fastapi import APIRouter, Response

from hibernaut import __version__
from hibernaut.rest.json_responses import plain
from hibernaut.rest.lazy_routes import LateRoute

LETTA_VERSION = "0.16.8"
"""The last release of Letta with the V1 server. Clients such as Letta Code ask for an update where they are told an older one."""

router = APIRouter(prefix="/v1", tags=["health"], route_class=LateRoute)


@router.get("/health")
async def health() -> Response:
    """The version of Letta that this server stands in for, its own version, and that the process answers."""
    return plain({"version": LETTA_VERSION, "status": "ok", "hibernaut_version": __version__})


@router.get("/ready")
async def ready() -> Response:
    """Whether requests can be served: everything is made at the first use, so an answering process is a ready one."""
    return plain({"status": "ready", "ready": True})
