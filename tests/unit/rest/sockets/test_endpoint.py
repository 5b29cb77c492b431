"""A connection of this process whose client does not read, over the whole app without a network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hibernaut.rest.access.origin_policy import OriginPolicy
from hibernaut.rest.app import create_app
from hibernaut.rest.http.async_bridge import response
from hibernaut.rest.sockets.endpoint import SocketEndpoint, SocketLimits
from hibernaut.schemas.messages.letta_message import LettaResponse
from tests.support.house import House, house_in

SCOPE = {
    "type": "websocket",
    "scheme": "ws",
    "path": "/v1/ws",
    "query_string": b"",
    "headers": [(b"host", b"localhost:80")],
    "server": ("127.0.0.1", 80),
    "subprotocols": [],
    "extensions": {"websocket.http.response": {}},
}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with house_in(tmp_path) as made:
        yield made


class Client:
    """The other side of one ASGI connection. `reads`: whether a message of the server is taken."""

    def __init__(self, reads: Callable[[dict[str, Any]], bool]) -> None:
        self.reads = reads
        self.sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.got: list[dict[str, Any]] = []
        self.sent.put_nowait({"type": "websocket.connect"})

    def say(self, action: str, **fields: Any) -> None:
        text = json.dumps({"action": action, "request_id": "r", **fields})
        self.sent.put_nowait({"type": "websocket.receive", "text": text})

    async def take(self, message: Any) -> None:
        if message["type"] == "websocket.send" and not self.reads(json.loads(message["text"])):
            await asyncio.Event().wait()
        self.got.append(message)


def test_a_client_that_does_not_read_is_disconnected_and_its_run_goes_on(house: House) -> None:
    agent = house.agent()
    app = create_app(house.all_services)
    endpoint = SocketEndpoint(app, OriginPolicy(), SocketLimits(stall=0.05))
    client = Client(reads=lambda message: message["type"] == "following")
    client.say("send", agent_id=agent.id, body={"input": "hi"})

    async def played() -> LettaResponse:
        await endpoint(SCOPE, client.sent.get, client.take)
        run_id = json.loads(client.got[1]["text"])["run_id"]
        return await response(house.services.run_follower, app.state.pools, run_id)

    reply = asyncio.run(played())
    app.state.pools.end()
    assert (client.got[-1]["type"], client.got[-1]["code"]) == ("websocket.close", 1013)
    assert reply.stop_reason.stop_reason == "end_turn"


@pytest.mark.parametrize("limits", [SocketLimits(connections=0), SocketLimits(follows=0)])
def test_connections_and_follows_have_limits(house: House, limits: SocketLimits) -> None:
    agent = house.agent()
    app = create_app(house.all_services)
    client = Client(reads=lambda _: True)
    client.say("send", agent_id=agent.id, body={"input": "hi"})
    client.sent.put_nowait({"type": "websocket.disconnect", "code": 1000})
    asyncio.run(SocketEndpoint(app, OriginPolicy(), limits)(SCOPE, client.sent.get, client.take))
    app.state.pools.end()
    if limits.connections == 0:
        assert client.got[0]["status"] == 409
    else:
        assert json.loads(client.got[1]["text"])["code"] == "connection_limit"
