"""Connections that API Gateway holds: workers that die, come twice or run out of time, and clients that leave."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from hibernaut.adapters.clock import SystemClock, TimeOrderedIds
from hibernaut.ports.events.sockets import ConnectionGone, NotPosted
from hibernaut.rest.access.origin_policy import OriginPolicy
from hibernaut.rest.app import create_app
from hibernaut.rest.http.async_bridge import WaitSettings, response
from hibernaut.rest.sockets.endpoint import SocketLimits
from hibernaut.rest.sockets.gateway import GatewayParts, GatewaySockets
from hibernaut.schemas.errors import ServerBusy
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded
from hibernaut.wiring.settings import EmbeddedSettings
from tests.support.web_sockets import events

NAME = "a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com"


class Died(BaseException):
    """The machine of a worker has died."""


@dataclass
class Gateway:
    """The gateway's side: what it has posted, its open connections, and the jobs that were started. Enforces the quota of a frame
    and 410.
    """

    open: set[str] = field(default_factory=set)
    posted: list[dict[str, Any]] = field(default_factory=list)
    jobs: list[dict[str, Any]] = field(default_factory=list)
    dies_at: int | None = None
    leaves_at: int | None = None
    refuses: bool = False

    def post(self, connection_id: str, text: str) -> None:
        if connection_id not in self.open:
            raise ConnectionGone(connection_id)
        if self.refuses:
            raise NotPosted("LimitExceededException")
        assert len(text.encode()) <= 32 * 1024
        if len(self.posted) == self.dies_at:
            raise Died
        self.posted.append(json.loads(text))
        if len(self.posted) == self.leaves_at:
            self.open.discard(connection_id)

    def close(self, connection_id: str) -> None:
        self.open.discard(connection_id)

    def start(self, job: dict[str, Any]) -> None:
        if self.refuses:
            raise ServerBusy("No worker.", 1.0)
        self.jobs.append(json.loads(json.dumps(job)))


class Deployment:
    """The function's part over an embedded server, whose threads drive the runs."""

    def __init__(self, house: Embedded, *, waits: WaitSettings = WaitSettings(), **parts: Any) -> None:  # noqa: B008
        self.services = services_of(house.stores, house.host, house.engines)
        self.app = create_app(self.services, access=house.access, waits=waits)
        self.gateway = Gateway()
        made = GatewayParts(house.stores, self.gateway, SystemClock(), TimeOrderedIds(SystemClock()), OriginPolicy((NAME,)), None)
        self.sockets = GatewaySockets(self.app, replace(made, **parts))
        self.agent = self.services.of("default").agents.creation.create(_named()).id

    def connect(self, name: str = "c1", **headers: str) -> dict[str, Any]:
        about = {"connectionId": name, "identity": {"sourceIp": "192.0.2.1"}}
        answer = asyncio.run(self.sockets.connect({"headers": {"Host": NAME, **headers}, "requestContext": about}))
        if answer["statusCode"] == 200:
            self.gateway.open.add(name)
        return answer

    def say(self, action: str, request_id: str = "r", name: str = "c1", **fields: Any) -> list[dict[str, Any]]:
        """Send an action; what it is answered at once."""
        before = len(self.gateway.posted)
        text = json.dumps({"action": action, "request_id": request_id, **fields})
        asyncio.run(self.sockets.message(name, text, self.gateway))
        return self.gateway.posted[before:]

    def work(self, job: dict[str, Any]) -> list[dict[str, Any]]:
        """Do a job; what it has posted. A death is passed over, as by Lambda."""
        before = len(self.gateway.posted)
        try:
            asyncio.run(self.sockets.work(job, self.gateway))
        except Died:
            self.gateway.dies_at = None
        return self.gateway.posted[before:]

    def ended(self, run_id: str) -> str:
        following = self.services.of("default").run_follower
        return str(asyncio.run(response(following, self.app.state.pools, run_id)).stop_reason.stop_reason)


def _named() -> Any:
    from hibernaut.schemas.agents.agent import CreateAgentRequest

    return CreateAgentRequest()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Embedded]:
    with Embedded(EmbeddedSettings(tmp_path)) as made:
        yield made


@pytest.fixture
def deployed(house: Embedded) -> Iterator[Deployment]:
    made = Deployment(house)
    made.connect()
    yield made
    made.app.state.pools.end()


SAID = {"input": "hi", "stream_tokens": True}


def test_a_worker_may_die_at_any_post_and_every_event_is_seen_once(deployed: Deployment) -> None:
    gateway = deployed.gateway
    for place in range(12):
        deployed.say("send", f"s{place}", agent_id=deployed.agent, body=SAID)
        gateway.dies_at = len(gateway.posted) + place
        told = deployed.work(gateway.jobs.pop())
        if gateway.dies_at is not None:  # it has posted everything before
            assert told[-1]["type"] == "done"
            assert place > 2
            return
        if not told:
            continue
        run_id = told[0]["run_id"]
        assert deployed.ended(run_id) == "end_turn"
        last = events(told)[-1][0] if events(told) else 0
        deployed.say("follow", f"f{place}", run_id=run_id, starting_after=last)
        rest = deployed.work(gateway.jobs.pop())
        whole = [number for number, _ in events(told) + events(rest)]
        assert whole == list(range(2, len(whole) + 2))
        assert rest[-1]["type"] == "done"
    raise AssertionError("no run was posted to its end")


def test_a_job_that_is_delivered_twice_is_done_once(deployed: Deployment) -> None:
    deployed.say("send", agent_id=deployed.agent, body=SAID)
    (job,) = deployed.gateway.jobs
    assert deployed.work(job)[-1]["type"] == "done"
    assert deployed.work(job) == []


def test_a_worker_whose_time_is_up_starts_the_next_one(house: Embedded) -> None:
    deployed = Deployment(house, waits=WaitSettings(longest=0.0))
    deployed.connect()
    deployed.say("send", agent_id=deployed.agent, body=SAID | {"background": True})
    told: list[dict[str, Any]] = []
    while deployed.gateway.jobs:
        told += deployed.work(deployed.gateway.jobs.pop())
    numbers = [number for number, _ in events(told)]
    assert numbers == list(range(2, len(numbers) + 2))
    assert [one["type"] for one in told].count("following") == 1
    assert told[-1]["type"] == "done"


def test_a_client_that_leaves_does_not_end_its_run(deployed: Deployment) -> None:
    deployed.say("send", agent_id=deployed.agent, body=SAID)
    deployed.gateway.leaves_at = 1
    told = deployed.work(deployed.gateway.jobs.pop())
    assert deployed.ended(told[0]["run_id"]) == "end_turn"
    assert len(told) == 1


def test_a_follow_that_was_ended_before_its_worker_came_posts_nothing(deployed: Deployment) -> None:
    deployed.say("send", agent_id=deployed.agent, body=SAID)
    assert deployed.say("unfollow", "u", follow="r") == []
    assert deployed.work(deployed.gateway.jobs.pop()) == []
    assert deployed.say("unfollow", "u", follow="r")[0]["code"] == "not_found"


def test_a_request_id_is_in_use_until_its_follow_ends(deployed: Deployment) -> None:
    deployed.say("send", agent_id=deployed.agent, body=SAID)
    assert deployed.say("send", agent_id=deployed.agent, body=SAID)[0]["code"] == "conflict"
    deployed.work(deployed.gateway.jobs.pop())
    assert deployed.say("send", agent_id=deployed.agent, body=SAID) == []


def test_a_worker_that_cannot_be_started_leaves_no_follow(deployed: Deployment) -> None:
    deployed.gateway.refuses = True
    assert deployed.say("send", agent_id=deployed.agent, body=SAID) == []  # the error cannot be posted either
    deployed.gateway.refuses = False
    assert deployed.say("send", agent_id=deployed.agent, body=SAID) == []
    assert len(deployed.gateway.jobs) == 1


def test_an_error_of_a_worker_is_posted_and_ends_the_follow(deployed: Deployment) -> None:
    deployed.say("follow", run_id="run-00000000-0000-4000-8000-000000000000")
    (refused,) = deployed.work(deployed.gateway.jobs.pop())
    assert (refused["code"], refused["request_id"]) == ("not_found", "r")
    assert deployed.say("follow", run_id="run-00000000-0000-4000-8000-000000000000") == []


def test_a_message_of_an_unknown_connection_closes_it(deployed: Deployment) -> None:
    deployed.sockets.disconnect("c1")
    assert deployed.say("ping") == []
    assert deployed.gateway.open == set()


def test_a_binary_message_is_an_error(deployed: Deployment) -> None:
    asyncio.run(deployed.sockets.message("c1", None, deployed.gateway))
    assert deployed.gateway.posted[-1]["code"] == "invalid_argument"


@pytest.mark.parametrize(
    ("parts", "headers", "status"),
    [
        ({"callers": ()}, {}, 403),
        ({"callers": (ip_network("198.51.100.0/24"),)}, {}, 403),
        ({"callers": (ip_network("192.0.2.0/24"),)}, {}, 200),
        ({"limits": SocketLimits(connections=0)}, {}, 409),
        ({}, {"Host": "evil.test"}, 403),
        ({}, {"Origin": "https://evil.test"}, 403),
        ({}, {"Origin": f"https://{NAME}"}, 200),
    ],
)
def test_a_handshake_is_admitted_or_refused(house: Embedded, parts: Any, headers: dict[str, str], status: int) -> None:
    assert Deployment(house, **parts).connect(**headers)["statusCode"] == status


def test_a_connection_that_has_ended_or_expired_is_not_counted(deployed: Deployment, house: Embedded) -> None:
    store, now = house.stores.connections, SystemClock().now()
    deployed.connect("c2")
    assert store.count("default", now) == 2
    deployed.sockets.disconnect("c2")
    assert store.count("default", now) == 1
    later = now.replace(year=now.year + 1)
    assert (store.count("default", later), store.get("c1", later)) == (0, None)
