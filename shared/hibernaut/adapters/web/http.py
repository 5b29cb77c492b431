"""The port `Web` over HTTP, by httpx. Knows connections and time-outs. Must not know: what is sent, or why."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, TypeVar

from hibernaut.adapters.addresses import PUBLIC, THIS_MACHINE, AddressPolicy, Resolve, addresses_of
from hibernaut.adapters.door import MOST_REDIRECTS, Door
from hibernaut.ports.tools.web import WebFailure, WebPage
from hibernaut.schemas.base import JsonObject

if TYPE_CHECKING:
    from httpx2 import Client, Response

READER = {
    "user-agent": "hibernaut",
    "accept": "text/html, text/plain, application/pdf, */*;q=0.5",
    "accept-encoding": "gzip, deflate",
}
_COMPRESSED = ("gzip", "x-gzip", "deflate")
_AUTOMATIC = zlib.MAX_WBITS | 32
"""zlib's value for "gzip or deflate, by the first bytes"."""
Result = TypeVar("Result")


class HttpWeb:
    """The HTTP client. Each request opens a connection of its own, because requests are rare and their servers untrusted.

    `clients` is the policy for addresses that clients with a key name (callbacks, webhooks), `pages` that for addresses that
    models write. Where a policy names no setting, every failure to connect has the same text, so that requests do not reveal
    which names and ports exist in this machine's network.
    """

    def __init__(
        self, clients: AddressPolicy = THIS_MACHINE, *, pages: AddressPolicy = PUBLIC, resolve: Resolve = addresses_of
    ) -> None:
        self._clients = Door(clients, resolve)
        self._pages = Door(pages, resolve)

    def post(self, url: str, body: JsonObject, *, seconds: float) -> int:
        """As the port says. `seconds` limits the whole request: the look-up of the name, connecting, and the response."""
        return self._sent(seconds, lambda client: _status(client, url, json=body))

    def deliver(self, url: str, body: bytes, headers: Mapping[str, str], *, seconds: float) -> int:
        """As the port says. `seconds` limits the whole request, as for `post`."""
        return self._sent(seconds, lambda client: _status(client, url, content=body, headers=dict(headers)))

    def ask(self, url: str, body: JsonObject | None, headers: Mapping[str, str], *, seconds: float, most: int) -> WebPage:
        """Send a GET, or a JSON body, once and read at most `most` bytes of the response. Redirects are not followed. Raises:
        WebFailure.
        """
        method = "GET" if body is None else "POST"

        def request(client: Client) -> WebPage:
            with client.stream(method, url, headers={**READER, **headers}, json=body) as answer:
                return _page(answer, most, url)

        return self._sent(seconds, request)

    def _sent(self, seconds: float, work: Callable[[Client], Result]) -> Result:
        return _within(seconds, work, self._clients)

    def page(self, url: str, *, seconds: float, most: int) -> WebPage:
        """As the port says. `seconds` limits all redirects together."""

        def read(client: Client) -> WebPage:
            import httpx2

            address = url
            for _ in range(MOST_REDIRECTS + 1):
                with client.stream("GET", address, headers=READER) as answer:
                    if not answer.has_redirect_location:
                        return _page(answer, most, address)
                    address = str(httpx2.URL(address).join(answer.headers["location"]))
            raise WebFailure(f"more than {MOST_REDIRECTS} redirects")

        return _within(seconds, read, self._pages)


def _status(client: Client, url: str, **sent: object) -> int:
    """The status of the answer to a POST, of which only the head is read."""
    with client.stream("POST", url, **sent) as answer:  # type: ignore[arg-type]  # the arguments of httpx's own method
        status: int = answer.status_code
        return status


def _page(answer: Response, most: int, url: str) -> WebPage:
    data = _first(answer, most + 1)
    return WebPage(answer.status_code, answer.headers.get("content-type", ""), data[:most], url, truncated=len(data) > most)


def _first(answer: Response, most: int) -> bytes:
    """The first `most` bytes of a body. It is unpacked piece by piece: a few compressed bytes may stand for gigabytes. Raises:
    WebFailure.
    """
    encoding = answer.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", *_COMPRESSED):
        raise WebFailure(f"its body is compressed by {encoding[:40]}, which was not requested")
    unpacking = zlib.decompressobj(_AUTOMATIC) if encoding in _COMPRESSED else None
    data = bytearray()
    try:
        for piece in answer.iter_raw():
            data += unpacking.decompress(piece, most - len(data)) if unpacking else piece
            if len(data) >= most:
                break
    except zlib.error:
        raise WebFailure("its compressed body is damaged") from None
    return bytes(data[:most])


def _within(seconds: float, work: Callable[[Client], Result], door: Door) -> Result:
    """The result of `work` with a client of its own. Raises: WebFailure."""
    import httpx2

    client = door.client(seconds)
    outcome: SimpleQueue[tuple[Result] | BaseException] = SimpleQueue()

    def run() -> None:
        try:
            outcome.put((work(client),))
        except BaseException as error:  # noqa: BLE001  the thread's outermost line: the caller raises it again
            outcome.put(error)

    # A thread, because neither a name's look-up nor a slow response has a time limit of its own.
    threading.Thread(target=run, name="web", daemon=True).start()
    try:
        got = outcome.get(timeout=seconds)
    except Empty:
        got = httpx2.ReadTimeout("")
    finally:
        client.close()
    match got:
        case (result,):
            return result
        case httpx2.HTTPError() | httpx2.InvalidURL() | OSError() | UnicodeError():  # the last: an invalid host name
            raise WebFailure(_reason(got, seconds, door)) from got
        case _:
            raise got


def _reason(error: Exception, seconds: float, door: Door) -> str:
    import httpx2

    from hibernaut.adapters.pinned_transport import AddressRefused

    if isinstance(error, httpx2.InvalidURL):
        return "it is not an address like https://example.com/"
    if isinstance(error, AddressRefused):
        return f"its address {error}"
    if not door.policy.private:
        return f"no answer from a public address within {seconds:g} seconds"
    if isinstance(error, httpx2.TimeoutException):
        return f"no answer within {seconds:g} seconds"
    return f"no connection ({type(error).__name__})"
