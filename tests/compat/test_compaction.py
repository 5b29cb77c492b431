"""Windows that are compacted, by request and by themselves, and what their overview says (API 2.3, 5.3; RT 6)."""

from __future__ import annotations

import json
import threading
from typing import Any

import httpx
import pytest
from letta_client import APIStatusError, BadRequestError, ConflictError, Letta, NotFoundError, UnprocessableEntityError

from tests.compat.conftest import HANDLE, Make, Said, calls
from tests.compat.holding import PATIENCE, holding
from tests.support.memory_reader import read_blocks, texts_of

UNKNOWN = "agent-00000000-0000-4000-8000-000000000000"
WORDS = "tea and milk " * 200


def talked(client: Letta, new_agent: Make, times: int = 4) -> str:
    agent = new_agent()
    for number in range(times):
        client.agents.messages.create(agent.id, input=f"Question {number}")
    return str(agent.id)


def compact(client: Letta, agent_id: str, **settings: Any) -> Any:
    given: Any = settings
    return client.agents.messages.compact(agent_id, **({"compaction_settings": given} if given else {}))


def in_context(client: Letta, agent_id: str) -> list[str]:
    return client.agents.retrieve(agent_id).message_ids or []


@pytest.mark.manifest("messages.compact", "compaction.summary", "messages.compact.again")
@pytest.mark.deployed
def test_an_agents_messages_are_compacted(client: Letta, new_agent: Make, said: Said) -> None:
    agent = talked(client, new_agent)
    before = in_context(client, agent)
    said.next({"content": "They talked."})
    done = compact(client, agent)
    assert (done.summary, done.num_messages_before, done.num_messages_after) == ("They talked.", 9, 7)
    after = in_context(client, agent)
    assert (after[0], after[2:]) == (before[0], before[4:])
    listed = client.agents.messages.list(agent).items
    assert len(listed) == 10, "the log keeps everything"
    shown = listed[-1]
    assert (shown.id, shown.message_type) == (after[1], "user_message")
    packed = json.loads(str(shown.content))
    assert (packed["type"], packed["message"].endswith("They talked.")) == ("system_alert", True)
    assert packed["compaction_stats"]["messages_count_before"] == 9
    compact(client, agent, mode="all")
    assert len(in_context(client, agent)) == 2
    asked = len(said.server.requests)
    again = compact(client, agent)
    assert (again.summary, again.num_messages_before, again.num_messages_after) == ("They talked.", 2, 2)
    assert len(said.server.requests) == asked


@pytest.mark.manifest("messages.compact.settings", "compaction.modes")
@pytest.mark.parametrize("mode", ["all", "self_compact_all", "self_compact_sliding_window"])
def test_the_settings_of_a_request_count(mode: Any, client: Letta, new_agent: Make, said: Said) -> None:
    agent = talked(client, new_agent)
    said.next({"content": "They talked at length."})
    done = compact(client, agent, mode=mode, prompt="Rhyme about it.", clip_chars=4, model=HANDLE)
    assert done.summary == "They... [summary truncated to fit]"
    assert done.num_messages_after == (2 if mode.endswith("all") else 7)
    body = said.server.requests[-1].body
    assert "Rhyme about it." in body["messages"][-1 if mode.startswith("self_") else 0]["content"]
    assert body.get("tool_choice", "none") == "none"
    assert ("tools" in body) == mode.startswith("self_")


@pytest.mark.manifest("messages.compact.nothing", "messages.compact.failure")
def test_a_compaction_that_does_not_help_changes_nothing(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    with pytest.raises(BadRequestError):
        compact(client, agent.id)
    with pytest.raises(NotFoundError):
        compact(client, UNKNOWN)
    with pytest.raises(UnprocessableEntityError):
        compact(client, agent.id, mode="none")
    client.agents.messages.create(agent.id, input="Hello")
    before = in_context(client, agent.id)
    said.next({"status": 401})
    with pytest.raises(APIStatusError) as refused:
        compact(client, agent.id, model=HANDLE)
    assert refused.value.status_code == 401
    assert refused.value.body["error"]["type"] == "llm_authentication"  # type: ignore[index]
    said.next({"content": ""})
    with pytest.raises(APIStatusError):
        compact(client, agent.id, model=HANDLE)
    assert in_context(client, agent.id) == before


@pytest.mark.manifest("messages.compact.busy")
def test_a_conversation_that_a_run_holds_is_not_compacted(client: Letta, new_agent: Make, said: Said) -> None:
    agent = talked(client, new_agent)
    with holding(said) as asked:
        client.agents.messages.create_async(agent, messages=[{"role": "user", "content": "Wait"}])
        assert asked.wait(PATIENCE)
        with pytest.raises(ConflictError):
            compact(client, agent)


@pytest.mark.manifest("compaction.never_fails", "compaction.input_stays")
def test_a_run_goes_on_where_no_summary_can_be_had(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent(context_window_limit=4000, include_base_tools=False)

    def answer(messages: list[dict[str, Any]], _tools: Any) -> dict[str, Any]:
        return {"status": 400} if "<start_transcript>" in str(messages[-1]["content"]) else {"content": "Hello."}

    said.server.script = answer
    for number in range(10):
        answered = client.agents.messages.create(agent.id, input=f"{number} {WORDS}")
        assert answered.stop_reason.stop_reason == "end_turn"
    assert len(in_context(client, agent.id)) < 21
    shown = [message["content"] for message in said.server.requests[-1].body["messages"]]
    assert shown[-1] == f"9 {WORDS}"
    assert not [text for text in shown if "system_alert" in text]


@pytest.mark.manifest("agents.context.plan")
@pytest.mark.deployed
def test_what_a_compaction_would_drop_is_told_before_it_happens(
    client: Letta, http: httpx.Client, new_agent: Make, said: Said
) -> None:
    agent = new_agent(include_base_tools=False)
    for number in range(4):
        client.agents.messages.create(agent.id, input=f"{number} {WORDS}")
    before, asked = in_context(client, agent.id), len(said.server.requests)
    plan = http.get(f"/v1/agents/{agent.id}/context/compaction").json()
    assert [one["id"] for one in plan["dropped"]] == before[1 : 1 + len(plan["dropped"])]
    assert plan["dropped"][0]["text"].startswith("0 ")
    assert plan["tokens_after"] < plan["tokens"] < plan["threshold"] < plan["context_window"]
    assert (in_context(client, agent.id), len(said.server.requests)) == (before, asked)
    assert http.get(f"/v1/agents/{agent.id}/context").json()["price"] is None
    said.next({"content": "They talked."})
    compact(client, agent.id)
    assert len(in_context(client, agent.id)) == plan["num_messages_after"]


@pytest.mark.manifest("compaction.summary")
def test_a_conversation_of_its_own_is_compacted_alone(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent(include_base_tools=False)
    made = client.conversations.create(agent_id=agent.id, extra_body={"isolated_block_labels": ["human"]})
    client.conversations.update(made.id, context_window_limit=4000)
    client.agents.messages.create(agent.id, input="Hello")
    own = in_context(client, agent.id)
    for number in range(8):
        told: list[Any] = list(client.conversations.messages.create(made.id, input=f"{number} {WORDS}"))
        assert [one.stop_reason for one in told if one.message_type == "stop_reason"] == ["end_turn"]
    kept = client.conversations.retrieve(made.id).in_context_message_ids or []
    listed = client.conversations.messages.list(made.id, limit=100).items
    assert len(kept) < len(listed) == 1 + 16 + sum("system_alert" in str(getattr(one, "content", "")) for one in listed)
    assert "system_alert" in said.server.requests[-1].body["messages"][1]["content"]
    assert in_context(client, agent.id) == own


@pytest.mark.manifest("compaction.before_the_call")
def test_a_message_that_would_not_fit_is_made_room_for_before_it_is_sent(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent(context_window_limit=4000, include_base_tools=False)
    for number in range(3):
        client.agents.messages.create(agent.id, input=f"{number} {WORDS}")
    said.server.requests.clear()
    said.next({"content": "They like tea."})
    client.agents.messages.create(agent.id, input=f"long {WORDS * 4}")
    *summarised, sent = (request.body["messages"] for request in said.server.requests)
    assert all("<start_transcript>" in messages[-1]["content"] for messages in summarised)
    assert len(summarised) == 2, "in two pieces, for its window is as small"
    assert [message["role"] for message in sent][-1] == "user"
    assert "They like tea." in sent[1]["content"]


@pytest.mark.manifest("compaction.usage")
def test_the_tokens_of_summaries_are_told_beside_those_of_the_steps(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent(context_window_limit=4000, include_base_tools=False)
    asked = said.server.requests
    for number in range(3):
        client.agents.messages.create(agent.id, input=f"{number} {WORDS}")
    plain = client.agents.messages.create(agent.id, input="short")
    asked.clear()
    answer = client.agents.messages.create(agent.id, input=f"long {WORDS * 4}")
    summaries = len(asked) - 1
    assert summaries > 0
    used = client.runs.usage.retrieve(str(answer.messages[-1].run_id))
    assert (used.prompt_tokens, used.completion_tokens, used.total_tokens) == (12, 5, 17)
    told: Any = used
    assert told.summaries["prompt_tokens"] == 12 * summaries
    assert told.summaries["total_tokens"] == 17 * summaries
    assert answer.usage.total_tokens == 17, "in the reply as in V1"
    untouched: Any = client.runs.usage.retrieve(str(plain.messages[-1].run_id))
    assert untouched.summaries is None
    asked.clear()
    assert compact(client, agent.id, mode="all").usage["total_tokens"] == 17 * len(asked)


@pytest.mark.manifest("compaction.cancel")
@pytest.mark.parametrize("how", ["hang", "stall"])
@pytest.mark.deployed
def test_a_run_that_waits_for_a_summary_is_cancelled_at_once(how: str, client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent(context_window_limit=4000, include_base_tools=False)
    for number in range(3):
        client.agents.messages.create(agent.id, input=f"{number} {WORDS}")
    asked = threading.Event()

    def silent(*_: Any) -> dict[str, Any]:
        asked.set()
        return {how: True}

    said.server.gone.clear()
    said.server.script = silent
    run = client.agents.messages.create_async(agent.id, input=f"long {WORDS * 4}")
    assert asked.wait(PATIENCE)
    assert client.agents.messages.cancel(agent.id, run_ids=[run.id]) == {run.id: "cancelled"}
    assert said.server.gone.wait(PATIENCE), "the provider sees that nobody listens"
    assert client.runs.retrieve(run.id).stop_reason == "cancelled"
    said.next({"content": "Hello."})
    assert client.agents.messages.create(agent.id, input="go on").stop_reason.stop_reason == "end_turn"
    shown = [message["content"] for message in said.server.requests[-1].body["messages"]]
    assert f"long {WORDS * 4}" in shown or any("system_alert" in text for text in shown)


@pytest.mark.manifest("agents.context.exact", "agents.context.frozen")
@pytest.mark.parametrize("kind", ["letta_v1_agent", "memgpt_v2_agent"])
def test_the_overview_is_what_the_next_run_is_sent(
    kind: Any, client: Letta, http: httpx.Client, new_agent: Make, said: Said
) -> None:
    agent = new_agent(agent_type=kind, memory_blocks=[{"label": "human", "value": "Ann"}])
    said.next(calls(("send_message", {"message": "Hi"})) if kind == "memgpt_v2_agent" else {"content": "Hi"})
    client.agents.messages.create(agent.id, input="Hello")
    client.blocks.update(agent.blocks[0].id, value="Ann from Oslo")
    view = http.get(f"/v1/agents/{agent.id}/context").json()
    client.agents.messages.create(agent.id, input="And now?")
    first, body = said.server.requests[0].body, said.server.requests[-1].body
    assert view["num_messages"] == len(view["messages"]) == len(body["messages"]) - 1, "all but the new message"
    shown = client.agents.messages.list(agent.id, order="asc").items[0]
    assert without_time(view["messages"][0]["content"][0]["text"]) == without_time(shown.content), "the whole memory as it is"
    assert "Ann from Oslo" in view["core_memory"]
    assert view["core_memory"] in shown.content
    assert body["messages"][0] == first["messages"][0], "the model is told of the edit in its newest message"
    assert read_blocks(texts_of(body))["human"] == "Ann from Oslo"
    sent = [{"name": tool["function"]["name"], "parameters": tool["function"]["parameters"]} for tool in body["tools"]]
    offered = [
        {"name": tool["function"]["name"], "parameters": tool["function"]["parameters"]} for tool in view["functions_definitions"]
    ]
    assert offered == sent
    assert view["context_window_size_current"] == sum(size for name, size in view.items() if name.startswith("num_tokens"))


def without_time(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if "recompiled" not in line and "previous messages" not in line)
