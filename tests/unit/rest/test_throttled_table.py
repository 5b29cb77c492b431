"""A table that is throttled after a message was accepted: its followers read again, and no reply leads to a second message."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from hibernaut.ports.storage.table import Contended, Table
from hibernaut.rest.app import create_app
from hibernaut.rest.http.async_bridge import USUAL_WAITS, ThreadPools, WaitSettings, response
from hibernaut.rest.http.lanes import LOOKS
from hibernaut.rest.http.streaming import DONE, stream
from hibernaut.store.table import retries
from tests.support.house import House, house_in
from tests.support.tables import CountingTable

MESSAGE = {"messages": [{"role": "user", "content": "Send five euros."}]}
FOREVER = 1_000_000


class Throttle:
    """Refuses the next `left` calls of the threads on which followers read."""

    def __init__(self) -> None:
        self.left = self.refused = 0

    def table(self, table: Table) -> Table:
        return CountingTable(table, self._at)

    def _at(self, _: int, moment: str) -> None:
        if moment.startswith("before") and self.left and threading.current_thread().name.startswith(LOOKS.name):
            self.left -= 1
            self.refused += 1
            raise Contended("throttled")


@pytest.fixture
def throttle(monkeypatch: pytest.MonkeyPatch) -> Throttle:
    monkeypatch.setattr(retries, "BUDGET", 0.0)  # The store gives each operation up at its first refusal.
    return Throttle()


@pytest.fixture
def house(tmp_path: Path, throttle: Throttle) -> Iterator[House]:
    with house_in(tmp_path, throttle.table) as opened:
        yield opened


def client(house: House, waits: WaitSettings = USUAL_WAITS) -> TestClient:
    return TestClient(create_app(house.all_services, waits=waits), base_url="http://127.0.0.1:8283")


def of_user(http: TestClient, agent_id: str) -> int:
    return sum(one["message_type"] == "user_message" for one in http.get(f"/v1/agents/{agent_id}/messages").json())


def test_a_table_that_is_busy_for_a_moment_breaks_no_stream_and_no_reply(house: House, throttle: Throttle) -> None:
    agent = house.agent()
    run_id = client(house).post(f"/v1/agents/{agent.id}/messages/async", json=MESSAGE).json()["id"]
    follower = house.services.run_follower

    async def followed() -> list[str]:
        log = follower.log(run_id)
        return [text async for text in stream(follower, ThreadPools(), log, pings=False)]

    throttle.left = 2
    assert asyncio.run(followed())[-1].endswith(DONE)
    assert (throttle.left, throttle.refused) == (0, 2)
    throttle.left = 2
    reply = asyncio.run(response(follower, ThreadPools(), run_id))
    assert (throttle.left, throttle.refused) == (0, 4)
    assert reply.stop_reason.stop_reason == "end_turn"


@pytest.mark.parametrize("background", [False, True])
def test_a_stream_begins_when_the_table_shows_the_accepted_run(house: House, throttle: Throttle, background: bool) -> None:
    http, agent = client(house), house.agent()
    throttle.left = 3
    answered = http.post(f"/v1/agents/{agent.id}/messages/stream", json={**MESSAGE, "background": background})
    assert (answered.status_code, throttle.left) == (200, 0)
    assert answered.text.endswith(DONE)
    assert of_user(http, agent.id) == 1


@pytest.mark.parametrize(
    ("path", "more"),
    [("messages/stream", {}), ("messages/stream", {"background": True}), ("messages/async", {})],
)
def test_a_run_that_stays_unreadable_is_named_and_its_message_not_asked_for_again(
    house: House, throttle: Throttle, path: str, more: dict[str, Any]
) -> None:
    http, agent = client(house, WaitSettings(plain=0)), house.agent()
    throttle.left = FOREVER
    answered = http.post(f"/v1/agents/{agent.id}/{path}", json={**MESSAGE, **more})
    throttle.left = 0
    body = answered.json()
    assert (answered.status_code, body["code"]) == (503, "run_unreadable")
    assert "was accepted" in body["detail"]
    assert "Nothing was changed" not in body["detail"]
    assert answered.headers["x-should-retry"] == "false"
    assert "retry-after" not in answered.headers
    followed = http.post(f"/v1/runs/{body['run_id']}/stream", json={"starting_after": 0})
    assert followed.text.endswith(DONE)
    assert of_user(http, agent.id) == 1


def test_a_tool_of_mcp_names_the_run_that_it_cannot_read(house: House, throttle: Throttle) -> None:
    http, agent = client(house), house.agent()
    throttle.left = FOREVER
    arguments = {"agent_id": agent.id, "message": "Send five euros.", "wait_seconds": 1}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "send_message", "arguments": arguments}}
    answered = http.post("/mcp", json=call, headers={"accept": "application/json, text/event-stream"}).json()["result"]
    throttle.left = 0
    report = answered["structuredContent"]
    assert not answered.get("isError")
    assert (report["status"], report["agent_id"]) == ("running", agent.id)
    assert "do not send the message again" in report["next"]
    assert http.get(f"/v1/runs/{report['run_id']}").status_code == 200
