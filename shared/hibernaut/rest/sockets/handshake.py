"""The handshake: which page asks, with which key, in which version of the protocol.

The key comes in a header, as for every route, or as a sub-protocol `hibernaut.key.<key>`, because browsers set no headers of
WebSockets. The answer names the sub-protocol `hibernaut.v1` alone, so the key is never repeated.
"""

from __future__ import annotations

from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.types import Scope

from hibernaut.domain.api_keys import KEY_PATTERN
from hibernaut.domain.identity_tokens import looks_like_token
from hibernaut.rest.access import origin_policy
from hibernaut.rest.access.authentication import credential
from hibernaut.rest.access.origin_policy import OriginPolicy
from hibernaut.schemas.access.api_key import Principal
from hibernaut.schemas.errors import Unauthenticated

PROTOCOL, KEY_PROTOCOL = "hibernaut.v1", "hibernaut.key."
HTTP = {"ws": "http", "wss": "https"}


def check_page(scope: Scope, policy: OriginPolicy) -> None:
    """Refuse foreign hosts, and pages of foreign origins as for a request that changes something. Raises: ForeignHost,
    ForeignOrigin.
    """
    policy.check({**scope, "type": "http", "method": "WEBSOCKET", "scheme": HTTP.get(scope["scheme"], scope["scheme"])})


def check_holder(scope: Scope, principal: Principal) -> None:
    """Refuse a client-side access token from a page of another origin than its own. Raises: ForeignOrigin."""
    if principal.origin is not None:
        origin_policy.check_page({**scope, "scheme": HTTP.get(scope["scheme"], scope["scheme"])}, principal.origin)


def key_of(scope: Scope) -> str | None:
    """The key of a handshake, None if it has none. Raises: Unauthenticated for a key in the address, and for different keys."""
    if KEY_PATTERN.search(scope["query_string"].decode("latin-1")):
        raise Unauthenticated(
            "misplaced",
            "The address contains an API key. Send it in the header Authorization: Bearer <key>, from a browser as the sub-protocol"
            f" {KEY_PROTOCOL}<key>, and rotate this key: addresses are written to logs.",
        )
    found = credential(Headers(scope=scope))
    offered = {name[len(KEY_PROTOCOL) :] for name in scope["subprotocols"] if name.startswith(KEY_PROTOCOL)}
    if len(offered | ({found} if found else set())) > 1:
        raise Unauthenticated("ambiguous", "The handshake carries different keys; send one key in one place.")
    presented = found or next(iter(offered), None)
    if presented is not None and looks_like_token(presented):
        raise Unauthenticated(
            "token_refused",
            "A WebSocket needs an API key: a connection outlives a token of an identity provider. An administrator creates client tokens.",
        )
    return presented


def chosen_protocol(offered: Sequence[str]) -> str | None:
    """The sub-protocol of the answer."""
    return PROTOCOL if PROTOCOL in offered else None


def offered_in(header: str) -> list[str]:
    """The sub-protocols in a header Sec-WebSocket-Protocol."""
    return [name for part in header.split(",") if (name := part.strip())]
