"""The events of a call that tells its progress."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from starlette.datastructures import Headers

from hibernaut.rest.http.async_bridge import ServerStops, ThreadPools, WaitSettings
from hibernaut.rest.mcp.progress import LONGEST_TOKEN, STILL, Tell, streamed, tell_of, token_of
from hibernaut.rest.mcp.wire import INTERNAL_ERROR, RpcRequest
from tests.unit.rest.http.test_async_bridge import END, Log, Scripted

BOTH = {"accept": "application/json, text/event-stream"}


def call(token: Any = "p") -> RpcRequest:
    return RpcRequest(7, "tools/call", {"name": "send_message", "_meta": {"progressToken": token}}, "2025-11-25")


@pytest.mark.parametrize("token", ["p", "", 0, 7])
def test_a_token_is_a_text_or_a_number(token: Any) -> None:
    assert token_of(call(token), Headers(BOTH)) == token
    assert token_of(call(token), Headers({"accept": "application/json"})) is None


@pytest.mark.parametrize("token", [None, True, 1.5, [], {}, "x" * (LONGEST_TOKEN + 1)])
def test_what_is_no_token_asks_for_nothing(token: Any) -> None:
    assert token_of(call(token), Headers(BOTH)) is None


def test_a_meta_that_is_no_object_asks_for_nothing() -> None:
    assert token_of(RpcRequest(7, "tools/call", {"_meta": "p"}, "2025-11-25"), Headers(BOTH)) is None


async def read(answer: Any) -> list[dict[str, Any]]:
    reply = streamed(call(), "p", answer)
    texts = [str(text) async for text in reply.body_iterator]
    return [json.loads(text.partition("data: ")[2]) for text in texts]


def test_a_server_that_stops_says_so_as_the_reply() -> None:
    async def answer(tell: Tell) -> dict[str, Any]:
        tell("It begins.")
        raise ServerStops

    first, last = asyncio.run(read(answer))
    assert first["params"] == {"progressToken": "p", "progress": 1, "message": "It begins."}
    assert (last["id"], last["error"]["code"]) == (7, INTERNAL_ERROR)


def test_a_client_that_leaves_ends_the_wait() -> None:
    async def story() -> bool:
        over = asyncio.Event()

        async def answer(tell: Tell) -> dict[str, Any]:
            tell("It begins.")
            try:
                await asyncio.Event().wait()
            finally:
                over.set()
            return {}

        events: Any = streamed(call(), "p", answer).body_iterator
        await anext(events)
        await events.aclose()
        await asyncio.wait_for(over.wait(), 60)
        return over.is_set()

    assert asyncio.run(story())


def test_silence_is_told_as_work() -> None:
    told: list[str] = []
    pools = ThreadPools(WaitSettings(silence=0))
    following: Any = Scripted()
    following.log = lambda _run_id: Log([[], [], [END]])
    try:
        asyncio.run(tell_of(following, pools, "run-1", told.append))
    finally:
        pools.end()
    assert set(told) == {STILL}
