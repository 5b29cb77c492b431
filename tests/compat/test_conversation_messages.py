"""Messages of conversations: sent, streamed, resumed, listed; who is busy, and with which model (API 2.16, 7; RT 15)."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx
import pytest
from letta_client import BadRequestError, ConflictError, Letta

from tests.compat.conftest import HANDLE, Make, Said, calls
from tests.compat.holding import PATIENCE, holding
from tests.compat.test_conversations import UNKNOWN, say, texts

BUSY = (
    "CONFLICT: Cannot send a new message: Another request (run_id={run}) is currently being processed for this conversation. "
    "Please wait for it to complete."
)
STREAMED = ["ping", "assistant_message", "stop_reason", "usage_statistics"]


def new_conversation(client: Letta, new_agent: Make, **fields: Any) -> tuple[str, str]:
    """The ids of an agent and of a conversation with it."""
    agent = new_agent()
    return agent.id, client.conversations.create(agent_id=agent.id, **fields).id


@pytest.mark.manifest("conversations.messages.create", "conversations.messages.run")
@pytest.mark.deployed
def test_a_message_is_answered_by_a_stream(client: Letta, new_agent: Make) -> None:
    agent, made = new_conversation(client, new_agent)
    assert [one.message_type for one in say(client, made, "Hello")] == STREAMED
    (run,) = client.runs.list(agent_id=agent, conversation_id=made).items
    assert (run.conversation_id, run.metadata, run.background) == (made, {"run_type": "send_conversation_message"}, False)
    assert client.runs.list(agent_id=agent).items == [run]
    assert [one.content for one in client.runs.messages.list(run.id).items] == ["Hello", "Hello."]
    assert len(client.conversations.retrieve(made).in_context_message_ids or ()) == 3


@pytest.mark.manifest("conversations.messages.blocking", "conversations.messages.refused")
@pytest.mark.deployed
def test_a_message_can_be_answered_at_once(http: httpx.Client, client: Letta, new_agent: Make) -> None:
    agent, made = new_conversation(client, new_agent)
    path = f"/v1/conversations/{made}/messages"
    answer = http.post(path, json={"input": "Hello", "streaming": False})
    assert answer.status_code == 200
    assert [one["content"] for one in answer.json()["messages"]] == ["Hello."]
    assert client.runs.list(agent_id=agent, conversation_id=made).items[0].status == "completed"
    for wrong in ({"streaming": False, "stream_tokens": True}, {"streaming": False, "background": True}):
        refused = http.post(path, json={"input": "Hello", **wrong})
        assert refused.status_code == 422
        assert "Streaming options set without streaming enabled" in refused.json()["detail"]
    assert http.post(path, json={"messages": []}).json() == {"detail": "Messages must not be empty"}
    assert http.post(f"/v1/conversations/{UNKNOWN}/messages", json={"input": "Hello"}).status_code == 404


@pytest.mark.manifest("conversations.window")
def test_conversations_do_not_hear_each_other(client: Letta, new_agent: Make, said: Said) -> None:
    agent, first = new_conversation(client, new_agent)
    second = client.conversations.create(agent_id=agent).id
    say(client, first, "In the first")
    say(client, second, "In the second")
    client.agents.messages.create(agent, input="In the default")
    asked = [[one["content"] for one in request.body["messages"][1:]] for request in said.server.requests[-3:]]
    assert asked == [["In the first"], ["In the second"], ["In the default"]]


@pytest.mark.manifest("conversations.busy", "conversations.busy.direct", "conversations.busy.apart")
@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.deployed
def test_a_busy_conversation_refuses_before_anything_is_streamed(
    client: Letta, http: httpx.Client, new_agent: Make, said: Said, streaming: bool
) -> None:
    agent, made = new_conversation(client, new_agent)
    with holding(said) as asked:
        client.conversations.messages.create(made, input="First", background=True).close()
        assert asked.wait(PATIENCE)
        (run,) = client.runs.list(agent_id=agent, conversation_id=made).items
        refused = http.post(f"/v1/conversations/{made}/messages", json={"input": "Second", "streaming": streaming})
        assert refused.status_code == 409
        assert refused.json() == {"detail": BUSY.format(run=run.id), "run_id": run.id}
        assert refused.headers["x-should-retry"] == "false"
        asked.clear()
        direct = client.agents.messages.create_async(agent, input="Beside it")
        assert asked.wait(PATIENCE), "another conversation of the agent is not held up"
        for place in ("default", agent):
            with pytest.raises(ConflictError, match=direct.id):
                say(client, place, "Third", agent_id=agent)
        waiting = http.post(f"/v1/conversations/{made}/messages", json={"input": "Fourth", "background": True, "when_busy": "x"})
        assert waiting.status_code == 422


@pytest.mark.manifest("conversations.busy.opt_in")
@pytest.mark.deployed
def test_a_request_may_wait_for_its_turn_instead(client: Letta, new_agent: Make, said: Said) -> None:
    _, made = new_conversation(client, new_agent)

    with holding(said) as asked:
        client.conversations.messages.create(made, input="First", background=True).close()
        assert asked.wait(PATIENCE)
        second = client.conversations.messages.create(made, input="Second", extra_body={"when_busy": "queue"})
    assert [one.message_type for one in second] == STREAMED
    assert texts(client, made) == ["First", "At last.", "Second", "At last."]


@pytest.mark.manifest("conversations.stream", "conversations.stream.none")
@pytest.mark.deployed
def test_a_stream_can_be_picked_up_again(client: Letta, new_agent: Make, said: Said) -> None:
    agent, made = new_conversation(client, new_agent)
    with pytest.raises(BadRequestError, match="No active runs found for this conversation"):
        client.conversations.messages.stream(made)
    otid = str(uuid4())
    with holding(said) as asked:
        message: Any = {"role": "user", "content": "Hello", "otid": otid}
        client.conversations.messages.create(made, messages=[message], background=True).close()
        assert asked.wait(PATIENCE)
        (run,) = client.runs.list(agent_id=agent, conversation_id=made).items
        under_way = client.conversations.messages.stream(made)
        with pytest.raises(BadRequestError):
            client.conversations.messages.stream("default", agent_id=agent)
    whole = list(under_way)
    assert [one.message_type for one in whole] == STREAMED
    assert list(client.conversations.messages.stream(made, run_id=run.id)) == whole
    assert list(client.conversations.messages.stream(made, otid=otid)) == whole
    assert whole[1].seq_id == 2
    rest = client.conversations.messages.stream(made, run_id=run.id, starting_after=2, include_pings=False)
    assert list(rest) == whole[2:]


@pytest.mark.manifest("conversations.messages.list", "conversations.messages.list.cursors")
def test_messages_are_listed_in_the_order_asked_for(client: Letta, new_agent: Make) -> None:
    _, made = new_conversation(client, new_agent)
    for number in range(3):
        say(client, made, f"Question {number}")
    whole = [one.id for one in client.conversations.messages.list(made, order="asc").items]
    assert len(whole) == 7
    assert [one.id for one in client.conversations.messages.list(made).items] == whole[::-1]
    assert [one.id for one in client.conversations.messages.list(made, limit=2).items] == [whole[6], whole[5]]
    for order, turn in (("asc", 1), ("desc", -1)):
        page: Any = {"order": order}
        later = client.conversations.messages.list(made, after=whole[4], **page).items
        earlier = client.conversations.messages.list(made, before=whole[2], **page).items
        assert [one.id for one in later] == whole[5:][::turn]
        assert [one.id for one in earlier] == whole[:2][::turn]
    unknown = client.conversations.messages.list(made, after="message-00000000-0000-4000-8000-000000000000")
    assert [one.id for one in unknown.items] == whole[::-1]
    only: Any = ["user_message"]
    assert len(client.conversations.messages.list(made, include_return_message_types=only).items) == 3


@pytest.mark.manifest("conversations.messages.list.cursors", "conversations.fork.shares", "conversations.fork.order")
def test_the_pages_of_a_fork_cross_from_its_own_rows_into_those_that_it_shares(client: Letta, new_agent: Make) -> None:
    agent, parent = new_conversation(client, new_agent)
    say(client, parent, "First")
    fork = client.conversations.fork(parent).id
    say(client, parent, "Parent goes on")
    say(client, fork, "Fork goes on")
    again = client.conversations.fork(fork).id
    say(client, again, "Again")
    whole = client.conversations.messages.list(again, order="asc").items
    ids = [one.id for one in whole]
    assert [one.message_type for one in whole].index("system_message") == 0, "it is newer than what the fork shares"
    for limit in (1, 2, 3):
        assert [one.id for one in client.conversations.messages.list(again, order="asc", limit=limit)] == ids
        assert [one.id for one in client.agents.messages.list(agent, conversation_id=again, order="asc", limit=limit)] == ids
    for place, one in enumerate(whole):
        assert client.conversations.messages.list(again, before=one.id, order="asc").items == whole[:place]
        assert client.conversations.messages.list(again, after=one.id, order="asc").items == whole[place + 1 :]
        newest = client.conversations.messages.list(again, before=one.id, order="desc", limit=2).items
        assert newest == whole[:place][-2:][::-1]
    assert [one.id for one in client.agents.messages.list(agent, conversation_id=again).items] == ids
    assert texts(client, again) == ["First", "Hello.", "Fork goes on", "Hello.", "Again", "Hello."]


@pytest.mark.manifest("messages.list.conversations")
def test_an_agents_messages_are_those_of_all_its_conversations_unless_one_is_named(client: Letta, new_agent: Make) -> None:
    agent, first = new_conversation(client, new_agent)
    client.agents.messages.create(agent, input="In the default")
    say(client, first, "In the first")
    second = client.conversations.fork(first).id
    say(client, second, "In the fork")
    own = client.agents.messages.list(agent, conversation_id="default").items
    assert [getattr(one, "content", "") for one in own][1:] == ["In the default", "Hello."]
    of_first = client.agents.messages.list(agent, conversation_id=first).items
    assert [one.id for one in of_first] == [one.id for one in client.conversations.messages.list(first, order="asc").items]
    whole = [one.id for one in client.agents.messages.list(agent).items]
    assert len(whole) == len(set(whole)) == 3 + 3 + 3
    assert whole == sorted(whole)
    assert [one.id for one in client.agents.messages.list(agent, limit=4).items] == whole[-4:]
    assert [one.id for one in client.agents.messages.list(agent, limit=4, order="asc").items] == whole[:4]
    assert [one.id for one in client.agents.messages.list(agent, limit=2, order="asc")] == whole
    assert [one.id for one in client.agents.messages.list(agent, before=whole[5]).items] == whole[:5]


@pytest.mark.manifest("conversations.model")
def test_the_request_decides_on_the_model_then_the_conversation_then_the_agent(
    client: Letta, new_agent: Make, said: Said
) -> None:
    agent, made = new_conversation(client, new_agent, model="hibernaut/demo")
    asked = len(said.server.requests)
    say(client, made, "Hello")
    assert len(said.server.requests) == asked, "the built-in model answers"
    say(client, made, "Hello", override_model=HANDLE)
    assert len(said.server.requests) == asked + 1
    client.conversations.update(made, model=None, model_settings={"provider_type": "openai", "temperature": 0.25})
    say(client, made, "Hello")
    assert said.server.requests[-1].body["temperature"] == 0.25
    client.conversations.update(made, model_settings=None)
    say(client, made, "Hello")
    assert said.server.requests[-1].body.get("temperature") != 0.25
    assert client.agents.retrieve(agent).model == HANDLE


@pytest.mark.manifest("conversations.search")
def test_an_agent_recalls_what_was_said_in_its_other_conversations(client: Letta, new_agent: Make, said: Said) -> None:
    agent, made = new_conversation(client, new_agent)
    say(client, made, "My cat is called Otto")
    said.next(calls(("conversation_search", {"query": "Otto"})), {"content": "Otto."})
    answer = client.agents.messages.create(agent, input="What is its name?")
    assert "My cat is called Otto" in str([one for one in answer.messages if one.message_type == "tool_return_message"])


@pytest.mark.manifest("conversations.compact", "conversations.compact.nothing")
@pytest.mark.deployed
def test_a_conversation_is_compacted_and_its_fork_begins_with_the_summary(client: Letta, new_agent: Make, said: Said) -> None:
    agent, made = new_conversation(client, new_agent)
    with pytest.raises(BadRequestError):
        client.conversations.messages.compact(made)
    for number in range(4):
        say(client, made, f"Question {number}")
    said.next({"content": "They talked."})
    settings: Any = {"mode": "all", "model": HANDLE}
    done = client.conversations.messages.compact(made, compaction_settings=settings)
    assert (done.summary, done.num_messages_before, done.num_messages_after) == ("They talked.", 9, 2)
    kept = client.conversations.retrieve(made).in_context_message_ids or []
    assert len(kept) == 2
    assert len(client.conversations.messages.list(made).items) == 10, "the log keeps everything"
    fork = client.conversations.fork(made)
    assert (fork.in_context_message_ids or [])[1:] == kept[1:]
    assert len(client.conversations.messages.list(fork.id).items) == 2
    said.next({"content": "Yes."})
    say(client, fork.id, "Do you remember?")
    _, summary, question = said.server.requests[-1].body["messages"]
    assert "They talked." in summary["content"]
    assert question["content"] == "Do you remember?"
    with pytest.raises(BadRequestError):
        client.conversations.messages.compact("default", agent_id=agent)


@pytest.mark.manifest("messages.all", "messages.all.conversation")
def test_the_messages_of_all_agents_can_be_those_of_one_conversation(client: Letta, new_agent: Make) -> None:
    agent, made = new_conversation(client, new_agent)
    say(client, made, "In it")
    client.agents.messages.create(agent, input="Beside it")
    assert client.messages.list(conversation_id=made) == client.conversations.messages.list(made, order="asc").items
    assert [one.content for one in client.messages.list(conversation_id=made, limit=1)] == ["Hello."]
    say(client, made, "Again")
    beside = client.messages.list(conversation_id="default", limit=2)
    assert [one.content for one in beside] == ["Beside it", "Hello."], "the page is full though other rows are newer"


@pytest.mark.manifest("conversations.approvals", "conversations.approvals.refused", "conversations.fork.pending")
@pytest.mark.deployed
def test_an_approval_belongs_to_its_conversation(client: Letta, new_agent: Make, said: Said) -> None:
    rule = {"type": "requires_approval", "tool_name": "memory_insert"}
    agent = new_agent(tool_rules=[rule]).id
    made = client.conversations.create(agent_id=agent).id
    said.next(calls(("memory_insert", {"label": "human", "new_string": "tea"})), {"content": "Thank you."})
    asked = say(client, made, "I like tea")
    assert [one.message_type for one in asked][1:3] == ["approval_request_message", "stop_reason"]
    with pytest.raises(ConflictError) as refused:
        client.conversations.messages.create(made, input="hello?", streaming=False)
    assert refused.value.body["detail"].startswith("CONFLICT: Cannot send a new message: The agent is waiting for approval")
    assert refused.value.response.headers["x-should-retry"] == "false"
    fork = client.conversations.fork(made).id
    listed = client.conversations.messages.list(fork, order="asc").items
    assert [one.message_type for one in listed] == ["system_message", "user_message"]
    assert [one.content for one in client.agents.messages.create(agent, input="Hello").messages] == ["Thank you."]
    yes: Any = {"type": "approval", "approvals": [{"type": "approval", "tool_call_id": "call_1", "approve": True}]}
    with pytest.raises(BadRequestError):
        client.agents.messages.create(agent, messages=[yes])
    answered = list(client.conversations.messages.create(made, messages=[yes]))
    assert [one.message_type for one in answered][1:3] == ["tool_return_message", "assistant_message"]
    assert client.agents.blocks.retrieve("human", agent_id=agent).value == "tea"
    say(client, fork, "And you?")
    assert texts(client, fork) == ["I like tea", "And you?", "Thank you."]
