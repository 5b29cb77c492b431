"""The port `Web` over HTTP, by httpx. Knows connections and time-outs. Must not know what is sent, or why."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from ipaddress import IPv6Address, ip_address
from queue import Empty, SimpleQueue
from typing import Any

from hibernaut.ports.web import WebFailure
from hibernaut.schemas.base import JsonObject

CONNECTED = "connection.connect_tcp.complete"
"""The step of a request (httpcore's name) after which it is known who is on the other side, and nothing was sent yet."""


class HttpWeb:
    """Each post has a connection of its own: they are rare, and go to strangers.

    `public`: only to addresses of the public internet. A name that leads to this machine, its metadata or its network is refused.
    """

    def __init__(self, *, public: bool = False) -> None:
        self._public = public

    def post(self, url: str, body: JsonObject, *, seconds: float) -> int:
        """`seconds` bounds the whole: looking the name up, connecting, and all that the other side takes to answer."""
        import httpx2

        client = httpx2.Client(timeout=seconds, follow_redirects=False)
        outcome: SimpleQueue[int | BaseException] = SimpleQueue()

        def work() -> None:
            try:
                outcome.put(self._sent(client, url, body))
            except BaseException as error:  # noqa: BLE001  the thread's outermost line: told to whoever waits
                outcome.put(error)

        # A thread, because neither the look-up of a name nor an answer that trickles in has an end of its own.
        threading.Thread(target=work, name="web", daemon=True).start()
        try:
            got = outcome.get(timeout=seconds)
        except Empty:
            got = httpx2.ReadTimeout("")
        finally:
            client.close()
        match got:
            case int():
                return got
            case httpx2.TimeoutException():
                raise WebFailure(f"no answer within {seconds:g} seconds") from got
            case httpx2.HTTPError() | httpx2.InvalidURL() | UnicodeError():  # the last: what is no name of a host
                raise WebFailure(f"no connection ({type(got).__name__})") from got
            case _:
                raise got

    def _sent(self, client: Any, url: str, body: JsonObject) -> int:
        with client.stream("POST", url, json=body, extensions={"trace": self._looked_at}) as answer:
            status: int = answer.status_code
            return status

    def _looked_at(self, step: str, told: Mapping[str, Any]) -> None:
        """Raises: WebFailure where this must not be sent to who is on the other side."""
        if not self._public or step != CONNECTED:
            return
        connection = told["return_value"]
        if not is_public(connection.get_extra_info("server_addr")[0]):
            connection.close()
            raise WebFailure("the address is not one of the public internet")


def is_public(address: str) -> bool:
    """Whether anybody may be sent there: neither this machine, nor its network, nor what its provider keeps on it."""
    ip = ip_address(address.partition("%")[0])
    mapped = ip.ipv4_mapped if isinstance(ip, IPv6Address) else None
    return (mapped or ip).is_global
