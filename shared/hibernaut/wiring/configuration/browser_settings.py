"""The host names that the API answers to, and the origins whose pages may call it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hibernaut.wiring.configuration.variables import BadSetting, list_in

_HOST = re.compile(r"(?:[a-z0-9_.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")
"""A Host header in lower case. There are no wildcards: every host and every origin is listed."""


def hosts_in(variables: Mapping[str, str]) -> tuple[str, ...]:
    """The additional host names that the API answers to. Raises: BadSetting."""
    hosts = list_in(variables, "HIBERNAUT_ALLOWED_HOSTS")
    for host in hosts:
        if not _HOST.fullmatch(host):
            raise BadSetting(f"HIBERNAUT_ALLOWED_HOSTS must be names like api.example.com or api.example.com:8443, not {host!r}")
    return hosts


def origins_in(variables: Mapping[str, str]) -> tuple[str, ...]:
    """The foreign origins whose pages may call the API. Raises: BadSetting."""
    origins = list_in(variables, "HIBERNAUT_CORS_ORIGINS")
    for origin in origins:
        scheme, _, host = origin.partition("://")
        if scheme not in ("http", "https") or not _HOST.fullmatch(host):
            raise BadSetting(f"HIBERNAUT_CORS_ORIGINS must be origins like https://app.example.com, not {origin!r}")
    return origins
