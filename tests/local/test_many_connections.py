"""More connections than the server holds open: idle ones end, others are refused, and the log does not fill."""

from __future__ import annotations

import logging
import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from starlette.types import Receive, Scope, Send

from hibernaut.local.connection_cap import EVERY, MOST, RESERVED, ConnectionCap, most_connections
from hibernaut.local.server import LocalServer, Patience, listening
from tests.local.test_half_requests import PATIENCE, SLOW, WHOLE, App, answer, connected, rest

LIMIT = 3
Place = tuple[str, int]


class Noted(App):
    """Tells when a request has begun."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Semaphore(0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.begun.release()
        await super().__call__(scope, receive, send)


@pytest.fixture
def app() -> Noted:
    return Noted()


@pytest.fixture
def place(app: Noted) -> Iterator[Place]:
    listener = listening("127.0.0.1", 0)
    where = listener.getsockname()
    server = LocalServer(app, listener, patience=Patience(PATIENCE, PATIENCE), connections=LIMIT)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    yield where
    app.free.set()
    server.stop()
    thread.join()


def opened(stack: ExitStack, place: Place, sent: bytes) -> socket.socket:
    return stack.enter_context(connected(place, sent))


def all_busy(stack: ExitStack, place: Place, app: Noted) -> list[socket.socket]:
    """As many connections as may be open, each with a request under way."""
    busy = []
    for _ in range(LIMIT):
        busy.append(opened(stack, place, SLOW))
        assert app.begun.acquire(timeout=PATIENCE)
    return busy


def test_a_connection_beyond_the_limit_is_told_to_come_back_and_ends(app: Noted, place: Place) -> None:
    with ExitStack() as stack:
        slow = all_busy(stack, place, app)
        told = rest(opened(stack, place, b""))
        head, _, body = told.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 ")
        assert b"\r\nretry-after: " in head
        assert b"too many open connections" in body
        app.free.set()
        assert all(answer(each).endswith(b"ok") for each in slow)
        assert answer(opened(stack, place, WHOLE)).endswith(b"ok"), "a connection that has answered is given up"


@pytest.mark.parametrize("first", [b"", WHOLE])
def test_the_connection_that_is_idle_for_the_longest_time_ends_first(app: Noted, place: Place, first: bytes) -> None:
    with ExitStack() as stack:
        idle = []
        for _ in range(LIMIT):
            idle.append(opened(stack, place, first))
            if first:
                assert answer(idle[-1]).endswith(b"ok")
        assert answer(opened(stack, place, WHOLE)).endswith(b"ok")
        assert rest(idle[0]) == b""
        for each in idle[1:]:
            each.sendall(SLOW)
        app.free.set()
        assert all(answer(each).endswith(b"ok") for each in idle[1:])


def test_a_flood_is_answered_by_one_line_of_the_log(app: Noted, place: Place, caplog: pytest.LogCaptureFixture) -> None:
    with ExitStack() as stack, caplog.at_level(logging.INFO):
        all_busy(stack, place, app)
        for _ in range(50):
            assert rest(opened(stack, place, b"")).startswith(b"HTTP/1.1 503 ")
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == ["connections refused"]


def test_the_line_comes_again_after_a_minute_with_the_number_since(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    cap = ConnectionCap(1)
    for _ in range(3):
        cap.refused()
    now += EVERY
    cap.refused()
    assert [getattr(record, "refused", None) for record in caplog.records] == [1, 3]


@pytest.mark.parametrize(
    ("descriptors", "most"),
    [(256, 128), (1024, 512), (4096, 4096 - RESERVED), (10**6, MOST), (resource.RLIM_INFINITY, MOST), (1, 1)],
)
def test_many_descriptors_are_kept_for_everything_else(descriptors: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (descriptors, resource.RLIM_INFINITY))
    assert most_connections() == most
