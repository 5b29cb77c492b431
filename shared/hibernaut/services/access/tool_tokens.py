"""The tokens of running tools: each belongs to one call, reaches the call's agent, and ends with the call.

They are held in the memory of the process that runs the tool and serves its requests. A token has the form of an API key, so that
logs and errors treat it as one. `rest.access.permissions` has what it permits: what a restricted key of the scope write may do,
without approvals and without running tools.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Mapping

from hibernaut.domain.api_keys import SECRET_BYTES, format_key
from hibernaut.schemas.access.api_key import Principal
from hibernaut.schemas.access.scope import Scope

TOOL_KEY = "tool"
"""The name in the place of a key's id, for the requests of a tool whose run was sent without a key."""


class ToolTokens:
    """The `ToolAccess` of a process that serves requests. Thread-safe. `base_url`: where it listens; None until it does."""

    def __init__(self) -> None:
        self.base_url: str | None = None
        self._principals: dict[bytes, Principal] = {}
        self._lock = threading.Lock()

    def open(self, tenant: str, agent_id: str, key_id: str | None) -> Mapping[str, str] | None:
        if self.base_url is None:
            return None
        token = format_key(secrets.token_bytes(SECRET_BYTES))
        principal = Principal(tenant, Scope.WRITE, key_id or TOOL_KEY, agent_ids=frozenset({agent_id}), of_tool=True)
        with self._lock:
            self._principals[_digest(token)] = principal
        return {"base_url": self.base_url, "token": token}

    def close(self, access: Mapping[str, str] | None) -> None:
        if access is not None:
            with self._lock:
                self._principals.pop(_digest(access["token"]), None)

    def principal(self, presented: str | None) -> Principal | None:
        """Whose token it is, None if it is none of a running tool."""
        with self._lock:
            return self._principals.get(_digest(presented)) if presented and self._principals else None

    def looked_up(self, presented: str | None) -> Principal | None:
        """As `principal`: nothing of these tokens is in the table."""
        return self.principal(presented)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
