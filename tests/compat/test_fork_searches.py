"""Searching in conversations that share what was said: forks of an agent's own conversation, forks of forks, and what is left of
a parent.
"""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from letta_client import Letta

from tests.compat.conftest import Indexed, Make, Said

MODES: tuple[Any, ...] = ("hybrid", "fts", "vector")


def say(client: Letta, said: Said, conversation: str, text: str, agent: str) -> None:
    """A message and its answer, in a conversation or in the agent's own (`default`)."""
    said.next({"content": f"{text}: heard."})
    if conversation == "default":
        client.agents.messages.create(agent, input=text)
    else:
        list(client.conversations.messages.create(conversation, input=text))


@pytest.mark.manifest("messages.search.forks", "messages.search.filters", "conversations.search")
def test_a_search_in_a_fork_finds_what_its_list_shows(
    client: Letta, http: httpx.Client, new_agent: Make, said: Said, indexed: Indexed
) -> None:
    agent = new_agent()

    def listed(conversation: str) -> set[str]:
        found = client.agents.messages.list(agent.id, conversation_id=conversation, limit=100)
        return {str(one.content) for one in found if one.message_type in ("user_message", "assistant_message")}

    def searched(conversation: str, **asked: Any) -> set[str]:
        found = client.messages.search(query="harbour", conversation_id=conversation, **asked)
        return {str(getattr(one, "content", "")) for one in found}

    def agree(*conversations: str) -> None:
        for conversation in conversations:
            for mode in MODES:
                assert searched(conversation, agent_id=agent.id, search_mode=mode) == listed(conversation)
        for conversation in conversations[1:]:
            assert searched(conversation) == listed(conversation), "whoever's it is"
            rows = http.post("/v1/agents/messages/search", json={"query": "harbour", "conversation_id": conversation}).json()
            assert {row["embedded_text"] for row in rows} == listed(conversation)

    say(client, said, "default", "Harbour one", agent.id)
    first = client.conversations.fork("default", agent_id=agent.id).id
    say(client, said, "default", "Harbour two, not shared", agent.id)
    say(client, said, first, "Harbour three", agent.id)
    second = client.conversations.fork(first).id
    say(client, said, first, "Harbour four, not shared", agent.id)
    say(client, said, second, "Harbour five", agent.id)
    assert listed(second) == {f"Harbour {name}{end}" for name in ("one", "three", "five") for end in ("", ": heard.")}
    agree("default", first, second)
    indexed()
    agree("default", first, second)
    every = client.messages.search(query="harbour", agent_id=agent.id)
    assert len({str(getattr(one, "content", "")) for one in every}) == 10
    client.conversations.delete(first)
    agree("default", second)
    indexed()
    agree("default", second)
    assert searched(first) == searched(first, agent_id=agent.id) == set()
