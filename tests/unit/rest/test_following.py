"""Followers: woken by a notice, patient without one, and sent home when the server stops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from hibernaut.rest.following import ServerStops, Threads, follow, response
from hibernaut.rest.streaming import stream
from hibernaut.schemas.events import DoneEvent, ErrorEvent, StopEvent
from hibernaut.schemas.letta_message import LettaResponse, LettaStopReason
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.usage import LettaUsageStatistics
from hibernaut.services.following import Followed

RUN = "run-01a20138-85dd-4000-9f77-fb88dc3c3280"
STOP = Followed(1, StopEvent(stop_reason=StopReason.END_TURN))
END = Followed(2, DoneEvent())
REPLY = LettaResponse(messages=[], stop_reason=LettaStopReason(stop_reason=StopReason.END_TURN), usage=LettaUsageStatistics())


@dataclass
class Scripted:
    """Stands where services.following stands. Each look gives the next of `looks`: has it ended, and its new events."""

    looks: list[tuple[bool, list[Followed]]]
    seconds: float = 0.0
    on_look: Callable[[Scripted], None] = lambda _self: None
    watchers: list[Callable[[], None]] = field(default_factory=list)
    asked_after: list[int] = field(default_factory=list)

    def finished(self, _tenant: str, _run_id: str) -> bool:
        self.on_look(self)
        return self.looks[0][0]

    def events(self, _tenant: str, _run_id: str, after: int) -> list[Followed]:
        self.asked_after.append(after)
        return self.looks.pop(0)[1] if len(self.looks) > 1 else self.looks[0][1]

    def response(self, _tenant: str, _run_id: str) -> LettaResponse:
        return REPLY

    def watch(self, _run_id: str, wake: Callable[[], None]) -> Callable[[], None]:
        self.watchers.append(wake)
        return lambda: self.watchers.remove(wake)

    def patience(self, _looks: int) -> float:
        return self.seconds


def rings(one: Scripted) -> None:
    for wake in one.watchers:
        wake()


class EndsMeanwhile(Scripted):
    """A run that writes its last events and ends between two reads of one look."""

    reads = 0

    def finished(self, _tenant: str, _run_id: str) -> bool:
        self.reads += 1
        return self.reads > 1

    def events(self, _tenant: str, _run_id: str, _after: int) -> list[Followed]:
        self.reads += 1
        return [STOP, END] if self.reads > 1 else []


def followed(following: Any, after: int = 0) -> list[int]:
    async def collect() -> list[int]:
        found = []
        async for events, _ in follow(following, Threads(), "default", RUN, after):
            found += [one.seq for one in events]
        return found

    return asyncio.run(collect())


def streamed(following: Any, *, pings: bool = True) -> str:
    async def collect() -> str:
        return "".join([text async for text in stream(following, Threads(), "default", RUN, pings=pings)])

    return asyncio.run(collect())


def test_events_are_followed_to_the_last_and_each_once() -> None:
    following = Scripted([(False, [STOP]), (False, []), (True, [END])])
    assert followed(following) == [1, 2]
    assert following.asked_after == [0, 1, 1]
    assert following.watchers == []


def test_a_notice_ends_the_wait() -> None:
    # An hour of patience: only the notice can end this.
    following = Scripted([(False, []), (True, [STOP, END])], seconds=3600)
    following.on_look = rings
    assert followed(following) == [1, 2]


def test_a_run_that_ends_between_two_reads_loses_no_event() -> None:
    assert followed(EndsMeanwhile([])) == [1, 2]


def test_a_run_whose_events_are_gone_ends_its_followers() -> None:
    assert followed(Scripted([(True, [])]), after=7) == []


def test_a_reply_waits_for_the_end() -> None:
    following: Any = Scripted([(False, [])], seconds=3600)

    def look(one: Scripted) -> None:
        if one.watchers:
            one.looks = [(True, [])]
            rings(one)

    following.on_look = look
    assert asyncio.run(response(following, Threads(), "default", RUN)) is REPLY


def test_who_waits_is_sent_home_when_the_server_stops() -> None:
    threads = Threads()
    following: Any = Scripted([(False, [])], seconds=3600)
    following.on_look = lambda one: threads.close() if one.watchers else None
    with pytest.raises(ServerStops):
        asyncio.run(response(following, threads, "default", RUN))


def test_a_long_silence_is_broken_by_pings() -> None:
    following = Scripted([(False, []), (False, []), (False, []), (True, [END])], seconds=10)
    following.on_look = rings
    text = streamed(following)
    # One at the beginning, one after twenty seconds of the thirty.
    assert text.count('"message_type":"ping"') == 2
    assert text.endswith("data: [DONE]\n\n")
    assert "ping" not in streamed(Scripted([(True, [END])]), pings=False)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("llm_rate_limit", "llm_rate_limit"),
        ("llm_overloaded", "llm_error"),
        ("llm_bad_request", "llm_error"),
        ("llm_connection", "llm_error"),
        ("llm_empty_response", "llm_empty_response"),
        ("context_window_exceeded", "context_window_overflow_in_system_prompt"),
        ("internal_error", "internal_error"),
        ("not_found", "internal_error"),
    ],
)
def test_an_error_is_told_by_one_of_lettas_types(code: str, told: str) -> None:
    error = Followed(1, ErrorEvent(error_type=code, message="why"))
    text = streamed(Scripted([(True, [error, END])]), pings=False)
    assert text.startswith('event: error\ndata: {"message_type":"error_message"')
    assert f'"error_type":"{told}"' in text
