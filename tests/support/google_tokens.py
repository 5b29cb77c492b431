"""Google's token endpoint on loopback: it takes the signed assertion of one service account, as RFC 7523 says, and issues access
tokens.

Source: developers.google.com/identity/protocols/oauth2/service-account, "HTTP/REST".
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import parse_qs

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tests.support.json_server import JsonServer

GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
EMAIL = "tester@test-project.iam.gserviceaccount.com"
AUDIENCE = "https://oauth2.googleapis.com/token"
"""The audience of an assertion, wherever it is sent."""
LIFE = 3600


def _bytes(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


class TokenServer(JsonServer):
    """`asked` counts the requests, `issued` are the tokens. `refuses`: the account's key was deleted. `status`: what it answers
    instead.
    """

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.asked = 0
        self.issued: list[str] = []
        self.refuses = False
        self.life = LIFE
        super().__init__(self.answer)

    def credentials(self, **fields: Any) -> str:
        """The key file of the account, as JSON."""
        pem = self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode()
        info = {
            "type": "service_account",
            "project_id": "test-project",
            "private_key_id": "k1",
            "private_key": pem,
            "client_email": EMAIL,
            "token_uri": f"{self.address}/token",
        }
        return json.dumps(info | fields)

    def answer(self, path: str, _headers: Mapping[str, str], body: bytes) -> tuple[int, dict[str, Any]]:
        self.asked += 1
        sent = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        if path != "/token" or sent.get("grant_type") != GRANT:
            return 400, {"error": "unsupported_grant_type"}
        if self.refuses or not self._signed(sent.get("assertion", "")):
            return 400, {"error": "invalid_grant", "error_description": "Invalid JWT Signature."}
        self.issued.append(f"ya29.token-{len(self.issued)}")
        return 200, {"access_token": self.issued[-1], "expires_in": self.life, "token_type": "Bearer"}

    def _signed(self, assertion: str) -> bool:
        head, _, rest = assertion.partition(".")
        claims, _, signature = rest.partition(".")
        try:
            self.key.public_key().verify(_bytes(signature), f"{head}.{claims}".encode(), padding.PKCS1v15(), hashes.SHA256())
            said = json.loads(_bytes(claims))
        except (InvalidSignature, ValueError):
            return False
        now = time.time()
        return bool(
            said["iss"] == EMAIL
            and said["aud"] == AUDIENCE
            and said["scope"] == SCOPE
            and said["iat"] <= now + 60
            and now < said["exp"] <= said["iat"] + 3600
        )


@cache
def shared_token_server() -> TokenServer:
    """One for a process: making its key takes a while."""
    return TokenServer()
