"""Previews, plain questions to a model, and agents behind OpenAI's format (API 3). No SDK of today has these routes."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from letta_client import Letta

from tests.compat.conftest import Make, Said, calls

MISSING = "agent-00000000-0000-4000-8000-000000000000"


@pytest.mark.manifest("messages.preview")
@pytest.mark.deployed
def test_a_preview_is_what_the_provider_would_be_sent(http: httpx.Client, client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent(memory_blocks=[{"label": "human", "value": "Ann"}])
    client.agents.messages.create(agent.id, input="First.")
    body = {"messages": [{"role": "user", "content": "Second."}]}
    said.next({"content": "Hello."})
    preview = http.post(f"/v1/agents/{agent.id}/messages/preview-raw-payload", json=body)
    assert preview.status_code == 200
    assert said.server.requests == [], "nothing was sent"
    assert "Second." not in str(http.get(f"/v1/agents/{agent.id}/messages").json()), "nothing was stored"
    client.agents.messages.create(agent.id, input="Second.")
    sent: dict[str, Any] = said.server.requests[0].body
    for key in ("model", "messages", "tools", "tool_choice"):
        assert preview.json().get(key) == sent.get(key), key
    replaced = http.post(
        f"/v1/agents/{agent.id}/messages/preview-raw-payload", json=body | {"override_system": "Be brief."}
    ).json()
    assert replaced["messages"][0]["content"] == "Be brief."
    approval = {"messages": [{"type": "approval", "approvals": []}]}
    assert http.post(f"/v1/agents/{agent.id}/messages/preview-raw-payload", json=approval).status_code == 400
    assert http.post(f"/v1/agents/{agent.id}/messages/preview-raw-payload", json={"messages": []}).status_code == 422
    assert http.post(f"/v1/agents/{MISSING}/messages/preview-raw-payload", json=body).status_code == 404


@pytest.mark.manifest("conversations.preview")
@pytest.mark.deployed
def test_a_conversation_is_previewed_with_its_own_messages(http: httpx.Client, client: Letta, new_agent: Make) -> None:
    agent = new_agent()
    client.agents.messages.create(agent.id, input="To the agent.")
    conversation = client.conversations.create(agent_id=agent.id)
    body = {"messages": [{"role": "user", "content": "To the conversation."}]}
    own = http.post(f"/v1/conversations/{conversation.id}/messages/preview-raw-payload", json=body).json()
    assert [one["role"] for one in own["messages"]] == ["system", "user"]
    direct = http.post("/v1/conversations/default/messages/preview-raw-payload", json=body | {"agent_id": agent.id}).json()
    assert [one["role"] for one in direct["messages"]] == ["system", "user", "assistant", "user"]


@pytest.mark.manifest("agents.generate")
def test_a_plain_question_goes_to_the_model_alone(http: httpx.Client, new_agent: Make, said: Said) -> None:
    agent = new_agent(memory_blocks=[{"label": "human", "value": "Ann"}])
    path = f"/v1/agents/{agent.id}/generate"
    said.next({"content": "Four."})
    answer = http.post(path, json={"prompt": "Two and two?", "system_prompt": "Be brief."}).json()
    assert (answer["content"], answer["model"], answer["usage"]["step_count"]) == ("Four.", "test-model", 1)
    assert answer["usage"]["total_tokens"] == answer["usage"]["prompt_tokens"] + answer["usage"]["completion_tokens"]
    sent = said.server.requests[0].body
    assert [one["content"] for one in sent["messages"]] == ["Be brief.", "Two and two?"]
    assert not sent.get("tools")
    said.next(calls(("structured_output", {"sum": 4})))
    schema = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
    formed = http.post(path, json={"prompt": "Two and two?", "response_schema": schema}).json()
    assert json.loads(formed["content"]) == {"sum": 4}
    assert len(http.get(f"/v1/agents/{agent.id}/messages").json()) == 1, "nothing was stored"


@pytest.mark.manifest("agents.generate")
def test_a_plain_question_that_cannot_be_asked_says_why(http: httpx.Client, new_agent: Make, said: Said) -> None:
    path = f"/v1/agents/{new_agent().id}/generate"
    for bad in ({}, {"prompt": ""}, {"prompt": " "}, {"prompt": 7}):
        assert http.post(path, json=bad).status_code == 422
    assert http.post(path, json={"prompt": "x", "override_model": "openai/unknown"}).status_code == 404
    assert http.post(f"/v1/agents/{MISSING}/generate", json={"prompt": "x"}).status_code == 404
    said.next({"status": 401, "body": {"error": {"message": "no"}}})
    assert http.post(path, json={"prompt": "x"}).json()["error"]["type"] == "llm_authentication"


@pytest.mark.manifest("chat_completions")
def test_an_agent_speaks_openais_format(http: httpx.Client, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    said.next(calls(("conversation_search", {"query": "x"}), content="Let me see."), {"content": "Hello, Ann."})
    sent = {"model": agent.id, "messages": [{"role": "system", "content": "x"}, {"role": "user", "content": "I am Ann."}]}
    whole = http.post("/v1/chat/completions", json=sent).json()
    assert (whole["object"], whole["model"], whole["id"][:4]) == ("chat.completion", agent.id, "run-")
    assert whole["choices"][0]["message"]["content"] == "Let me see.Hello, Ann."
    assert (whole["choices"][0]["finish_reason"], whole["usage"]["total_tokens"] > 0) == ("stop", True)
    listed = http.get(f"/v1/agents/{agent.id}/messages").json()
    assert [one["content"] for one in listed if one["message_type"] == "user_message"] == ["I am Ann."]


@pytest.mark.manifest("chat_completions")
@pytest.mark.deployed
def test_an_agent_streams_openais_chunks(http: httpx.Client, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    said.next({"content": "Hello, my dear Ann."})
    parts = [{"type": "text", "text": "I am Ann."}]
    sent = {"model": agent.id, "stream": True, "messages": [{"role": "user", "content": parts}]}
    with http.stream("POST", "/v1/chat/completions", json=sent) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = [line.removeprefix("data: ") for line in answer.iter_lines() if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    chunks = [json.loads(line) for line in lines[:-1]]
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == "Hello, my dear Ann."
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks][-1] == "stop"


@pytest.mark.manifest("chat_completions")
def test_a_chat_without_an_agent_or_a_text_is_refused(http: httpx.Client, new_agent: Make) -> None:
    said = [{"role": "user", "content": "x"}]
    assert http.post("/v1/chat/completions", json={"model": "gpt-4o", "messages": said}).status_code == 400
    assert http.post("/v1/chat/completions", json={"model": MISSING, "messages": said}).status_code == 404
    agent = new_agent().id
    for messages in ([], [{"role": "system", "content": "x"}], [{"role": "user", "content": ""}]):
        assert http.post("/v1/chat/completions", json={"model": agent, "messages": messages}).status_code == 400
