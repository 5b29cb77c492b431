"""The tokens of running tools where other processes serve their requests: each contains the agent and key of the call and its
expiry, and is signed.

The key is the deployment's pepper (`pepper.py`), under a name of its own, so that no signature is the hash of an API key. Nothing
is stored, so a token ends at the time limit of its call, and not with a call that ends sooner.
"""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping

from hibernaut.ports.clock import Clock
from hibernaut.schemas.access.api_key import Principal
from hibernaut.schemas.access.scope import Scope
from hibernaut.schemas.errors import HibernautError
from hibernaut.services.access.pepper import Pepper
from hibernaut.services.access.tool_tokens import TOOL_KEY

PREFIX = "hibtool_"
LONGEST = 2_000
"""Characters of a token that is looked at."""
MARGIN = 5.0
"""Seconds for which a token outlives the time limit of its call: the sandbox begins to count later."""
_PURPOSE = "tool-token "


class SignedToolTokens:
    """The `ToolAccess` of a deployment. Thread-safe. `base_url`: the address of its API; empty: tools cannot reach it. `seconds`:
    the time limit of a call.
    """

    def __init__(self, pepper: Pepper, clock: Clock, *, base_url: str, seconds: float) -> None:
        self._pepper = pepper
        self._clock = clock
        self._base_url = base_url
        self._seconds = seconds + MARGIN

    def open(self, tenant: str, agent_id: str, key_id: str | None) -> Mapping[str, str] | None:
        """Raises: OSError if the key cannot be read, so that the tool is not started."""
        if not self._base_url:
            return None
        claims = [tenant, agent_id, key_id, self._clock.now().timestamp() + self._seconds]
        body = urlsafe_b64encode(json.dumps(claims).encode()).decode()
        try:
            signature = self._pepper.digest(_PURPOSE + body)
        except HibernautError as error:
            raise OSError(f"the key of tools' tokens cannot be read: {error.code}") from error
        return {"base_url": self._base_url, "token": f"{PREFIX}{body}.{signature}"} if signature is not None else None

    def close(self, access: Mapping[str, str] | None) -> None:
        """A token ends by itself."""
        del access

    def principal(self, presented: str | None) -> Principal | None:
        """Whose token it is, if that follows from memory alone; None if it is none of a running tool."""
        return self.looked_up(presented) if self._pepper.loaded else None

    def looked_up(self, presented: str | None) -> Principal | None:
        """The principal of the token; None if it is not the token of a running tool. Raises: StoreUnavailable, and the errors of
        the cipher.
        """
        if presented is None or not presented.startswith(PREFIX) or len(presented) > LONGEST or not presented.isascii():
            return None
        body, _, signature = presented.removeprefix(PREFIX).partition(".")
        expected = self._pepper.digest(_PURPOSE + body)
        if expected is None or not hmac.compare_digest(expected, signature):
            return None
        tenant, agent_id, key_id, ends = json.loads(urlsafe_b64decode(body))
        if self._clock.now().timestamp() >= ends:
            return None
        return Principal(tenant, Scope.WRITE, key_id or TOOL_KEY, agent_ids=frozenset({agent_id}), of_tool=True)
