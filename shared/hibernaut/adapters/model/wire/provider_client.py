"""HTTP calls to one provider: one request, one unread response, and our errors. Every wire's adapter makes its calls here.

Plain HTTP instead of the providers' SDKs: decision 20 has the figures. `httpx2` is imported at the first call. A call is sent
once, never redirected, and takes no key, address or header from the environment.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from socket import gaierror
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hibernaut.adapters.http_headers import sendable
from hibernaut.adapters.model.wire.connections import Connections, Dial
from hibernaut.adapters.model.wire.http_stream import HttpAnswer, limits
from hibernaut.adapters.model.wire.provider_errors import model_error, read_refusal
from hibernaut.domain.redaction import bare_address
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import ModelAuthentication, ModelConnection, ModelError, ModelTimeout
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.models.model_call import Exchange

if TYPE_CHECKING:
    from ssl import SSLContext

    from httpx2 import Client, Request, Response

USER_AGENT = "hibernaut"
LONGEST_REFUSAL = 64 * 1024
"""Bytes of an error response that are read."""
_ADVICE = "; check that the provider serves there, and the scheme, host and port of its base URL"


@immutable
class OutgoingRequest:
    """A request as it is signed. `body` is empty for a GET."""

    method: str
    url: str
    body: bytes


Headers = Callable[[OutgoingRequest], Mapping[str, str]]
"""The headers that authenticate one request: constant ones, or a signature of the request."""


def fixed(headers: Mapping[str, str]) -> Headers:
    """The same headers for every request."""
    return lambda _: headers


def dial_any(watch: Callable[[Request], None], tls: SSLContext) -> Client:
    """An HTTP client that connects to any address."""
    from httpx2 import Client

    return Client(verify=tls, follow_redirects=False, event_hooks={"request": [watch]})


class ProviderClient:
    """The address `base_url` of the provider `name`. `dial` makes the HTTP clients. Thread-safe."""

    def __init__(self, name: str, base_url: str, headers: Headers, dial: Dial[Client] = dial_any) -> None:
        self.name = name
        self.url = base_url.rstrip("/")
        self._headers = headers
        self._lines = Connections(dial)
        self._shows_cause = dial is dial_any

    @contextmanager
    def call(self) -> Iterator[ProviderCall]:
        """A connection for one call. It is reused only if the call succeeds. A ModelError leaves with the body that was sent."""
        with self._lines.call() as line:
            call = ProviderCall(self.name, self.url, line.client, line.hang_up, self._headers, self._shows_cause)
            try:
                yield call
            except ModelError as error:
                error.exchange = replace(error.exchange or Exchange({}, {}), sent=call.sent)
                raise


@dataclass(slots=True)
class ProviderCall:
    """One call. `hang_up` aborts it from any thread; `shows_cause`: errors say why there is no connection; `sent` is the body of
    its request.

    `post` and `get` return the unread response; `seconds` limits the whole call. Raises: ModelError, by the status, body and
    headers of an error response; ModelTimeout; ModelConnection.
    """

    name: str
    url: str
    client: Client
    hang_up: Callable[[], None]
    headers: Headers
    shows_cause: bool
    sent: JsonObject = field(default_factory=dict)

    def post(self, path: str, body: JsonObject, seconds: float, headers: Mapping[str, str] = MappingProxyType({})) -> HttpAnswer:
        """Send a JSON body to a path below the base URL. The provider's own headers override `headers`."""
        self.sent = body
        sent = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        return self._send(OutgoingRequest("POST", self.url + path, sent), seconds, headers)

    def get(self, path: str, seconds: float, headers: Mapping[str, str] = MappingProxyType({})) -> HttpAnswer:
        """Ask for a path below the base URL."""
        return self._send(OutgoingRequest("GET", self.url + path, b""), seconds, headers)

    def _send(self, outgoing: OutgoingRequest, seconds: float, extra: Mapping[str, str]) -> HttpAnswer:
        from httpx2 import HTTPError, InvalidURL, TimeoutException

        deadline = time.monotonic() + seconds
        headers = {"User-Agent": USER_AGENT, "Accept": "application/json, text/event-stream", **extra, **self.headers(outgoing)}
        if outgoing.body:
            headers["Content-Type"] = "application/json"
        self._check(headers)
        try:
            request = self.client.build_request(
                outgoing.method, outgoing.url, content=outgoing.body or None, headers=headers, timeout=limits(seconds)
            )
            response = self.client.send(request, stream=True)
        except TimeoutException as error:
            raise ModelTimeout(f"{self.name}: no answer in time") from error
        except (HTTPError, InvalidURL) as error:
            raise ModelConnection(
                f"{self.name}: no connection to {bare_address(self.url)} ({_cause(error, shows=self.shows_cause)}){_ADVICE}"
            ) from error
        answer = HttpAnswer(self.name, response, deadline, self.hang_up)
        if not response.is_success:
            with answer:
                raise model_error(read_refusal(self.name, response.status_code, _refusal(answer, response), response.headers))
        return answer

    def _check(self, headers: Mapping[str, str]) -> None:
        """Refuse a key that no header can hold, for example one that was pasted with its line break."""
        if not sendable(headers):
            raise ModelAuthentication(
                f"{self.name}: the API key contains a line break or another character that cannot be sent; set it again without it"
            )


def _cause(error: Exception, *, shows: bool) -> str:
    """Why there is no connection, in a few words where the reason is known, else its kind. If not `shows`, only the reason that
    the door words for whoever may read it: all others would tell a remote client about our network.
    """
    from ssl import SSLCertVerificationError

    from hibernaut.adapters.pinned_transport import AddressRefused

    if isinstance(error, AddressRefused):
        return str(error)
    cause: BaseException | None = error if shows else None
    while cause is not None:
        match cause:
            case SSLCertVerificationError():
                return f"its certificate is not trusted: {cause.verify_message}"
            case gaierror():
                return "its host is not known"
            case ConnectionRefusedError():
                return "nothing listens there"
            case _:
                cause = cause.__cause__ or cause.__context__
    return type(error).__name__


def _refusal(answer: HttpAnswer, response: Response) -> Json:
    """The body of an error response: JSON, or its text; of a redirect and of a web page, what they are."""
    if response.has_redirect_location:
        return f"the address redirects to {_origin(response.headers['location'])}, which is not followed; correct the base URL"
    if "html" in response.headers.get("content-type", ""):
        return "a web page instead of JSON; check the base URL if this stays so"
    beginning = answer.beginning(LONGEST_REFUSAL)
    try:
        read: Json = json.loads(beginning)
    except (ValueError, RecursionError):
        return beginning.decode(errors="replace")
    return read


def _origin(location: str) -> str:
    """Scheme and host of a redirect: its path and query may hold secrets."""
    try:
        parts = urlsplit(location)
        return f"{parts.scheme}://{parts.hostname}" if parts.hostname else "another path"
    except ValueError:
        return "another address"
