"""The obligations of an OAuth 2.1 client of a protected server: the places of metadata, its checks, and the messages that are
sent.

Sources: RFC 9728 (metadata of protected resources), RFC 8414 (of authorization servers), RFC 7591 (registration of clients), RFC
7636 (PKCE), RFC 8707 (the parameter `resource`), RFC 9207 (`iss`), and the page "Authorization" of the MCP specification of
2025-11-25.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import field
from urllib.parse import SplitResult, urlencode, urlsplit

from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.immutable import immutable

RESOURCE_PATH = "/.well-known/oauth-protected-resource"
SERVER_PATH = "/.well-known/oauth-authorization-server"
OPENID_PATH = "/.well-known/openid-configuration"
CLIENT_NAME = "Hibernaut"
LONGEST_TOKEN = 16_384
LONGEST_QUOTE = 200
"""Characters of somebody's error that a message quotes."""
LEAST_LIFE, USUAL_LIFE, MOST_LIFE = 1, 3600, 30 * 86_400
"""Seconds that an access token is taken to live."""
_PARAMETER = re.compile(
    r'(?<![A-Za-z0-9_-])[0-9_-]*+([A-Za-z][A-Za-z0-9_-]*+)\s*+=\s*+(?:"([^"\\]*+(?:\\.[^"\\]*+)*+)"|([^\s,"]++))'
)
_TOKEN = re.compile(rf"[\x21-\x7e]{{1,{LONGEST_TOKEN}}}")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class OAuthFault(Exception):
    """The server or its authorization server does not conform to the standards. The message is a clause for the caller; it quotes
    no secret.
    """


@immutable
class ProtectedResource:
    """The metadata of a protected server. `servers`: issuers, of which the first is used."""

    resource: str
    servers: tuple[str, ...]
    scopes: tuple[str, ...] = ()


@immutable
class AuthorizationServer:
    """The metadata of an authorization server. `names_itself`: its answers to browsers carry `iss` (RFC 9207)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    registration_endpoint: str | None = None
    names_itself: bool = False


@immutable
class OAuthClient:
    """This server as a client of an authorization server. `secret` None: a public client."""

    client_id: str
    secret: str | None = field(default=None, repr=False)
    method: str = "none"


@immutable
class Tokens:
    """The tokens of an answer. `seconds`: the life of the access token."""

    access: str = field(repr=False)
    refresh: str | None = field(default=None, repr=False)
    seconds: int = USUAL_LIFE
    scope: str | None = None


def challenged(header: str) -> dict[str, str]:
    """The parameters of the header `WWW-Authenticate` (RFC 9110, 11.6.1), by their names in lower case."""
    return {
        name.lower(): re.sub(r"\\(.)", r"\1", quoted) if quoted else plain for name, quoted, plain in _PARAMETER.findall(header)
    }


def resource_addresses(server_url: str, header: str) -> list[str]:
    """The possible addresses of the metadata of a protected server, the best first (RFC 9728, 5.1 and 3.1). Raises:
    OAuthFault.
    """
    metadata_url = challenged(header).get("resource_metadata")
    if metadata_url:
        return [_safe(metadata_url, "resource_metadata")]
    return list(dict.fromkeys(_well_known(urlsplit(server_url), RESOURCE_PATH)))


def resource_in(metadata: Json, server_url: str) -> ProtectedResource:
    """The parsed metadata of a protected server. Raises: OAuthFault, also if it describes another server (RFC 9728, 3.3)."""
    found = _object(metadata, "The metadata of the server")
    resource = _text(found, "resource")
    if not _covers(resource, server_url):
        raise OAuthFault(f"the metadata of the server are those of another resource, {resource[:LONGEST_QUOTE]}")
    servers = _texts(found, "authorization_servers")
    if not servers:
        raise OAuthFault("the metadata of the server name no authorization server")
    return ProtectedResource(resource, servers, _texts(found, "scopes_supported"))


def server_addresses(issuer: str) -> list[str]:
    """Where the metadata of an authorization server may be (RFC 8414, 3.1; OpenID Connect Discovery 1.0, 4). Raises:
    OAuthFault.
    """
    parts = urlsplit(_safe(issuer, "the issuer"))
    below = parts.path.rstrip("/")
    places = [f"{SERVER_PATH}{below}", f"{OPENID_PATH}{below}", f"{below}{OPENID_PATH}"]
    return [_at(parts, place) for place in dict.fromkeys(places)]


def server_in(metadata: Json, issuer: str) -> AuthorizationServer:
    """The parsed metadata of an authorization server. Raises: OAuthFault, also for those of another issuer (RFC 8414, 3.3), and
    without PKCE by S256, which the MCP specification demands.
    """
    found = _object(metadata, "The metadata of the authorization server")
    if _text(found, "issuer") != issuer:
        raise OAuthFault(f"the authorization server says that it is another one, {_text(found, 'issuer')[:LONGEST_QUOTE]}")
    if "S256" not in _texts(found, "code_challenge_methods_supported"):
        raise OAuthFault("the authorization server does not support PKCE by S256")
    registration = found.get("registration_endpoint")
    return AuthorizationServer(
        issuer=issuer,
        authorization_endpoint=_safe(_text(found, "authorization_endpoint"), "authorization_endpoint"),
        token_endpoint=_safe(_text(found, "token_endpoint"), "token_endpoint"),
        registration_endpoint=_safe(registration, "registration_endpoint") if isinstance(registration, str) else None,
        names_itself=found.get("authorization_response_iss_parameter_supported") is True,
    )


def registration(callback: str) -> JsonObject:
    """The request that registers this server as a client (RFC 7591, 2)."""
    return {
        "client_name": CLIENT_NAME,
        "redirect_uris": [callback],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }


def client_in(answer: Json) -> OAuthClient:
    """The client that was registered (RFC 7591, 3.2.1). Raises: OAuthFault."""
    found = _object(answer, "The answer to the registration")
    secret = found.get("client_secret")
    if secret is not None and not (isinstance(secret, str) and 0 < len(secret) <= LONGEST_TOKEN):
        raise OAuthFault("the answer to the registration has a secret that is none")
    method = found.get("token_endpoint_auth_method") or ("client_secret_basic" if secret else "none")
    if method not in ("none", "client_secret_basic", "client_secret_post") or (method != "none" and not secret):
        raise OAuthFault(f"the authorization server wants clients to authenticate by {str(method)[:LONGEST_QUOTE]}")
    return OAuthClient(_text(found, "client_id"), secret if method != "none" else None, str(method))


def challenge_of(verifier: str) -> str:
    """The challenge of a verifier by S256 (RFC 7636, 4.2)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def authorization_address(
    server: AuthorizationServer,
    client: OAuthClient,
    *,
    callback: str,
    state: str,
    verifier: str,
    resource: str,
    scopes: Sequence[str],
) -> str:
    """The address that the user opens (RFC 6749, 4.1.1; RFC 7636, 4.3; RFC 8707, 2.1)."""
    query = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": callback,
        "state": state,
        "code_challenge": challenge_of(verifier),
        "code_challenge_method": "S256",
        "resource": resource,
    } | ({"scope": " ".join(scopes)} if scopes else {})
    joint = "&" if urlsplit(server.authorization_endpoint).query else "?"
    return f"{server.authorization_endpoint}{joint}{urlencode(query)}"


def tokens_in(answer: Json) -> Tokens:
    """The tokens of an answer (RFC 6749, 5.1). Raises: OAuthFault."""
    found = _object(answer, "The answer of the token endpoint")
    access, refresh, scope = found.get("access_token"), found.get("refresh_token"), found.get("scope")
    if not isinstance(access, str) or not _TOKEN.fullmatch(access):
        raise OAuthFault("the answer of the token endpoint has no access token that can be sent")
    if str(found.get("token_type", "")).lower() != "bearer":
        raise OAuthFault("the answer of the token endpoint has tokens that are no bearer tokens")
    seconds = found.get("expires_in", USUAL_LIFE)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= LEAST_LIFE:
        seconds = USUAL_LIFE
    refresh_token = refresh if isinstance(refresh, str) and _TOKEN.fullmatch(refresh) else None
    return Tokens(access, refresh_token, int(min(seconds, MOST_LIFE)), scope if isinstance(scope, str) else None)


def error_in(answer: Json, status: int) -> str:
    """The error of an answer, in words (RFC 6749, 5.2)."""
    found = answer if isinstance(answer, dict) else {}
    texts = [str(found[name])[:LONGEST_QUOTE] for name in ("error", "error_description") if isinstance(found.get(name), str)]
    return f"HTTP {status}" + (f", {': '.join(texts)}" if texts else "")


def _covers(resource: str, server_url: str) -> bool:
    """Whether a resource is the server's address, or one above it on the same origin (MCP specification, "Canonical Server
    URI").
    """
    own, other = urlsplit(server_url), urlsplit(resource)
    if (own.scheme, own.netloc.lower()) != (other.scheme.lower(), other.netloc.lower()) or other.query not in (
        "",
        own.query,
    ):
        return False
    parent_path, path = other.path.rstrip("/"), own.path.rstrip("/")
    return path == parent_path or path.startswith(f"{parent_path}/")


def _well_known(parts: SplitResult, place: str) -> list[str]:
    return [_at(parts, place + parts.path.rstrip("/")), _at(parts, place)]


def _at(parts: SplitResult, path: str) -> str:
    return f"{parts.scheme}://{parts.netloc}{path}"


def _safe(url: str, label: str) -> str:
    """An address that secrets may be sent to: by TLS, or on the own machine (OAuth 2.1, 1.5). Raises: OAuthFault."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        raise OAuthFault(f"{label} is no address") from None
    if not host or parts.fragment or not (parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)):
        raise OAuthFault(f"{label} is no https address: {url[:LONGEST_QUOTE]}")
    return url


def _object(found: Json, label: str) -> JsonObject:
    if not isinstance(found, dict):
        raise OAuthFault(f"{label[0].lower()}{label[1:]} is no JSON object")
    return found


def _text(found: JsonObject, name: str) -> str:
    value = found.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= 2048:
        raise OAuthFault(f"`{name}` is missing")
    return value


def _texts(found: JsonObject, name: str) -> tuple[str, ...]:
    value = found.get(name)
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()
