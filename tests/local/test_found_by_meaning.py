"""`hibernaut dev` without any key: a fact that was told in an earlier conversation is found by what it means."""

from __future__ import annotations

from pathlib import Path

from letta_client import Letta

from tests.local.test_command import serving

FACTS = ("My sister plays the cello in Ghent.", "We moved to Oslo in April.", "The boiler was repaired on Monday.")


def test_a_fact_of_an_earlier_conversation_is_found_by_its_meaning(tmp_path: Path) -> None:
    with serving(tmp_path) as (_, url, _), Letta(base_url=url) as client:
        agent = client.agents.create(memory_blocks=[{"label": "human", "value": ""}])
        for fact in FACTS:
            told = client.conversations.create(agent_id=agent.id)
            list(client.conversations.messages.create(told.id, input=fact))
        client.conversations.create(agent_id=agent.id)
        for question, fact in (("Which musical instrument is played in the family?", 0), ("What city do they live in now?", 1)):
            found = client.messages.search(query=question, agent_id=agent.id, search_mode="vector")
            said = [hit.content for hit in found if hit.message_type == "user_message"]
            assert said[0] == FACTS[fact]
