"""The REST app of the profile `aws`, for the functions `api`, `stream` and `socket`. Other functions do not import it: it needs
FastAPI.
"""

from __future__ import annotations

from fastapi import FastAPI

from hibernaut.adapters.aws_meter import MeteredRequests
from hibernaut.adapters.blobs.s3_uploads import S3Uploads
from hibernaut.rest.access.origin_policy import OriginPolicy
from hibernaut.rest.app import create_app
from hibernaut.rest.http.async_bridge import WaitSettings
from hibernaut.services.access.access import Access
from hibernaut.services.access.signed_tool_tokens import SignedToolTokens
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.aws_parts.composition import Composition
from hibernaut.wiring.identity import identity_provider_of

BODY_LIMIT = 6 * 1024 * 1024
"""Bytes: the limit of Lambda's payload. The gateway answers a larger request with the same message, because its event is larger
than the body.
"""


def app_of(composition: Composition) -> FastAPI:
    """The REST app over the composed parts of a function."""
    uploads = S3Uploads(composition.settings.bucket, composition.host.clock)
    services = services_of(composition.stores, composition.host, composition.engines, uploads=uploads)
    policy = OriginPolicy(composition.settings.allowed_hosts, composition.settings.cors_origins)
    waits = WaitSettings(longest=composition.settings.longest_follow)
    host, required = composition.host, composition.settings.keys_required
    access = Access(
        composition.stores,
        composition.cipher,
        host.clock,
        host.ids,
        required=required,
        tenant_budget=host.tenant_budget,
        identity=identity_provider_of(composition.settings.identity, host.clock),
    )
    if isinstance(host.tool_access, SignedToolTokens):
        access.authentication.tools = host.tool_access
    app = create_app(services, access=access, body_limit=BODY_LIMIT, policy=policy, waits=waits)
    app.add_middleware(MeteredRequests, meter=host.meter)
    return app
