"""The wire of the MCP endpoint: JSON-RPC messages, protocol revisions, and the rules of the streamable HTTP transport.

Two eras are spoken. The revisions up to 2025-11-25 begin with `initialize`. Since 2026-07-28 there is no beginning: each request
names its revision and the capabilities of the client in `_meta`, and repeats its method and its name in headers, so that proxies
can route it. Sources: the pages "Streamable HTTP" and "Versioning" of the MCP specification of these revisions.

Knows messages and headers; must not know any tool.
"""

from __future__ import annotations

import base64
import binascii
import json
import re

from fastapi import HTTPException
from starlette.datastructures import Headers

from hibernaut.rest.http import strict_json
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.immutable import immutable

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The revisions that begin with `initialize`, oldest first."""
STATELESS = ("2026-07-28",)
"""The stateless revisions: each request is independent of the others."""
UNNAMED = "2025-03-26"
"""The revision of a request without the header (specification 2025-11-25, "Protocol Version Header")."""

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
HEADER_MISMATCH, UNSUPPORTED_REVISION = -32020, -32022
STATUS = {METHOD_NOT_FOUND: 404}
"""The HTTP status of an error in a request that stands alone; of all other errors it is 400."""

REVISION, METHOD, NAME, SESSION = "mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id"
META_REVISION, META_CAPABILITIES = "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"
META_SERVER = "io.modelcontextprotocol/serverInfo"
LARGEST = 1024 * 1024
"""Bytes of a message."""
LONGEST_ID = 1000
"""Characters of a request's id that is a text."""
JSON = "application/json"
_SESSION_ID = re.compile(r"[\x21-\x7e]{1,128}")
_ENCODED = re.compile(r"=\?base64\?(.*)\?=")
RequestId = str | int


class ProtocolError(Exception):
    """A message that breaks the protocol. `status`: that of the HTTP reply. `request_id` None: the id could not be read."""

    def __init__(
        self, code: int, message: str, status: int = 400, *, data: Json = None, request_id: RequestId | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.data = data
        self.request_id = request_id

    def body(self) -> JsonObject:
        """The JSON-RPC message of the error."""
        error: JsonObject = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return {"jsonrpc": "2.0", "id": self.request_id, "error": error}


@immutable
class RpcRequest:
    """A request. `session`: what the client received with the reply to `initialize`; None: its client has none."""

    request_id: RequestId
    method: str
    params: JsonObject
    revision: str
    session: str | None = None

    @property
    def is_stateless(self) -> bool:
        """Whether the request belongs to a stateless revision."""
        return self.revision in STATELESS

    def failed(self, code: int, message: str, data: Json = None) -> ProtocolError:
        """The error of this request. Before 2026-07-28 an error is the body of a successful HTTP reply."""
        status = STATUS.get(code, 400) if self.is_stateless else 200
        return ProtocolError(code, message, status, data=data, request_id=self.request_id)


@immutable
class Notice:
    """A notification, or a reply of the client ("": it has no method). Nothing is answered to it."""

    method: str
    params: JsonObject
    session: str | None = None


def message_of(raw: bytes, headers: Headers) -> RpcRequest | Notice:
    """The message of a POST request. Raises: ProtocolError."""
    _check_types(headers)
    body = _parsed(raw)
    if not isinstance(body, dict):
        raise ProtocolError(INVALID_REQUEST, "The body must be one JSON-RPC message; batches are not served.")
    request_id = _id_in(body)
    try:
        return _message(body, request_id, headers)
    except ProtocolError as error:
        error.request_id = request_id
        raise


def _check_types(headers: Headers) -> None:
    sent = headers.get("content-type", "").partition(";")[0].strip().lower()
    if sent != JSON:
        raise ProtocolError(INVALID_REQUEST, f"The Content-Type must be {JSON}.", 415)
    accepted = {part.partition(";")[0].strip().lower() for part in ",".join(headers.getlist("accept")).split(",")} - {""}
    if accepted and accepted.isdisjoint({JSON, "application/*", "*/*"}):
        raise ProtocolError(INVALID_REQUEST, f"The client must accept {JSON}.", 406)


def _parsed(raw: bytes) -> Json:
    if len(raw) > LARGEST:
        raise ProtocolError(INVALID_REQUEST, f"A message may have {LARGEST} bytes.", 413)
    try:
        return strict_json.read(raw)
    except HTTPException as error:
        raise ProtocolError(PARSE_ERROR, str(error.detail), error.status_code) from None
    except json.JSONDecodeError:
        raise ProtocolError(PARSE_ERROR, "The body is not JSON.") from None


def _id_in(body: JsonObject) -> RequestId | None:
    """The id of a request; None if it has none. Raises: ProtocolError for an id that is neither a text nor a whole number."""
    if "id" not in body:
        return None
    found = body["id"]
    if isinstance(found, str) and len(found) <= LONGEST_ID:
        return found
    if isinstance(found, int) and not isinstance(found, bool):
        return found
    raise ProtocolError(INVALID_REQUEST, f"An id must be a whole number, or a text of at most {LONGEST_ID} characters.")


def _message(body: JsonObject, request_id: RequestId | None, headers: Headers) -> RpcRequest | Notice:
    method, params = body.get("method", ""), body.get("params", {})
    is_reply = "method" not in body and ("result" in body or "error" in body)
    if body.get("jsonrpc") != "2.0" or not isinstance(method, str) or not (method or is_reply):
        raise ProtocolError(INVALID_REQUEST, 'The body must be a JSON-RPC message: {"jsonrpc": "2.0", "method": …}.')
    if not isinstance(params, dict):
        raise ProtocolError(INVALID_PARAMS, "`params` must be an object.")
    session = _session(headers)
    revision = _revision(body, headers)
    if revision not in HANDSHAKE:
        if request_id is not None:
            _check_envelope(method, params, headers)
        if revision not in STATELESS:
            data = {"supported": [*STATELESS, *reversed(HANDSHAKE)], "requested": revision}
            raise ProtocolError(UNSUPPORTED_REVISION, f"The protocol revision {revision[:40]!r} is not served.", data=data)
        if is_reply:
            raise ProtocolError(INVALID_REQUEST, "In this revision the server asks nothing, so there is nothing to reply to.")
    if request_id is None or is_reply:
        return Notice(method, params, session)
    return RpcRequest(request_id, method, params, revision, session)


def _session(headers: Headers) -> str | None:
    """The session that a client names. No session is stored, so every well-formed id is one. Raises: ProtocolError."""
    found = headers.getlist(SESSION)
    if len(found) > 1 or any(not _SESSION_ID.fullmatch(each) for each in found):
        raise ProtocolError(INVALID_REQUEST, "Mcp-Session-Id must have 1 to 128 visible characters, once.")
    return found[0] if found else None


def _revision(body: JsonObject, headers: Headers) -> str:
    """The revision that the message is written in. Raises: ProtocolError."""
    for name in (REVISION, METHOD, NAME):
        if len(headers.getlist(name)) > 1:
            raise ProtocolError(HEADER_MISMATCH, f"The header {name} appears more than once.")
    named = headers.get(REVISION)
    if named is None:
        if _meta(body.get("params", {})).get(META_REVISION) is not None:
            raise ProtocolError(HEADER_MISMATCH, f"The header {REVISION} is missing.")
        return UNNAMED
    # A client that supports several revisions may start again with `initialize` after any other request.
    return UNNAMED if body.get("method") == "initialize" and named not in STATELESS else named


def _check_envelope(method: str, params: JsonObject, headers: Headers) -> None:
    """Check what a request that stands alone says about itself, in its body and again in its headers. Raises: ProtocolError."""
    meta, named = _meta(params), headers.get(REVISION)
    if META_REVISION not in meta and named not in STATELESS:
        return  # a client of an older era, whose revision is unknown
    missing = [key for key in (META_REVISION, META_CAPABILITIES) if key not in meta]
    if missing:
        raise ProtocolError(INVALID_PARAMS, f"`params._meta` lacks {' and '.join(missing)}.")
    if meta[META_REVISION] != named:
        raise ProtocolError(HEADER_MISMATCH, f"The header {REVISION} differs from the revision in `_meta`.")
    if headers.get(METHOD) != method:
        raise ProtocolError(HEADER_MISMATCH, f"The header {METHOD} differs from the method of the body.")
    tool = params.get("name") if method == "tools/call" else None
    if tool is not None and _decoded(headers.get(NAME, "")) != tool:
        raise ProtocolError(HEADER_MISMATCH, f"The header {NAME} differs from the name in the body.")


def _meta(params: Json) -> JsonObject:
    found = params.get("_meta") if isinstance(params, dict) else None
    return found if isinstance(found, dict) else {}


def _decoded(value: str) -> str | None:
    """The text of a header, which may be Base64 between `=?base64?` and `?=`; None if that is malformed."""
    encoded = _ENCODED.fullmatch(value)
    if encoded is None:
        return value
    try:
        return base64.b64decode(encoded[1], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
