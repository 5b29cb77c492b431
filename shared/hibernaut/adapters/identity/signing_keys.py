"""The public keys of an OpenID Connect issuer (RFC 7517), read from its address and cached.

The keys are read at the first token, and again after `FRESH_SECONDS`, or when a token names an unknown key, but at most once in
`AGAIN_SECONDS`, so that tokens with invented key names cause few requests. While the issuer does not answer, the cached keys are
used for at most `LONGEST_STALE`.
"""

from __future__ import annotations

import json
import logging
import threading
from typing import Any

from hibernaut.ports.clock import Clock
from hibernaut.ports.tools.web import Web, WebFailure
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import IdentityProviderUnavailable, Unauthenticated
from hibernaut.schemas.immutable import immutable

FRESH_SECONDS = 3600.0
"""Seconds for which the keys are used without a look at the issuer: a key that it withdraws works for no longer."""
LONGEST_STALE = 24 * 3600.0
"""Seconds for which the keys are used while the issuer does not answer."""
AGAIN_SECONDS = 30.0
"""The shortest time between two readings."""
AFTER_FAILURE = 5.0
"""The shortest time between a reading that failed and the next one."""
REQUEST_SECONDS = 5.0
LARGEST = 256 * 1024
"""Bytes of the issuer's description, and of its keys."""
MOST_KEYS = 100
SMALLEST_RSA = 2048
"""Bits (RFC 7518, 3.3)."""
DISCOVERY = "/.well-known/openid-configuration"
KINDS = {
    ("RSA", None): ("RS256", ("kty", "n", "e")),
    ("EC", "P-256"): ("ES256", ("kty", "crv", "x", "y")),
    ("OKP", "Ed25519"): ("EdDSA", ("kty", "crv", "x")),
}
"""The algorithm of each kind of key, and the members that are read of it. Shared secrets (`oct`) are not among them."""
logger = logging.getLogger(__name__)


@immutable
class SigningKey:
    """A public key for one algorithm. `key`: as PyJWT holds it."""

    kid: str | None
    algorithm: str
    key: Any


@immutable
class _KeySet:
    keys: tuple[SigningKey, ...]
    at: float


class SigningKeys:
    """The keys of one issuer. Thread-safe: one thread reads them at a time, and others use the cached keys meanwhile."""

    def __init__(self, issuer: str, web: Web, clock: Clock) -> None:
        self._issuer = issuer
        self._web = web
        self._clock = clock
        self._reading = threading.Lock()
        self._key_set: _KeySet | None = None
        self._next = float("-inf")
        self._failed = False

    def key(self, kid: str | None, algorithm: str) -> Any:
        """The key of this name and kind. Raises: Unauthenticated if there is none; IdentityProviderUnavailable."""
        found = self._find(kid, algorithm)
        if found is None or self._age() >= FRESH_SECONDS:
            self._read(wait=found is None)
            found = self._find(kid, algorithm)
        if found is not None:
            return found.key
        if self._failed:
            raise IdentityProviderUnavailable("The keys of the identity provider cannot be read; try again.", AFTER_FAILURE)
        raise Unauthenticated(
            "token_key", "The identity provider has no such key. Request a new token, and look whether its keys were changed."
        )

    def _age(self) -> float:
        return self._clock.monotonic() - self._key_set.at if self._key_set is not None else float("inf")

    def _find(self, kid: str | None, algorithm: str) -> SigningKey | None:
        """A token without a name is verified by the only key of its algorithm."""
        if self._key_set is None or self._age() >= LONGEST_STALE:
            return None
        fitting = [key for key in self._key_set.keys if key.algorithm == algorithm and kid in (None, key.kid)]
        return fitting[0] if len(fitting) == 1 else None

    def _read(self, *, wait: bool) -> None:
        """Read the keys if it is time. `wait`: until another thread has read them."""
        if not self._reading.acquire(blocking=wait):
            return
        try:
            if self._clock.monotonic() < self._next:
                return
            try:
                self._key_set = _KeySet(self._fetched(), self._clock.monotonic())
                self._failed = False
            except (WebFailure, ValueError, RecursionError) as error:
                self._failed = True
                fields = {"error": type(error).__name__, "reason": str(error)[:200], "cached": self._key_set is not None}
                logger.warning("keys of the identity provider not read", extra=fields)
            self._next = self._clock.monotonic() + (AFTER_FAILURE if self._failed else AGAIN_SECONDS)
        finally:
            self._reading.release()

    def _fetched(self) -> tuple[SigningKey, ...]:
        """Raises: WebFailure, ValueError, RecursionError."""
        description = self._page(self._issuer.rstrip("/") + DISCOVERY)
        if description.get("issuer") != self._issuer:
            raise ValueError("the issuer's description names another issuer")
        address = description.get("jwks_uri")
        # Over plain HTTP anybody between could replace the keys. A test issuer of this machine has nothing else.
        if not isinstance(address, str) or not address.startswith(("https://", f"{self._issuer.rstrip('/')}/")):
            raise ValueError("the issuer's description has no jwks_uri that begins with https://")
        listed = self._page(address).get("keys")
        if not isinstance(listed, list):
            raise ValueError("the issuer's keys are no list")
        return tuple(key for one in listed[:MOST_KEYS] if isinstance(one, dict) and (key := _key(one)) is not None)

    def _page(self, address: str) -> JsonObject:
        page = self._web.page(address, seconds=REQUEST_SECONDS, most=LARGEST + 1)
        if page.status != 200 or page.url != address or len(page.data) > LARGEST:
            raise ValueError(
                f"the issuer answered with status {page.status}, {len(page.data)} bytes, redirected: {page.url != address}"
            )
        found = json.loads(page.data)
        if not isinstance(found, dict):
            raise ValueError("the issuer's answer is no JSON object")
        return found


def _key(listed: JsonObject) -> SigningKey | None:
    """The key, if it verifies signatures; else None."""
    import jwt

    curve = listed.get("crv")
    kind = KINDS.get((str(listed.get("kty")), str(curve) if curve is not None else None))
    if kind is None or listed.get("use", "sig") != "sig" or "verify" not in _list(listed.get("key_ops", ["verify"])):
        return None
    algorithm, members = kind
    if listed.get("alg", algorithm) != algorithm:
        return None
    try:
        key = jwt.PyJWK({name: listed.get(name) for name in members}, algorithm)
    except jwt.PyJWTError:
        return None
    if algorithm == "RS256" and key.key.key_size < SMALLEST_RSA:
        return None
    kid = listed.get("kid")
    return SigningKey(kid if isinstance(kid, str) else None, algorithm, key)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
