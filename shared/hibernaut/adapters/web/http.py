"""The port `Web` over HTTP, by httpx. Knows connections and time-outs. Must not know: what is sent, or why."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from hibernaut.adapters.addresses import addresses_of, is_public
from hibernaut.ports.web import WebFailure, WebPage
from hibernaut.schemas.base import JsonObject

if TYPE_CHECKING:
    from httpx2 import URL, Client, Response

PORTS = {"http": 80, "https": 443}
MOST_REDIRECTS = 5
READER = {"user-agent": "hibernaut", "accept": "text/html, text/plain, application/pdf, */*;q=0.5"}
Resolve = Callable[[str, int], list[str]]
Allowed = Callable[[str], bool]
Result = TypeVar("Result")


class HttpWeb:
    """The HTTP client. Each request opens a connection of its own, because requests are rare and their servers untrusted.

    `posts` and `pages` decide which addresses each may connect to (None: all). A model writes the addresses of pages, so pages are read from
    the public internet only. A name is resolved once, and the connection goes to the address that was checked, so that a name that changes in between
    has no effect. No connection is attempted to any other address, and every failure has the same text, so that
    requests do not reveal which names and ports exist in this machine's network.
    """

    def __init__(
        self, posts: Allowed | None = None, *, pages: Allowed | None = is_public, resolve: Resolve = addresses_of
    ) -> None:
        self._posts = posts
        self._pages = pages
        self._resolve = resolve

    @classmethod
    def public(cls) -> HttpWeb:
        """A client that connects to the public internet only."""
        return cls(is_public)

    def post(self, url: str, body: JsonObject, *, seconds: float) -> int:
        """As the port says. `seconds` limits the whole request: the look-up of the name, connecting, and the response."""

        return self._sent(url, seconds, json=body)

    def deliver(self, url: str, body: bytes, headers: Mapping[str, str], *, seconds: float) -> int:
        """As the port says. `seconds` limits the whole request, as for `post`."""
        return self._sent(url, seconds, content=body, headers=dict(headers))

    def _sent(self, url: str, seconds: float, **request: Any) -> int:
        def sent(client: Client) -> int:
            with self._answer(client, self._posts, "POST", url, **request) as answer:
                status: int = answer.status_code
                return status

        return _within(seconds, sent, guarded=self._posts is not None)

    def page(self, url: str, *, seconds: float, most: int) -> WebPage:
        """As the port says. `seconds` limits all redirects together."""

        def read(client: Client) -> WebPage:
            address = url
            for _ in range(MOST_REDIRECTS + 1):
                with self._answer(client, self._pages, "GET", address, headers=READER) as answer:
                    if not answer.has_redirect_location:
                        kind = answer.headers.get("content-type", "")
                        return WebPage(answer.status_code, kind, _first(answer, most), address)
                    address = str(_url(address).join(answer.headers["location"]))
            raise WebFailure(f"more than {MOST_REDIRECTS} redirects")

        return _within(seconds, read, guarded=self._pages is not None)

    @contextmanager
    def _answer(self, client: Client, allowed: Allowed | None, method: str, address: str, **sent: Any) -> Iterator[Response]:
        """The answer, of which only the head is read. Raises: WebFailure, httpx2.HTTPError, OSError."""
        import httpx2

        url = _url(address)
        with ExitStack() as opened:
            if allowed is None:
                yield opened.enter_context(client.stream(method, url, **sent))
                return
            # The connection goes to the address; name and certificate stay those of the URL.
            headers = {**sent.pop("headers", {}), "host": url.netloc.decode("ascii")}
            named = {**sent, "headers": headers, "extensions": {"sni_hostname": url.host}}
            answer, failure = None, OSError("no allowed address")
            for number in self._checked(url, allowed):
                try:
                    answer = opened.enter_context(client.stream(method, url.copy_with(host=number), **named))
                    break
                except httpx2.ConnectError as error:
                    failure = OSError(str(error))
            if answer is None:
                raise failure
            yield answer

    def _checked(self, url: URL, allowed: Allowed) -> list[str]:
        """The addresses of the URL's host, if all of them are allowed. Raises: OSError."""
        found = self._resolve(url.host, url.port or PORTS[url.scheme])
        return found if all(map(allowed, found)) else []


def _url(address: str) -> URL:
    """Raises: WebFailure, httpx2.InvalidURL."""
    import httpx2

    url = httpx2.URL(address)
    if url.scheme not in PORTS:
        raise WebFailure("only http and https addresses are read")
    return url


def _first(answer: Response, most: int) -> bytes:
    """The first `most` bytes of a body."""
    data = b""
    for piece in answer.iter_bytes():
        data += piece
        if len(data) >= most:
            break
    return data[:most]


def _within(seconds: float, work: Callable[[Client], Result], *, guarded: bool) -> Result:
    """The result of `work` with a client of its own. Raises: WebFailure."""
    import httpx2

    # The environment's proxies are not used: a proxy would hide the address that is checked.
    client = httpx2.Client(timeout=seconds, follow_redirects=False, trust_env=False)
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
            raise WebFailure(_reason(got, seconds, guarded=guarded)) from got
        case _:
            raise got


def _reason(error: Exception, seconds: float, *, guarded: bool) -> str:
    import httpx2

    if guarded:
        return f"no answer from a public address within {seconds:g} seconds"
    if isinstance(error, httpx2.TimeoutException):
        return f"no answer within {seconds:g} seconds"
    return f"no connection ({type(error).__name__})"
