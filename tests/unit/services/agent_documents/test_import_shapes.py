"""Each shape of a published agent file is imported, and its agents answer the next message."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from hibernaut.schemas.stop import RunStatus
from tests.support.agent_documents import exported, imported, lasting, world_in
from tests.support.agent_file_parts import file_of, message, talked
from tests.support.agent_file_shapes import SHAPES
from tests.support.world import World


@pytest.mark.parametrize("shape", SHAPES)
def test_an_agent_file_is_imported_whatever_is_peculiar_about_it(shape: str, world: World) -> None:
    result = imported(world, SHAPES[shape]())
    for agent_id in result.agent_ids:
        run = world.send(agent_id, "And now?")
        assert world.run(run).run.status == RunStatus.COMPLETED, world.run(run).run.error
    assert world.stores.agents.count(hidden=True) == len(result.agent_ids)


@pytest.mark.parametrize("shape", SHAPES)
def test_an_imported_file_is_exported_as_what_it_became(shape: str, world: World, tmp_path: Path) -> None:
    first = [exported(world, one) for one in imported(world, SHAPES[shape](), append_copy_suffix=False).agent_ids]
    other = world_in(tmp_path / "other")
    again = [imported(other, copy.deepcopy(one), append_copy_suffix=False) for one in first]
    assert not [note for result in again for note in result.notes if note.code not in UNAVOIDABLE]
    assert lasting([exported(other, result.agent_ids[0]) for result in again]) == lasting(first)


UNAVOIDABLE = ("tool_exists", "secret_without_value", "tool_without_server", "tool_packages")
"""Notes about what a second file has as well."""


def test_there_are_shapes_enough() -> None:
    assert len(SHAPES) >= 24


@pytest.mark.parametrize("role", [{"a": 1}, ["user"], None, 5])
def test_a_message_whose_role_is_no_text_is_left_out(role: Any, world: World) -> None:
    result = imported(world, file_of(talked(message(1, "user", "Hello."), {**message(2, "user", "x"), "role": role})))
    assert noted(result)["message_role"] == 1
    assert [row.role for row in world.log(result.agent_ids[0])] == ["system", "user"]


def test_a_text_that_looks_like_an_envelope_of_no_known_kind_is_a_text(world: World) -> None:
    text = '{"type": ["login"], "message": "Hello."}'
    result = imported(world, file_of(talked(message(1, "user", text))))
    assert world.log(result.agent_ids[0])[-1].text() == text


def noted(result: Any) -> dict[str, int]:
    return {note.code: note.count for note in result.notes}


def test_the_answer_says_what_was_repaired_and_left_out(world: World) -> None:
    result = imported(world, SHAPES["messages of no known form"]())
    assert noted(result) == {
        "model": 1, "embedding": 1, "return_without_call": 1, "message_role": 1, "part_unreadable": 1, "call_arguments": 1, "call_id": 1,
    }  # fmt: skip
    rows = world.log(result.agent_ids[0])
    assert [row.role for row in rows] == ["system", "user", "assistant", "assistant", "tool", "system"]
    assert rows[4].tool_returns[0].status == "error"


def test_rules_that_mean_the_same_are_imported_once(world: World) -> None:
    document = SHAPES["calls without a return"]()
    rule = {"type": "constrain_child_tools", "tool_name": "look", "children": ["a", "b"]}
    first = {"type": "run_first", "tool_name": "look"}
    (agent,) = document["agents"]
    agent["tool_rules"] = [rule, {**rule, "children": ["b", "a"]}, first, {**first, "prompt_template": "x"}]
    result = imported(world, document)
    stored = world.stores.agents.get(result.agent_ids[0])
    assert stored is not None
    assert [(one.type, one.tool_name) for one in stored.tool_rules or ()] == [(one["type"], "look") for one in (rule, first)]
    assert "run_first_rule" not in noted(result)


def test_calls_without_a_return_are_closed_where_they_stand(world: World) -> None:
    (agent_id,) = imported(world, SHAPES["calls without a return"]()).agent_ids
    rows = world.log(agent_id)
    assert [row.role for row in rows] == [
        "system",
        "user",
        "assistant",
        "tool",
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
        "tool",
    ]
    assert [one.tool_call_id for one in rows[3].tool_returns] == ["c1", "c2"]
    assert [row.id for row in world.stores.conversations.load(agent_id).messages] == [row.id for row in rows]


def test_a_window_that_begins_with_a_summary_is_the_same_window(world: World) -> None:
    (agent_id,) = imported(world, SHAPES["a window that begins with a summary"]()).agent_ids
    loaded = world.stores.conversations.load(agent_id)
    assert loaded is not None
    assert [row.text() for row in loaded.messages[1:]] == ["What was said before.", "row 7", "row 8"]
    assert len(world.log(agent_id)) == 10


def test_models_are_replaced_by_the_default_and_the_note_names_both(world: World) -> None:
    result = imported(world, SHAPES["models that nobody serves"]())
    agent = world.stores.agents.get(result.agent_ids[0])
    assert agent is not None
    assert agent.llm_config.handle == world.models.default_handle()
    assert any("letta/letta-free" in note.detail and str(agent.llm_config.handle) in note.detail for note in result.notes)
