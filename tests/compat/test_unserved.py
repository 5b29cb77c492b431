"""Routes of V1 that are not served (yet): no client meets a bare 404 or 405, and lists of what nobody can make are empty (digest
2 and 3).
"""

from __future__ import annotations

import re

import httpx
import pytest
from letta_client import InternalServerError, Letta

from hibernaut.rest.unserved_routes import older, unserved
from tests.compat.v1_routes import v1_routes

pytestmark = pytest.mark.deployed

AGENT = "agent-00000000-0000-4000-8000-000000000000"
BARE = ({"detail": "Not Found"}, {"detail": "Method Not Allowed"})
IDS = {"agent_id": AGENT, "endpoint:path": "a/b", "path:path": "a/b"}


def filled(path: str) -> str:
    return re.sub(r"\{([^}]*)\}", lambda name: IDS.get(name[1], "x"), path)


@pytest.mark.manifest("routes.unserved")
def test_a_route_that_is_not_served_says_its_name(http: httpx.Client) -> None:
    for route in (*unserved(), *older()):
        for method in route.methods:
            answer = http.request(method, filled(route.path), content=b"no json")
            body = answer.json()
            assert (answer.status_code, body["code"], body["route"]) == (501, "route_not_served", f"{method} {route.path}")
            assert route.what.rstrip(".") in body["detail"]
            assert route.never in body["detail"]
            assert answer.headers["x-should-retry"] == "false"


@pytest.mark.manifest("routes.unserved")
def test_no_route_of_v1_is_a_bare_404_or_405(http: httpx.Client) -> None:
    answers = {
        (method, path): http.request(method, filled(path), headers={"content-type": "application/json"}, content=b"{}")
        for method, path in v1_routes()
    }
    told = {route: answer for route, answer in answers.items() if answer.headers.get("content-type") == "application/json"}
    assert len(told) > len(answers) - 20, "some answer nothing, and the callback for browsers is a page"
    assert [route for route, answer in told.items() if answer.json() in BARE] == []


@pytest.mark.manifest("routes.unserved")
def test_the_sdk_raises_at_once(client: Letta) -> None:
    with pytest.raises(InternalServerError, match="admin/users") as raised:
        client.delete("/v1/admin/users/", cast_to=object)
    assert raised.value.status_code == 501


@pytest.mark.manifest("agents.create.git_memory")
def test_the_tag_of_git_memory_leaves_memory_in_blocks_and_its_route_says_why(client: Letta, http: httpx.Client) -> None:
    agent = client.agents.create(
        tags=["git-memory-enabled"], memory_blocks=[{"label": "human", "value": "Ann"}], model="openai/test-model"
    )
    assert (agent.tags, agent.memory.git_enabled) == (["git-memory-enabled"], False)
    assert [block.value for block in agent.memory.blocks] == ["Ann"]
    answer = http.get(f"/v1/git/{agent.id}/state.git/info/refs", params={"service": "git-upload-pack"})
    assert (answer.status_code, answer.json()["code"]) == (501, "route_not_served")
    assert "GET /v1/blocks/{block_id}/versions" in answer.json()["detail"]


@pytest.mark.manifest("messages.update")
def test_what_was_said_is_not_changed(http: httpx.Client) -> None:
    answer = http.patch(f"/v1/agents/{AGENT}/messages/message-00000000-0000-4000-8000-000000000000", json={})
    assert (answer.status_code, "append-only" in answer.json()["detail"]) == (405, True)
