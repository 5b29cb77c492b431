"""Webhooks over HTTP, on a server of this machine: who manages them, what they hear, and what is refused.
`tests/functions/test_events.py` has the story on AWS.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from tests.compat.conftest import DEMO, Keyed, serving_embedded
from tests.support.hook_server import HookServer
from tests.support.provider_servers import ScriptedOpenAI

HOOK = {"url": "https://example.com/hook"}
FOREIGN = "webhook-12345678-1234-4234-8234-123456789012"


@pytest.fixture(scope="module")
def house(provider: ScriptedOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyed]:
    with serving_embedded(tmp_path_factory.mktemp("data"), provider) as served:
        yield Keyed(served.url, served.access)


@pytest.fixture(scope="module")
def keyless(house: Keyed) -> Iterator[httpx.Client]:
    """A caller of the server before it has keys; the tests with keys come later."""
    with httpx.Client(base_url=house.url, timeout=30) as http:
        yield http


@pytest.fixture
def admin(house: Keyed) -> Iterator[httpx.Client]:
    with ExitStack() as opened:
        headers = {"authorization": f"Bearer {house.key()}"}
        yield opened.enter_context(httpx.Client(base_url=house.url, headers=headers, timeout=30))


@pytest.mark.manifest("webhooks.delivery", "webhooks.administration")
def test_the_end_of_a_run_reaches_a_webhook_and_is_replayed(keyless: httpx.Client) -> None:
    with HookServer() as receiver:
        hook = keyless.post("/v1/webhooks", json={"url": receiver.url, "name": "mine", "types": ["run.finished"]}).json()
        agent = keyless.post("/v1/agents", json={"name": "a", "model": DEMO}).json()["id"]
        assert keyless.post(f"/v1/agents/{agent}/messages", json={"input": "Hello"}).status_code == 200
        receiver.wait(1)
        headers, body = receiver.heard[0]
        receiver.verify(hook["secret"], headers, body)
        event = json.loads(body)
        assert (event["type"], event["data"]["agent_id"], headers["webhook-id"]) == ("run.finished", agent, event["id"])
        assert keyless.post(f"/v1/webhooks/{hook['id']}/test").json()["delivered"]
        # The delivery is written a moment after its call.
        replays = (keyless.post(f"/v1/webhooks/{hook['id']}/deliveries/{event['id']}/replay").status_code for _ in range(1000))
        assert next(status for status in replays if status != 404) == 200
        receiver.wait(3)
        assert [json.loads(body)["type"] for _, body in receiver.heard] == ["run.finished", "ping", "run.finished"]
        (delivery,) = keyless.get(f"/v1/webhooks/{hook['id']}/deliveries").json()
        assert (delivery["event_id"], delivery["event"]) == (event["id"], event)
        (shown,) = keyless.get("/v1/webhooks").json()
        assert "secret" not in shown
        assert hook["secret"] not in keyless.get(f"/v1/webhooks/{hook['id']}").text
        assert keyless.patch(f"/v1/webhooks/{hook['id']}", json={"enabled": False}).json()["disabled_reason"] == "request"
        assert keyless.post(f"/v1/webhooks/{hook['id']}/replay").status_code == 409
        assert keyless.delete(f"/v1/webhooks/{hook['id']}").status_code == 200
        assert keyless.get(f"/v1/webhooks/{hook['id']}").status_code == 404


@pytest.mark.manifest("webhooks.refusal")
@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({}, 422, "url"),
        ({"url": ""}, 422, "url"),
        ({"url": "gopher://example.com"}, 400, "must begin with https"),
        ({"url": "https://a b.example"}, 400, "space"),
        ({"url": "https://u:p@example.com"}, 400, "user name"),
        ({"url": "https://example.com/" + "x" * 2048}, 422, "url"),
        ({**HOOK, "types": ["run.exploded"]}, 422, "run.finished"),
        ({**HOOK, "types": "run.finished"}, 422, "types"),
        ({**HOOK, "name": "a\r\nb"}, 422, "line breaks"),
        ({**HOOK, "name": "x" * 101}, 422, "name"),
        ({**HOOK, "agent_ids": ["agent-1"]}, 422, "agent_ids"),
        ({**HOOK, "agent_tags": ["t"] * 51}, 422, "agent_tags"),
        ({**HOOK, "secret": "mine"}, 422, "secret"),
    ],
)
def test_a_webhook_that_could_not_work_is_refused_by_name(
    admin: httpx.Client, body: dict[str, object], status: int, told: str
) -> None:
    refused = admin.post("/v1/webhooks", json=body)
    assert refused.status_code == status
    assert told in refused.text
    assert admin.get("/v1/webhooks").json() == []


@pytest.mark.manifest("webhooks.refusal")
def test_there_are_at_most_twenty(admin: httpx.Client) -> None:
    made = [admin.post("/v1/webhooks", json=HOOK) for _ in range(21)]
    assert [reply.status_code for reply in made] == [200] * 20 + [400]
    assert "at most 20 webhooks" in made[-1].text
    for reply in made[:20]:
        assert admin.delete(f"/v1/webhooks/{reply.json()['id']}").status_code == 200


@pytest.mark.manifest("webhooks.administration")
def test_only_administrators_manage_the_webhooks_of_their_own_tenant(house: Keyed, admin: httpx.Client) -> None:
    hook = admin.post("/v1/webhooks", json=HOOK).json()["id"]
    writer = {"authorization": f"Bearer {house.key(scope='write')}"}
    assert house.get("/v1/webhooks", writer).status_code == 403
    neighbour = {"authorization": f"Bearer {house.key('neighbour')}"}
    assert house.get("/v1/webhooks", neighbour).json() == []
    for path in (hook, FOREIGN):
        assert house.get(f"/v1/webhooks/{path}", neighbour).status_code == 404
        assert house.get(f"/v1/webhooks/{path}/deliveries", neighbour).status_code == 404
    assert admin.delete(f"/v1/webhooks/{hook}").status_code == 200
