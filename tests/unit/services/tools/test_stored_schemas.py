"""A tool whose stored schema is older than the checks at the door does not stop its agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from hibernaut.ports.model import ModelRequest
from hibernaut.schemas.base import Json
from hibernaut.schemas.stop import StopReason
from tests.protocol.staged import RING, returns
from tests.support.scripted_model import in_turn, says
from tests.support.world import World, data_in


@pytest.mark.parametrize(
    "parameters",
    [
        "abc",
        {"properties": "abc"},
        {"type": "object", "properties": {"x": {"type": "string"}}, "required": 3},
        {"type": "object", "properties": {"x": {"type": ["text"], "properties": 1}}, "required": [["x"]]},
    ],
)
def test_an_unsound_schema_of_an_older_record_is_offered_without_parameters(tmp_path: Path, parameters: Json) -> None:
    world = World(data_in(tmp_path, in_turn(RING, says("done"))))
    agent_id = world.make_agent(tools=("ring",))
    tool = next(iter(world.stores.tools.by_name(["ring"]).values()))
    older, token = tool.model_copy(update={"json_schema": {"name": "ring", "parameters": parameters}}), world.ids.token()
    world.stores.writer.write(*world.stores.tools.change(tool, older, token), token=token)
    run_id = world.send(agent_id, "hello")
    assert world.run(run_id).run.stop_reason is StopReason.END_TURN
    asked: ModelRequest = world.models.requests[0]
    assert asked.tools[0].parameters == {"type": "object", "properties": {}, "required": []}
    assert len(returns(world, agent_id)) == 1
