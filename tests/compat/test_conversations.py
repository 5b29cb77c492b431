"""Conversations: made, listed, changed, forked, compiled anew, deleted (API 2.16)."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from letta_client import APIStatusError, BadRequestError, ConflictError, Letta, NotFoundError, UnprocessableEntityError

from tests.compat.conftest import HANDLE, Make, Said, calls
from tests.compat.holding import PATIENCE, holding

UNKNOWN = "conv-00000000-0000-4000-8000-000000000000"
NO_AGENT = "agent-00000000-0000-4000-8000-000000000000"
NO_MESSAGE = "message-00000000-0000-4000-8000-000000000000"
INSERT = calls(("memory_insert", {"label": "human", "new_string": "Likes tea."}))


def say(client: Letta, conversation_id: str, text: str, **fields: Any) -> list[Any]:
    """What a stream of the conversation shows."""
    return list(client.conversations.messages.create(conversation_id, input=text, **fields))


def texts(client: Letta, conversation_id: str, **fields: Any) -> list[str]:
    """What was said in a conversation, oldest first, without the system message."""
    found = client.conversations.messages.list(conversation_id, order="asc", **fields).items
    return [one.content for one in found if one.message_type in ("user_message", "assistant_message")]


@pytest.mark.manifest("conversations.create", "conversations.retrieve", "conversations.window")
def test_a_conversation_begins_with_a_system_message_of_its_own(client: Letta, new_agent: Make) -> None:
    agent = new_agent()
    made = client.conversations.create(agent_id=agent.id, summary="About tea")
    assert made.id.startswith("conv-")
    assert (made.agent_id, made.summary, made.archived, made.last_message_at) == (agent.id, "About tea", False, None)
    assert client.conversations.retrieve(made.id) == made
    (system,) = client.conversations.messages.list(made.id).items
    assert made.in_context_message_ids == [system.id]
    assert system.message_type == "system_message"
    assert f"CONVERSATION_ID: {made.id}" in str(system.content)
    assert [one.id for one in client.agents.messages.list(agent.id, conversation_id="default")] == agent.message_ids


@pytest.mark.manifest("conversations.create.refused", "conversations.retrieve")
def test_a_conversation_needs_an_agent_that_exists(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    with pytest.raises(NotFoundError):
        client.conversations.create(agent_id=NO_AGENT)
    assert http.post("/v1/conversations", json={}).status_code == 422
    assert http.post("/v1/conversations", params={"agent_id": "agent-1"}, json={}).status_code == 422
    agent = new_agent()
    with pytest.raises(NotFoundError, match="Handle openai/none not found"):
        client.conversations.create(agent_id=agent.id, model="openai/none")
    with pytest.raises(BadRequestError, match="'none', which is no label of a block"):
        client.conversations.create(agent_id=agent.id, extra_body={"isolated_block_labels": ["none"]})
    with pytest.raises(UnprocessableEntityError):
        client.conversations.create(agent_id=agent.id, context_window_limit=0)
    assert client.conversations.list(agent_id=agent.id) == []
    with pytest.raises(NotFoundError, match="Conversation not found"):
        client.conversations.retrieve(UNKNOWN)
    assert http.get("/v1/conversations/conv-1").status_code == 422


@pytest.mark.manifest("conversations.update", "conversations.update.null")
@pytest.mark.deployed
def test_what_an_update_names_is_set_and_null_clears_it(client: Letta, new_agent: Make) -> None:
    made = client.conversations.create(agent_id=new_agent().id, summary="Tea", model=HANDLE, description="Long")
    changed = client.conversations.update(
        made.id, summary="Coffee", archived=True, context_window_limit=9000, last_message_at="2026-01-02T03:04:05Z"
    )
    assert (changed.summary, changed.description, changed.model, changed.context_window_limit) == ("Coffee", "Long", HANDLE, 9000)
    assert changed.archived
    assert changed.archived_at is not None
    assert str(changed.last_message_at) == "2026-01-02 03:04:05+00:00"
    assert client.conversations.retrieve(made.id) == changed
    cleared = client.conversations.update(made.id, archived=False, model=None, context_window_limit=None, last_message_at=None)
    assert (cleared.archived, cleared.archived_at, cleared.model, cleared.context_window_limit) == (False, None, None, None)
    assert (cleared.summary, cleared.last_message_at) == ("Coffee", None)
    with pytest.raises(NotFoundError, match="Handle openai/none not found"):
        client.conversations.update(made.id, model="openai/none")
    with pytest.raises(NotFoundError):
        client.conversations.update(UNKNOWN, summary="x")


@pytest.mark.manifest("conversations.list", "conversations.list.cursor", "conversations.list.all")
def test_conversations_are_listed_from_a_cursor_on_in_either_order(client: Letta, new_agent: Make) -> None:
    agent = new_agent()
    made = [client.conversations.create(agent_id=agent.id, summary=f"Talk {number}") for number in range(4)]
    ids = [one.id for one in made]
    listed = client.conversations.list(agent_id=agent.id)
    assert [one.id for one in listed] == ids[::-1]
    assert listed[0] == made[-1]
    assert [one.id for one in client.conversations.list(agent_id=agent.id, limit=2, after=ids[3])] == [ids[2], ids[1]]
    assert [one.id for one in client.conversations.list(agent_id=agent.id, order="asc", limit=2, after=ids[0])] == ids[1:3]
    assert client.conversations.list(agent_id=agent.id, after=ids[0]) == []
    client.conversations.update(ids[2], archived=True)
    assert [one.id for one in client.conversations.list(agent_id=agent.id, after=ids[2])] == [ids[1], ids[0]]
    with pytest.raises(NotFoundError):
        client.conversations.list(agent_id=agent.id, after=UNKNOWN)
    other = client.conversations.create(agent_id=new_agent().id)
    assert {other.id, *ids[:2], ids[3]} <= {one.id for one in client.conversations.list(limit=1000)}
    assert client.conversations.list(agent_id=NO_AGENT) == []


@pytest.mark.manifest("conversations.list.filters", "conversations.hidden")
def test_lists_can_be_searched_and_leave_out_what_is_put_away(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    agent = new_agent()
    plain = client.conversations.create(agent_id=agent.id, summary="Green TEA")
    away = client.conversations.create(agent_id=agent.id, summary="Black tea")
    hidden = client.conversations.create(agent_id=agent.id, summary="Secret tea", hidden=True)
    client.conversations.update(away.id, archived=True)

    def found(**fields: Any) -> list[str]:
        return [one.id for one in client.conversations.list(agent_id=agent.id, **fields)]

    assert found() == [plain.id]
    assert found(archive_status="archived") == [away.id]
    assert found(archive_status="all") == [away.id, plain.id]
    assert found(archive_status="all", summary_search="green t") == [plain.id]
    assert found(summary_search="coffee") == []
    assert client.conversations.retrieve(hidden.id).summary == "Secret tea"
    assert http.get("/v1/conversations", params={"archive_status": "some"}).status_code == 422
    assert http.get("/v1/conversations", params={"order_by": "name"}).status_code == 422


@pytest.mark.manifest("conversations.list.order", "conversations.times")
def test_lists_are_ordered_by_what_was_last_said_or_done(client: Letta, new_agent: Make) -> None:
    agent = new_agent()
    first, second, silent = (client.conversations.create(agent_id=agent.id).id for _ in range(3))
    for conversation in (first, second, first):
        say(client, conversation, "Hello")
    orders: list[Any] = ["last_message_at", "last_run_completion"]
    for order in orders:
        assert [one.id for one in client.conversations.list(agent_id=agent.id, order_by=order)] == [first, second, silent]
        upwards = client.conversations.list(agent_id=agent.id, order_by=order, order="asc")
        assert [one.id for one in upwards] == [second, first, silent]
    shown = client.conversations.retrieve(first)
    assert shown.last_message_at is not None
    assert shown.last_message_at > shown.created_at  # type: ignore[operator]
    assert client.conversations.retrieve(silent).last_message_at is None
    other = client.conversations.create(agent_id=new_agent().id).id
    say(client, other, "Hello")
    ours = {first, second, silent, other}
    for order in orders:
        every = [one.id for one in client.conversations.list(order_by=order, limit=1000) if one.id in ours]
        assert every == [other, first, second, silent], "those of all agents"
        assert [one.id for one in client.conversations.list(order_by=order, limit=2, after=other)] == [first, second]
    with pytest.raises(NotFoundError):
        client.conversations.list(order_by="last_message_at", after=UNKNOWN)


@pytest.mark.manifest("conversations.delete", "conversations.delete.busy")
@pytest.mark.deployed
def test_a_deleted_conversation_is_gone_with_its_run(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    made, kept = (client.conversations.create(agent_id=agent.id).id for _ in range(2))
    say(client, made, "Hello")
    with holding(said) as asked:
        client.conversations.messages.create(made, input="Still there?", background=True).close()
        assert asked.wait(PATIENCE)
        assert client.conversations.delete(made) is None
    assert {run.stop_reason for run in client.runs.list(agent_id=agent.id, conversation_id=made)} == {"end_turn", "cancelled"}
    for call in (client.conversations.retrieve, client.conversations.delete, client.conversations.messages.list):
        with pytest.raises(NotFoundError):
            call(made)
    with pytest.raises(NotFoundError):
        say(client, made, "Hello?")
    assert [one.id for one in client.conversations.list(agent_id=agent.id)] == [kept]
    assert "Hello" not in [getattr(one, "content", "") for one in client.agents.messages.list(agent.id)]


@pytest.mark.manifest("conversations.delete.agent")
def test_an_agents_conversations_go_with_it(client: Letta, new_agent: Make) -> None:
    agent = new_agent()
    parent = client.conversations.create(agent_id=agent.id).id
    say(client, parent, "Hello")
    fork = client.conversations.fork(parent)
    client.agents.delete(agent.id)
    for conversation in (parent, fork.id):
        with pytest.raises(NotFoundError):
            client.conversations.retrieve(conversation)
    for message in fork.in_context_message_ids or ():
        with pytest.raises(NotFoundError):
            client.messages.retrieve(message)


@pytest.mark.manifest("conversations.fork", "conversations.fork.shares", "conversations.fork.memory")
@pytest.mark.deployed
def test_a_fork_shares_what_was_said_and_goes_its_own_way(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    parent = client.conversations.create(agent_id=agent.id, model=HANDLE).id
    said.next({"content": "One."})
    say(client, parent, "First")
    client.agents.blocks.update("human", agent_id=agent.id, value="Lives in Oslo.")
    fork = client.conversations.fork(parent)
    assert (fork.agent_id, fork.model, fork.summary) == (agent.id, HANDLE, None)
    before = client.conversations.retrieve(parent).in_context_message_ids or []
    ids = fork.in_context_message_ids or []
    assert ids[1:] == before[1:]
    assert ids[0] != before[0]
    (system,) = (one for one in client.conversations.messages.list(fork.id).items if one.message_type == "system_message")
    assert system.id == ids[0]
    assert f"CONVERSATION_ID: {fork.id}" in str(system.content)
    assert "Lives in Oslo." in str(system.content)
    said.next({"content": "Two."})
    say(client, parent, "Parent goes on")
    say(client, fork.id, "Fork goes on")
    assert texts(client, parent) == ["First", "One.", "Parent goes on", "Two."]
    assert texts(client, fork.id) == ["First", "One.", "Fork goes on", "Two."]
    again = client.conversations.fork(fork.id)
    assert texts(client, again.id) == ["First", "One.", "Fork goes on", "Two."]
    sent = said.server.requests[-1].body["messages"]
    assert [one["content"] for one in sent[1:]] == ["First", "One.", "Fork goes on"]


@pytest.mark.manifest("conversations.fork.message_id", "conversations.fork.hidden")
def test_a_fork_can_end_at_a_message(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    said.next(INSERT, {"content": "Noted."})
    client.agents.messages.create(agent.id, input="I like tea")
    user, call, returned, answer = client.agents.messages.list(agent.id, limit=4).items
    cut = {user.id: ["I like tea"], returned.id: ["I like tea"], answer.id: ["I like tea", "Noted."]}
    for message_id, left in cut.items():
        fork = client.conversations.fork("default", agent_id=agent.id, message_id=message_id, hidden=True)
        assert texts(client, fork.id) == left
    # A call without its return is left out, so that any provider takes the log.
    assert len(client.conversations.fork(agent.id, message_id=call.id).in_context_message_ids or ()) == 2
    assert len(client.conversations.list(agent_id=agent.id)) == 1
    with pytest.raises(NotFoundError, match=f"Message with id {NO_MESSAGE} not found"):
        client.conversations.fork("default", agent_id=agent.id, message_id=NO_MESSAGE)


@pytest.mark.manifest("conversations.fork.parent_deleted")
def test_a_fork_keeps_what_it_shares_when_its_parent_is_deleted(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    parent = client.conversations.create(agent_id=agent.id).id
    say(client, parent, "Shared")
    fork = client.conversations.fork(parent)
    say(client, parent, "Not shared")
    unshared = client.conversations.messages.list(parent, limit=2).items
    client.conversations.delete(parent)
    assert texts(client, fork.id) == ["Shared", "Hello."]
    again = client.conversations.fork(fork.id)
    client.conversations.delete(fork.id)
    assert texts(client, again.id) == ["Shared", "Hello."]
    said.next({"content": "Yes."})
    say(client, again.id, "Still there?")
    assert [one["content"] for one in said.server.requests[-1].body["messages"][1:]] == ["Shared", "Hello.", "Still there?"]
    for message in unshared:
        with pytest.raises(NotFoundError):
            client.messages.retrieve(message.id)
    shared = client.conversations.messages.list(again.id, order="asc").items[0]
    client.conversations.delete(again.id)
    with pytest.raises(NotFoundError):
        client.messages.retrieve(shared.id)


@pytest.mark.manifest("conversations.recompile", "conversations.recompile.dry_run")
def test_the_system_message_is_compiled_anew(client: Letta, new_agent: Make) -> None:
    agent = new_agent()
    made = client.conversations.create(agent_id=agent.id).id
    client.agents.blocks.update("human", agent_id=agent.id, value="Lives in Oslo.")

    def stored() -> str:
        return str(client.conversations.messages.list(made, order="asc", limit=1).items[0].content)

    tried = client.conversations.recompile(made, dry_run=True)
    assert "Lives in Oslo." in tried
    assert "Lives in Oslo." not in stored()
    assert json.loads(client.conversations.recompile(made)) == stored()
    assert "Lives in Oslo." in stored()
    assert f"CONVERSATION_ID: {made}" in stored()
    assert "CONVERSATION_ID: default" in client.conversations.recompile("default", agent_id=agent.id)
    with pytest.raises(NotFoundError):
        client.conversations.recompile(UNKNOWN)


@pytest.mark.manifest("conversations.isolated", "conversations.recompile.isolated", "conversations.shared_blocks")
@pytest.mark.deployed
def test_isolated_blocks_are_the_conversations_own(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent(memory_blocks=[{"label": "human", "value": "Name: Ada."}, {"label": "persona", "value": "Kind."}])
    alone = client.conversations.create(agent_id=agent.id, extra_body={"isolated_block_labels": ["human"]})
    shared = client.conversations.create(agent_id=agent.id)
    (copy,) = alone.isolated_block_ids  # type: ignore[attr-defined]
    said.next(INSERT, {"content": "Noted."})
    say(client, alone.id, "I like tea")
    assert client.blocks.retrieve(copy).value == "Name: Ada.\nLikes tea."
    assert client.agents.blocks.retrieve("human", agent_id=agent.id).value == "Name: Ada."
    client.agents.blocks.update("persona", agent_id=agent.id, value="Stern.")
    assert "Likes tea." in client.conversations.recompile(alone.id)
    assert "Stern." in client.conversations.recompile(alone.id)
    assert "Likes tea." not in client.conversations.recompile(shared.id)
    said.next(INSERT, {"content": "Noted."})
    say(client, shared.id, "I like tea")
    assert client.agents.blocks.retrieve("human", agent_id=agent.id).value == "Name: Ada.\nLikes tea."
    assert client.blocks.retrieve(copy).value == "Name: Ada.\nLikes tea."
    assert client.conversations.fork(alone.id).isolated_block_ids == []  # type: ignore[attr-defined]
    client.conversations.delete(alone.id)
    with pytest.raises(NotFoundError):
        client.blocks.retrieve(copy)


@pytest.mark.manifest("conversations.direct", "conversations.direct.missing")
def test_default_and_an_agents_id_mean_the_agents_own_conversation(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    agent = new_agent()
    say(client, "default", "One", agent_id=agent.id)
    say(client, agent.id, "Two")
    whole = ["One", "Hello.", "Two", "Hello."]
    assert texts(client, "default", agent_id=agent.id) == texts(client, agent.id) == whole
    assert texts(client, client.conversations.fork("default", agent_id=agent.id).id) == whole
    assert client.runs.list(agent_id=agent.id).items[0].conversation_id is None
    with pytest.raises(NotFoundError, match=r"Conversation not found with id='\['default'\]'"):
        say(client, "default", "Whose?")
    with pytest.raises(NotFoundError, match=f"Agent with ID {NO_AGENT} not found"):
        say(client, NO_AGENT, "Hello?")
    for method, path in (("GET", ""), ("PATCH", ""), ("DELETE", "")):
        assert http.request(method, f"/v1/conversations/default{path}", json={}).status_code == 422
    assert http.get("/v1/conversations/other/messages").status_code == 422


@pytest.mark.manifest("conversations.cancel", "conversations.cancel.none")
@pytest.mark.deployed
def test_what_is_under_way_can_be_cancelled(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    made = client.conversations.create(agent_id=agent.id).id
    with pytest.raises(ConflictError, match="No active runs to cancel for conversation"):
        client.conversations.cancel(made)
    with holding(said) as asked:
        client.conversations.messages.create(made, input="Hello", background=True).close()
        assert asked.wait(PATIENCE)
        (run,) = client.runs.list(agent_id=agent.id, conversation_id=made).items
        with pytest.raises(ConflictError):
            client.conversations.cancel("default", agent_id=agent.id)
        assert client.conversations.cancel(made) == {run.id: "cancelled"}
    assert client.runs.retrieve(run.id).stop_reason == "cancelled"
    assert texts(client, made) == ["Hello"]
    with pytest.raises(APIStatusError):
        client.conversations.cancel(made)


@pytest.mark.manifest("conversations.settings.limit")
def test_settings_without_a_limit_on_replies_show_none(http: httpx.Client, new_agent: Make) -> None:
    given = {"provider_type": "openai", "temperature": 0.1}
    path = "/v1/conversations/"
    made = http.post(path, params={"agent_id": new_agent().id}, json={"model_settings": given}).json()
    written_back = http.patch(path + made["id"], json={"model_settings": made["model_settings"]}).json()
    read = http.get(path + made["id"]).json()
    for shown in (made, written_back, read):
        assert "max_output_tokens" not in shown["model_settings"]
        assert shown["model_settings"] | given == shown["model_settings"]
    limited = http.patch(path + made["id"], json={"model_settings": given | {"max_output_tokens": 4096}}).json()
    assert limited["model_settings"]["max_output_tokens"] == 4096
