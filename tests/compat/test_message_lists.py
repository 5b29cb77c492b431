"""Reading messages: pages, cursors, filters (API 1.5, 2.3, 2.15)."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import httpx
import pytest
from letta_client import Letta, NotFoundError

from hibernaut.adapters.clock import SystemClock
from hibernaut.services.resting.pack_writer import Allowance
from hibernaut.services.resting.resting import Resting
from hibernaut.store.stores import Stores
from tests.compat.conftest import Make, Said, Served, calls

UNKNOWN = "message-00000000-0000-4000-8000-000000000000"


def talk(client: Letta, agent_id: str, times: int) -> None:
    for number in range(times):
        client.agents.messages.create(agent_id, input=f"Question {number}")


def contents(messages: Any) -> list[str]:
    return [message.content for message in messages]


@pytest.mark.manifest("messages.list", "messages.list.order", "messages.list.default")
def test_a_page_is_ordered_from_old_to_new_whichever_end_it_is_taken_from(client: Letta, new_agent: Make) -> None:
    agent = new_agent()
    talk(client, agent.id, 2)
    whole = client.agents.messages.list(agent.id).items
    assert [one.message_type for one in whole] == ["system_message", *["user_message", "assistant_message"] * 2]
    newest = client.agents.messages.list(agent.id, limit=2).items
    assert contents(newest) == ["Question 1", "Hello."]
    oldest = client.agents.messages.list(agent.id, limit=2, order="asc").items
    assert [one.id for one in oldest] == [one.id for one in whole[:2]]
    assert client.agents.messages.list(agent.id, conversation_id="default").items == whole


@pytest.mark.manifest("messages.list.cursors")
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_cursors_are_chronological_whatever_the_order(client: Letta, new_agent: Make, order: Any) -> None:
    agent = new_agent()
    talk(client, agent.id, 2)
    ids = [one.id for one in client.agents.messages.list(agent.id)]
    later = client.agents.messages.list(agent.id, after=ids[2], order=order).items
    earlier = client.agents.messages.list(agent.id, before=ids[2], order=order).items
    between = client.agents.messages.list(agent.id, after=ids[0], before=ids[3], order=order).items
    assert [[one.id for one in page] for page in (later, earlier, between)] == [ids[3:], ids[:2], ids[1:3]]


@pytest.mark.manifest("messages.list.cursors")
def test_the_sdk_pages_through_everything(client: Letta, new_agent: Make) -> None:
    agent = new_agent()
    talk(client, agent.id, 3)
    forwards = [one.id for one in client.agents.messages.list(agent.id, limit=2, order="asc")]
    assert len(forwards) == len(set(forwards)) == 7
    backwards = [one.id for one in client.agents.messages.list(agent.id, limit=2, before=forwards[-1])]
    assert sorted(backwards) == forwards[:-1]


@pytest.mark.manifest("messages.list.unknown_cursor")
def test_an_unknown_cursor_is_not_found(client: Letta, new_agent: Make) -> None:
    mine, other = new_agent(), new_agent()
    assert client.agents.messages.list(mine.id, conversation_id=other.id).items == []
    foreign = client.agents.messages.list(other.id).items[0].id
    for cursor in (UNKNOWN, foreign):
        with pytest.raises(NotFoundError, match=f"No message found with id '{cursor}' for agent '{mine.id}'."):
            client.agents.messages.list(mine.id, after=cursor)


@pytest.mark.manifest("messages.list.limit", "messages.list.types")
def test_the_limit_counts_rows_and_the_filter_comes_after(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    said.next(calls(("memory_insert", {"label": "human", "new_string": "x"}), content="Noting."), {"content": "Noted."})
    client.agents.messages.create(agent.id, input="x")
    last = client.agents.messages.list(agent.id, limit=3).items
    assert [one.message_type for one in last] == [
        "assistant_message",
        "tool_call_message",
        "tool_return_message",
        "assistant_message",
    ]
    wanted: Any = ["tool_call_message"]
    assert len(client.agents.messages.list(agent.id, limit=3, include_return_message_types=wanted).items) == 1
    assert client.agents.messages.list(agent.id, limit=1, include_return_message_types=wanted).items == []


@pytest.mark.manifest("messages.list")
def test_the_messages_of_an_unknown_agent_are_not_found(client: Letta) -> None:
    with pytest.raises(NotFoundError):
        client.agents.messages.list("agent-00000000-0000-4000-8000-000000000000")


@pytest.mark.manifest("messages.list.limit")
@pytest.mark.parametrize(
    ("limit", "status"), [("0", 200), ("2147483647", 200), ("-1", 422), ("1" + "0" * 21, 422), ("some", 422)]
)
def test_a_limit_is_a_number_that_can_be_counted_to(http: httpx.Client, new_agent: Make, limit: str, status: int) -> None:
    assert http.get(f"/v1/agents/{new_agent().id}/messages", params={"limit": limit}).status_code == status


@pytest.mark.manifest("messages.all")
@pytest.mark.deployed
def test_the_messages_of_all_agents_are_one_list(client: Letta, new_agent: Make) -> None:
    agents = [new_agent(), new_agent()]
    start = client.messages.list(limit=1)[-1].id
    for agent in (*agents, *agents):
        talk(client, agent.id, 1)
    found = client.messages.list(after=start, limit=1000)
    ours = {one.id for agent in agents for one in client.agents.messages.list(agent.id) if one.id > start}
    ids = [one.id for one in found]
    assert ids == sorted(ids)
    assert len(ours) == 8
    assert ours <= set(ids)
    assert [one.id for one in client.messages.list(after=start, limit=3, order="asc")] == ids[:3]
    assert [one.id for one in client.messages.list(before=ids[3], limit=2)] == ids[1:3]
    with pytest.raises(NotFoundError):
        client.messages.list(after=UNKNOWN)


@pytest.mark.manifest("messages.retrieve", "messages.retrieve.missing")
def test_one_row_is_the_list_of_what_it_shows(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    said.next(calls(("memory_insert", {"label": "human", "new_string": "x"}), content="Noting."), {"content": "Noted."})
    text = client.agents.messages.create(agent.id, input="x").messages[0]
    shown = client.messages.retrieve(text.id)
    assert [one.message_type for one in shown] == ["assistant_message", "tool_call_message"]
    with pytest.raises(NotFoundError, match=f"Message with id {UNKNOWN} not found."):
        client.messages.retrieve(UNKNOWN)


@pytest.mark.deployed
def test_an_agent_at_rest_is_read_as_before_and_answers_its_next_message(client: Letta, new_agent: Make, served: Served) -> None:
    agent = new_agent()
    talk(client, agent.id, 3)

    def shown() -> list[Any]:
        runs = client.runs.list(agent_id=agent.id).items
        return [
            client.agents.messages.list(agent.id).items,
            client.agents.messages.list(agent.id, order="asc", limit=4).items,
            client.agents.retrieve(agent.id).message_ids,
            [(run, client.runs.steps.list(run.id).items) for run in runs],
            json.loads(str(client.agents.export_file(agent.id)))["agents"],
        ]

    before, clock = shown(), SystemClock()
    stores = Stores(served.table, served.blobs, clock).of(served.tenant)
    rests = Resting(stores, clock).rest(agent.id, idle_since=clock.now() + timedelta(hours=1), allowance=Allowance(1_000))
    head = stores.conversations.head(agent.id)
    assert rests
    assert head is not None
    assert head.resting
    assert shown() == before
    talk(client, agent.id, 1)
    woken = stores.conversations.head(agent.id)
    assert woken is not None
    assert not woken.resting
    said = [one.content for one in client.agents.messages.list(agent.id) if one.message_type == "user_message"]
    assert said == ["Question 0", "Question 1", "Question 2", "Question 0"]
