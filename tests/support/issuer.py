"""An OpenID Connect issuer on loopback: its description, its keys, and tokens that it signs.

Sources: OpenID Connect Discovery 1.0, section 4 (the description names the issuer and `jwks_uri`); RFC 7517 (keys); RFC 7519
(tokens).
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from datetime import datetime
from functools import cache
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from typing import Any, Self

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from tests.support.loopback_server import LoopbackServer

AUDIENCE = "hibernaut"
ALGORITHMS = {"RS256": jwt.algorithms.RSAAlgorithm, "ES256": jwt.algorithms.ECAlgorithm, "EdDSA": jwt.algorithms.OKPAlgorithm}


@cache
def private_key(algorithm: str, name: str) -> Any:
    """A key that is made once in a process; `name` tells several of one kind apart, and a `short` one has too few bits."""
    match algorithm:
        case "RS256":
            return rsa.generate_private_key(public_exponent=65537, key_size=1024 if name == "short" else 2048)
        case "ES256":
            return ec.generate_private_key(ec.SECP256R1())
        case _:
            return ed25519.Ed25519PrivateKey.generate()


def listed(algorithm: str, name: str = "first", **more: Any) -> dict[str, Any]:
    """A public key as issuers list it."""
    public = private_key(algorithm, name).public_key()
    return {**ALGORITHMS[algorithm].to_jwk(public, as_dict=True), "kid": f"{algorithm}-{name}", "use": "sig", **more}


def encoded(part: Any) -> str:
    return urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


class Issuer:
    """The issuer, from its creation until `close`. `asked`: the paths of the requests. `answers`: bodies by path, which tests may
    change.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked.append(self.path)
                status, headers, body = issuer.answer(self.path)
                self.send_response(status)
                for name, value in {**headers, "content-length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Logs nothing."""

        self._http = LoopbackServer(Handler)
        self.address = self._http.address
        self.down = False
        self.redirects_to: str | None = None
        self.description: Any = {"issuer": self.address, "jwks_uri": f"{self.address}/keys"}
        self.keys: Any = [listed(algorithm) for algorithm in ALGORITHMS]

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        if self.down:
            return 503, {}, b""
        if path == "/keys" and self.redirects_to:
            return 302, {"location": self.redirects_to}, b""
        body = self.description if path == "/.well-known/openid-configuration" else {"keys": self.keys}
        return 200, {"content-type": "application/json"}, json.dumps(body).encode()

    def claims(self, now: datetime, **changed: Any) -> dict[str, Any]:
        """The claims of a usable token; None takes a claim away."""
        usual = {
            "iss": self.address,
            "aud": AUDIENCE,
            "sub": "user-1",
            "exp": int(now.timestamp()) + 600,
            "tenant": "acme",
            "scope": "openid hibernaut:write",
        }
        return {name: value for name, value in {**usual, **changed}.items() if value is not None}

    def token(self, now: datetime, algorithm: str = "RS256", name: str = "first", *, kid: str | None = "", **changed: Any) -> str:
        """A signed token. `kid`: what it calls its key (None: nothing)."""
        headers = {} if kid is None else {"kid": kid or f"{algorithm}-{name}"}
        return jwt.encode(self.claims(now, **changed), private_key(algorithm, name), algorithm=algorithm, headers=headers)

    def close(self) -> None:
        self._http.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
