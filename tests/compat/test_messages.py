"""Sending messages and waiting for the answer (API 2.3, 5)."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from uuid import uuid4

import httpx
import pytest
from letta_client import AsyncLetta, BadRequestError, Letta, NotFoundError, RateLimitError, UnprocessableEntityError

from tests.compat.conftest import HANDLE, Make, Said, Served, calls
from tests.compat.holding import holding

UNKNOWN_AGENT = "agent-00000000-0000-4000-8000-000000000000"


def insert(text: str) -> tuple[str, dict[str, Any]]:
    return "memory_insert", {"label": "human", "new_string": text}


def types(messages: Any) -> list[str]:
    return [message.message_type for message in messages]


@pytest.mark.manifest("messages.send", "messages.send.no_echo")
@pytest.mark.deployed
def test_a_message_is_answered(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    said.next({"content": "Good morning."})
    answer = client.agents.messages.create(agent.id, messages=[{"role": "user", "content": "Hello"}])
    assert types(answer.messages) == ["assistant_message"]
    assert answer.messages[0].content == "Good morning."
    assert answer.stop_reason.stop_reason == "end_turn"
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.step_count) == (12, 5, 1)
    assert answer.usage.total_tokens == 17


@pytest.mark.manifest("messages.send")
def test_the_demo_model_edits_memory_without_a_key(client: Letta) -> None:
    agent = client.agents.create(memory_blocks=[{"label": "human", "value": ""}], model="hibernaut/demo")
    answer = client.agents.messages.create(agent.id, input="Please remember that my dog is called Rex.")
    assert types(answer.messages) == ["tool_call_message", "tool_return_message", "assistant_message"]
    assert "Rex" in client.agents.blocks.retrieve("human", agent_id=agent.id).value


@pytest.mark.manifest("messages.send")
@pytest.mark.deployed
def test_the_asynchronous_sdk_is_answered_too(served: Served, new_agent: Make) -> None:
    agent = new_agent()

    async def send() -> Any:
        async with AsyncLetta(base_url=served.url, api_key=served.key) as sdk:
            return await sdk.agents.messages.create(agent.id, input="Hello")

    assert asyncio.run(send()).messages[0].content == "Hello."


@pytest.mark.manifest("messages.send.curl")
@pytest.mark.deployed
def test_a_plain_client_needs_no_sdk(http: httpx.Client, new_agent: Make) -> None:
    agent = new_agent()
    answer = http.post(f"/v1/agents/{agent.id}/messages", json={"messages": [{"role": "user", "content": "Hello"}]})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert [message["message_type"] for message in answer.json()["messages"]] == ["assistant_message"]
    listed = http.get(f"/v1/agents/{agent.id}/messages").json()
    assert [message["message_type"] for message in listed] == ["system_message", "user_message", "assistant_message"]


@pytest.mark.manifest(
    "messages.send.exactly_one", "messages.send.empty", "messages.send.roles", "messages.send.streaming_options"
)
@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({}, "Exactly one"),
        ({"input": "a", "messages": [{"role": "user", "content": "b"}]}, "Exactly one"),
        ({"messages": []}, "Messages must not be empty"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "literal_error"),
        ({"input": "a", "stream_tokens": True}, "Streaming options set without streaming enabled."),
        ({"input": "a", "background": True}, "Streaming options set without streaming enabled."),
        ({"input": "a", "include_pings": False}, "Streaming options set without streaming enabled."),
        ({"input": "a", "max_steps": 0}, "greater_than_equal"),
    ],
)
def test_a_request_that_contradicts_itself_is_refused(
    http: httpx.Client, new_agent: Make, body: dict[str, Any], detail: str
) -> None:
    agent = new_agent()
    answer = http.post(f"/v1/agents/{agent.id}/messages", json=body)
    assert answer.status_code == 422
    assert detail in answer.json()["detail"]
    assert len(http.get(f"/v1/agents/{agent.id}/messages").json()) == 1


@pytest.mark.manifest("messages.send.logprobs")
def test_log_probabilities_of_the_last_call_are_in_the_reply(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    token = {
        "token": "Hi",
        "logprob": -0.5,
        "bytes": [72, 105],
        "top_logprobs": [{"token": "Ho", "logprob": -1.5, "bytes": None}],
    }
    said.next(calls(insert("Ann")), {"content": "Hi.", "logprobs": [token]})
    answer = client.agents.messages.create(agent.id, input="Hello", return_logprobs=True, top_logprobs=1)
    assert answer.logprobs is not None
    assert answer.logprobs.content is not None
    assert [one.to_dict() for one in answer.logprobs.content] == [token]
    assert [(sent.body["logprobs"], sent.body["top_logprobs"]) for sent in said.server.requests] == [(True, 1)] * 2
    said.next({"content": "Hi."})
    assert client.agents.messages.create(agent.id, input="Hello").logprobs is None
    assert "logprobs" not in said.server.requests[-1].body


@pytest.mark.manifest("messages.send.token_ids")
def test_token_ids_are_asked_for_without_effect(client: Letta, new_agent: Make, said: Said) -> None:
    answer = client.agents.messages.create(new_agent().id, input="Hello", return_token_ids=True)
    assert (answer.messages[-1].content, answer.turns) == ("Hello.", None)
    assert "return_token_ids" not in said.server.requests[-1].body


@pytest.mark.manifest("messages.send.unknown_agent")
def test_an_unknown_agent_is_not_found(client: Letta) -> None:
    with pytest.raises(NotFoundError, match=f"Agent with ID {UNKNOWN_AGENT} not found"):
        client.agents.messages.create(UNKNOWN_AGENT, input="Hello")


@pytest.mark.manifest("messages.send.otid")
def test_a_callers_otid_is_kept_and_one_is_made_where_he_gives_none(client: Letta, new_agent: Make) -> None:
    agent, otid = new_agent(), str(uuid4())
    client.agents.messages.create(
        agent.id, messages=[{"role": "user", "content": "a", "otid": otid}, {"role": "user", "content": "b"}]
    )
    first, second = [one for one in client.agents.messages.list(agent.id) if one.message_type == "user_message"]
    assert first.otid == otid
    assert second.otid is not None
    assert second.otid != otid


@pytest.mark.manifest("messages.send.rows", "messages.send.otids", "messages.send.text_next_to_calls", "messages.send.arguments")
def test_one_reply_is_one_row_with_derived_otids(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    said.next(calls(insert("Likes tea."), content="Let me note that."), {"content": "Noted."})
    answer = client.agents.messages.create(agent.id, input="I like tea")
    text, call, returned, last = answer.messages
    assert types(answer.messages) == ["assistant_message", "tool_call_message", "tool_return_message", "assistant_message"]
    assert text.content == "Let me note that."
    assert text.id == call.id != returned.id != last.id
    assert text.step_id == call.step_id == returned.step_id != last.step_id
    assert {one.run_id for one in answer.messages} == {client.runs.list(agent_id=agent.id).items[0].id}
    assert [one.otid for one in (text, call)] == [_otid(text.id, 0), _otid(text.id, 1)]
    assert returned.otid == _otid(returned.id, 0)
    assert json.loads(call.tool_call.arguments) == {"label": "human", "new_string": "Likes tea."}
    assert returned.name == "memory_insert"


def _otid(message_id: str, index: int) -> str:
    last = int(message_id[-2:], 16) & 0x80 | index
    return f"{message_id.removeprefix('message-')[:-2]}{last:02x}"


@pytest.mark.manifest("messages.send.parallel_calls")
def test_all_calls_of_a_reply_stand_together(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent(parallel_tool_calls=True)
    said.next(calls(insert("Likes tea."), insert("Likes jazz.")), {"content": "Noted."})
    call, returned, _ = client.agents.messages.create(agent.id, input="Tea and jazz").messages
    assert [one.tool_call_id for one in call.tool_calls] == ["call_1", "call_2"]
    assert call.tool_call == call.tool_calls[0]
    assert [(one.tool_call_id, one.status) for one in returned.tool_returns] == [("call_1", "success"), ("call_2", "success")]
    assert returned.tool_call_id == "call_1"
    value = client.agents.blocks.retrieve("human", agent_id=agent.id).value
    assert "tea" in value
    assert "jazz" in value


@pytest.mark.manifest("messages.send.parallel_default")
@pytest.mark.parametrize(("fields", "ran"), [({}, ["call_1", "call_2"]), ({"parallel_tool_calls": False}, ["call_1"])])
def test_only_who_turns_parallel_calls_off_loses_them(
    client: Letta, new_agent: Make, said: Said, fields: dict[str, Any], ran: list[str]
) -> None:
    agent = new_agent(**fields)
    said.next(calls(insert("Likes tea."), insert("Likes jazz.")), {"content": "Noted."})
    call, *_ = client.agents.messages.create(agent.id, input="Tea and jazz").messages
    assert [one.tool_call_id for one in call.tool_calls] == ran


@pytest.mark.manifest("messages.send.tool_error", "messages.send.unknown_tool")
@pytest.mark.parametrize(
    ("call", "says"),
    [
        (("memory_insert", {"label": "nobody", "new_string": "x"}), "nobody"),
        (("send_rocket", {}), "send_rocket"),
    ],
)
@pytest.mark.deployed
def test_a_call_that_fails_is_told_to_the_model(
    client: Letta, new_agent: Make, said: Said, call: tuple[str, dict[str, Any]], says: str
) -> None:
    agent = new_agent()
    said.next(calls(call), {"content": "I see."})
    answer = client.agents.messages.create(agent.id, input="Go")
    assert types(answer.messages) == ["tool_call_message", "tool_return_message", "assistant_message"]
    assert answer.messages[1].status == "error"
    assert says in answer.messages[1].tool_return
    assert answer.stop_reason.stop_reason == "end_turn"


@pytest.mark.manifest("messages.send.max_steps")
def test_a_run_out_of_steps_stops(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    said.next(calls(("conversation_search", {"query": "tea"})))
    answer = client.agents.messages.create(agent.id, input="Search", max_steps=2)
    assert (answer.stop_reason.stop_reason, answer.usage.step_count) == ("max_steps", 2)


@pytest.mark.manifest("messages.send.types")
@pytest.mark.parametrize(("wanted", "shown"), [(["tool_return_message"], ["tool_return_message"]), (["reasoning_message"], [])])
def test_the_reply_can_be_filtered(client: Letta, new_agent: Make, said: Said, wanted: list[Any], shown: list[str]) -> None:
    agent = new_agent()
    said.next(calls(insert("Likes tea.")), {"content": "Noted."})
    answer = client.agents.messages.create(agent.id, input="I like tea", include_return_message_types=wanted)
    assert types(answer.messages) == shown
    assert answer.stop_reason.stop_reason == "end_turn"


@pytest.mark.manifest("messages.send.legacy_text", "messages.send.legacy_calls", "messages.list.legacy")
def test_an_older_agent_speaks_by_a_tool(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent(agent_type="memgpt_v2_agent")
    said.next(calls(("send_message", {"message": "Hi there", "request_heartbeat": False}), content="A greeting."))
    mapped = client.agents.messages.create(agent.id, input="Hello")
    assert types(mapped.messages) == ["reasoning_message", "assistant_message"]
    assert mapped.messages[1].content == "Hi there"
    bare = client.agents.messages.create(agent.id, input="Hello", use_assistant_message=False)
    assert types(bare.messages) == ["reasoning_message", "tool_call_message", "tool_return_message"]
    listed = client.agents.messages.list(agent.id, limit=2, use_assistant_message=False).items
    assert types(listed) == ["reasoning_message", "tool_call_message", "tool_return_message"]
    assert types(client.agents.messages.list(agent.id, limit=2).items) == ["reasoning_message", "assistant_message"]


@pytest.mark.manifest("messages.send.override_model")
def test_another_model_answers_one_request(client: Letta, new_agent: Make) -> None:
    agent = new_agent(model="hibernaut/demo")
    answer = client.agents.messages.create(agent.id, input="Hello", override_model=HANDLE)
    assert answer.messages[0].content == "Hello."
    assert client.agents.retrieve(agent.id).llm_config.handle == "hibernaut/demo"
    with pytest.raises(NotFoundError, match="hibernaut/demo"):
        client.agents.messages.create(agent.id, input="Hello", override_model="openai/no-such-model")


@pytest.mark.manifest("messages.send.override_system")
@pytest.mark.parametrize("key", ["override_system", "system"])
def test_other_instructions_hold_for_one_request(http: httpx.Client, new_agent: Make, said: Said, key: str) -> None:
    agent = new_agent(system="Speak in verse.")
    for body in ({"input": "a", key: "Be terse."}, {"input": "b"}):
        assert http.post(f"/v1/agents/{agent.id}/messages", json=body).status_code == 200
    first, second = (request.body["messages"][0]["content"] for request in said.server.requests)
    assert "Be terse." in first
    assert "Speak in verse." not in first
    assert "Speak in verse." in second


@pytest.mark.manifest("messages.send.no_approval")
def test_an_approval_with_nothing_pending_is_refused(client: Letta, new_agent: Make) -> None:
    agent = new_agent()
    approval: Any = {"type": "approval", "approvals": [{"type": "approval", "tool_call_id": "call_1", "approve": True}]}
    with pytest.raises(BadRequestError, match="No tool call is currently awaiting approval"):
        client.agents.messages.create(agent.id, messages=[approval])


@pytest.mark.manifest("messages.send.input_kept")
@pytest.mark.deployed
def test_a_providers_failure_loses_nothing(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    said.next({"status": 429, "body": {"error": {"message": "slow down"}}, "headers": {"retry-after": "0"}})
    with pytest.raises(RateLimitError):
        client.agents.messages.create(agent.id, input="First")
    said.next({"content": "Here I am."})
    assert client.agents.messages.create(agent.id, input="Second").messages[0].content == "Here I am."
    told = [one["content"] for one in said.server.requests[-1].body["messages"] if one["role"] == "user"]
    assert told == ["First", "Second"]


@pytest.mark.manifest("messages.send.queue")
@pytest.mark.deployed
def test_messages_sent_at_once_are_answered_one_after_the_other(served: Served, client: Letta, new_agent: Make) -> None:
    agent = new_agent()

    async def send() -> list[Any]:
        async with AsyncLetta(base_url=served.url, api_key=served.key, max_retries=0) as sdk:
            return list(await asyncio.gather(*(sdk.agents.messages.create(agent.id, input=f"{n}") for n in range(4))))

    assert [answer.messages[0].content for answer in asyncio.run(send())] == ["Hello."] * 4
    said = [one.message_type for one in client.agents.messages.list(agent.id)]
    assert said == ["system_message", *["user_message", "assistant_message"] * 4]


@pytest.mark.manifest("messages.send.resend")
@pytest.mark.parametrize("mark", ["retry", "otid"])
@pytest.mark.deployed
def test_a_request_that_is_sent_again_attaches(client: Letta, new_agent: Make, mark: str) -> None:
    agent = new_agent()
    message: Any = {"role": "user", "content": "Once"} | ({"otid": str(uuid4())} if mark == "otid" else {})
    again = {"x-stainless-retry-count": "1"} if mark == "retry" else {}
    answers = [client.agents.messages.create(agent.id, messages=[message], extra_headers=headers) for headers in ({}, again)]
    assert answers[0].messages == answers[1].messages
    assert len(client.runs.list(agent_id=agent.id).items) == 1


@pytest.mark.manifest("messages.send.resend")
@pytest.mark.parametrize("count", ["\u00b2", "9" * 5000, "-1", "twice"])
def test_a_count_of_tries_that_is_none_counts_as_the_first(http: httpx.Client, new_agent: Make, count: str) -> None:
    path, headers = f"/v1/agents/{new_agent().id}/messages", {"x-stainless-retry-count": count.encode("latin-1")}
    assert http.post(path, json={"input": "hi"}, headers=headers).status_code == 200


@pytest.mark.manifest("messages.async")
@pytest.mark.deployed
def test_an_asynchronous_message_answers_with_its_run(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    agent = new_agent()
    run = client.agents.messages.create_async(agent.id, input="Hello", callback_url="http://127.0.0.1:9/told")
    assert (run.status, run.background, run.metadata["run_type"]) == ("created", True, "send_message_async")
    # The next message waits for the first: when it is answered, both runs have ended.
    client.agents.messages.create(agent.id, input="And?")
    ended = client.runs.retrieve(run.id)
    assert (ended.status, ended.stop_reason, ended.callback_url) == ("completed", "end_turn", "http://127.0.0.1:9/told")


@pytest.mark.manifest("messages.cancel", "messages.cancel.none")
@pytest.mark.deployed
def test_a_cancel_says_what_became_of_each_run(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    agent = new_agent()
    none = http.post(f"/v1/agents/{agent.id}/messages/cancel")
    assert none.status_code == 409
    assert none.headers["x-should-retry"] == "false"
    client.agents.messages.create(agent.id, input="Hello")
    run = client.runs.list(agent_id=agent.id).items[0]
    unknown = "run-00000000-0000-4000-8000-000000000000"
    other = new_agent()
    assert client.agents.messages.cancel(other.id, run_ids=[run.id]) == {run.id: "failed"}
    told = client.agents.messages.cancel(agent.id, run_ids=[run.id, unknown, "run"])
    assert told == {run.id: "cancelled", unknown: "failed", "run": "failed"}
    assert client.runs.retrieve(run.id).status == "completed"


@pytest.mark.manifest("messages.cancel.newest")
@pytest.mark.deployed
def test_a_cancel_ends_what_is_open_among_the_newest_runs_and_in_its_own_conversation(
    client: Letta, new_agent: Make, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = new_agent()
    with holding(said):
        own = client.agents.messages.create_async(agent.id, input="Hello").id
        older, newest = (begun(client, client.conversations.create(agent_id=agent.id).id) for _ in range(2))
        monkeypatch.setattr("hibernaut.services.runs.cancellation.MOST_READ", 1)
        assert client.agents.messages.cancel(agent.id) == {newest: "cancelled", own: "cancelled"}
        assert client.runs.retrieve(older).status == "running"
        assert client.agents.messages.cancel(agent.id, run_ids=[older]) == {older: "cancelled"}


def begun(client: Letta, conversation: str) -> str:
    """A run in a conversation that nobody waits for."""
    client.conversations.messages.create(conversation, input="Hello", background=True).close()
    return client.runs.list(conversation_id=conversation).items[0].id


def test_a_validation_error_reaches_the_sdk_as_such(client: Letta, new_agent: Make) -> None:
    with pytest.raises(UnprocessableEntityError, match="Messages must not be empty"):
        client.agents.messages.create(new_agent().id, messages=[])


@pytest.mark.manifest("messages.send.resend")
def test_a_used_otid_with_other_content_is_a_new_message(client: Letta, new_agent: Make) -> None:
    agent = new_agent()

    def say(text: str) -> Any:
        message: Any = {"role": "user", "content": text, "otid": "once"}
        return client.agents.messages.create(agent.id, messages=[message])

    first = say("one").messages[-1].id
    assert say("one").messages[-1].id == first
    second = say("two").messages[-1].id
    assert second != first
    assert say("two").messages[-1].id == second
    shown = [one.content for one in client.agents.messages.list(agent.id) if one.message_type == "user_message"]
    assert shown == ["one", "two"]


@pytest.mark.manifest("messages.list.envelopes")
def test_a_users_own_json_is_shown_as_the_model_reads_it(client: Letta, new_agent: Make, said: Said) -> None:
    written = json.dumps({"type": "user_message", "message": "hi", "order": "Tell nobody what this says."})
    agent = new_agent(initial_message_sequence=[{"role": "user", "content": "Hello before."}])
    client.agents.messages.create(agent.id, input=written)
    shown = [one.content for one in client.agents.messages.list(agent.id) if one.message_type == "user_message"]
    assert shown == ["Hello before.", written]
    assert said.server.requests[-1].body["messages"][-1]["content"] == written
