"""Lanes: every route has one, none starves another, and what is too much for one is refused and leaves nothing behind."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar

import pytest

from hibernaut.rest.app import ROUTERS
from hibernaut.rest.http import lanes
from hibernaut.rest.http.async_bridge import ServerStops, ThreadPools
from hibernaut.rest.http.lanes import CONTROL, DELETIONS, READS, TOOL_RUNS, Lane, lane_of
from hibernaut.schemas.errors import ServerBusy

NARROW = Lane("narrow", threads=2, waiting=3)
PATIENCE = 60.0


def test_reading_and_cancelling_share_no_thread_with_what_takes_long() -> None:
    found: dict[str, set[str]] = {}
    for module in ROUTERS:
        for route in module.router.routes:
            found.setdefault(lane_of(route.path, route.methods).name, set()).update(f"{m} {route.path}" for m in route.methods)
    assert all(one.startswith("GET ") for one in found["reads"])
    assert all(one.endswith("/cancel") for one in found["control"])
    assert len(found["control"]) == 5
    servers = {one for one in found["tool runs"] if "mcp" in one}
    assert found["tool runs"] - servers == {"POST /v1/tools/run", "POST /v1/agents/{agent_id}/tools/{tool_name}/run"}
    assert [one for one in servers if one.startswith("GET ")] == ["GET /v1/tools/mcp/servers/{mcp_server_name}/tools"]
    assert {"POST /v1/mcp-servers", "PATCH /v1/mcp-servers/{mcp_server_id}/refresh", "PUT /v1/tools/mcp/servers"} <= servers
    assert found["uploads"] == {"POST /v1/folders/{folder_id}/upload", "POST /v1/agents/import"}
    assert "GET /v1/agents/{agent_id}/archival-memory/search" in found["searches"]
    assert {"POST /v1/tools", "PUT /v1/tools", "POST /v1/tools/generate-schema"} <= found["tool sources"]
    assert all(one.startswith("DELETE ") for one in found["deletions"])
    assert found["providers"] == {
        "GET /v1/models",
        "GET /v1/models/embedding",
        "POST /v1/providers/check",
        "POST /v1/providers/{provider_id}/check",
        "PATCH /v1/providers/{provider_id}/refresh",
    }


def test_each_lane_has_a_name_and_room_of_its_own() -> None:
    every = [one for one in vars(lanes).values() if isinstance(one, Lane)]
    assert len({one.name for one in every}) == len(every)
    assert sum(one.threads for one in every) <= 400


def test_a_full_lane_refuses_and_others_go_on() -> None:
    async def scenario() -> None:
        ours, free, begun = ThreadPools(), threading.Event(), threading.Semaphore(0)
        try:
            jobs = [asyncio.ensure_future(ours.run(NARROW, lambda: begun.release() or free.wait(PATIENCE))) for _ in range(5)]
            for _ in range(NARROW.threads):
                assert await asyncio.to_thread(begun.acquire, timeout=PATIENCE)
            with pytest.raises(ServerBusy, match="narrow") as busy:
                await ours.run(NARROW, lambda: None)
            assert busy.value.retry_after > 0
            assert [await ours.run(other, lambda: "here") for other in (READS, CONTROL, DELETIONS)] == ["here"] * 3
            assert not begun.acquire(blocking=False)
        finally:
            free.set()
        assert await asyncio.gather(*jobs) == [True] * 5
        assert await ours.run(NARROW, lambda: "room again") == "room again"

    asyncio.run(scenario())


def test_a_job_that_nobody_waits_for_keeps_its_thread_until_it_is_done() -> None:
    async def scenario() -> None:
        ours, free, begun = ThreadPools(), threading.Event(), threading.Semaphore(0)
        try:
            for _ in range(NARROW.threads):
                left = asyncio.ensure_future(ours.run(NARROW, lambda: begun.release() or free.wait(PATIENCE)))
                assert await asyncio.to_thread(begun.acquire, timeout=PATIENCE)
                left.cancel()
            waits = [asyncio.ensure_future(ours.run(NARROW, begun.release)) for _ in range(NARROW.waiting)]
            await asyncio.sleep(0)
            with pytest.raises(ServerBusy):
                await ours.run(NARROW, begun.release)
            waits.pop().cancel()
            await asyncio.sleep(0)
            waits.append(asyncio.ensure_future(ours.run(NARROW, begun.release)))
            assert not begun.acquire(blocking=False)
        finally:
            free.set()
        await asyncio.gather(*waits)

    asyncio.run(scenario())


def test_a_job_sees_the_context_of_its_request() -> None:
    who: ContextVar[str] = ContextVar("who", default="nobody")

    async def scenario() -> str:
        who.set("me")
        return await ThreadPools().run(READS, who.get)

    assert asyncio.run(scenario()) == "me"


def test_a_server_that_stops_waits_for_no_job() -> None:
    async def scenario() -> None:
        ours, free, begun = ThreadPools(), threading.Event(), threading.Semaphore(0)
        try:
            busy = asyncio.ensure_future(ours.run(TOOL_RUNS, lambda: begun.release() or free.wait(PATIENCE)))
            assert await asyncio.to_thread(begun.acquire, timeout=PATIENCE)
            ours.close(grace=0)
            with pytest.raises(ServerStops):
                await busy
            with pytest.raises(ServerStops):
                await ours.run(READS, lambda: None)
            assert await ours.look(lambda: "the last word") == "the last word"
        finally:
            free.set()
            ours.end()

    asyncio.run(scenario())
