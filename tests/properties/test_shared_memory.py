"""A sleep-time agent and its agent edit one block at the same time: each reported edit is in the block, and none twice.

The steps of both runs are drawn, and so is whether a step of one happens while the model of the other is asked.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hibernaut.ports.model import ModelReply, ModelRequest
from tests.support.scripted_model import calls, says, serialized
from tests.support.sleepers import FINISH, Pair, is_asleep, pair_in, transcripts
from tests.support.world import World, data_in

EDITS = 3


class Interleaved:
    """A world in which both agents make `EDITS` edits. `draws` says whether the other one acts during a model call."""

    def __init__(self, folder: object, draws: Iterator[bool]) -> None:
        self.world = World(data_in(folder, self._says), alone=False)  # type: ignore[arg-type]
        self.pair = pair_in(self.world, every=1, tools=["memory_insert"])
        self.draws, self.runs, self.nested, self.number = draws, dict[bool, str](), False, 0

    def _says(self, request: ModelRequest, _number: int) -> ModelReply:
        asleep = is_asleep(request)
        if self.runs and not self.nested and next(self.draws, False):
            self.nested = True
            self.world.advance(self.runs[not asleep])
            self.nested = False
        place = max(place for place, row in enumerate(request.messages) if row.role == "user")
        done = sum(row.role == "assistant" for row in request.messages[place:])
        if not self.runs or done == EDITS:
            return calls(FINISH) if asleep else says("Yes.")
        self.number += 1
        return calls(("memory_insert", {"label": "human", "new_string": f"<{self.number}>"}))

    def play(self, order: Sequence[bool]) -> None:
        """Both runs are open from the beginning: the first turn has set the sleep-time agent to work."""
        first = self.world.begin(self.pair.main, "hello")
        while self.world.advance(first) == "advance":
            pass
        (asleep,) = self.world.response(first).usage.run_ids or ()
        self.runs = {True: asleep, False: self.world.begin(self.pair.main, "again")}
        for who in order:
            self.world.advance(self.runs[who])
        for _ in range(2 * EDITS):
            for run_id in self.runs.values():
                self.world.advance(run_id)


def reported(world: World, agent_id: str) -> list[str]:
    """The edits that the log of an agent reports as made."""
    log = world.log(agent_id)
    ok = {each.tool_call_id + (row.step_id or "") for row in log for each in row.tool_returns if each.status == "success"}
    made = [(row, call) for row in log for call in row.tool_calls or () if call.function.name == "memory_insert"]
    return [json.loads(call.function.arguments)["new_string"] for row, call in made if call.id + (row.step_id or "") in ok]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(order=st.lists(st.booleans(), max_size=8), draws=st.lists(st.booleans(), max_size=12))
def test_neither_loses_an_edit_to_the_other(
    tmp_path_factory: pytest.TempPathFactory, order: list[bool], draws: list[bool]
) -> None:
    played = Interleaved(tmp_path_factory.mktemp("data"), iter(draws))
    played.play(order)
    world, pair = played.world, played.pair
    found = Counter(edit for agent_id in (pair.main, pair.sleeper) for edit in reported(world, agent_id))
    assert found == Counter({f"<{number}>": 1 for number in range(1, 2 * EDITS + 1)})
    value = world.block(pair.main, "human").value
    assert {edit: value.count(edit) for edit in found} == dict(found)
    assert all(world.run(run_id).ended for run_id in played.runs.values())


def test_the_awake_agents_prompt_begins_as_before_the_sleepers_edit(tmp_path_factory: pytest.TempPathFactory) -> None:
    def script(request: ModelRequest, _number: int) -> ModelReply:
        if not is_asleep(request):
            return says("Yes.")
        worked = request.messages[-1].role == "tool"
        return calls(FINISH) if worked else calls(("memory_insert", {"label": "human", "new_string": "Lives in Oslo."}))

    world = World(data_in(tmp_path_factory.mktemp("data"), script))
    pair: Pair = pair_in(world)
    world.send(pair.main, "I moved to Oslo.")
    world.send(pair.main, "Where do I live?")
    assert len(transcripts(world, pair)) == 1
    awake = [request for request in world.models.requests if not is_asleep(request)]
    first, second = (json.loads(text) for text in serialized(world.models, awake))
    assert second[: len(first)] == first, "the provider's cache holds the beginning"
    assert "<memory_update>" in second[-1]["content"]
    assert "Lives in Oslo." in second[-1]["content"]
