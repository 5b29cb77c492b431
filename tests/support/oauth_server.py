"""An authorization server, and an MCP server that it protects, on loopback. They enforce the rules of the standards, named beside
each rule.

`faults` change what they do, for tests of what a client makes of it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
import threading
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.support.raw_mcp import RawExchange, RawMcp

TOOL = {"name": "secret_word", "description": "Tells it.", "inputSchema": {"type": "object", "properties": {}}}


@dataclass
class _Code:
    client_id: str
    redirect_uri: str
    challenge: str
    resource: str
    used: bool = False


@dataclass
class OAuthDouble:
    """Both servers. `faults`: `no registration`, `no pkce`, `other issuer`, `other resource`, `denied`, `wrong iss`,
    `expired code`, `rubbish`, `no refresh`. `issued` counts the answers of the token endpoint by grant. `life`: of access tokens,
    in seconds. `confidential`: clients get a secret, and need it.
    """

    faults: set[str] = field(default_factory=set)
    life: int = 3600
    issued: dict[str, int] = field(default_factory=dict)
    clients: dict[str, list[str]] = field(default_factory=dict)
    codes: dict[str, _Code] = field(default_factory=dict)
    access: set[str] = field(default_factory=set)
    refresh: dict[str, bool] = field(default_factory=dict)
    confidential: bool = False
    client_secrets: dict[str, str] = field(default_factory=dict)
    verifiers: list[str] = field(default_factory=list)
    states: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> Self:
        self._running = ExitStack()
        self.resource = _GuardedMcp(self)
        self._running.enter_context(self.resource)
        self.server = _Authorizing(self)
        thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.005})
        thread.start()
        self._running.callback(self.server.server_close)
        self._running.callback(thread.join)
        self._running.callback(self.server.shutdown)
        self.issuer = f"http://127.0.0.1:{self.server.server_address[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    @property
    def url(self) -> str:
        """The address of the MCP server."""
        return self.resource.url

    def planted(self) -> list[tuple[str, str]]:
        """The secrets of all flows, each with its kind."""
        kinds: dict[str, Iterable[str]] = {
            "access token": self.access,
            "refresh token": self.refresh,
            "code": self.codes,
            "verifier": self.verifiers,
            "state": self.states,
            "client secret": self.client_secrets.values(),
        }
        return [(kind, secret) for kind, found in kinds.items() for secret in found]

    def metadata(self) -> dict[str, Any]:
        """RFC 8414, 2."""
        found = {
            "issuer": "http://127.0.0.1:1" if "other issuer" in self.faults else self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["plain"] if "no pkce" in self.faults else ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }
        return found if "no registration" in self.faults else {**found, "registration_endpoint": f"{self.issuer}/register"}

    def registered(self, body: Any) -> tuple[int, dict[str, Any]]:
        """RFC 7591, 2 and 3.2."""
        uris = body.get("redirect_uris") if isinstance(body, dict) else None
        if not isinstance(uris, list) or not uris or not all(urlsplit(each).scheme in ("http", "https") for each in uris):
            return 400, {"error": "invalid_redirect_uri"}
        client_id = secrets.token_hex(8)
        self.clients[client_id] = uris
        if not self.confidential:
            return 201, {**body, "client_id": client_id}
        self.client_secrets[client_id] = secrets.token_urlsafe(24)
        method = {"token_endpoint_auth_method": "client_secret_post", "client_secret_expires_at": 0}
        return 201, {**body, "client_id": client_id, "client_secret": self.client_secrets[client_id], **method}

    def authorized(self, query: dict[str, str]) -> str | None:
        """Where the browser is led; None if the request is none to lead anybody anywhere (RFC 6749, 4.1.2.1)."""
        redirect = query.get("redirect_uri", "")
        if redirect not in self.clients.get(query.get("client_id", ""), ()):  # RFC 6749, 3.1.2.3: exact comparison
            return None
        iss = "http://127.0.0.1:1" if "wrong iss" in self.faults else self.issuer
        told = {"state": query.get("state", ""), "iss": iss}  # RFC 9207, 2
        challenge = query.get("code_challenge", "")
        right = query.get("response_type") == "code" and query.get("code_challenge_method") == "S256"
        if not right or not re.fullmatch(r"[A-Za-z0-9_-]{43}", challenge):  # RFC 7636, 4.2 and 4.4.1
            return f"{redirect}?{urlencode({**told, 'error': 'invalid_request'})}"
        if query.get("resource") != self.url:  # RFC 8707, 2
            return f"{redirect}?{urlencode({**told, 'error': 'invalid_target'})}"
        if "denied" in self.faults:
            return f"{redirect}?{urlencode({**told, 'error': 'access_denied', 'error_description': 'The <b>user</b> said no.'})}"
        code = secrets.token_urlsafe(24)
        self.states.append(query["state"])
        self.codes[code] = _Code(query["client_id"], redirect, challenge, query["resource"])
        return f"{redirect}?{urlencode({**told, 'code': code})}"

    def tokens(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        """RFC 6749, 5.1 and 5.2."""
        with self.lock:
            grant = form.get("grant_type", "")
            self.issued[grant] = self.issued.get(grant, 0) + 1
            client_id = form.get("client_id", "")
            if client_id not in self.clients or form.get("client_secret") != self.client_secrets.get(
                client_id
            ):  # RFC 6749, 2.3.1
                return 401, {"error": "invalid_client"}
            if form.get("resource") != self.url:  # RFC 8707, 2.2
                return 400, {"error": "invalid_target"}
            fits = self._code(form) if grant == "authorization_code" else self._refreshed(form)
            if not fits:
                return 400, {"error": "invalid_grant"}
            access, refresh = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
            self.access.add(access)
            self.refresh[refresh] = True
            answer = {"access_token": access, "token_type": "Bearer", "expires_in": self.life}
            return 200, answer if "no refresh" in self.faults else {**answer, "refresh_token": refresh}

    def _code(self, form: dict[str, str]) -> bool:
        code = self.codes.get(form.get("code", ""))
        if code is None or code.used or "expired code" in self.faults:  # RFC 6749, 4.1.2: once
            return False
        code.used = True
        self.verifiers.append(form.get("code_verifier", ""))
        found = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest()).rstrip(b"=").decode()
        same = (form.get("client_id"), form.get("redirect_uri"), form.get("resource"))
        return found == code.challenge and same == (
            code.client_id,
            code.redirect_uri,
            code.resource,
        )  # RFC 7636, 4.6; RFC 6749, 4.1.3

    def _refreshed(self, form: dict[str, str]) -> bool:
        """Refresh tokens of public clients are used once; a second use ends all of them (OAuth 2.1, 4.3.1)."""
        token = form.get("refresh_token", "")
        if not self.refresh.get(token, False):
            self.refresh = dict.fromkeys(self.refresh, False)
            self.access.clear()
            return False
        self.refresh[token] = False
        return True


class _Authorizing(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, double: OAuthDouble) -> None:
        super().__init__(("127.0.0.1", 0), _Exchange)
        self.double = double


class _Exchange(BaseHTTPRequestHandler):
    server: _Authorizing

    def _answer(self, status: int, body: Any, kind: str = "application/json") -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(raw)))
        self.send_header("cache-control", "no-store")
        self.end_headers()
        self.wfile.write(raw)

    def do_GET(self) -> None:
        parts, double = urlsplit(self.path), self.server.double
        if parts.path == "/.well-known/oauth-authorization-server":
            self._answer(200, double.metadata())
            return
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        place = double.authorized(query) if parts.path == "/authorize" else None
        if place is None:
            self._answer(400, {"error": "invalid_request"})
            return
        self.send_response(302)
        self.send_header("location", place)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        raw, double = self.rfile.read(int(self.headers["content-length"])), self.server.double
        kind = self.headers["content-type"].partition(";")[0]
        if self.path == "/register" and kind == "application/json":
            self._answer(*double.registered(json.loads(raw)))
        elif self.path == "/token" and "rubbish" in double.faults:
            self._answer(200, b"<html>tokens, perhaps", "text/html")
        elif self.path == "/token" and kind == "application/x-www-form-urlencoded":  # RFC 6749, 4.1.3
            form = parse_qs(raw.decode())
            self._answer(*double.tokens({name: values[0] for name, values in form.items()}))
        else:
            self._answer(404, {"error": "invalid_request"})

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


class _GuardedMcp(RawMcp):
    def __init__(self, double: OAuthDouble) -> None:
        super().__init__(_serve)
        self.RequestHandlerClass = _Guarded
        self.double = double


class _Guarded(RawExchange):
    server: _GuardedMcp

    def do_POST(self) -> None:  # noqa: N802
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and token in self.server.double.access:  # RFC 6750, 2.1
            super().do_POST()
            return
        self.rfile.read(int(self.headers["content-length"]))
        place = self.server.url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp")
        self.answer(
            b"", status=401, www_authenticate=f'Bearer error="invalid_token", resource_metadata="{place}"'
        )  # RFC 9728, 5.1

    def do_GET(self) -> None:  # noqa: N802
        double = self.server.double
        if self.path != "/.well-known/oauth-protected-resource/mcp":
            self.answer(b"", status=404)
            return
        resource = "http://127.0.0.1:1/mcp" if "other resource" in double.faults else self.server.url
        metadata = {"resource": resource, "authorization_servers": [double.issuer], "scopes_supported": ["words"]}
        self.answer(json.dumps(metadata).encode())


def _serve(exchange: RawExchange) -> None:
    if exchange.message["method"] == "tools/list":
        exchange.result({"tools": [TOOL]})
    else:
        exchange.result({"content": [{"type": "text", "text": "parrot"}]})
