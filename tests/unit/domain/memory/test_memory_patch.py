"""Patches of one block and of several."""

from __future__ import annotations

import pytest

from hibernaut.domain.memory.memory_edits import BlockCreated, BlockDetached, BlockEdited, BlockRenamed, EditResult
from tests.unit.domain.blocks import block, call, said

LIST = "one\ntwo\n\nthree\ntwo"


def patch(text: str, value: str = LIST) -> EditResult:
    return call("memory_apply_patch", block(value=value), label="human", patch=text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("@@\n one\n-two\n+TWO", "one\nTWO\n\nthree\ntwo"),
        ("-one\n+ONE", "ONE\ntwo\n\nthree\ntwo"),
        ("@@ somewhere @@\n three\n+four\n two\n", "one\ntwo\n\nthree\nfour\ntwo"),
        ("@@\n-one\n@@\n-three", "two\n\ntwo"),
        ("@@\n-one\n\n@@\n-three\n\n", "two\n\ntwo"),
        ("@@\n two\n\n-three", "one\ntwo\n\ntwo"),
        ("@@\n+last\n\n+of all", f"{LIST}\nlast\n\nof all"),
        ("--- a/human\n+++ b/human\n@@ -1,2 +1,1 @@\n-one\n two\n ", "two\n\nthree\ntwo"),
        ("--- a/human\n+++ b/human\n-one", "two\n\nthree\ntwo"),
        ("+x\n+++ y", f"{LIST}\nx\n++ y"),
        ("*** Begin Patch\n@@\n-one\n*** End Patch", "two\n\nthree\ntwo"),
        ("@@\n-one\n\\ No newline at end of file", "two\n\nthree\ntwo"),
    ],
)
def test_a_patch_of_one_block_returns_its_new_text(text: str, value: str) -> None:
    assert patch(text) == EditResult("success", value, (BlockEdited("human", value),))


def test_an_addition_to_an_empty_block_brings_no_empty_line() -> None:
    assert patch("@@\n+first", value="").message == "first"
    assert patch("@@\n+second", value="first\n").message == "first\nsecond"


def test_a_removed_line_may_look_like_the_head_of_a_diff() -> None:
    assert patch("--- a\n+c", value="-- a\nb").message == "c\nb"
    assert patch("--- a", value="-- a\nb").message == "b"


def test_a_hunk_may_empty_the_block() -> None:
    assert patch("@@\n-one", value="one").message == ""


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("@@\n-two\n", "hunk 1 fits at each of the lines 2, 5"),
        ("@@\n-two", "hunk 1 fits at each of the lines 2, 5"),
        ("@@\n-one\n@@\n-ten", "removed lines of hunk 2 do not stand in the block"),
        ("@@\n-one\n three", "removed lines of hunk 1 do not stand"),
        ("@@\n one", "hunk 1 neither removes nor adds"),
        ("", "no lines that begin with - or +"),
        ("@@\n\n@@", "no lines that begin with - or +"),
        ("@@\none\n-two", "the line 'one' has no mark"),
        ("hello\n*** Delete Block: human", "text before the first"),
    ],
)
def test_a_patch_that_does_not_fit_in_one_place_changes_nothing(text: str, complaint: str) -> None:
    result = patch(text)
    assert (result.status, result.changes) == ("error", ())
    assert complaint in said(result)


def test_a_patch_of_several_blocks_returns_what_it_did() -> None:
    text = """*** Begin Patch
*** Add Block: pets
Description: the animals
+Rex
+
+Tom

*** Update Block: human
@@
-one
*** Update Block: plan
*** Move to: /memories/team/plan
@@
 a
+b
*** Delete Block: old
*** End Patch"""
    result = call("memory_apply_patch", block(value=LIST), block("plan", "a"), block("old"), label="", patch=text)
    assert result.changes == (
        BlockCreated("pets", "Rex\n\nTom", "the animals"),
        BlockEdited("human", "two\n\nthree\ntwo"),
        BlockEdited("plan", "a\nb"),
        BlockRenamed("plan", "team/plan"),
        BlockDetached("old"),
    )
    assert said(result).split("\n")[1:] == [
        "- created `pets`",
        "- edited `human`",
        "- edited `plan`",
        "- renamed `plan` to `team/plan`",
        "- removed `old`",
    ]


def test_a_new_block_may_be_written_without_marks_and_description() -> None:
    result = call("memory_apply_patch", label="", patch="*** Add Block: pets\nRex\n+1 for Tom")
    assert result.changes == (BlockCreated("pets", "Rex\n+1 for Tom", None),)


def test_a_new_block_may_be_empty() -> None:
    assert call("memory_apply_patch", label="", patch="*** Add Block: pets").changes == (BlockCreated("pets", "", None),)
    described = call("memory_apply_patch", label="", patch="*** Add Block: pets\nDescription: animals\n")
    assert described.changes == (BlockCreated("pets", "", "animals"),)


def test_a_section_may_move_a_block_only() -> None:
    result = call("memory_apply_patch", label="", patch="*** Update Block: human\n\n*** Move to: user\n\n")
    assert result.changes == (BlockRenamed("human", "user"),)


def test_a_section_that_changes_nothing_says_so() -> None:
    result = call("memory_apply_patch", block(value=LIST), label="", patch="*** Update Block: human\n@@\n-one\n+one")
    assert (said(result), result.changes) == ("Patched:\n- left `human` as it was", ())


def test_a_section_sees_what_the_ones_before_it_did() -> None:
    text = "*** Add Block: pets\nRex\n*** Update Block: pets\n@@\n-Rex\n+Tom\n*** Update Block: pets\n@@\n+Ada"
    result = call("memory_apply_patch", label="", patch=text)
    assert result.changes == (BlockCreated("pets", "Rex", None), BlockEdited("pets", "Tom"), BlockEdited("pets", "Tom\nAda"))


@pytest.mark.parametrize(
    "last",
    [
        "*** Add Block: human\nx",
        "*** Update Block: nobody\n@@\n+x",
        "*** Update Block: human",
        "*** Update Block: human\n*** Move to: human",
        "*** Update Block: human\n@@\n+" + "x" * 2000,
        "*** Delete Block: nobody",
    ],
)
def test_one_refused_section_undoes_all(last: str) -> None:
    result = call("memory_apply_patch", label="", patch=f"*** Add Block: pets\nRex\n{last}")
    assert (result.status, result.changes) == ("error", ())
