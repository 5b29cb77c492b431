"""What a running tool may ask of this server: an address and a token that is valid while its call runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class ToolAccess(Protocol):
    """The tokens of running tools. Thread-safe."""

    def open(self, tenant: str, agent_id: str, key_id: str | None) -> Mapping[str, str] | None:
        """The `base_url` and the `token` of a call for this agent; None if tools cannot reach the server. `key_id`: the API key
        that the call is charged to.
        """

    def close(self, access: Mapping[str, str] | None) -> None:
        """End a token with its call."""


class NoToolAccess:
    """Tools cannot reach the server."""

    def open(self, tenant: str, agent_id: str, key_id: str | None) -> None:
        del tenant, agent_id, key_id

    def close(self, access: Mapping[str, str] | None) -> None:
        del access


NO_TOOL_ACCESS = NoToolAccess()
