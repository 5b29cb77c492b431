"""Identities by HTTP and through the SDK, which has their attachment to agents (Letta V1 API, API 2.7 and 3)."""

from __future__ import annotations

import time
from typing import Any

import httpx
import pytest
from letta_client import ConflictError, Letta, NotFoundError

from tests.compat.conftest import PATIENCE, Indexed, Make

MISSING = "identity-00000000-0000-4000-8000-000000000000"
AGENT, BLOCK = (f"{noun}-00000000-0000-4000-8000-000000000000" for noun in ("agent", "block"))
PATH = "/v1/identities"


def made(http: httpx.Client, key: str, **fields: Any) -> dict[str, Any]:
    answer = http.post(f"{PATH}/", json={"identifier_key": key, "name": f"Name of {key}", "identity_type": "user", **fields})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def prop(key: str, value: Any = "v", kind: str = "string") -> dict[str, Any]:
    return {"key": key, "value": value, "type": kind}


@pytest.mark.manifest("identities.create", "identities.retrieve", "identities.key", "identities.delete", "identities.count")
def test_an_identity_is_made_read_and_deleted(http: httpx.Client) -> None:
    before = http.get(f"{PATH}/count").json()
    properties = [prop("plan", "pro"), prop("seats", 3, "number"), prop("vip", True, "boolean"), prop("more", {"a": [1]}, "json")]
    ann = made(http, "ann@example.com", properties=properties)
    assert {name: ann[name] for name in ("name", "identity_type", "project_id", "agent_ids", "block_ids", "properties")} == {
        "name": "Name of ann@example.com",
        "identity_type": "user",
        "project_id": None,
        "agent_ids": [],
        "block_ids": [],
        "properties": properties,
    }
    assert http.get(f"{PATH}/{ann['id']}").json() == ann
    taken = http.post(PATH, json={"identifier_key": "ann@example.com", "name": "x", "identity_type": "org"})
    assert (taken.status_code, "ann@example.com already exists" in taken.text) == (409, True)
    assert made(http, "ann@example.com", project_id="elsewhere")["id"] != ann["id"]
    assert http.get(f"{PATH}/count").json() == before + 2
    for wrong in ({"more": 1}, {"identity_type": "robot"}, {"properties": [{**prop("a"), "note": 1}]}, {"identifier_key": ""}):
        body = {"identifier_key": "k", "name": "n", "identity_type": "user", **wrong}
        assert http.post(PATH, json=body).status_code == http.put(PATH, json=body).status_code == 422
    gone = http.delete(f"{PATH}/{ann['id']}")
    assert (gone.status_code, gone.json()) == (200, None)
    for identity_id in (ann["id"], MISSING, "no-id"):
        for refused in (
            http.get(f"{PATH}/{identity_id}"),
            http.delete(f"{PATH}/{identity_id}"),
            http.patch(f"{PATH}/{identity_id}", json={"name": "x"}),
            http.put(f"{PATH}/{identity_id}/properties", json=[]),
            http.get(f"{PATH}/{identity_id}/agents"),
            http.get(f"{PATH}/{identity_id}/blocks"),
        ):
            assert (refused.status_code, identity_id in refused.json()["detail"]) == (404, True)
    assert made(http, "ann@example.com")["id"] != ann["id"], "the key is free again"


@pytest.mark.manifest("identities.update", "identities.properties", "identities.properties.limit")
@pytest.mark.deployed
def test_an_update_adds_and_properties_are_replaced(http: httpx.Client, client: Letta, new_agent: Make) -> None:
    one, two = (new_agent().id for _ in range(2))
    bob = made(http, "bob", agent_ids=[one], properties=[prop("a"), prop("b")])
    after = http.patch(f"{PATH}/{bob['id']}", json={"name": "Bob", "agent_ids": [two], "properties": [prop("b", "w")]}).json()
    assert (after["name"], after["identifier_key"]) == ("Bob", "bob")
    assert after["agent_ids"] == [one, two]
    assert after["properties"] == [prop("a"), prop("b", "w")]
    assert http.patch(f"{PATH}/{bob['id']}", json={"name": None, "agent_ids": []}).json() == after
    whole = http.put(f"{PATH}/{bob['id']}/properties", json=[prop("c"), prop("c", "w")]).json()
    assert whole["properties"] == [prop("c", "w")]
    made(http, "carl")
    assert http.patch(f"{PATH}/{bob['id']}", json={"identifier_key": "carl"}).status_code == 409
    assert http.patch(f"{PATH}/{bob['id']}", json={"identifier_key": "robert"}).json()["identifier_key"] == "robert"
    assert made(http, "bob")["id"] != bob["id"]
    large = http.put(f"{PATH}/{bob['id']}/properties", json=[prop("c", "x" * 70_000)])
    assert large.status_code == 422
    halves = [http.patch(f"{PATH}/{bob['id']}", json={"properties": [prop(key, "x" * 40_000)]}) for key in ("d", "e")]
    assert [half.status_code for half in halves] == [200, 400]
    assert [one["key"] for one in http.get(f"{PATH}/{bob['id']}").json()["properties"]] == ["c", "d"]


@pytest.mark.manifest("identities.upsert", "identities.upsert.blocks", "identities.links.checked")
@pytest.mark.deployed
def test_an_upsert_makes_or_replaces(http: httpx.Client, client: Letta, new_agent: Make) -> None:
    one, two = (new_agent().id for _ in range(2))
    first, second = (client.blocks.create(label="of", value="").id for _ in range(2))
    body = {"identifier_key": "dora", "name": "Dora", "identity_type": "user", "agent_ids": [one], "block_ids": [first]}
    dora = http.put(f"{PATH}/", json={**body, "properties": [prop("a")]}).json()
    changed = {**body, "name": "D.", "identity_type": "org", "agent_ids": [two], "block_ids": [second], "properties": [prop("b")]}
    after = http.put(PATH, json=changed).json()
    assert after == {**dora, **{name: changed[name] for name in changed}}
    assert http.put(PATH, json={"identifier_key": "dora", "name": "D.", "identity_type": "org"}).json() == after
    assert http.put(PATH, json={**body, "project_id": "p"}).json()["id"] != dora["id"]
    for unknown in ({"agent_ids": [one, AGENT]}, {"block_ids": [BLOCK]}):
        body = {"identifier_key": "nobody", "name": "n", "identity_type": "user", **unknown}
        assert http.post(PATH, json=body).status_code == http.put(PATH, json=body).status_code == 404
    assert http.get(PATH, params={"identifier_key": "nobody"}).json() == []
    assert http.post(PATH, json={**body, "agent_ids": [one] * 201}).status_code == 422


@pytest.mark.manifest("identities.list", "identities.list.filters", "identities.include")
def test_identities_are_listed_by_what_they_are(http: httpx.Client, client: Letta, new_agent: Make) -> None:
    agent = new_agent().id
    one = made(http, "list-1", name="Listed One", project_id="lp", agent_ids=[agent])
    two = made(http, "list-2", name="Listed Two", identity_type="other")

    def found(**wanted: Any) -> list[str]:
        return [each["id"] for each in http.get(f"{PATH}/", params=wanted).json()]

    assert found(name="LISTED") == [two["id"], one["id"]]
    assert found(name="listed", order="asc", limit=1) == [one["id"]]
    assert found(name="listed", after=two["id"]) == found(project_id="lp") == found(identifier_key="list-1") == [one["id"]]
    assert found(identity_type="other", name="listed") == [two["id"]]
    assert found(identifier_key="list-1", project_id="other") == []
    assert http.get(PATH, params={"after": MISSING}).status_code == 404
    assert http.get(PATH, params={"identity_type": "robot"}).status_code == 422
    assert http.get(PATH, params={"name": "listed one"}).json()[0]["agent_ids"] == [agent]
    assert client.get(f"{PATH}/{one['id']}", cast_to=dict[str, object])["agent_ids"] == []
    asked = {"params": {"include": ["identity.agents"]}}
    assert client.get(f"{PATH}/{one['id']}", cast_to=dict[str, object], options=asked)["agent_ids"] == [agent]


@pytest.mark.manifest(
    "identities.attach", "identities.detach", "identities.of_agents", "identities.agents", "agents.create.identities"
)
@pytest.mark.deployed
def test_agents_have_identities(http: httpx.Client, client: Letta, new_agent: Make) -> None:
    eve, fay = (made(http, key) for key in ("eve", "fay"))
    agent = new_agent(identity_ids=[eve["id"]])
    assert ([one.id for one in agent.identities], agent.identities[0].identifier_key) == ([eve["id"]], "eve")
    for _ in range(2):
        assert client.agents.identities.attach(fay["id"], agent_id=agent.id) is None
    shown = client.agents.retrieve(agent.id, include=["agent.identities"])
    assert [one.id for one in shown.identities] == [eve["id"], fay["id"]]
    assert shown.identities[0].agent_ids == []
    assert client.agents.retrieve(agent.id).identities == []
    for _ in range(2):
        assert client.agents.identities.detach(eve["id"], agent_id=agent.id) is None
    assert client.agents.update(agent.id, identity_ids=[eve["id"], eve["id"]]).identity_ids == [eve["id"]]
    other = new_agent(identity_ids=[eve["id"]], hidden=True)
    listed = http.get(f"{PATH}/{eve['id']}/agents").json()
    assert [one["id"] for one in listed] == [other.id, agent.id]
    assert [one["id"] for one in http.get(f"{PATH}/{eve['id']}/agents", params={"limit": 1, "order": "asc"}).json()] == [agent.id]
    for refused in (
        lambda: new_agent(identity_ids=[eve["id"], MISSING]),
        lambda: client.agents.update(agent.id, identity_ids=["identity-1"]),
        lambda: client.agents.identities.attach(MISSING, agent_id=agent.id),
        lambda: client.agents.identities.detach(MISSING, agent_id=agent.id),
        lambda: client.agents.identities.attach(eve["id"], agent_id=AGENT),
    ):
        with pytest.raises(NotFoundError):
            refused()
    assert http.get(f"/v1/agents/{agent.id}").json()["identity_ids"] == [eve["id"]]


@pytest.mark.manifest("blocks.identities.attach", "blocks.identities.detach", "identities.blocks", "identities.filters")
@pytest.mark.deployed
def test_lists_of_agents_and_blocks_are_filtered_by_identity(http: httpx.Client, client: Letta, new_agent: Make) -> None:
    gus, hal = (made(http, key) for key in ("gus", "hal"))
    agents = [new_agent(identity_ids=[one["id"]], tags=["f"]).id for one in (gus, hal)]
    blocks = [client.blocks.create(label=f"i/{number}", value="").id for number in range(3)]
    for block, identity in ((0, gus), (1, hal), (0, hal), (0, hal)):
        answer = http.patch(f"/v1/blocks/{blocks[block]}/identities/attach/{identity['id']}")
        assert (answer.status_code, answer.json()) == (200, None)

    def of_agents(**wanted: Any) -> list[str]:
        return [agent.id for agent in client.agents.list(**wanted)]

    def of_blocks(**wanted: Any) -> list[str]:
        return [block.id for block in client.blocks.list(**wanted)]

    assert of_agents(identity_id=gus["id"]) == of_agents(identifier_keys=["gus", "nobody"]) == agents[:1]
    assert of_agents(identifier_keys=["gus", "hal"], order="asc") == agents
    assert of_agents(identifier_keys=["hal"], identity_id=gus["id"]) == of_agents(identifier_keys=["nobody"]) == []
    assert http.get("/v1/agents/count", params={"identifier_keys": ["gus"]}).json() == 1
    assert http.get("/v1/agents/count", params={"identifier_keys": ["gus", "hal"], "tags": "f"}).json() == 2
    assert http.get("/v1/agents/count", params={"identifier_keys": ["nobody"]}).json() == 0
    assert of_blocks(identity_id=hal["id"]) == of_blocks(identifier_keys=["hal", "gus"], limit=1) == blocks[:2]
    assert of_blocks(identity_id=hal["id"], label="i/1") == blocks[1:2]
    assert of_blocks(identity_id=hal["id"], identifier_keys=["gus"]) == of_blocks(identifier_keys=["gus"]) == blocks[:1]
    assert of_blocks(identifier_keys=["nobody"]) == of_blocks(identity_id=MISSING) == []
    assert [one["id"] for one in http.get(f"{PATH}/{hal['id']}/blocks").json()] == blocks[1::-1]
    assert [one["id"] for one in http.get(f"{PATH}/{hal['id']}/blocks", params={"after": blocks[1]}).json()] == blocks[:1]
    for _ in range(2):
        assert http.patch(f"/v1/blocks/{blocks[0]}/identities/detach/{hal['id']}").json() is None
    assert of_blocks(identity_id=hal["id"]) == blocks[1:2]
    client.blocks.delete(blocks[1])
    assert http.get(f"{PATH}/{hal['id']}").json()["block_ids"] == []
    for block, identity in ((blocks[0], MISSING), (BLOCK, gus["id"])):
        for verb in ("attach", "detach"):
            assert http.patch(f"/v1/blocks/{block}/identities/{verb}/{identity}").status_code == 404


@pytest.mark.manifest("identities.delete.detaches")
@pytest.mark.deployed
def test_a_deleted_identity_leaves_agents_and_blocks(http: httpx.Client, client: Letta, new_agent: Make) -> None:
    ida = made(http, "ida")
    agent, block = new_agent(identity_ids=[ida["id"]]).id, client.blocks.create(label="of", value="").id
    http.patch(f"/v1/blocks/{block}/identities/attach/{ida['id']}")
    http.delete(f"{PATH}/{ida['id']}")
    assert client.agents.retrieve(agent, include=["agent.identities"]).identities == []
    assert [*client.agents.list(identity_id=ida["id"]), *client.agents.list(identifier_keys=["ida"])] == []
    assert [*client.blocks.list(identity_id=ida["id"]), *client.blocks.list(identifier_keys=["ida"])] == []
    assert client.blocks.retrieve(block).id == block


@pytest.mark.manifest("identities.erase")
@pytest.mark.deployed
def test_a_person_is_erased_with_a_receipt(client: Letta, http: httpx.Client, new_agent: Make, indexed: Indexed) -> None:
    ann, bob = (made(http, f"{name}-{client.base_url.port}@example.com") for name in ("ann", "bob"))
    own = new_agent(identity_ids=[ann["id"]])
    shared = new_agent(identity_ids=[ann["id"], bob["id"]])
    client.agents.messages.create(own.id, input="My number is 4711.")
    message = {"role": "user", "content": "It is 4711, as I said.", "sender_id": ann["id"]}
    client.agents.messages.create(shared.id, messages=[message])  # type: ignore[list-item]
    indexed()
    begun = http.post(f"{PATH}/{ann['id']}/erase")
    assert begun.status_code == 202, begun.text
    with pytest.raises((NotFoundError, ConflictError)):
        client.agents.messages.create(own.id, input="Still there?")
    erasure, deadline = begun.json(), time.monotonic() + PATIENCE
    while erasure["state"] != "completed":
        assert time.monotonic() < deadline, erasure
        indexed()
        erasure = http.post(f"{PATH}/{ann['id']}/erase").json()
    assert erasure["check"]["found"] == []
    assert {line["id"]: line["extent"] for line in erasure["receipt"] if line["kind"] == "agent"} == {
        own.id: "whole",
        shared.id: "parts",
    }
    texts = [str(each) for each in client.agents.messages.list(shared.id)]
    assert any("(erased)" in text for text in texts)
    assert not any("4711" in text for text in texts)
    with pytest.raises(NotFoundError):
        client.agents.retrieve(own.id)
    assert http.get("/v1/erasures").json()[0]["id"] == erasure["id"]
    checked = http.post(f"/v1/erasures/{erasure['id']}/check")
    assert (checked.status_code, checked.json()["receipt"]) == (202, erasure["receipt"])
    assert http.get(f"/v1/erasures/{erasure['id']}").json()["state"] == "completed"
    for wrong in (f"{PATH}/{MISSING}/erase", f"{PATH}/none/erase", f"/v1/erasures/{MISSING}/check"):
        assert http.post(wrong).status_code == 404
