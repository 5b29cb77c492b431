"""The answer as server-sent events (digest 6.1, 6.2)."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from letta_client import APIStatusError, Letta, NotFoundError

from tests.compat.conftest import CURL, Make, Said, calls

STABLE = {"x-stainless-package-version": "1.12.1"}
# The SDK calls its own stream() deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:deprecated:DeprecationWarning")
INSERT = ("memory_insert", {"label": "human", "new_string": "Likes tea."})


def events(text: str) -> list[tuple[str | None, str]]:
    """(event name, data) of each server-sent event."""
    found = []
    for block in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        found.append((fields.get("event"), fields["data"]))
    return found


@pytest.mark.manifest("messages.stream", "messages.stream.wire")
def test_a_stream_is_the_whole_run(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    said.next(calls(INSERT, content="Noting."), {"content": "Noted."})
    seen = list(client.agents.messages.stream(agent.id, messages=[{"role": "user", "content": "I like tea"}]))
    assert [one.message_type for one in seen] == [
        "ping",
        "assistant_message",
        "tool_call_message",
        "tool_return_message",
        "assistant_message",
        "stop_reason",
        "usage_statistics",
    ]
    run = client.runs.list(agent_id=agent.id).items[0]
    assert {one.run_id for one in seen[:5]} == {run.id}
    assert [one.id for one in seen[1:5]] == [one.id for one in client.agents.messages.list(agent.id, limit=3)]
    assert seen[-1].step_count == 2


@pytest.mark.manifest("messages.stream.wire")
def test_the_bytes_of_a_stream(http: httpx.Client, new_agent: Make) -> None:
    agent = new_agent()
    answer = http.post(f"/v1/agents/{agent.id}/messages/stream", json={"input": "hi", "include_pings": False})
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    (_, said), (_, stop), (_, usage), (_, done) = events(answer.text)
    assert json.loads(said)["message_type"] == "assistant_message"
    assert json.loads(said)["seq_id"] is None
    assert json.loads(stop) == {"message_type": "stop_reason", "stop_reason": "end_turn"}
    assert json.loads(usage)["message_type"] == "usage_statistics"
    assert not {"id", "run_id", "seq_id"} & set(json.loads(usage))
    assert done == "[DONE]"


@pytest.mark.manifest("messages.stream.streaming")
def test_the_blocking_path_streams_when_asked_to(client: Letta, new_agent: Make) -> None:
    agent = new_agent()
    seen = list(client.agents.messages.create(agent.id, input="hi", streaming=True, stream_tokens=True))
    assert [one.message_type for one in seen] == ["ping", "assistant_message", "stop_reason", "usage_statistics"]


@pytest.mark.manifest("messages.send.streaming_clients")
@pytest.mark.parametrize("headers", [CURL, {"user-agent": "python-requests/2.32"}, {"user-agent": "letta-client/0.9"}])
def test_streaming_on_the_blocking_path_is_for_the_stable_sdk(
    http: httpx.Client, new_agent: Make, headers: dict[str, str]
) -> None:
    path = f"/v1/agents/{new_agent().id}/messages"
    refused = http.post(path, json={"input": "hi", "streaming": True}, headers=headers)
    assert refused.status_code == 422
    assert refused.json() == {"detail": "streaming=true is only supported for SDK v1.0+ clients."}
    for stable in (STABLE, {"user-agent": "letta-client/1.4"}, {"user-agent": "@letta-ai/letta-client/1.0"}):
        assert http.post(path, json={"input": "hi", "streaming": True}, headers=stable).text.endswith("data: [DONE]\n\n")


@pytest.mark.manifest("messages.send.types", "messages.stream")
def test_a_stream_can_be_filtered_but_for_its_end(client: Letta, new_agent: Make, said: Said) -> None:
    said.next(calls(INSERT), {"content": "Noted."})
    wanted: Any = ["tool_return_message"]
    seen = list(
        client.agents.messages.stream(new_agent().id, input="x", include_return_message_types=wanted, include_pings=False)
    )
    assert [one.message_type for one in seen] == ["tool_return_message", "stop_reason", "usage_statistics"]


@pytest.mark.manifest("messages.stream.error")
def test_a_failed_run_ends_its_stream_with_the_error(client: Letta, http: httpx.Client, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    said.next({"status": 401, "body": {"error": {"message": "bad key"}}})
    answer = http.post(f"/v1/agents/{agent.id}/messages/stream", json={"input": "hi"})
    assert answer.status_code == 200
    ping, stop, error, done = events(answer.text)
    assert json.loads(stop[1]) == {"message_type": "stop_reason", "stop_reason": "llm_api_error"}
    told = json.loads(error[1])
    assert error[0] == "error"
    assert (told["message_type"], told["error_type"]) == ("error_message", "llm_authentication")
    assert told["run_id"] == json.loads(ping[1])["run_id"]
    assert done == (None, "[DONE]")
    with pytest.raises(APIStatusError) as raised:
        list(client.agents.messages.stream(agent.id, input="hi"))
    assert raised.value.status_code == 200
    assert raised.value.body["error_type"] == "llm_authentication"


@pytest.mark.manifest("messages.stream.refused")
def test_what_is_wrong_before_the_stream_is_an_http_error(client: Letta, new_agent: Make) -> None:
    with pytest.raises(NotFoundError):
        client.agents.messages.stream("agent-00000000-0000-4000-8000-000000000000", input="hi")
    with pytest.raises(NotFoundError):
        client.agents.messages.stream(new_agent().id, input="hi", override_model="openai/none")
