"""The answer as server-sent events (API 6.1, 6.2)."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from typing import Any

import httpx
import pytest
from letta_client import APIStatusError, BadRequestError, Letta, NotFoundError

from tests.compat.conftest import CURL, Make, Said, calls

STABLE = {"x-stainless-package-version": "1.12.1"}
# The SDK calls its own stream() deprecated.
pytestmark = [pytest.mark.deployed, pytest.mark.filterwarnings("ignore:deprecated:DeprecationWarning")]
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


def data(text: str) -> list[dict[str, Any]]:
    """The JSON of each event but `[DONE]`, which must come last."""
    *found, (_, last) = events(text)
    assert last == "[DONE]"
    return [json.loads(one) for _, one in found]


def joined(seen: list[dict[str, Any]], kind: str, field: str) -> dict[str, str]:
    """What the pieces of a type of message say together, by message."""
    whole: dict[str, str] = {}
    for one in seen:
        if one["message_type"] == kind:
            whole[one["id"]] = whole.get(one["id"], "") + one[field]
    return whole


@pytest.mark.manifest("messages.stream.tokens")
def test_tokens_are_pieces_of_the_messages_that_the_log_will_hold(http: httpx.Client, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    said.next(calls(INSERT, content="I shall note that down."), {"reasoning": "What a fine drink.", "content": "Noted, gladly."})
    path = f"/v1/agents/{agent.id}/messages"
    seen = data(http.post(f"{path}/stream", json={"input": "tea", "stream_tokens": True, "include_pings": False}).text)
    assert {one["seq_id"] for one in seen if "seq_id" in one} == {None}
    listed = http.get(path, params={"limit": 3}).json()
    held = {(one["id"], one["message_type"]): one for one in listed}
    for kind, field in (("assistant_message", "content"), ("reasoning_message", "reasoning")):
        for message_id, text in joined(seen, kind, field).items():
            assert held[message_id, kind][field] == text
    assert len(joined(seen, "assistant_message", "content")) == 2
    for one in seen[:-2]:
        whole = held[one["id"], one["message_type"]]
        assert (one["otid"], one["step_id"], one["run_id"]) == (whole["otid"], whole["step_id"], whole["run_id"])


@pytest.mark.manifest("messages.stream.tokens")
def test_a_call_is_streamed_as_its_name_and_then_its_arguments(http: httpx.Client, new_agent: Make, said: Said) -> None:
    said.next(calls(INSERT), {"content": "Noted."})
    path = f"/v1/agents/{new_agent().id}/messages/stream"
    seen = data(http.post(path, json={"input": "tea", "stream_tokens": True, "include_pings": False}).text)
    told = [one["tool_call"] for one in seen if one["message_type"] == "tool_call_message"]
    assert [one["tool_calls"] for one in seen if one["message_type"] == "tool_call_message"] == told
    assert (told[0]["name"], told[0]["tool_call_id"]) == ("memory_insert", "call_1")
    assert all(one.keys() == {"arguments", "tool_call_id"} for one in told[1:])
    assert json.loads("".join(one.get("arguments", "") for one in told)) == INSERT[1]
    (returned,) = [one for one in seen if one["message_type"] == "tool_return_message"]
    assert returned["tool_returns"][0]["tool_call_id"] == "call_1"


@pytest.mark.manifest("messages.stream.tokens")
def test_a_request_for_an_approval_is_streamed_with_nulls_for_what_a_piece_lacks(
    http: httpx.Client, new_agent: Make, said: Said
) -> None:
    said.next(calls(INSERT, content="May I note that?"))
    agent = new_agent(tool_rules=[{"type": "requires_approval", "tool_name": "memory_insert"}])
    path = f"/v1/agents/{agent.id}/messages"
    seen = data(http.post(f"{path}/stream", json={"input": "tea", "stream_tokens": True, "include_pings": False}).text)
    asked = [one for one in seen if one["message_type"] == "approval_request_message"]
    assert all(one["tool_call"].keys() == {"name", "arguments", "tool_call_id"} for one in asked)
    assert all(one["tool_calls"] == one["tool_call"] for one in asked)
    assert [one["tool_call"]["name"] for one in asked] == ["memory_insert"] + [None] * (len(asked) - 1)
    assert json.loads("".join(one["tool_call"]["arguments"] or "" for one in asked)) == INSERT[1]
    assert seen[-2] == {"message_type": "stop_reason", "stop_reason": "requires_approval"}
    (request,) = [one for one in http.get(path, params={"limit": 1}).json() if one["message_type"] == "approval_request_message"]
    assert {one["id"] for one in asked} == {request["id"]}
    assert joined(seen, "assistant_message", "content").keys().isdisjoint({request["id"]})


@pytest.mark.manifest("messages.stream.tokens")
def test_the_sdk_reads_tokens(client: Letta, new_agent: Make, said: Said) -> None:
    said.next(calls(INSERT, content="I shall note that down."), {"content": "Noted, gladly."})
    seen: Any = list(client.agents.messages.stream(new_agent().id, input="tea", stream_tokens=True))
    text = "".join(one.content for one in seen if one.message_type == "assistant_message")
    assert text == "I shall note that down.Noted, gladly."


@pytest.mark.manifest("messages.stream.tokens", "messages.send.types")
def test_the_filter_of_types_holds_for_tokens(http: httpx.Client, new_agent: Make, said: Said) -> None:
    said.next(calls(INSERT, content="Noting."), {"content": "Noted."})
    body = {"input": "x", "stream_tokens": True, "include_pings": False, "include_return_message_types": ["tool_return_message"]}
    seen = data(http.post(f"/v1/agents/{new_agent().id}/messages/stream", json=body).text)
    assert [one["message_type"] for one in seen] == ["tool_return_message", "stop_reason", "usage_statistics"]


@pytest.mark.manifest("messages.stream.usage")
@pytest.mark.parametrize(("options", "figure"), [({}, 0), ({"stream_tokens": True}, None)])
def test_figures_that_no_provider_reported(
    http: httpx.Client, new_agent: Make, options: dict[str, bool], figure: int | None
) -> None:
    usage = data(http.post(f"/v1/agents/{new_agent().id}/messages/stream", json={"input": "x", **options}).text)[-1]
    assert [usage[name] for name in ("cached_input_tokens", "cache_write_tokens", "reasoning_tokens")] == [figure] * 3
    assert usage["step_count"] == 1


@pytest.mark.manifest("messages.stream.whole")
def test_a_blocking_request_that_attaches_to_a_stream_of_tokens_gets_whole_messages(
    http: httpx.Client, new_agent: Make, said: Said
) -> None:
    path = f"/v1/agents/{new_agent().id}/messages"
    said.next({"content": "Hello, and a good day to you."})
    messages = [{"role": "user", "content": "hi", "otid": "mine"}]
    streamed = data(http.post(f"{path}/stream", json={"messages": messages, "stream_tokens": True}).text)
    reply = http.post(path, json={"messages": messages}).json()
    assert [one["content"] for one in reply["messages"]] == ["Hello, and a good day to you."]
    assert reply["messages"][0]["id"] == streamed[1]["id"]
    resumed = data(http.post(f"/v1/runs/{streamed[0]['run_id']}/stream", json={}).text)
    assert resumed == streamed, "who comes back sees what the first stream showed, pieces and all"


@pytest.mark.manifest("messages.stream.compaction")
@pytest.mark.parametrize("asked", [True, False])
def test_a_compaction_is_told_to_who_asked_for_it(http: httpx.Client, new_agent: Make, asked: bool) -> None:
    agent = new_agent(context_window_limit=8000, include_base_tools=False)
    path = f"/v1/agents/{agent.id}/messages"
    seen: list[dict[str, Any]] = []
    for number in range(30):
        body = {"input": f"{number} " + "tea and milk " * 200, "include_pings": False, "include_compaction_messages": asked}
        seen = data(http.post(f"{path}/stream", json=body).text)
        if len(seen) > 3:
            break
    shown = ["event_message", "summary_message"] if asked else ["user_message"]
    assert [one["message_type"] for one in seen[:-3]] == shown
    summary = seen[-4]
    listed = http.get(path, params={"limit": 1, "before": seen[-3]["id"], "order": "desc"}).json()
    assert [(one["id"], one["message_type"]) for one in listed] == [(summary["id"], "user_message")]
    if asked:
        assert (seen[0]["event_type"], seen[0]["id"]) == ("compaction", summary["id"])
        assert summary["compaction_stats"]["context_window"] == 8000
    else:
        assert json.loads(summary["content"])["type"] == "system_alert"


@pytest.mark.manifest("messages.stream.background", "runs.stream")
def test_a_background_stream_bears_numbers_and_is_resumed_by_them(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    seen: Any = list(client.agents.messages.stream(new_agent().id, input="hi", background=True))
    ping, said, stop, usage = seen
    assert (ping.seq_id, said.seq_id) == (1, 2)
    assert [one.message_type for one in (stop, usage)] == ["stop_reason", "usage_statistics"]
    run_id = ping.run_id
    assert list(client.runs.messages.stream(run_id)) == seen
    rest: Any = list(client.runs.messages.stream(run_id, starting_after=2))
    assert [one.message_type for one in rest] == ["ping", "stop_reason", "usage_statistics"]
    assert rest[0].seq_id == 2, "a ping bears the last number that was seen"
    for number, kept in ((3, 2), (4, 1), (5, 1)):
        answer = http.post(f"/v1/runs/{run_id}/stream", json={"starting_after": number, "include_pings": None})
        assert len(events(answer.text)) == kept
        assert answer.text.endswith("data: [DONE]\n\n")


@pytest.mark.manifest("runs.stream.every")
def test_a_run_that_was_not_in_the_background_can_be_resumed_too(client: Letta, new_agent: Make) -> None:
    agent = new_agent()
    streamed: Any = list(client.agents.messages.stream(agent.id, input="hi"))
    assert {one.seq_id for one in streamed[:2]} == {None}
    assert list(client.runs.messages.stream(streamed[0].run_id)) == streamed
    reply = client.agents.messages.create(agent.id, input="again")
    run_id = client.runs.list(agent_id=agent.id).items[0].id
    seen: Any = list(client.runs.messages.stream(run_id, include_pings=False))
    assert seen[0] == reply.messages[0]


@pytest.mark.manifest("runs.stream.refused")
def test_what_cannot_be_resumed_says_why(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    with pytest.raises(NotFoundError):
        client.runs.messages.stream("run-00000000-0000-4000-8000-000000000000")
    with pytest.raises(BadRequestError, match="Expected format: 'run-<uuid4>'"):
        client.runs.messages.stream("run-1")
    seen: Any = list(client.agents.messages.stream(new_agent().id, input="hi", background=True))
    with pytest.raises(BadRequestError, match=r"is beyond the stream of run .*: its last number is 5"):
        client.runs.messages.stream(seen[0].run_id, starting_after=6)
    assert http.post(f"/v1/runs/{seen[0].run_id}/stream", json={"starting_after": -1}).status_code == 422


@pytest.fixture
def called() -> Iterator[tuple[str, SimpleQueue[dict[str, Any]]]]:
    """An address, and what is posted there."""
    heard: SimpleQueue[dict[str, Any]] = SimpleQueue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.put(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(202)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/done", heard
        server.shutdown()
        thread.join()


@pytest.mark.manifest("messages.async.callback")
def test_the_end_of_a_run_is_told_to_who_asked_for_it(
    client: Letta, new_agent: Make, called: tuple[str, SimpleQueue[dict[str, Any]]]
) -> None:
    url, heard = called
    run = client.agents.messages.create_async(new_agent().id, input="hi", callback_url=url)
    body = heard.get(timeout=30)
    assert (body["run_id"], body["status"]) == (run.id, "completed")
    assert body["metadata"]["result"]["stop_reason"]["stop_reason"] == "end_turn"
    assert [one["content"] for one in body["metadata"]["result"]["messages"]] == ["hi", "Hello."]
    kept = client.runs.retrieve(run.id)
    assert body["completed_at"] == kept.model_dump(mode="json")["completed_at"]
    assert kept.callback_url == url


@pytest.mark.manifest("messages.async.callback")
@pytest.mark.parametrize("address", ["ftp://example.test/x", "example.test", "http://", "file:///etc/passwd", "http://[::1"])
def test_what_cannot_be_called_is_refused_at_once(client: Letta, new_agent: Make, address: str) -> None:
    with pytest.raises(BadRequestError, match="callback_url must be an http or https address"):
        client.agents.messages.create_async(new_agent().id, input="hi", callback_url=address)


@pytest.mark.manifest("messages.async.client_tools")
def test_tools_of_the_client_are_offered_in_the_background_too(client: Letta, new_agent: Make, said: Said) -> None:
    said.next(calls(("lamp", {"on": True})))
    lamp: Any = {"name": "lamp", "description": "Switches it.", "parameters": {"type": "object", "properties": {}}}
    run = client.agents.messages.create_async(new_agent().id, input="hi", client_tools=[lamp])
    seen: Any = list(client.runs.messages.stream(run.id))
    assert [one.message_type for one in seen[1:3]] == ["approval_request_message", "stop_reason"]
    assert seen[1].tool_call.name == "lamp"
    assert seen[2].stop_reason == "requires_approval"
