"""A client of the WebSocket API, with a real connection."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from websockets.sync.client import ClientConnection, connect

from hibernaut.local.server import LocalServer, Patience, address, listening
from hibernaut.rest.app import create_app
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded

LONGEST = 60.0
"""Seconds after which an answer that does not come is a failure."""
ENDS = ("done", "error", "interrupted")
Message = dict[str, Any]


class Conversing:
    """One connection: sends actions, and sorts what comes by the request that it answers."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self._came: dict[str | None, list[Message]] = {}
        self._requests = 0

    def send(self, action: str, **fields: Any) -> str:
        """Send an action; returns its request id."""
        self._requests += 1
        request_id = fields.pop("request_id", f"r{self._requests}")
        self.connection.send(json.dumps({"action": action, "request_id": request_id, **fields}))
        return str(request_id)

    def next(self, request_id: str | None) -> Message:
        """The next message for a request."""
        while not self._came.get(request_id):
            message = json.loads(self.connection.recv(LONGEST))
            assert len(json.dumps(message).encode()) < 32 * 1024 * 6
            self._came.setdefault(message["request_id"], []).append(message)
        return self._came[request_id].pop(0)

    def ask(self, action: str, **fields: Any) -> Message:
        """Send an action and return its first answer."""
        return self.next(self.send(action, **fields))

    def until(self, request_id: str, *kinds: str) -> list[Message]:
        """The messages for a request up to the first of these kinds (default: its end)."""
        found = [self.next(request_id)]
        while found[-1]["type"] not in (kinds or ENDS):
            found.append(self.next(request_id))
        return found

    def whole(self, action: str, **fields: Any) -> list[Message]:
        """Send an action; all messages for it."""
        return self.until(self.send(action, **fields))


@contextmanager
def served_on_loopback(house: Embedded, **options: Any) -> Iterator[str]:
    """The embedded server on a free port; its address. `options`: of the app, and `patience` of the server."""
    patience = options.pop("patience", Patience())
    app = create_app(services_of(house.stores, house.host, house.engines), access=house.access, **options)
    listener = listening("127.0.0.1", 0)
    server = LocalServer(app, listener, patience=patience)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield address(listener)
    finally:
        server.stop()
        thread.join()


@contextmanager
def conversing(url: str, key: str | None = None, *, path: str = "/v1/ws", **options: Any) -> Iterator[Conversing]:
    """A connection to the server at an HTTP address."""
    headers = {**({"Authorization": f"Bearer {key}"} if key else {}), **options.pop("headers", {})}
    where = url.replace("http", "ws", 1) + path
    with connect(where, additional_headers=headers, proxy=None, compression=None, open_timeout=LONGEST, **options) as connection:
        yield Conversing(connection)


def events(messages: Sequence[Message], *, pings: bool = False) -> list[tuple[int, Any]]:
    """The events in messages, each with its number; parts are put together."""
    found, parts = [], ""
    for message in messages:
        if message["type"] == "part":
            parts += message["text"]
            if message["part"] == message["parts"] - 1:
                found.append((message["seq_id"], json.loads(parts)))
                parts = ""
        for one in message.get("events", ()):
            found.append((one["seq_id"], one["event"]))
    return [one for one in found if pings or one[1].get("message_type") != "ping"]


def text_of(messages: Sequence[Message]) -> str:
    """What the agent says in them."""
    said = [event for _, event in events(messages) if event["message_type"] == "assistant_message"]
    return "".join(one["content"] for one in said)
