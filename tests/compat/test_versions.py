"""The versions of memory over HTTP, as a program beside the SDK reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from letta_client import ConflictError, Letta

from tests.compat.conftest import DEMO, Indexed, Keyed, Said, calls

OSLO = ("memory_insert", {"label": "human", "new_string": "Lives in Oslo."})


@pytest.mark.manifest("versions.blocks", "versions.runs")
@pytest.mark.deployed
def test_what_an_agent_and_a_client_changed_is_told_apart(
    client: Letta, http: httpx.Client, said: Said, new_agent: Callable[..., Any]
) -> None:
    agent = new_agent(memory_blocks=[{"label": "human", "value": "Ann."}], tools=["memory_insert"])
    said.next(calls(OSLO), {"content": "Noted."})
    client.agents.messages.create(agent.id, input="I moved to Oslo.")
    client.agents.blocks.update("human", agent_id=agent.id, value="Ann, from Oslo.")
    block = client.agents.blocks.retrieve("human", agent_id=agent.id)
    listed = http.get(f"/v1/blocks/{block.id}/versions").json()
    assert [(each["version"], each["change"], each["by"]["source"]) for each in listed] == [
        (3, "updated", "api"),
        (2, "updated", "run"),
        (1, "created", "api"),
    ]
    by = listed[1]["by"]
    assert (by["agent_id"], by["tools"]) == (agent.id, ["memory_insert"])
    assert listed[1]["previous_hash"] == listed[2]["hash"]
    assert "Oslo" in http.get(f"/v1/blocks/{block.id}/versions/2").json()["block"]["value"]
    (then,) = http.get(f"/v1/blocks/{block.id}/versions", params={"at": listed[1]["at"]}).json()
    assert (then["version"], "Lives in Oslo." in then["block"]["value"]) == (2, True)
    assert [each["field"] for each in http.get(f"/v1/blocks/{block.id}/versions/2/diff").json()["changes"]] == ["value"]
    (changed,) = http.get(f"/v1/runs/{by['run_id']}/versions").json()
    assert (changed["block_id"], changed["label"], changed["version"]["version"]) == (block.id, "human", 2)
    assert changed["changes"][0]["before"] == "Ann."


@pytest.mark.manifest("versions.edit")
def test_an_edit_that_began_with_another_version_changes_nothing(client: Letta, http: httpx.Client) -> None:
    agent = client.agents.create(memory_blocks=[{"label": "notes", "value": "one"}])
    block = client.agents.blocks.retrieve("notes", agent_id=agent.id)
    routes = (f"/v1/blocks/{block.id}", f"/v1/agents/{agent.id}/core-memory/blocks/notes")
    for version, route in enumerate(routes, 1):
        edit = {"value": f"mine {version}", "current_version": version}
        assert http.patch(route, json=edit).json()["value"] == edit["value"]
        refused = http.patch(route, json=edit | {"value": "too late"})
        assert (refused.status_code, refused.json()["code"], refused.json()["current_version"]) == (
            409,
            "version_conflict",
            version + 1,
        )
        assert client.blocks.retrieve(block.id).value == edit["value"]
    assert http.patch(routes[0], json={"value": "x", "current_version": 0}).status_code == 422


@pytest.mark.manifest("versions.rollback")
@pytest.mark.deployed
def test_a_block_is_rolled_back_from_the_version_that_the_caller_has_seen(client: Letta, http: httpx.Client) -> None:
    block = client.blocks.create(label="notes", value="one")
    client.blocks.update(block.id, value="two")
    refused = http.post(f"/v1/blocks/{block.id}/rollback", json={"version": 1, "current_version": 1})
    assert (refused.status_code, refused.json()["code"], refused.json()["current_version"]) == (409, "version_conflict", 2)
    done = http.post(f"/v1/blocks/{block.id}/rollback", json={"version": 1, "current_version": 2}).json()
    assert (done["version"], done["change"], done["restored_version"]) == (3, "rolled_back", 1)
    assert client.blocks.retrieve(block.id).value == "one"
    assert http.get(f"/v1/blocks/{block.id}/versions/9").status_code == 404
    for body in ({"version": 0}, {"version": 2**60}, {"versions": 1}, {}):
        assert http.post(f"/v1/blocks/{block.id}/rollback", json=body).status_code == 422
    client.blocks.delete(block.id)
    assert http.get(f"/v1/blocks/{block.id}/versions").json()[0]["change"] == "deleted"
    assert http.post(f"/v1/blocks/{block.id}/rollback", json={"version": 1}).status_code == 404


@pytest.mark.manifest("agents.pause")
@pytest.mark.deployed
def test_a_paused_agent_refuses_messages(client: Letta, http: httpx.Client, said: Said, new_agent: Callable[..., Any]) -> None:
    agent = new_agent()
    paused = http.post(f"/v1/agents/{agent.id}/pause", json={"reason": "under review"}).json()
    assert (paused["paused"], paused["reason"]) == (True, "under review")
    with pytest.raises(ConflictError, match="agent_paused"):
        client.agents.messages.create(agent.id, input="Anybody there?")
    assert http.get(f"/v1/agents/{agent.id}/pause").json() == paused
    assert http.post(f"/v1/agents/{agent.id}/resume").json()["paused"] is False
    said.next({"content": "Back again."})
    reply = client.agents.messages.create(agent.id, input="And now?")
    assert "Back again." in str(reply.messages[-1])


@pytest.mark.manifest("agents.past")
@pytest.mark.deployed
def test_an_agent_is_seen_and_forked_as_it_was(
    client: Letta, http: httpx.Client, said: Said, new_agent: Callable[..., Any]
) -> None:
    agent = new_agent(memory_blocks=[{"label": "human", "value": "Ann."}], tools=["memory_insert"])
    said.next(calls(OSLO), {"content": "Noted."})
    reply = client.agents.messages.create(agent.id, input="I moved to Oslo.")
    client.agents.blocks.update("human", agent_id=agent.id, value="Unknown.")
    client.agents.update(agent.id, description="changed")
    then = {"message_id": reply.messages[-1].id}
    past = http.get(f"/v1/agents/{agent.id}/past", params=then).json()
    assert "Lives in Oslo." in past["blocks"][0]["block"]["value"]
    assert past["version"]["version"] == 1
    assert "secrets" not in past["version"]["settings"]
    fork = http.post(f"/v1/agents/{agent.id}/fork", json=then).json()
    assert "Lives in Oslo." in client.agents.blocks.retrieve("human", agent_id=fork["id"]).value
    texts = [
        str(message.content) for message in client.agents.messages.list(fork["id"], order="asc") if hasattr(message, "content")
    ]
    assert "Noted." in texts[-1]
    said.next({"content": "In Oslo."})
    assert "In Oslo." in str(client.agents.messages.create(fork["id"], input="Where do I live?").messages[-1])
    assert [each["fields"] for each in http.get(f"/v1/agents/{agent.id}/versions").json()] == [["description"], []]
    assert http.get(f"/v1/agents/{agent.id}/past", params={**then, "at": "2026-01-01"}).status_code == 422


@pytest.mark.manifest("versions.passages")
@pytest.mark.deployed
def test_a_deleted_passage_is_brought_back(client: Letta, http: httpx.Client, new_agent: Callable[..., Any]) -> None:
    (passage,) = client.agents.passages.create(new_agent().id, text="The key hangs behind the clock.")
    place = f"/v1/archives/{passage.archive_id}/passages/{passage.id}"
    assert http.post(f"{place}/rollback", json={"version": 1}).status_code == 409
    assert http.delete(place).status_code == 204
    assert [each["change"] for each in http.get(f"{place}/versions").json()] == ["deleted", "created"]
    back = http.post(f"{place}/rollback", json={"version": 1, "current_version": 2}).json()
    assert (back["version"], back["passage"]["text"]) == (3, "The key hangs behind the clock.")


@pytest.mark.manifest("versions.passages")
@pytest.mark.deployed
def test_what_is_brought_back_is_found_again(
    client: Letta, http: httpx.Client, new_agent: Callable[..., Any], indexed: Indexed
) -> None:
    agent = new_agent().id
    (passage,) = client.agents.passages.create(agent, text="The spare key hangs behind the clock.")
    place = f"/v1/archives/{passage.archive_id}/passages/{passage.id}"
    for version in (1, 3):
        indexed()
        assert http.delete(place).status_code == 204
        indexed()
        assert client.passages.search(agent_id=agent, query="spare key") == []
        assert http.post(f"{place}/rollback", json={"version": version}).status_code == 200
        indexed()
        assert [hit.passage.id for hit in client.passages.search(agent_id=agent, query="spare key")] == [passage.id]


@pytest.mark.manifest("versions.blocks")
@pytest.mark.deployed
def test_an_administrator_checks_all_chains_page_by_page(keyed: Keyed) -> None:
    tenant = "audited"
    signed = {"authorization": f"Bearer {keyed.key(tenant)}"}
    with keyed.sdk(keyed.key(tenant)) as sdk:
        agent = sdk.agents.create(model=DEMO, memory_blocks=[{"label": "human", "value": "one"}])
        sdk.agents.blocks.update("human", agent_id=agent.id, value="two")
        block = sdk.agents.blocks.retrieve("human", agent_id=agent.id)
        (passage,) = sdk.agents.passages.create(agent.id, text="The key hangs behind the clock.")
    found, after = [], ""
    while True:
        page = keyed.get(f"/v1/audit?limit=1&after={after}", signed).json()
        found += page["records"]
        assert len(page["records"]) <= 1
        if (after := page["next"]) is None:
            break
    assert [(one["kind"], one["subject"], one["version"], one["fault"]) for one in found] == [
        ("agent", agent.id, 1, None),
        ("block", block.id, 2, None),
        ("passage", passage.id, 1, None),
    ]
    assert keyed.get(f"/v1/blocks/{block.id}/versions", signed).json()[0]["hash"] == found[1]["hash"]
    assert found[2]["archive_id"]
    refused = keyed.get("/v1/audit?after=somewhere", signed)
    assert refused.status_code == 400
    assert "INVALID_ARGUMENT: after must be the next of another page" in refused.text
    writer = {"authorization": f"Bearer {keyed.key(tenant, scope='write')}"}
    assert keyed.get("/v1/audit", writer).status_code == 403
