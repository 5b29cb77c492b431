"""Whoever asks whom, in any order: no run waits for a reply that cannot come, and the search for a circle is bounded."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hibernaut.domain.agents.agent_calls import walk
from hibernaut.schemas.stop import StopReason
from tests.support.scripted_model import says
from tests.support.settled import check_settled
from tests.support.team import asks, team_in, then

GRAPHS = st.dictionaries(st.sampled_from("abcdefg"), st.lists(st.sampled_from("abcdefg"), max_size=3), max_size=7)


def reached(graph: dict[str, list[str]], first: list[str]) -> set[str]:
    """The nodes that a path from one of the first ones leads to."""
    found = set(first)
    while more := {there for here in found for there in graph.get(here, ())} - found:
        found |= more
    return found


@given(GRAPHS, st.lists(st.sampled_from("abcdefg"), max_size=2), st.integers(0, 9))
def test_the_walk_finds_a_circle_exactly_where_one_would_close(graph: dict[str, list[str]], first: list[str], most: int) -> None:
    asked: list[str] = []

    def waits_for(run_id: str) -> list[str]:
        asked.append(run_id)
        return graph.get(run_id, [])

    found = walk("a", first, waits_for, most)
    assert len(asked) == len(set(asked)) <= most
    closes = "a" in reached(graph, first)
    if found == "too many":
        assert len(reached(graph, first) - {"a"}) > most
    else:
        assert found == ("circle" if closes else "free")


@given(st.data())
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_agents_that_ask_each_other_in_any_order_all_come_to_an_end(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        team = team_in(Path(folder))
        world = team.world
        agents = [team.agent() for _ in range(data.draw(st.integers(2, 4), "agents"))]
        for agent_id in agents:
            others = data.draw(st.lists(st.sampled_from(agents), max_size=2), "asks")
            team.plays[agent_id] = then(*(asks(other) for other in others), says("done"))
        begun = [
            world.begin(data.draw(st.sampled_from(agents)), "hello") for _ in range(data.draw(st.integers(1, 3), "requests"))
        ]
        started = world.workflow.started
        while started:
            started.rotate(-data.draw(st.integers(0, len(started) - 1), "next"))
            one = started.popleft()
            if world.workflow.advance(one) == "advance":
                started.append(one)
        assert [world.run(run_id).run.stop_reason for run_id in begun] == [StopReason.END_TURN] * len(begun)
        check_settled(world, *agents)
