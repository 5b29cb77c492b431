"""Compatibility of the lists of agents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from letta_client import Letta

MISSING = "00000000-0000-4000-8000-000000000000"
NewAgent = Callable[..., Any]


@pytest.mark.manifest("agents.list", "agents.list.filters")
def test_agents_are_listed_by_what_they_are(client: Letta, new_agent: NewAgent) -> None:
    one = new_agent(name="Filter One", tags=["f1", "shared"], project_id="fp", template_id="ft")
    two = new_agent(name="Filter Two", tags=["f2", "shared"])

    def found(**wanted: Any) -> list[str]:
        return [agent.id for agent in client.agents.list(**wanted)]

    assert found(name="Filter One") == [one.id]
    assert found(query_text="filter t") == [two.id]
    assert found(tags=["f1", "shared"]) == [two.id, one.id]
    assert found(tags=["f1", "shared"], match_all_tags=True) == [one.id]
    assert found(project_id="fp") == found(template_id="ft") == [one.id]
    assert found(tags=["shared"], order="asc") == [one.id, two.id]
    assert found(last_stop_reason="max_tokens_exceeded") == []


@pytest.mark.manifest("agents.list.ids")
def test_agents_are_listed_by_their_ids(client: Letta, http: httpx.Client, new_agent: NewAgent) -> None:
    one, two, three = (new_agent(name=f"By id {place}", hidden=place == 1).id for place in range(3))
    assert [agent.id for agent in client.agents.list(query_text="by id")] == [three, one]
    asked = {"agent_ids": [three, f"agent-{MISSING}", one, two], "query_text": "nobody", "limit": 1}
    assert [agent["id"] for agent in http.get("/v1/agents/", params=asked).json()] == [three, one, two]
    for wrong in (f"group-{MISSING}", "agent-1"):
        assert http.get("/v1/agents/", params={"agent_ids": [one, wrong]}).status_code == 422
    assert http.get("/v1/agents/", params={"agent_ids": [one] * 201}).status_code == 422


@pytest.mark.manifest("agents.list.cursors")
@pytest.mark.deployed
def test_the_sdk_walks_the_list_in_either_direction(client: Letta, new_agent: NewAgent) -> None:
    made = [new_agent(tags=["walk"]).id for _ in range(5)]
    assert [agent.id for agent in client.agents.list(tags=["walk"], limit=2)] == made[::-1]
    assert [agent.id for agent in client.agents.list(tags=["walk"], limit=2, order="asc")] == made
    before = [agent.id for agent in client.agents.list(tags=["walk"], limit=2, before=made[0])]
    assert sorted(before) == sorted(made[1:])
    ignored = client.agents.list(tags=["walk"], after=f"agent-{MISSING}")
    assert len(ignored.items) == 5


@pytest.mark.manifest("agents.list.order")
@pytest.mark.deployed
def test_agents_are_ordered_by_their_last_change_or_run(client: Letta, new_agent: NewAgent) -> None:
    first, second = (new_agent(tags=["order"]).id for _ in range(2))
    client.agents.update(first, description="touched")
    assert [agent.id for agent in client.agents.list(tags=["order"], order_by="updated_at")] == [first, second]
    client.agents.messages.create(second, input="hi")
    ran = client.agents.list(tags=["order"], order_by="last_run_completion").items
    assert [agent.id for agent in ran] == [second, first]
    assert (ran[0].last_stop_reason, ran[1].last_stop_reason) == ("end_turn", None)
    assert ran[0].last_run_duration_ms is not None
