"""Agent files through the SDK: agents are exported, imported, and talk on (Letta V1 API, API 2.2; RT 12)."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from letta_client import BadRequestError, Letta, NotFoundError

from tests.compat.conftest import DEMO, HANDLE, Make, Said, calls
from tests.support.agent_file_parts import agent, call, file_of, message, talked
from tests.support.agent_file_shapes import SHAPES

SKILL = {"name": "greet", "files": {"SKILL.md": "Say hello."}}


def sent(document: Any) -> tuple[str, bytes]:
    return "agent.af", json.dumps(document).encode()


@pytest.mark.manifest("agents.export", "agents.import", "agents.import.system", "agents.export.settings")
@pytest.mark.deployed
def test_an_agent_is_exported_and_imported_and_knows_what_it_knew(client: Letta, new_agent: Make, said: Said) -> None:
    made = new_agent(
        name="Traveller",
        memory_blocks=[{"label": "human", "value": "Ann of Oslo"}],
        secrets={"KEY": "value"},
        tags=["one"],
        compaction_settings={"clip_chars": 99},
    )
    client.agents.messages.create(made.id, input="Hello there.")
    text = client.agents.export_file(made.id)
    assert isinstance(text, str)
    document = json.loads(text)
    assert text.startswith('{\n  "agents": [')
    assert list(document) == [
        "agents",
        "groups",
        "blocks",
        "files",
        "sources",
        "tools",
        "mcp_servers",
        "skills",
        "metadata",
        "created_at",
    ]
    (written,) = document["agents"]
    assert (written["id"], written["secrets"], written["compaction_settings"]["clip_chars"]) == ("agent-0", {"KEY": ""}, 99)
    assert [row["role"] for row in written["messages"]] == ["system", "user", "assistant"]
    result = client.agents.import_file(file=("agent.af", text.encode()))
    (agent_id,) = result.agent_ids
    copy = client.agents.retrieve(agent_id, include=["agent.blocks", "agent.tags", "agent.tools"])
    assert (copy.name, copy.tags, copy.model) == ("Traveller_copy", ["one"], HANDLE)
    assert [block.value for block in copy.blocks] == ["Ann of Oslo"]
    said.next({"content": "Again."})
    client.agents.messages.create(agent_id, input="Do you know me?")
    asked = said.server.requests[-1].body["messages"]
    assert "Ann of Oslo" in str(asked[0]["content"])
    assert "Hello there." in str(asked[1]["content"])


@pytest.mark.manifest("agents.export.scrubbed", "agents.export.legacy", "agents.export.history", "agents.export.conversation")
def test_an_export_has_the_messages_that_are_asked_for(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    made = new_agent()
    client.agents.messages.create(made.id, input="First.")
    conversation = client.conversations.create(agent_id=made.id)
    client.conversations.messages.create(conversation.id, input="Elsewhere.", streaming=False)
    assert json.loads(client.agents.export_file(made.id, scrub_messages=True))["agents"][0]["messages"] == []
    other = json.loads(client.agents.export_file(made.id, conversation_id=conversation.id))["agents"][0]
    assert "Elsewhere." in str(other["messages"])
    assert "First." not in str(other["messages"])
    http.patch(f"/v1/agents/{made.id}/reset-messages", json={}).raise_for_status()
    assert "First." not in client.agents.export_file(made.id, max_steps=3)
    whole = http.get(f"/v1/agents/{made.id}/export", params={"full_history": True}).json()["agents"][0]
    assert "First." in str(whole["messages"])
    assert len(whole["in_context_message_ids"]) == 1
    with pytest.raises(BadRequestError, match="use_legacy_format"):
        client.agents.export_file(made.id, use_legacy_format=True)
    with pytest.raises(NotFoundError):
        client.agents.export_file("agent-00000000-0000-4000-8000-000000000000")
    with pytest.raises(NotFoundError):
        client.agents.export_file(made.id, conversation_id="conv-00000000-0000-4000-8000-000000000000")


@pytest.mark.manifest("agents.export.skills", "agents.export.skills.kept", "agents.import.json")
@pytest.mark.deployed
def test_skills_are_exported_with_the_agent_that_brought_them(http: httpx.Client) -> None:
    brought = http.post(
        "/v1/agents/import", json={"file": file_of(agent(), skills=[SKILL]), "model": DEMO, "name": "Skilled"}
    ).json()
    (agent_id,) = brought["agent_ids"]
    assert http.get(f"/v1/agents/{agent_id}").json()["name"] == "Skilled"
    assert http.get(f"/v1/agents/{agent_id}/export").json()["skills"] == [{**SKILL, "source_url": None}]
    more = http.post(
        f"/v1/agents/{agent_id}/export", json={"skills": [{"name": "sing", "source_url": "https://example.org/sing"}]}
    )
    assert [one["name"] for one in more.json()["skills"]] == ["sing", "greet"]
    assert http.post(f"/v1/agents/{agent_id}/export").status_code == 200
    assert http.post(f"/v1/agents/{agent_id}/export", json={"skills": [{"name": "empty"}]}).status_code == 422
    plain = http.post("/v1/agents/import", json=file_of(agent())).json()
    assert http.get(f"/v1/agents/{plain['agent_ids'][0]}").json()["name"] == "Ada_copy"


@pytest.mark.manifest("agents.import.model", "agents.import.deprecated", "agents.import.handles", "agents.import.secrets")
def test_options_have_new_and_older_names(client: Letta, http: httpx.Client) -> None:
    document = file_of(agent(tool_exec_environment_variables={"KEY": "", "EMPTY": ""}))
    new = client.agents.import_file(file=sent(document), name="New", model=HANDLE, secrets='{"KEY": "v", "MORE": "m"}')
    old = client.agents.import_file(
        file=sent(document), override_name="New", override_model_handle=HANDLE, env_vars_json='{"KEY": "v", "MORE": "m"}'
    )
    for result in (new, old):
        found = client.agents.retrieve(result.agent_ids[0], include=["agent.secrets"])
        assert (found.name, found.model) == ("New", HANDLE)
        assert {one.key for one in found.secrets} == {"KEY", "EMPTY", "MORE"}
    config = {"handle": "letta/letta-free", "model": "letta-free", "model_endpoint_type": "openai", "context_window": 8_000}
    reply = http.post("/v1/agents/import", json=file_of(agent(llm_config=config))).json()
    assert http.get(f"/v1/agents/{reply['agent_ids'][0]}").json()["model"] == DEMO
    (note,) = [note for note in reply["notes"] if note["code"] == "model"]
    assert note["kind"] == "replaced"
    assert "letta/letta-free" in note["detail"]
    assert DEMO in note["detail"]


@pytest.mark.manifest("agents.import.strip", "agents.import.double", "agents.import.legacy", "agents.import.notes")
def test_older_and_odd_files_are_imported_and_the_answer_says_what_was_done(http: httpx.Client, client: Letta) -> None:
    for shape in ("the older form", "the first form", "a JSON text within a JSON text"):
        made = SHAPES[shape]()
        file = {"file": ("agent.af", made if isinstance(made, str) else json.dumps(made))}
        reply = http.post("/v1/agents/import", files=file, data={"strip_messages": "true", "model": DEMO}).json()
        assert next(iter(reply)) == "agent_ids"
        codes = {note["code"] for note in reply["notes"]}
        assert codes & {"older_format", "double_encoded"}
        assert len(client.agents.retrieve(reply["agent_ids"][0]).message_ids or []) == 1


@pytest.mark.manifest("agents.export.groups", "agents.import.sleeptime")
def test_an_agent_and_its_sleep_time_agent_stay_together(client: Letta, new_agent: Make) -> None:
    made = new_agent(name="Awake", enable_sleeptime=True)
    text = client.agents.export_file(made.id)
    assert [one["name"] for one in json.loads(text)["agents"]] == ["Awake", "Awake-sleeptime"]
    main, sleeper = client.agents.import_file(file=("pair.af", text.encode())).agent_ids
    copy = client.agents.retrieve(main, include=["agent.managed_group"])
    assert copy.enable_sleeptime
    assert copy.managed_group is not None
    assert (copy.managed_group.agent_ids, copy.managed_group.sleeptime_agent_frequency) == ([sleeper], 5)


@pytest.mark.manifest("agents.import.repairs")
def test_an_agent_whose_calls_have_no_return_talks_on(client: Letta, said: Said) -> None:
    rows = [
        message(1, "user", "Knock"),
        message(2, "assistant", None, tool_calls=[call("c1", door="x")]),
        message(3, "user", "Hello?"),
    ]
    document = file_of(talked(*rows, agent_type="letta_v1_agent", block_ids=["block-9"]))
    (agent_id,) = client.agents.import_file(file=sent(document), model=HANDLE).agent_ids
    said.next({"content": "Fine."})
    reply = client.agents.messages.create(agent_id, input="And now?")
    assert reply.stop_reason.stop_reason == "end_turn"
    asked = said.server.requests[-1].body["messages"]
    assert [one["role"] for one in asked] == ["system", "user", "assistant", "tool", "user", "user"]


@pytest.mark.manifest("agents.import.tools")
def test_tools_are_found_by_their_names(client: Letta, new_agent: Make, said: Said) -> None:
    (agent_id,) = client.agents.import_file(file=sent(SHAPES["tools of all kinds"]()), model=HANDLE).agent_ids
    tools = {tool.name: tool for tool in client.agents.tools.list(agent_id, limit=50)}
    assert {"knock", "conversation_search", "memory_insert", "web_search", "grep_files", "search_issues"} <= set(tools)
    again = client.agents.import_file(file=sent(SHAPES["tools of all kinds"]()), model=HANDLE, override_existing_tools=False)
    assert {tool.id for tool in client.agents.tools.list(again.agent_ids[0], limit=50)} == {tool.id for tool in tools.values()}
    said.next(calls(("search_issues", {"door": "x"})), {"content": "It has no server."})
    client.agents.messages.create(agent_id, input="Search.")
    assert "does not exist here" in str(said.server.requests[-1].body["messages"][-1]["content"])


@pytest.mark.manifest("agents.import.again")
@pytest.mark.deployed
def test_a_request_that_the_client_repeats_imports_nothing_again(http: httpx.Client) -> None:
    def send(retry: int, boundary: str) -> list[str]:
        headers = {"x-stainless-retry-count": str(retry), "content-type": f"multipart/form-data; boundary={boundary}"}
        reply = http.post("/v1/agents/import", headers=headers, files={"file": sent(document)}, data={"name": "Once"})
        return list(reply.raise_for_status().json()["agent_ids"])

    document = file_of(agent(), agent(id="agent-1"))
    first = send(0, "one")
    assert send(1, "two") == first
    assert len(first) == 2
    assert set(send(0, "three")).isdisjoint(first)
    document = file_of(agent())
    assert set(send(1, "four")).isdisjoint(first), "another body, whose first request has not arrived"


@pytest.mark.manifest("agents.import.corrupted", "agents.import.whole")
def test_a_file_that_cannot_be_read_is_refused_and_leaves_nothing(client: Letta, http: httpx.Client) -> None:
    before = http.get("/v1/agents/count").json()
    whole = json.dumps(file_of(agent())).encode()
    for data in (b"", b"\x89PNG", whole[:-20], b"[]", json.dumps({"agents": [{}] * 1_000}).encode()):
        with pytest.raises(BadRequestError, match="Corrupted agent file format"):
            client.agents.import_file(file=("agent.af", data))
    with pytest.raises(BadRequestError, match="secrets must be a JSON object"):
        client.agents.import_file(file=sent(file_of(agent())), secrets="nope")
    with pytest.raises(NotFoundError, match="nobody/x"):
        client.agents.import_file(file=sent(file_of(agent())), model="nobody/x")
    assert http.post("/v1/agents/import", data={"name": "x"}, files={"other": b"x"}).status_code == 400
    for charset in ("undefined", "punycode"):
        form = {"content-type": f"multipart/form-data; boundary=x; charset={charset}"}
        part = b'--x\r\nContent-Disposition: form-data; name="name"\r\n\r\n\xff\r\n--x--\r\n'
        assert http.post("/v1/agents/import", headers=form, content=part).status_code == 400
    after = http.get("/v1/agents/count").json()
    assert after == before


@pytest.mark.deployed
def test_a_file_too_large_for_a_request_is_announced_where_there_is_a_bucket(http: httpx.Client, profile: str) -> None:
    announced = http.post("/v1/agents/import/upload-url", json={"file_size": 5})
    if profile == "embedded":
        assert (announced.status_code, "no bucket" in announced.json()["detail"]) == (501, True), announced.text
        return
    assert announced.status_code == 200, announced.text
    assert announced.json()["upload"]["method"] == "PUT"
    not_there = http.post("/v1/agents/import", json={"upload_id": announced.json()["upload_id"]})
    assert (not_there.status_code, "No agent file was uploaded" in not_there.json()["detail"]) == (404, True)
    assert http.post("/v1/agents/import/upload-url", json={"file_size": 60_000_000}).status_code == 413
