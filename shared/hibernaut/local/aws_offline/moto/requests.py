"""Fixes of what costs time at every request to moto and at its first one, although nobody looks at the result.

Knows: the internals of botocore and moto. Must not know: the product's requests.

Without these fixes
- botocore builds the text of its user agent twice for each request, a tenth of the time of a small one;
- Systems Manager imports EC2, which reads the lists of all machine types of all regions, a second of CPU time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hibernaut.local.aws_offline.patching import replace

_TEXT = "hibernaut_text"
_MACHINES = "ec2/resources/instance_type"
"""The beginning of the names of the lists."""


def install() -> None:
    """Apply all fixes; idempotent. The lists are omitted unless EC2 was imported before."""
    from botocore.useragent import UserAgentString
    from moto.utilities import utils

    replace(UserAgentString, "to_string", _once_per_client)
    replace(utils, "load_resource", _without_machines)


def _once_per_client(original: Callable[[Any], str]) -> Callable[[Any], str]:
    def text(agent: Any) -> str:
        if _TEXT not in agent.__dict__:
            agent.__dict__[_TEXT] = original(agent)
        value: str = agent.__dict__[_TEXT]
        return value

    return text


def _without_machines(original: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda resource: {} if resource.startswith(_MACHINES) else original(resource)
