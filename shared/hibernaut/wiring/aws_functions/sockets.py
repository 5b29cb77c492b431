"""Composes the WebSocket API of the profile aws, for the function `socket`."""

from __future__ import annotations

from functools import cache
from ipaddress import IPv4Network, IPv6Network, ip_network
from urllib.parse import urlsplit

from hibernaut.adapters.sockets.api_gateway import GatewayConnections
from hibernaut.rest.access.origin_policy import OriginPolicy
from hibernaut.rest.sockets.gateway import GatewayParts, GatewaySockets
from hibernaut.wiring.aws import compose
from hibernaut.wiring.aws_parts.app import app_of
from hibernaut.wiring.settings import AwsSettings, BadSetting

EVERYBODY = "public"
"""The value of HIBERNAUT_CALLERS that admits every address."""
NOBODY = ("", "none")


def sockets() -> GatewaySockets:
    """The WebSocket API by the environment of the function. Raises: BadSetting."""
    return _sockets(AwsSettings.from_environment())


def callers_in(text: str) -> tuple[IPv4Network | IPv6Network, ...] | None:
    """The address ranges that may connect, separated by commas; None: all. Raises: BadSetting."""
    if text == EVERYBODY:
        return None
    if text in NOBODY:
        return ()
    try:
        return tuple(ip_network(part.strip()) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise BadSetting(f"HIBERNAUT_CALLERS must be address ranges like 203.0.113.0/24, {EVERYBODY} or none: {error}") from error


@cache
def _sockets(settings: AwsSettings) -> GatewaySockets:
    name = urlsplit(settings.sockets).hostname
    if name is None:
        raise BadSetting("HIBERNAUT_SOCKETS must be the address of the WebSocket API's stage")
    composition = compose(settings, waits=True)
    parts = GatewayParts(
        composition.stores,
        GatewayConnections(settings.sockets),
        composition.host.clock,
        composition.host.ids,
        policy=OriginPolicy((name, *settings.allowed_hosts), settings.cors_origins),
        callers=callers_in(settings.callers),
    )
    return GatewaySockets(app_of(composition), parts)


def forget_sockets() -> None:
    """As `aws.forget_compositions`, for the WebSocket API."""
    _sockets.cache_clear()
