"""The tool `memory`, command by command."""

from __future__ import annotations

import pytest

from hibernaut.domain.memory.memory_edits import BlockCreated, BlockDescribed, BlockDetached, BlockEdited, BlockRenamed, apply
from hibernaut.schemas.memory.block import DEFAULT_LIMIT
from tests.unit.domain.blocks import POEM, block, call, said


def test_create_makes_a_block() -> None:
    result = call("memory", command="create", path="pets", description="animals", file_text="Rex")
    assert result.changes == (BlockCreated("pets", "Rex", "animals"),)
    assert "created `pets`" in said(result)


def test_create_needs_a_description_but_no_text() -> None:
    assert "`description` is missing" in said(call("memory", command="create", path="pets", file_text="Rex"))
    assert call("memory", command="create", path="pets", description="animals").changes == (BlockCreated("pets", "", "animals"),)


def test_create_does_not_overwrite() -> None:
    result = call("memory", command="create", path="human", description="x", file_text="y")
    assert (result.status, result.changes) == ("error", ())
    assert "a block `human` already" in said(result)


def test_create_keeps_the_limit_of_new_blocks() -> None:
    result = call("memory", command="create", path="pets", description="x", file_text="y" * (DEFAULT_LIMIT + 1))
    assert f"would hold {DEFAULT_LIMIT + 1} characters, and its limit is {DEFAULT_LIMIT}" in said(result)
    assert call("memory", command="create", path="pets", description="x", file_text="y" * DEFAULT_LIMIT).status == "success"


@pytest.mark.parametrize("label", ["", "/memories/", "x" * 513])
def test_a_label_has_a_length(label: str) -> None:
    assert "1 to 512 characters" in said(call("memory", command="create", path=label, description="x"))
    assert "1 to 512 characters" in said(call("memory", command="rename", old_path="human", new_path=label))


@pytest.mark.parametrize("label", ["x", "x" * 512])
def test_a_label_may_be_as_short_and_as_long_as_that(label: str) -> None:
    assert call("memory", command="create", path=label, description="x").changes == (BlockCreated(label, "", "x"),)


def test_str_replace_and_insert_return_the_new_text() -> None:
    replaced = call("memory", command="str_replace", path="human", old_string="violets", new_string="asters")
    assert replaced.message == POEM.replace("violets", "asters")
    inserted = call("memory", command="insert", path="human", insert_line=0, insert_text="A poem")
    assert inserted.message == f"A poem\n{POEM}"


def test_insert_without_a_line_inserts_at_the_end() -> None:
    assert call("memory", command="insert", path="human", insert_text="the end").message == f"{POEM}\nthe end"


def test_delete_only_detaches() -> None:
    assert call("memory", command="delete", path="human").changes == (BlockDetached("human"),)


def test_rename_changes_the_label_or_the_description() -> None:
    assert call("memory", command="rename", old_path="human", new_path="user").changes == (BlockRenamed("human", "user"),)
    assert call("memory", command="rename", path="human", new_path="user").changes == (BlockRenamed("human", "user"),)
    assert call("memory", command="rename", path="human", description="the user").changes == (
        BlockDescribed("human", "the user"),
    )


def test_rename_does_not_take_the_label_of_another_block() -> None:
    result = call("memory", block("human"), block("persona"), command="rename", old_path="human", new_path="persona")
    assert (result.status, result.changes) == ("error", ())
    assert "a block `persona` already" in said(result)


def test_every_command_takes_a_path_as_a_label_and_keeps_other_slashes() -> None:
    goals = block("team/goals", "win")
    path = "/memories/team/goals"
    assert call("memory", goals, command="view", path=path).message == "win"
    assert call("memory", goals, command="str_replace", path=path, old_string="win", new_string="x").changes == (
        BlockEdited("team/goals", "x"),
    )
    assert call("memory", goals, command="insert", path=path, insert_text="x").changes == (BlockEdited("team/goals", "win\nx"),)
    assert call("memory", goals, command="delete", path=path).changes == (BlockDetached("team/goals"),)
    assert call("memory", goals, command="rename", old_path=path, new_path="/memories/a/b").changes == (
        BlockRenamed("team/goals", "a/b"),
    )
    assert call("memory", goals, command="create", path="/memories/a/b", description="x").changes == (
        BlockCreated("a/b", "", "x"),
    )


def test_view_lists_the_blocks_or_shows_one() -> None:
    blocks = block("human", "Ann", limit=50), block("rules", "", limit=9, read_only=True)
    for path in (None, "", "/", "/memories", "/memories/"):
        listed = call("memory", *blocks, command="view", path=path)
        assert listed.message == (
            "- human (3 of 50 characters): no description\n- rules (0 of 9 characters, read-only): no description"
        )
    assert call("memory", *blocks, command="view", path="rules").message == ""
    assert apply("memory", {"command": "view"}, []).message == "There are no memory blocks."
    assert "There is no block `plan`" in said(call("memory", *blocks, command="view", path="plan"))
