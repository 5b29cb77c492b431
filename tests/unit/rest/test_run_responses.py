"""Replies that take long: ordinary until then, and afterwards always a valid body with a stop reason and the run's id."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import Response
from fastapi.responses import StreamingResponse

from hibernaut.rest import run_responses
from hibernaut.rest.http.async_bridge import ServerStops, ThreadPools, WaitSettings
from hibernaut.rest.http.lanes import Lane
from hibernaut.schemas.errors import ModelTimeout, NotFound, StoreUnavailable
from hibernaut.schemas.messages.letta_message import AssistantMessage, LettaResponse, LettaStopReason
from hibernaut.schemas.runs.send import RetrieveStreamRequest
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.usage import LettaUsageStatistics
from hibernaut.services.sending.sending import AcceptedRequest

RUN = "run-01a20138-85dd-4000-9f77-fb88dc3c3280"
AT_ONCE = WaitSettings(plain=0, silence=0.01)
"""Everything is held open; signs of life come as fast as a test can count them."""


def letta(reason: StopReason) -> LettaResponse:
    said = AssistantMessage(id="message-1", date="2026-11-21T21:24:15+00:00", content="so far")
    return LettaResponse(messages=[said], stop_reason=LettaStopReason(stop_reason=reason), usage=LettaUsageStatistics())


@dataclass
class Run:
    """Stands where the services stand: one run, which `ends` when a test says so, well or with `error`."""

    error: Exception | None = None
    ended: bool = False
    attached: bool = True
    gone: bool = False
    wakes: list[Callable[[], None]] = field(default_factory=list)
    driven: list[str] = field(default_factory=list)

    @property
    def services(self) -> Any:
        return SimpleNamespace(sending=self, run_follower=self)

    def accept(self, _asked: object) -> AcceptedRequest:
        return AcceptedRequest(RUN, attached=self.attached)

    def start(self, run_id: str, *, inline: bool) -> None:
        assert inline
        self.driven.append(run_id)
        self.ended = True

    def ends(self) -> None:
        self.ended = True
        for wake in tuple(self.wakes):
            wake()

    def response(self, _run_id: str) -> LettaResponse | None:
        if not self.ended:
            return None
        if self.error is not None:
            raise self.error
        return letta(StopReason.END_TURN)

    def outcome(self, run_id: str) -> LettaResponse:
        if self.gone:
            raise NotFound("gone")
        reply = letta(StopReason.END_TURN if self.ended and self.error is None else StopReason.ERROR)
        reply.usage.run_ids = [run_id]
        return reply

    def watch(self, _run_id: str, wake: Callable[[], None]) -> Callable[[], None]:
        self.wakes.append(wake)
        return lambda: self.wakes.remove(wake)

    def patience(self, _looks: int) -> float:
        return 3600.0


def answered(
    run: Run, waits: WaitSettings, on_space: Callable[[int], None] = lambda _: None, pools: ThreadPools | None = None
) -> Response:
    """The answer with its whole body; `on_space` is told how many signs of life have come."""

    async def ask() -> Response:
        answer = await run_responses.whole(run.services, pools or ThreadPools(waits), SimpleNamespace())  # type: ignore[arg-type]
        if not isinstance(answer, StreamingResponse):
            return answer
        chunks: list[bytes] = []
        async for chunk in answer.body_iterator:
            chunks.append(bytes(chunk))  # type: ignore[arg-type]
            if chunk == b" ":
                on_space(len(chunks))
        answer.body = b"".join(chunks)
        return answer

    return asyncio.run(ask())


def test_a_message_that_is_still_on_its_way_can_be_followed_already() -> None:
    looks: list[str] = []

    class Arriving(Run):
        def known(self, _conversation: str, otid: str) -> bool:
            looks.append(otid)
            return len(looks) == 3

        def run_for(self, _conversation: str, **_named: str | None) -> str:
            return RUN if len(looks) == 3 else "too early"

    async def ask(body: RetrieveStreamRequest, waits: WaitSettings) -> str:
        return await run_responses.run_for(Arriving().services, ThreadPools(waits), "agent-1", body)

    named = RetrieveStreamRequest(otid="mine")
    assert asyncio.run(ask(named, WaitSettings(arriving=3600))) == RUN
    looks.clear()
    assert asyncio.run(ask(named, WaitSettings(arriving=0))) == "too early"
    assert looks == ["mine"]
    looks.clear()
    asyncio.run(ask(RetrieveStreamRequest(run_id=RUN, otid="mine"), WaitSettings(arriving=3600)))
    assert looks == [], "a run that is named is there"


def test_a_quick_reply_is_an_ordinary_one() -> None:
    answer = answered(Run(ended=True), WaitSettings())
    assert (answer.status_code, answer.headers["content-length"]) == (200, str(len(answer.body)))
    assert json.loads(bytes(answer.body))["usage"]["run_ids"] is None


def test_a_run_of_ones_own_is_driven_by_the_request_and_handed_over_twice() -> None:
    jobs: list[str] = []

    class Counted(ThreadPools):
        def _submitted(self, lane: Lane, job: Callable[[], Any]) -> asyncio.Future[Any]:
            jobs.append(lane.name)
            return super()._submitted(lane, job)

    run = Run(attached=False)
    answer = answered(run, WaitSettings(), pools=Counted(WaitSettings()))
    assert run.driven == [RUN]
    assert jobs == ["admissions", "turns"], "the thread that drives the run reads its reply"
    assert json.loads(bytes(answer.body))["stop_reason"]["stop_reason"] == "end_turn"


def test_a_table_that_is_busy_when_the_run_has_ended_is_asked_again() -> None:
    class Busy(Run):
        asked = 0

        def response(self, run_id: str) -> LettaResponse | None:
            self.asked += 1
            if self.asked == 1:
                raise StoreUnavailable("busy", 2.0)
            return super().response(run_id)

    run = Busy(attached=False)
    assert answered(run, WaitSettings()).status_code == 200
    assert (run.asked, run.driven) == (2, [RUN])


def test_a_quick_failure_is_an_ordinary_error() -> None:
    with pytest.raises(ModelTimeout):
        answered(Run(ended=True, error=ModelTimeout("slow")), WaitSettings())


def test_a_slow_reply_is_held_open_by_white_space() -> None:
    run = Run()
    answer = answered(run, AT_ONCE, lambda spaces: run.ends() if spaces == 3 else None)
    assert (answer.status_code, answer.media_type) == (200, "application/json")
    assert bytes(answer.body).startswith(b"   {")
    body = json.loads(bytes(answer.body))
    assert body["stop_reason"]["stop_reason"] == "end_turn"
    assert body["usage"]["run_ids"] == [RUN]
    assert run.wakes == []


def test_a_slow_failure_is_a_valid_reply_with_what_there_is() -> None:
    run = Run(error=ModelTimeout("slow"))
    body = json.loads(bytes(answered(run, AT_ONCE, lambda _: run.ends()).body))
    assert [one["content"] for one in body["messages"]] == ["so far"]
    assert body["stop_reason"]["stop_reason"] == "error"
    assert body["usage"]["run_ids"] == [RUN]


def test_a_run_that_vanishes_meanwhile_still_gives_a_valid_reply() -> None:
    run = Run(error=NotFound("gone"), gone=True)
    body = json.loads(bytes(answered(run, AT_ONCE, lambda _: run.ends()).body))
    assert LettaResponse.model_validate(body).usage.run_ids == [RUN]


def test_who_has_waited_longest_gets_what_there_is_and_the_run_goes_on() -> None:
    run = Run()
    body = json.loads(bytes(answered(run, WaitSettings(plain=0, silence=3600, longest=0.01)).body))
    assert [one["content"] for one in body["messages"]] == ["so far"]
    assert body["stop_reason"]["stop_reason"] == "error"
    assert not run.ended
    assert run.wakes == []


def test_a_server_that_stops_ends_held_replies_validly_and_others_with_an_error() -> None:
    pools = ThreadPools(AT_ONCE)
    body = json.loads(bytes(answered(Run(), AT_ONCE, lambda _: pools.close(), pools).body))
    assert body["stop_reason"]["stop_reason"] == "error"
    with pytest.raises(ServerStops):
        answered(Run(), WaitSettings(), pools=pools)
