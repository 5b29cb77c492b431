"""The address of this server as the client of a request knows it. Knows requests and the contexts of API Gateway; must not know
any route.
"""

from __future__ import annotations

import json

from starlette.requests import Request

GATEWAY = "x-amzn-request-context"
"""The header in which the Web Adapter passes the gateway's context. Elsewhere a client may write it, and misleads nobody but
itself.
"""


def own_address(request: Request) -> str:
    """Scheme, host and stage, without a slash at the end. The host is one that the server answers to
    (`rest.access.origin_policy`).
    """
    context, proto = _context(request), request.headers.get("x-forwarded-proto", request.url.scheme)
    whole, stage = str(context.get("path", "")), str(context.get("stage", ""))
    below = f"/{stage}" if stage and whole.startswith(f"/{stage}/") else ""
    return f"{'https' if proto.lower() == 'https' else 'http'}://{request.headers.get('host', '')}{below}"


def _context(request: Request) -> dict[str, object]:
    event = request.scope.get("aws.event")
    found = event.get("requestContext") if isinstance(event, dict) else None
    if found is None:
        try:
            found = json.loads(request.headers.get(GATEWAY, "null"))
        except ValueError:
            found = None
    return found if isinstance(found, dict) else {}
