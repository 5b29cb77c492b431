"""The events of a followed run as messages of the protocol. Following occupies no thread (`rest/http/async_bridge.py`)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial

from hibernaut.rest.http.async_bridge import ThreadPools, follow
from hibernaut.rest.http.streaming import number_of, ping_of, wire_message
from hibernaut.rest.sockets import messages
from hibernaut.rest.sockets.actions import Followed
from hibernaut.services.logs.run_log import RunLog

LINE = "\n"
"""Separates messages: their JSON has no line break."""


async def stream(
    pools: ThreadPools, followed: Followed, request_id: str, keep: Callable[[], None], *, greets: bool = True
) -> AsyncIterator[tuple[int, str]]:
    """The messages from the position of the log to the end of its run: what follows, the events, and `done`. With each message
    comes the number of the last event that its receiver then has.

    `keep` is called before each read, on the thread of the read; what it raises ends the stream. `greets`: whether the stream
    says that it follows.
    """
    log = followed.log
    number = log.shown_seq
    if greets:
        yield number, messages.following(request_id, log.run_id, number)
    if greets and followed.pings:
        yield _ping(log, request_id)
    async for lines in follow(followed.run_follower, pools, log, partial(_news, log, request_id, keep)):
        for line in filter(None, lines.split(LINE)):
            count, _, text = line.partition(" ")
            number = int(count)
            yield number, text
        if not lines and followed.pings:
            yield _ping(log, request_id)
    if log.at_end:
        yield log.shown_seq, messages.done(request_id, log.run_id, log.shown_seq)


def _news(log: RunLog, request_id: str, keep: Callable[[], None]) -> list[str]:
    """The new events, as lines: a number and a message."""
    keep()
    after = log.shown_seq
    wire_messages = ((one.shown_seq, wire_message(one, log.run_id, number=number_of(log, one.shown_seq))) for one in log.look())
    events = ((number, message.model_dump_json()) for number, message in wire_messages if message is not None)
    return [f"{number} {text}{LINE}" for number, text in messages.events(request_id, log.run_id, after, events)]


def _ping(log: RunLog, request_id: str) -> tuple[int, str]:
    number = log.shown_seq
    ping = ping_of(log.run_id, number_of(log, number)).model_dump_json()
    return next(messages.events(request_id, log.run_id, number, [(number, ping)]))
