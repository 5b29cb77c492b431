"""Requests that do not arrive: their connections end, and those of everybody else do not."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest
from starlette.types import Message, Receive, Scope, Send

from hibernaut.local.server import BodyTime, LocalServer, Patience, listening

PATIENCE = 60.0
SHORT = Patience(head=0.3, body=0.3)

WHOLE = b"GET /now HTTP/1.1\r\nhost: x\r\n\r\n"
SLOW = b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n"
HALVES = {
    "nothing": b"",
    "half a line": b"GET / HT",
    "half a head": b"GET / HTTP/1.1\r\nhost: x\r\n",
    "half a body": b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n12345",
    "half a chunk": b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\n123",
    "a half behind a whole": WHOLE + b"GET / HT",
}


class App:
    """Reads the body and answers; at `/slow` only when it is let."""

    def __init__(self) -> None:
        self.free = threading.Event()
        self.cut_off: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        message: Message = {"more_body": True}
        while message.get("more_body"):
            message = await receive()
            if message["type"] == "http.disconnect":
                self.cut_off.append(scope["method"])
                return
        if scope["path"] == "/slow":
            import anyio.to_thread

            await anyio.to_thread.run_sync(self.free.wait, PATIENCE)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
def app() -> App:
    return App()


@pytest.fixture
def place(app: App) -> Iterator[tuple[str, int]]:
    listener = listening("127.0.0.1", 0)
    where = listener.getsockname()
    server = LocalServer(app, listener, patience=SHORT)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    yield where
    app.free.set()
    server.stop()
    thread.join()


def connected(place: tuple[str, int], sent: bytes) -> socket.socket:
    connection = socket.create_connection(place, timeout=PATIENCE)
    connection.sendall(sent)
    return connection


def answer(connection: socket.socket) -> bytes:
    """The next whole answer."""
    found = b""
    while not found.endswith(b"ok"):
        found += (piece := connection.recv(65_536))
        assert piece
    return found


def rest(connection: socket.socket) -> bytes:
    """All that comes until the other side ends the connection."""
    found = b""
    with suppress(ConnectionResetError):
        while piece := connection.recv(65_536):
            found += piece
    return found


@pytest.mark.parametrize("half", HALVES.values(), ids=HALVES)
def test_many_half_requests_end_and_whole_ones_are_answered_meanwhile(place: tuple[str, int], half: bytes) -> None:
    with ExitStack() as opened:
        halves = [opened.enter_context(connected(place, half)) for _ in range(40)]
        with connected(place, WHOLE) as whole:
            assert answer(whole).startswith(b"HTTP/1.1 200")
        answers = [rest(one) for one in halves]
    assert [found.count(b"200 OK") for found in answers] == [1 if half.startswith(WHOLE) else 0] * 40


TRICKLES = {
    "a head": (b"GET / HTTP/1.1\r\nhost: ", b"x"),
    "a body": (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n", b"x"),
    "a body in chunks": (b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
}


@pytest.mark.parametrize(("begun", "drop"), TRICKLES.values(), ids=TRICKLES)
def test_what_trickles_in_has_no_longer(place: tuple[str, int], begun: bytes, drop: bytes) -> None:
    def trickle(slow: socket.socket) -> None:
        for _ in range(1000):
            slow.sendall(drop)
            threading.Event().wait(0.05)

    with connected(place, begun) as slow, pytest.raises((ConnectionResetError, BrokenPipeError)):
        trickle(slow)


def test_each_piece_of_a_body_gives_it_the_time_that_it_may_take_and_no_store_of_it() -> None:
    body = BodyTime(Patience(body=60, rate=1_000))
    assert body.left(0, now=100) == 60
    assert body.left(1_000, now=150) == 11
    assert body.left(10_000_000, now=155) == 60, "a fast beginning buys no slow end"
    assert body.left(59_000, now=214) == 60
    assert [body.left(1, now=second) > 0 for second in (215, 273, 274, 275)] == [True, True, True, False]


def test_a_reply_may_take_longer_than_its_request(place: tuple[str, int], app: App) -> None:
    with connected(place, SLOW) as slow, connected(place, WHOLE) as idle:
        assert answer(idle).endswith(b"ok")
        with connected(place, b"GET / HT") as half:
            assert rest(half) == b""
        app.free.set()
        assert answer(slow).startswith(b"HTTP/1.1 200")
        idle.sendall(WHOLE)
        assert answer(idle).startswith(b"HTTP/1.1 200")
