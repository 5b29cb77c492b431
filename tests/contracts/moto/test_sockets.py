"""moto's management API with connections behind it: it refuses what API Gateway refuses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from moto import mock_aws

from hibernaut.adapters.sockets.api_gateway import GatewayConnections
from hibernaut.local.aws_offline.moto import fixes as moto_fixes
from hibernaut.local.aws_offline.place import VARIABLES
from hibernaut.ports.events.sockets import ConnectionGone, NotPosted

ENDPOINT = "https://a1b2c3d4e5.execute-api.us-east-1.amazonaws.com/dev"


class Held:
    """One connection."""

    def __init__(self) -> None:
        self.got: list[bytes] = []
        self.open = {"c1="}

    def post(self, connection_id: str, data: bytes) -> bool:
        self.got.append(data)
        return connection_id in self.open

    def close(self, connection_id: str) -> bool:
        known = connection_id in self.open
        self.open.discard(connection_id)
        return known


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    connections = Held()
    with mock_aws(), moto_fixes.connections_behind_moto(connections):
        yield connections


def test_a_message_reaches_its_connection_until_it_is_closed(held: Held) -> None:
    gateway = GatewayConnections(ENDPOINT)
    gateway.post("c1=", "hi ✓")
    gateway.close("c1=")
    gateway.close("c1=")
    with pytest.raises(ConnectionGone):
        gateway.post("c1=", "hi")
    assert held.got == ["hi ✓".encode(), b"hi"]


def test_a_message_larger_than_a_frame_is_refused(held: Held) -> None:
    with pytest.raises(NotPosted, match="PayloadTooLargeException"):
        GatewayConnections(ENDPOINT).post("c1=", "x" * 32_769)
    assert held.got == []
