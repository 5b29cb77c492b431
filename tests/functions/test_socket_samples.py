"""The samples of `events/socket` on a connection that exists: its row in the table, and what is posted to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from hibernaut.adapters.clock import SystemClock
from hibernaut.local.aws_offline.moto.sockets import connections_behind_moto
from hibernaut.store.access.connections import StoredConnection
from tests.functions.conftest import sample
from tests.functions.test_samples_over_records import Deployment, about

CONNECTION = "DRadkcY3liACFfA="
FOLLOW = "2"
"""The request of the sample `worker`."""


class Client:
    """The client's end of the connection in the samples."""

    def __init__(self, deployed: Deployment) -> None:
        self.deployed = deployed
        self.posted: list[Any] = []
        self.closed = False

    def post(self, connection_id: str, data: bytes) -> bool:
        assert connection_id == CONNECTION
        self.posted.append(json.loads(data))
        return not self.closed

    def close(self, connection_id: str) -> bool:
        assert connection_id == CONNECTION
        self.closed = True
        return True

    def row(self) -> StoredConnection | None:
        """What the table has of the connection."""
        return self.deployed.stores().connections.get(CONNECTION, SystemClock().now())

    def follows(self) -> frozenset[str]:
        return self.deployed.stores().connections.follows(CONNECTION, SystemClock().now()).open


@pytest.fixture
def client(deployed: Deployment) -> Iterator[Client]:
    """A client that has connected."""
    made = Client(deployed)
    with connections_behind_moto(made):
        assert made.row() is None
        answer = deployed.aws.invoke("socket", sample("socket", "connect"))
        assert (answer["statusCode"], answer["headers"]) == (200, {"Sec-WebSocket-Protocol": "hibernaut.v1"})
        yield made
        deployed.aws.invoke("socket", sample("socket", "disconnect"))


@pytest.fixture(scope="module")
def deployed(aws: Any) -> Deployment:
    return Deployment(aws)


def test_a_handshake_opens_a_connection_and_its_end_removes_it(client: Client) -> None:
    row = client.row()
    assert row is not None
    assert row.tenant == "default"
    client.deployed.aws.invoke("socket", sample("socket", "disconnect"))
    assert client.row() is None


def test_a_message_is_answered_on_its_connection(client: Client) -> None:
    client.deployed.aws.invoke("socket", sample("socket", "message"))
    assert [(one["type"], one["request_id"]) for one in client.posted] == [("pong", "1")]


def test_a_binary_message_is_refused_on_its_connection(client: Client) -> None:
    client.deployed.aws.invoke("socket", sample("socket", "binary_message"))
    assert [one["type"] for one in client.posted] == ["error"]
    assert "binary message" in json.dumps(client.posted)


def test_a_message_of_a_connection_without_a_row_closes_it(client: Client) -> None:
    client.deployed.aws.invoke("socket", sample("socket", "disconnect"))
    client.deployed.aws.invoke("socket", sample("socket", "message"))
    assert (client.posted, client.closed) == ([], True)


def test_a_worker_posts_the_events_of_its_run_and_ends_the_follow(client: Client) -> None:
    deployed = client.deployed
    run = deployed.begun(deployed.agent(), "Hello")
    deployed.aws.wait_for_all()
    stores, now = deployed.stores(), SystemClock().now()
    stores.writer.write(stores.connections.follow(CONNECTION, FOLLOW, None, now, "token"), token="token")
    assert client.follows() == {FOLLOW}
    deployed.aws.invoke("socket", about("socket", "worker", run=run))
    assert {one["request_id"] for one in client.posted} == {FOLLOW}
    assert "assistant_message" in json.dumps(client.posted)
    assert client.follows() == frozenset()
