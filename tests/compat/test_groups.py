"""Groups through bare HTTP, since the SDK has no methods for them; what agents show of them through the SDK (API 3 and
4.11).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from letta_client import Letta
from letta_client.types.agents.letta_response import LettaResponse
from letta_client.types.agents.run import Run

from tests.compat.conftest import HANDLE, Make, Said, calls

PAGE = (Path(__file__).parents[2] / "docs" / "teams.md").read_text(encoding="utf-8")
AGENT = "agent-00000000-0000-4000-8000-000000000000"
GROUP = "group-00000000-0000-4000-8000-000000000000"


def made(http: httpx.Client, *agent_ids: str, **fields: Any) -> Any:
    answer = http.post("/v1/groups/", json={"agent_ids": agent_ids, "description": "a team"} | fields)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.manifest("groups.create", "groups.retrieve", "groups.update", "groups.delete")
@pytest.mark.deployed
def test_a_group_is_made_read_changed_and_deleted(http: httpx.Client, new_agent: Make) -> None:
    one, two, boss = new_agent(), new_agent(), new_agent()
    group = made(http, one.id, two.id)
    place = f"/v1/groups/{group['id']}"
    assert (group["manager_type"], group["agent_ids"], group["max_turns"]) == ("round_robin", [one.id, two.id], None)
    assert http.get(place).json() == group
    config = {"manager_type": "round_robin", "max_turns": 3}
    after = http.patch(place, json={"description": "pair", "agent_ids": [two.id], "manager_config": config}).json()
    assert (after["description"], after["agent_ids"], after["max_turns"]) == ("pair", [two.id], 3)
    assert http.patch(place, json={"description": None}).json() == after
    other = {"manager_type": "supervisor", "manager_agent_id": boss.id}
    refused = http.patch(place, json={"manager_config": other})
    assert (refused.status_code, "manager type" in refused.json()["detail"]) == (400, True)
    assert http.delete(place).json() == {"message": f"Group id={group['id']} successfully deleted"}
    for gone in (http.get, http.delete):
        assert gone(place).status_code == 404
    assert http.get("/v1/groups/group-1").status_code == 422


@pytest.mark.manifest("groups.list", "groups.count", "groups.of_agent")
def test_groups_are_listed_by_what_they_are(http: httpx.Client, new_agent: Make) -> None:
    agent, boss = new_agent(), new_agent()
    before = http.get("/v1/groups/count").json()
    config = {"manager_type": "dynamic", "manager_agent_id": boss.id}
    dynamic = made(http, agent.id, manager_config=config, project_id="listed")
    assert (dynamic["termination_token"], dynamic["manager_agent_id"]) == ("DONE!", boss.id)
    plain = made(http, agent.id, project_id="listed")
    hidden = made(http, agent.id, project_id="listed", hidden=True)

    def found(**wanted: Any) -> list[str]:
        return [each["id"] for each in http.get("/v1/groups/", params={"project_id": "listed"} | wanted).json()]

    assert found() == found(order="desc")[::-1] == [dynamic["id"], plain["id"]]
    assert found(show_hidden_groups=True) == [dynamic["id"], plain["id"], hidden["id"]]
    assert found(manager_type="dynamic") == found(limit=1) == [dynamic["id"]]
    assert found(after=dynamic["id"]) == [plain["id"]]
    assert http.get("/v1/groups/count").json() == before + 3
    assert http.get("/v1/groups/", params={"after": GROUP}).status_code == 404
    mine = http.get(f"/v1/agents/{agent.id}/groups").json()
    assert [each["id"] for each in mine] == [hidden["id"], plain["id"], dynamic["id"]]
    assert http.get(f"/v1/agents/{agent.id}/groups", params={"manager_type": "dynamic"}).json() == [dynamic]
    assert http.get(f"/v1/agents/{boss.id}/groups").json() == [], "it manages one, and is in none"
    assert http.get(f"/v1/agents/{AGENT}/groups").status_code == 404


@pytest.mark.manifest("groups.managed", "groups.manager.deleted", "groups.members")
def test_an_agent_shows_the_group_that_it_manages(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    boss, worker = new_agent(), new_agent()
    assert (boss.multi_agent_group, boss.managed_group) == (None, None)
    config = {"manager_type": "supervisor", "manager_agent_id": boss.id}
    group = made(http, worker.id, manager_config=config)
    shown = client.agents.retrieve(boss.id, include=["agent.managed_group"])
    assert shown.multi_agent_group is not None
    assert shown.managed_group is not None
    assert (shown.multi_agent_group.id, shown.managed_group.agent_ids) == (group["id"], [worker.id])
    assert client.agents.retrieve(boss.id).managed_group is None, "a client of the stable SDK asks for relations"
    client.agents.delete(worker.id)
    client.agents.delete(boss.id)
    assert http.get(f"/v1/groups/{group['id']}").json() == group
    missing = http.post("/v1/groups/", json={"agent_ids": [worker.id, AGENT], "description": ""})
    assert (missing.status_code, worker.id in missing.json()["detail"], AGENT in missing.json()["detail"]) == (404, True, True)
    twice = http.post("/v1/groups/", json={"agent_ids": [AGENT, AGENT], "description": ""})
    assert (twice.status_code, "Duplicate" in twice.json()["detail"]) == (400, True)


@pytest.mark.manifest("groups.create", "groups.blocks.attach", "groups.blocks.detach", "groups.update.shared_blocks")
@pytest.mark.deployed
def test_the_blocks_of_a_group(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    block, more = client.blocks.create(label="plan", value="rest"), client.blocks.create(label="more", value="")
    boss, worker = new_agent(), new_agent()
    config = {"manager_type": "supervisor", "manager_agent_id": boss.id}
    group = made(http, worker.id, manager_config=config, shared_block_ids=[block.id])
    for agent in (boss, worker):
        assert client.agents.blocks.retrieve("plan", agent_id=agent.id).id == block.id
    place = f"/v1/groups/{group['id']}"
    for _ in range(2):
        assert http.patch(f"{place}/blocks/attach/{more.id}").json() is None
    assert http.get(place).json()["shared_block_ids"] == [block.id, more.id]
    assert [one.label for one in client.agents.blocks.list(worker.id)] == ["human", "plan"]
    for _ in range(2):
        assert http.patch(f"{place}/blocks/detach/{block.id}").json() is None
    assert http.get(place).json()["shared_block_ids"] == [more.id]
    assert http.patch(place, json={"shared_block_ids": []}).json()["shared_block_ids"] == []
    client.agents.blocks.detach(block.id, agent_id=worker.id)
    equal = client.blocks.create(label="human", value="")
    refused = http.post("/v1/groups/", json={"agent_ids": [worker.id], "description": "", "shared_block_ids": [equal.id]})
    assert (refused.status_code, "labels" in refused.json()["detail"]) == (409, True)
    assert [each["id"] for each in http.get(f"/v1/agents/{worker.id}/groups").json()] == [group["id"]], "nothing is half made"


@pytest.mark.manifest("groups.create")
def test_settings_that_contradict_each_other_are_refused(http: httpx.Client, new_agent: Make) -> None:
    boss, one = new_agent(), new_agent(name="Equal")
    two = new_agent(name="Equal")

    def refused(config: dict[str, Any], *agent_ids: str) -> int:
        body = {"agent_ids": agent_ids, "description": "", "manager_config": config}
        return http.post("/v1/groups/", json=body).status_code

    managed = {"manager_agent_id": boss.id}
    assert refused({"manager_type": "dynamic", **managed}, one.id, two.id) == 400, "the manager chooses by name"
    assert refused({"manager_type": "supervisor"}, one.id) == 422
    assert refused({"manager_type": "supervisor", "manager_agent_id": AGENT}, one.id) == 404
    assert refused({"manager_type": "voice_sleeptime", "max_message_buffer_length": 9, **managed}) == 400
    lengths = {"max_message_buffer_length": 9, "min_message_buffer_length": 9}
    assert refused({"manager_type": "voice_sleeptime", **lengths, **managed}) == 400
    assert refused({"manager_type": "sleeptime", "sleeptime_agent_frequency": -1, **managed}) == 422
    assert refused({"manager_type": "swarm"}) == 422


def spoken(messages: Any) -> list[tuple[str, str | None, str | None, str]]:
    return [(one["message_type"], one["name"], one["sender_id"], one["content"]) for one in messages]


@pytest.mark.manifest("groups.messages.send", "groups.messages.list", "groups.messages.reset", "groups.messages.update")
@pytest.mark.deployed
def test_the_agents_of_a_group_answer_in_turn(client: Letta, http: httpx.Client, new_agent: Make, said: Said) -> None:
    ann, bob = new_agent(name="Ann"), new_agent(name="Bob")
    group = made(http, ann.id, bob.id)
    place = f"/v1/groups/{group['id']}"
    assert http.get(f"{place}/messages").json() == []
    counted = client.get("/v1/agents/count", cast_to=int)
    said.next({"content": "I am Ann."}, {"content": "I am Bob."}, {"content": "Ann again."}, {"content": "Bob again."})
    answer = client.post(
        f"{place}/messages", body={"messages": [{"role": "user", "content": "Who are you?"}]}, cast_to=LettaResponse
    )
    turns = [("assistant_message", "Ann", ann.id, "I am Ann."), ("assistant_message", "Bob", bob.id, "I am Bob.")]
    assert spoken(one.model_dump() for one in answer.messages) == turns
    assert answer.stop_reason.stop_reason == "end_turn"
    with http.stream("POST", f"{place}/messages/stream", json={"messages": [{"role": "user", "content": "More?"}]}) as events:
        data = [json.loads(line.removeprefix("data: ")) for line in events.iter_lines() if line.startswith("data: {")]
    shown = [one for one in data if one["message_type"] == "assistant_message"]
    assert [(one["name"], one["content"]) for one in shown] == [("Ann", "Ann again."), ("Bob", "Bob again.")]
    log = http.get(f"{place}/messages").json()
    assert spoken(log)[1:4] == [("user_message", None, None, "Who are you?"), *turns]
    assert len(log) == 7
    assert [one["content"] for one in http.get(f"{place}/messages", params={"limit": 1}).json()] == ["Bob again."]
    (heard,) = (
        one
        for one in client.agents.messages.list(bob.id, group_id=group["id"])
        if one.message_type == "system_message" and one.content == "Ann: I am Ann."
    )
    assert heard.sender_id == ann.id
    assert client.get("/v1/agents/count", cast_to=int) == counted
    run = client.post(f"{place}/messages/async", body={"messages": [{"role": "user", "content": "And?"}]}, cast_to=Run)
    list(client.runs.messages.stream(run.id))
    assert client.runs.retrieve(run.id).status == "completed"
    assert http.post(f"{place}/messages/cancel", json={"run_ids": [run.id]}).json() == {run.id: "cancelled"}
    assert http.patch(f"{place}/messages/{log[1]['id']}", json={"content": "x"}).status_code == 405
    assert http.patch(f"{place}/reset-messages").json() is None
    assert http.get(f"/v1/agents/{group['id']}").status_code == 422
    assert http.delete(place).status_code == 200
    assert http.get(f"{place}/messages").status_code == 404
    assert [one.status_code for one in (http.post(f"{place}/messages", json={"input": "hello"}), http.get(place))] == [404, 404]


@pytest.mark.manifest("groups.messages.missing")
def test_a_message_to_a_group_with_a_deleted_agent_is_refused(
    client: Letta, http: httpx.Client, new_agent: Make, said: Said
) -> None:
    ann, bob = new_agent(name="Ann"), new_agent(name="Bob")
    group = made(http, ann.id, bob.id)
    place = f"/v1/groups/{group['id']}"
    http.post(f"/v1/agents/{ann.id}/pause", json={}).raise_for_status()
    said.next({"content": "I am Bob."})
    told, answer = http.post(f"{place}/messages", json={"input": "hello"}).json()["messages"]
    assert (told["message_type"], told["name"], "paused" in told["content"]) == ("system_message", "Ann", True)
    assert (answer["name"], answer["content"]) == ("Bob", "I am Bob.")
    client.agents.delete(ann.id)
    refused = http.post(f"{place}/messages", json={"input": "hello"})
    assert (refused.status_code, ann.id in refused.json()["detail"]) == (404, True)


@pytest.mark.manifest("groups.messages.send")
@pytest.mark.deployed
def test_a_manager_chooses_the_speakers_and_a_supervisor_asks_all(http: httpx.Client, new_agent: Make, said: Said) -> None:
    boss, ann, bob = new_agent(name="Boss"), new_agent(name="Ann"), new_agent(name="Bob")
    dynamic = made(http, ann.id, bob.id, manager_config={"manager_type": "dynamic", "manager_agent_id": boss.id, "max_turns": 9})
    said.next({"content": "Bob"}, {"content": "I am Bob."}, {"content": "DONE!"})
    answer = http.post(f"/v1/groups/{dynamic['id']}/messages", json={"input": "hello"}).json()
    assert spoken(answer["messages"]) == [("assistant_message", "Bob", bob.id, "I am Bob.")]
    group = made(http, ann.id, bob.id, manager_config={"manager_type": "supervisor", "manager_agent_id": boss.id})
    ask = calls(("send_message_to_all_agents_in_group", {"message": "report"}))
    said.next(ask, {"content": "Well."}, {"content": "Well."}, {"content": "All are well."})
    answer = http.post(f"/v1/groups/{group['id']}/messages", json={"input": "hello"}).json()
    replies = [("Ann", ann.id, "Well."), ("Bob", bob.id, "Well."), ("Boss", boss.id, "All are well.")]
    assert spoken(answer["messages"]) == [("assistant_message", *one) for one in replies]
    attached = [tool["name"] for tool in http.get(f"/v1/agents/{boss.id}/tools").json()]
    assert "send_message_to_all_agents_in_group" not in attached, "the supervisor has the tool in its turns only"


def test_the_program_of_the_page_runs(client: Letta, said: Said, capsys: pytest.CaptureFixture[str]) -> None:
    program = re.search(r"<!-- run by tests/compat/test_groups.py -->\n```python\n(.*?)```", PAGE, re.DOTALL)
    assert program is not None
    said.next({"content": "Whales are big."}, {"content": "How big?"}, {"content": "Whales are 30 m long."})
    create = client.agents.create
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(client.agents, "create", lambda **fields: create(model=HANDLE, **fields))
        exec(program[1].replace("from letta_client import Letta\n", ""), {"Letta": lambda **_: client})
    told = capsys.readouterr().out.splitlines()
    assert told[:3] == ["Author: Whales are big.", "Critic: How big?", "Author: Whales are 30 m long."]
    assert told[3].startswith("completed for group-")
