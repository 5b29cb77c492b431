"""Each memory tool: what it changes, and what it says when it changes nothing."""

from __future__ import annotations

import pytest

from hibernaut.domain.memory.memory_edits import (
    MEMORY_TOOLS,
    BlockCreated,
    BlockDescribed,
    BlockDetached,
    BlockEdited,
    BlockRenamed,
    EditResult,
    apply,
    changed,
)
from hibernaut.domain.memory.system_prompt import LINE_NUMBER_WARNING
from hibernaut.schemas.base import JsonObject
from tests.unit.domain.blocks import POEM, block, call, said


def test_append_adds_a_line_and_returns_the_whole_block() -> None:
    new = f"{POEM}\nsugar is sweet"
    assert call("core_memory_append", label="human", content="sugar is sweet") == EditResult(
        "success", new, (BlockEdited("human", new),)
    )


def test_core_memory_replace_replaces_every_occurrence() -> None:
    result = call("core_memory_replace", label="human", old_content="roses", new_content="tulips")
    assert result.message == "tulips are red\nviolets are blue\ntulips are thorny"


def test_core_memory_replace_of_nothing_is_refused_and_shows_the_block() -> None:
    for missing in ("daisies", ""):
        result = call("core_memory_replace", label="human", old_content=missing, new_content="x")
        assert (result.status, result.changes) == ("error", ())
        assert "`old_content` does not stand in the block" in said(result)
        assert said(result).endswith(POEM)


def test_a_refusal_quotes_only_the_beginning_of_a_long_block() -> None:
    result = call("memory_replace", block(value="a" * 2_500, limit=9_999), label="human", old_string="b", new_string="c")
    assert said(result).endswith("a" * 2_000 + " (and 500 characters more)")
    just = call("memory_replace", block(value="a" * 2_000, limit=9_999), label="human", old_string="b", new_string="c")
    assert said(just).endswith("a" * 2_000)
    empty = call("memory_replace", block(value=""), label="human", old_string="b", new_string="c")
    assert said(empty).endswith("The block is empty.")


def test_memory_replace_changes_the_one_match() -> None:
    result = call("memory_replace", label="human", old_string="violets are blue", new_string="")
    assert result.changes == (BlockEdited("human", "roses are red\n\nroses are thorny"),)


def test_memory_replace_names_the_lines_of_several_matches() -> None:
    result = call("memory_replace", label="human", old_string="roses", new_string="tulips")
    assert result.status == "error"
    assert "2 times in the block, in lines 1, 3" in said(result)


def test_a_tab_matches_itself_and_the_spaces_that_it_stands_for() -> None:
    indented = block(value="list:\n\tmilk\tfresh")
    assert call("memory_replace", indented, label="human", old_string="milk\tfresh", new_string="rye").message == "list:\n\trye"
    assert (
        call("memory_replace", indented, label="human", old_string="        milk", new_string="- rye").message
        == "list:\n- rye    fresh"
    )


def test_spaces_match_a_tab_that_the_model_writes() -> None:
    aligned = block(value="a       b")
    assert call("memory_replace", aligned, label="human", old_string="a\tb", new_string="c\td").message == "c       d"


def test_an_empty_old_string_fills_an_empty_block_only() -> None:
    assert call("memory_replace", block(value=""), label="human", old_string="", new_string="x").message == "x"
    assert "`old_string` is empty" in said(call("memory_replace", label="human", old_string="", new_string="x"))


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (0, "new\none\ntwo"),
        (1, "one\nnew\ntwo"),
        (2, "one\ntwo\nnew"),
        (-1, "one\ntwo\nnew"),
        (None, "one\ntwo\nnew"),
        (1.0, "one\nnew\ntwo"),
        ("1", "one\nnew\ntwo"),
    ],
)
def test_memory_insert_inserts_after_a_line(line: object, value: str) -> None:
    assert call("memory_insert", block(value="one\ntwo"), label="human", new_string="new", insert_line=line).message == value


@pytest.mark.parametrize("line", [3, -2, 10**30])
def test_memory_insert_names_the_lines_that_there_are(line: int) -> None:
    assert "goes from 0 (the top) to 2" in said(
        call("memory_insert", block(value="one\ntwo"), label="human", new_string="x", insert_line=line)
    )


def test_a_block_of_one_line_has_no_second() -> None:
    assert call("memory_insert", block(value="one"), label="human", new_string="x", insert_line=2).status == "error"
    assert call("memory_insert", block(value=""), label="human", new_string="x", insert_line=2).status == "error"


def test_text_inserted_into_an_empty_block_brings_no_empty_line() -> None:
    for line in (-1, 0, 1):
        assert call("memory_insert", block(value=""), label="human", new_string="x", insert_line=line).message == "x"


def test_memory_rethink_overwrites_the_block() -> None:
    assert call("memory_rethink", label="human", new_memory="all new").changes == (BlockEdited("human", "all new"),)


def test_memory_finish_edits_says_nothing_and_changes_nothing() -> None:
    assert call("memory_finish_edits") == EditResult("success", None, ())


def test_an_edit_that_changes_nothing_succeeds_without_a_change() -> None:
    assert call("memory_rethink", label="human", new_memory=POEM) == EditResult("success", POEM, ())


EDITS: list[tuple[str, JsonObject]] = [
    ("core_memory_append", {"label": "human", "content": "x"}),
    ("core_memory_replace", {"label": "human", "old_content": "roses", "new_content": "x"}),
    ("memory_replace", {"label": "human", "old_string": "violets", "new_string": "x"}),
    ("memory_insert", {"label": "human", "new_string": "x"}),
    ("memory_rethink", {"label": "human", "new_memory": "x"}),
    ("memory_apply_patch", {"label": "human", "patch": "@@\n-violets are blue"}),
    ("memory_apply_patch", {"label": "", "patch": "*** Delete Block: human"}),
    ("memory_apply_patch", {"label": "", "patch": "*** Update Block: human\n*** Move to: user"}),
    ("memory", {"command": "str_replace", "path": "human", "old_string": "violets", "new_string": "x"}),
    ("memory", {"command": "insert", "path": "human", "insert_text": "x"}),
    ("memory", {"command": "delete", "path": "human"}),
    ("memory", {"command": "rename", "old_path": "human", "new_path": "user"}),
    ("memory", {"command": "rename", "path": "human", "description": "x"}),
]


@pytest.mark.parametrize(("name", "args"), EDITS)
def test_a_read_only_block_refuses_every_edit(name: str, args: JsonObject) -> None:
    assert apply(name, args, [block()]).changes
    refused = apply(name, args, [block(read_only=True)])
    assert (refused.status, refused.changes) == ("error", ())
    assert "`human` is read-only" in said(refused)


@pytest.mark.parametrize(("name", "args"), EDITS)
def test_an_unknown_label_is_answered_with_the_labels_that_there_are(name: str, args: JsonObject) -> None:
    refused = apply(name, args, [block("persona"), block("team/goals")])
    assert (refused.status, refused.changes) == ("error", ())
    assert "There is no block `human`. Your blocks are: `persona`, `team/goals`." in said(refused)


def test_an_edit_over_the_limit_is_refused_with_both_numbers() -> None:
    result = call("core_memory_append", block(value="12345", limit=10), label="human", content="67890")
    assert (result.status, result.changes) == ("error", ())
    assert "would hold 11 characters, and its limit is 10" in said(result)
    assert call("core_memory_append", block(value="12345", limit=10), label="human", content="6789").status == "success"


def test_a_block_that_is_too_long_may_be_shortened_but_not_kept_that_long() -> None:
    long = block(value="a" * 20, limit=10)
    assert call("memory_rethink", long, label="human", new_memory="b" * 15).status == "success"
    assert call("memory_rethink", long, label="human", new_memory="b" * 20).status == "error"
    assert call("memory_rethink", long, label="human", new_memory="a" * 20) == EditResult("success", "a" * 20, ())


@pytest.mark.parametrize(
    "text", ["1→ roses", "fine\n  12→ too", f"x {LINE_NUMBER_WARNING} y", LINE_NUMBER_WARNING.split(". ")[0]]
)
def test_line_numbers_and_their_warning_are_refused_in_every_edit(text: str) -> None:
    for name, args in (
        ("core_memory_append", {"content": text}),
        ("core_memory_replace", {"old_content": "roses", "new_content": text}),
        ("memory_replace", {"old_string": text, "new_string": "x"}),
        ("memory_replace", {"old_string": "violets", "new_string": text}),
        ("memory_insert", {"new_string": text}),
        ("memory_rethink", {"new_memory": text}),
        ("memory_apply_patch", {"patch": "@@\n" + "\n".join(f"+{line}" for line in text.split("\n"))}),
    ):
        result = apply(name, {"label": "human", **args}, [block()])
        assert (result.status, "line numbers" in said(result)) == ("error", True), name


def test_an_arrow_within_a_line_is_ordinary_text() -> None:
    assert call("core_memory_append", label="human", content="moved from flat 1→2").status == "success"


@pytest.mark.parametrize(
    ("name", "args", "complaint"),
    [
        ("core_memory_append", {"label": "human"}, "`content` is missing"),
        ("core_memory_append", {"label": None, "content": "x"}, "`label` is missing"),
        ("memory_replace", {"label": "human", "old_string": ["x"], "new_string": "y"}, "`old_string` must be a text, not a list"),
        ("memory_rethink", {"label": "human", "new_memory": 5}, "`new_memory` must be a text, not the number 5"),
        (
            "memory_insert",
            {"label": "human", "new_string": "x", "insert_line": "top"},
            "`insert_line` must be a whole number, not the text 'top'",
        ),
        ("memory_insert", {"label": "human", "new_string": "x", "insert_line": True}, "`insert_line` must be a whole number"),
        (
            "memory_insert",
            {"label": "human", "new_string": "x", "insert_line": 1.5},
            "`insert_line` must be a whole number, not the number 1.5",
        ),
        ("memory", {}, "`command` is missing"),
        ("memory", {"command": "cat"}, "`command` must be one of create, str_replace, insert, delete, rename, view"),
        ("memory_forget", {}, "no memory tool named `memory_forget`"),
    ],
)
def test_arguments_that_cannot_be_used_are_named(name: str, args: JsonObject, complaint: str) -> None:
    result = apply(name, args, [block()])
    assert (result.status, result.changes) == ("error", ())
    assert complaint in said(result)


def test_what_no_table_can_store_is_not_kept() -> None:
    result = call("memory_rethink", label="human", new_memory="a\x00b\ud83d")
    assert result.changes == (BlockEdited("human", "ab?"),)


def test_the_calls_of_one_step_see_each_other() -> None:
    before = [block("human"), block("persona"), block("plan")]
    after = changed(
        before,
        (
            BlockCreated("pets", "Rex", "animals"),
            BlockEdited("pets", "Rex and Tom"),
            BlockRenamed("human", "user"),
            BlockDescribed("user", "the user"),
            BlockDetached("plan"),
        ),
    )
    assert [(one.label, one.value, one.description) for one in after] == [
        ("user", POEM, "the user"),
        ("persona", POEM, None),
        ("pets", "Rex and Tom", "animals"),
    ]
    assert [one.label for one in before] == ["human", "persona", "plan"]


def test_there_are_eight_memory_tools() -> None:
    assert len(MEMORY_TOOLS) == 8
    assert {name for name, _ in EDITS} | {"memory_finish_edits"} == MEMORY_TOOLS
