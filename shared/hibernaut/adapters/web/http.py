"""The port `Web` over HTTP, by httpx. Knows connections and time-outs. Must not know what is sent, or why."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from ipaddress import IPv6Address, ip_address
from queue import Empty, SimpleQueue
from typing import Any, TypeVar
from urllib.parse import urlsplit

from hibernaut.ports.web import WebFailure, WebPage
from hibernaut.schemas.base import JsonObject

CONNECTED = "connection.connect_tcp.complete"
"""The step of a request (httpcore's name) after which it is known who is on the other side, and nothing was sent yet."""
MOST_REDIRECTS = 5
READER = {"user-agent": "hibernaut", "accept": "text/html, text/plain, application/pdf, */*;q=0.5"}
NOT_PUBLIC = "the address is not one of the public internet"
Told = TypeVar("Told")


class HttpWeb:
    """Each request has a connection of its own: they are rare, and go to strangers.

    `public`: posts go to addresses of the public internet only. A name that leads to this machine, its metadata or its network is refused.
    Pages, whose addresses a model writes, are read from the public internet alone; `private_pages` is for tests of that.
    """

    def __init__(self, *, public: bool = False, private_pages: bool = False) -> None:
        self._public = public
        self._private_pages = private_pages

    def post(self, url: str, body: JsonObject, *, seconds: float) -> int:
        """`seconds` bounds the whole: looking the name up, connecting, and all that the other side takes to answer."""

        def sent(client: Any) -> int:
            with client.stream("POST", url, json=body, extensions=_watched(self._public)) as answer:
                status: int = answer.status_code
                return status

        return _within(seconds, sent)

    def page(self, url: str, *, seconds: float, most: int) -> WebPage:
        """`seconds` bounds all redirects together."""

        def read(client: Any) -> WebPage:
            address = url
            for _ in range(MOST_REDIRECTS + 1):
                _refuse_other_schemes(address)
                watched = _watched(not self._private_pages)
                with client.stream("GET", address, headers=READER, extensions=watched) as answer:
                    if not answer.has_redirect_location:
                        return WebPage(
                            answer.status_code, answer.headers.get("content-type", ""), _first(answer, most), str(answer.url)
                        )
                    address = str(answer.url.join(answer.headers["location"]))
            raise WebFailure(f"more than {MOST_REDIRECTS} redirects")

        return _within(seconds, read)


def _refuse_other_schemes(url: str) -> None:
    if urlsplit(url).scheme not in ("http", "https"):
        raise WebFailure("only http and https addresses are read")


def _first(answer: Any, most: int) -> bytes:
    """The first `most` bytes of a body."""
    data = b""
    for piece in answer.iter_bytes():
        data += piece
        if len(data) >= most:
            break
    return data[:most]


def _within(seconds: float, work: Callable[[Any], Told]) -> Told:
    """What `work` gives with a client of its own. Raises: WebFailure."""
    import httpx2

    # Without the environment's proxies: one would stand between us and the address that is looked at.
    client = httpx2.Client(timeout=seconds, follow_redirects=False, trust_env=False)
    outcome: SimpleQueue[tuple[Told] | BaseException] = SimpleQueue()

    def run() -> None:
        try:
            outcome.put((work(client),))
        except BaseException as error:  # noqa: BLE001  the thread's outermost line: told to whoever waits
            outcome.put(error)

    # A thread, because neither the look-up of a name nor an answer that trickles in has an end of its own.
    threading.Thread(target=run, name="web", daemon=True).start()
    try:
        got = outcome.get(timeout=seconds)
    except Empty:
        got = httpx2.ReadTimeout("")
    finally:
        client.close()
    match got:
        case (told,):
            return told
        case httpx2.TimeoutException():
            raise WebFailure(f"no answer within {seconds:g} seconds") from got
        case httpx2.HTTPError() | httpx2.InvalidURL() | UnicodeError():  # the last: what is no name of a host
            raise WebFailure(f"no connection ({type(got).__name__})") from got
        case _:
            raise got


def _watched(public: bool) -> dict[str, Any]:
    """The extensions of a request that goes to the public internet only, if `public`."""

    def looked_at(step: str, told: Mapping[str, Any]) -> None:
        """Raises: WebFailure where this must not be sent to who is on the other side."""
        if not public or step != CONNECTED:
            return
        connection = told["return_value"]
        if not is_public(connection.get_extra_info("server_addr")[0]):
            connection.close()
            raise WebFailure(NOT_PUBLIC)

    return {"trace": looked_at}


def is_public(address: str) -> bool:
    """Whether anybody may be sent there: neither this machine, nor its network, nor what its provider keeps on it."""
    ip = ip_address(address.partition("%")[0])
    mapped = ip.ipv4_mapped if isinstance(ip, IPv6Address) else None
    return (mapped or ip).is_global
