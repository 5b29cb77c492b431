"""Followers: woken by a notice, patient without one, and sent home when the server stops or their time is over."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from hibernaut.rest.http.async_bridge import ServerStops, ThreadPools, WaitSettings, response
from hibernaut.rest.http.lanes import TURNS
from hibernaut.rest.http.streaming import refusal, stream
from hibernaut.schemas.errors import ApprovalPending
from hibernaut.schemas.messages.letta_message import LettaResponse, LettaStopReason
from hibernaut.schemas.runs.events import DoneEvent, ErrorEvent, StopEvent
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.usage import LettaUsageStatistics
from hibernaut.services.logs.run_log import LoggedEvent

RUN = "run-01a20138-85dd-4000-9f77-fb88dc3c3280"
STOP = LoggedEvent(1, StopEvent(stop_reason=StopReason.END_TURN))
END = LoggedEvent(2, DoneEvent())
REPLY = LettaResponse(messages=[], stop_reason=LettaStopReason(stop_reason=StopReason.END_TURN), usage=LettaUsageStatistics())
STOPPED = 'data: {"message_type":"stop_reason","stop_reason":"end_turn"}\n\n'
DONE = "data: [DONE]\n\n"
SILENT = WaitSettings(silence=3600)


@dataclass
class Log:
    """Stands where services.run_log stands: each look gives the next of `looks`, the last one again and again."""

    looks: list[list[LoggedEvent]]
    on_look: Callable[[Log], None] = lambda _self: None
    numbered: bool = False
    after: int = 0
    looked: int = 0
    run_id: str = RUN
    at_end: bool = False

    @property
    def done(self) -> bool:
        return self.at_end

    @property
    def shown_seq(self) -> int:
        return self.after + 1

    def look(self) -> list[LoggedEvent]:
        self.looked += 1
        self.on_look(self)
        found = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if found:
            self.after = found[-1].seq
            self.at_end = isinstance(found[-1].event, DoneEvent)
        return found


@dataclass
class Scripted:
    """Stands where services.run_follower stands. `seconds` is how long a follower waits for a notice that does not come."""

    seconds: float = 0.0
    ended: bool = False
    on_look: Callable[[Scripted], None] = lambda _self: None
    watchers: list[Callable[[], None]] = field(default_factory=list)

    def response(self, _run_id: str) -> LettaResponse | None:
        self.on_look(self)
        return REPLY if self.ended else None

    def watch(self, _run_id: str, wake: Callable[[], None]) -> Callable[[], None]:
        self.watchers.append(wake)
        return lambda: self.watchers.remove(wake)

    def patience(self, _looks: int) -> float:
        return self.seconds

    def rings(self) -> None:
        for wake in tuple(self.watchers):
            wake()


def streamed(log: Any, following: Any, waits: WaitSettings = SILENT, *, pings: bool = False) -> list[str]:
    async def collect() -> list[str]:
        return [text async for text in stream(following, ThreadPools(waits), log, pings=pings)]

    return asyncio.run(collect())


def test_events_are_followed_to_the_last_and_each_once() -> None:
    following = Scripted()
    assert streamed(Log([[STOP], [], [END]]), following) == [STOPPED, DONE]
    assert following.watchers == []


def test_a_notice_ends_the_wait() -> None:
    # An hour of patience: only the notice can end this.
    following = Scripted(seconds=3600)
    log = Log([[], [STOP, END]], on_look=lambda _: following.rings())
    assert streamed(log, following) == [STOPPED + DONE]


def test_who_has_seen_all_is_told_so_at_once() -> None:
    assert streamed(Log([[]], after=2, at_end=True), Scripted(seconds=3600)) == [DONE]


def test_a_stream_whose_events_are_gone_breaks_off() -> None:
    class Gone(Log):
        done = True

    assert streamed(Gone([[STOP], []]), Scripted(seconds=3600)) == [STOPPED]


def test_a_reply_waits_for_the_end() -> None:
    following: Any = Scripted(seconds=3600)

    def look(one: Scripted) -> None:
        one.ended = bool(one.watchers)
        one.rings()

    following.on_look = look
    assert asyncio.run(response(following, ThreadPools(), RUN)) is REPLY


def test_who_waits_is_sent_home_when_the_server_stops() -> None:
    pools = ThreadPools()
    following: Any = Scripted(seconds=3600)
    following.on_look = lambda one: pools.close() if one.watchers else None
    with pytest.raises(ServerStops):
        asyncio.run(response(following, pools, RUN))


def test_a_long_silence_is_broken_by_pings_and_only_by_pings() -> None:
    log = Log([[], [], [STOP], [END]])
    texts = streamed(log, Scripted(), WaitSettings(silence=0), pings=True)
    assert [text in (DONE, STOPPED) or '"message_type":"ping"' in text for text in texts] == [True] * 5
    assert ['"ping"' in text for text in texts] == [True, True, True, False, False]


def test_events_that_show_nothing_do_not_keep_a_stream_silent() -> None:
    from hibernaut.schemas.runs.events import MessageEvent

    hidden = LoggedEvent(1, MessageEvent(message_id="message-1", index=0))
    texts = streamed(Log([[hidden], [hidden], [END]]), Scripted(), WaitSettings(silence=0), pings=True)
    assert ['"ping"' in text for text in texts] == [True, True, True, False]


def test_pings_bear_the_last_number_where_numbers_are_shown() -> None:
    log = Log([[STOP], [], [END]], numbered=True)
    texts = streamed(log, Scripted(), WaitSettings(silence=0), pings=True)
    assert ['"seq_id":1,' in text for text in texts] == [True, False, False, False]
    assert ['"seq_id":2,' in text for text in texts] == [False, False, True, False]


def test_a_stream_without_pings_has_none() -> None:
    assert "ping" not in "".join(streamed(Log([[], [], [END]]), Scripted(), WaitSettings(silence=0)))


def test_a_follower_whose_time_is_over_goes_without_the_end() -> None:
    log = Log([[STOP], [STOP]])
    assert streamed(log, Scripted(), WaitSettings(longest=0)) == [STOPPED]
    assert log.looked == 1


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
    error = LoggedEvent(1, ErrorEvent(error_type=code, message="why"), shown_seq=2)
    (text,) = streamed(Log([[error, END]]), Scripted())
    assert text.startswith('event: error\ndata: {"message_type":"error_message"')
    assert f'"error_type":"{told}"' in text
    assert '"seq_id":null' in text
    assert '"seq_id":2' in streamed(Log([[error, END]], numbered=True), Scripted())[0]


@pytest.mark.parametrize("pings", [True, False])
def test_a_pending_approval_is_told_by_a_stream_of_its_own(pings: bool) -> None:
    async def collect() -> str:
        answer = refusal(ApprovalPending("CONFLICT: approve first", "message-" + RUN[4:], RUN), pings=pings)
        assert (answer.status_code, answer.media_type) == (200, "text/event-stream")
        return "".join([str(text) async for text in answer.body_iterator])

    text = asyncio.run(collect())
    assert text.startswith('data: {"id":"ping-') is pings
    assert 'data: {"message_type":"stop_reason","stop_reason":"error"}\n\nevent: error\ndata: ' in text
    assert '"error_type":"internal_error"' in text
    assert '"detail":"CONFLICT: approve first"' in text
    assert text.endswith(DONE)


def test_a_request_is_taken_in_while_as_many_runs_go_on_as_may() -> None:
    async def scenario() -> str:
        pools, all_there, goes_on = ThreadPools(), threading.Barrier(TURNS.threads + 1), threading.Event()
        runs = [asyncio.ensure_future(pools.work(lambda: all_there.wait() + goes_on.wait())) for _ in range(TURNS.threads)]
        try:
            await asyncio.to_thread(all_there.wait)
            async with asyncio.timeout(60):
                return await pools.take(lambda: "taken")
        finally:
            goes_on.set()
            await asyncio.gather(*runs)

    assert asyncio.run(scenario()) == "taken"


def test_lanes_serve_several_event_loops_at_once() -> None:
    """More jobs than there are threads, from two loops: each waits in its own loop's line."""
    pools, both = ThreadPools(), threading.Barrier(2)

    async def many() -> int:
        both.wait()
        return sum(await asyncio.gather(*(pools.look(lambda: 1) for _ in range(200))))

    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(asyncio.run(many()))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [200, 200]
