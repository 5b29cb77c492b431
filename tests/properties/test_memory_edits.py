"""What holds for every call of a memory tool, whatever the model says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.memory.memory_edits import MEMORY_TOOLS, BlockCreated, BlockEdited, apply, changed
from hibernaut.domain.memory.memory_patch import patched
from hibernaut.schemas.memory.block import DEFAULT_LIMIT, Block

LABELS = ["human", "persona", "team/goals"]
labels = st.sampled_from([*LABELS, "/memories/human", "nobody", ""])
lines = st.sampled_from(["a", "b", "aa", "", "\tx", "1→ a", "*** Add Block: new", "@@", " a", "-a", "+b", "Description: d"])
texts = st.lists(lines, max_size=6).map("\n".join) | st.text(max_size=8)
junk = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.lists(texts, max_size=2)
    | st.dictionaries(texts, texts, max_size=1)
)
ARGUMENTS = {
    "label": labels, "path": labels, "old_path": labels, "new_path": labels,
    "command": st.sampled_from(["create", "str_replace", "insert", "delete", "rename", "view"]),
    "insert_line": st.integers(-3, 8),
    "content": texts, "old_content": texts, "new_content": texts, "old_string": texts, "new_string": texts,
    "new_memory": texts, "patch": texts, "file_text": texts, "insert_text": texts, "description": texts,
}  # fmt: skip
arguments = st.fixed_dictionaries({}, optional={name: values | junk for name, values in ARGUMENTS.items()})
told = st.fixed_dictionaries(ARGUMENTS)
memories = st.builds(
    lambda values, limits, locked: [
        Block(id=f"block-{label}", label=label, value=value, limit=limit, read_only=label == locked)
        for label, value, limit in zip(LABELS, values, limits, strict=True)
    ],
    st.lists(texts, min_size=3, max_size=3),
    st.lists(st.integers(0, 30), min_size=3, max_size=3),
    st.sampled_from([None, *LABELS]),
)
tools = st.sampled_from(sorted(MEMORY_TOOLS))


@given(tools | st.text(max_size=5), arguments | told, memories)
def test_no_call_raises_and_a_refused_one_changes_nothing(name: str, args: dict[str, object], blocks: list[Block]) -> None:
    result = apply(name, args, blocks)
    assert result.status == "success" or (result.message and result.changes == ())


@given(tools, told, memories)
def test_no_edit_passes_a_limit_or_touches_a_read_only_block(name: str, args: dict[str, object], blocks: list[Block]) -> None:
    before = {block.label: block for block in blocks}
    for change in apply(name, args, blocks).changes:
        old = before.get(change.label)
        assert old is None or not old.read_only
        if isinstance(change, BlockCreated):
            assert len(change.value) <= DEFAULT_LIMIT
        if isinstance(change, BlockEdited) and old:
            assert len(change.value) <= old.limit or len(change.value) < len(old.value)


@given(tools, told, memories)
def test_labels_stay_unique(name: str, args: dict[str, object], blocks: list[Block]) -> None:
    after = [block.label for block in changed(blocks, apply(name, args, blocks).changes)]
    assert len(after) == len(set(after))
    assert all(after)


@given(st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1), st.data())
def test_a_patch_made_from_two_texts_turns_one_into_the_other(old: list[str], data: st.DataObject) -> None:
    # Lines that differ from each other make every place unique, so that one hunk over the whole text must fit.
    kept = [data.draw(st.booleans()) for _ in old]
    added = data.draw(st.lists(st.sampled_from("XYZ"), min_size=1))
    at = data.draw(st.integers(0, len(old)))
    marked = [f"{' ' if keep else '-'}{line}" for line, keep in zip(old, kept, strict=True)]
    hunk = [*marked[:at], *(f"+{line}" for line in added), *marked[at:]]
    new = [
        *(o for o, k in zip(old[:at], kept[:at], strict=True) if k),
        *added,
        *(o for o, k in zip(old[at:], kept[at:], strict=True) if k),
    ]
    assert patched("\n".join(old), "@@\n" + "\n".join(hunk)) == "\n".join(new)
