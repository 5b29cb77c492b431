"""The memory tools: the changes that a call makes to core memory, or the reason for refusing it (RT 5.3).

Pure: blocks and arguments in, changes out; the step's transaction applies them. No argument of a model raises an exception. A
refused call changes nothing, and its message tells the model how to correct it. An edit never exceeds a block's limit, though it
may shorten a block that the API made longer than its limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, assert_never

from hibernaut.domain import prompt_tags
from hibernaut.domain.memory.memory_patch import AddSection, DeleteSection, Section, UpdateSection, patched, sections
from hibernaut.domain.memory.memory_texts import Refused, inserted, replaced_everywhere, replaced_once, unnumbered
from hibernaut.domain.tools.tool_returns import storable
from hibernaut.schemas.base import JsonObject, kind_of
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.block import DEFAULT_LIMIT, Block
from hibernaut.schemas.names import LONGEST_LABEL, label_fault

_ROOT = "/memories/"
_DIGITS = re.compile(r"-?[0-9]{1,9}")
# More lines than any block has, and few enough digits to print.
_MANY = 10**9


@immutable
class BlockEdited:
    """A block gets a new value."""

    label: str
    value: str


@immutable
class BlockCreated:
    """The agent gets a new block."""

    label: str
    value: str
    description: str | None


@immutable
class BlockDetached:
    """The block is detached from this agent; it is not deleted."""

    label: str


@immutable
class BlockRenamed:
    """A block gets a new label."""

    label: str
    new_label: str


@immutable
class BlockDescribed:
    """A block gets a new description."""

    label: str
    description: str


BlockChange = BlockEdited | BlockCreated | BlockDetached | BlockRenamed | BlockDescribed


@immutable
class EditResult:
    """The result of a memory call. `message` is what the tool returns; None is returned as "None"."""

    status: Literal["success", "error"]
    message: str | None
    changes: tuple[BlockChange, ...]


_Outcome = tuple[str | None, tuple[BlockChange, ...]]
_Tool = Callable[[JsonObject, Sequence[Block]], _Outcome]


def apply(name: str, args: JsonObject, blocks: Sequence[Block]) -> EditResult:
    """The effect of a call of the memory tool `name` on `blocks`, the agent's current blocks."""
    tool = _TOOLS.get(name)
    if tool is None:
        return EditResult("error", f"There is no memory tool named `{name}`.", ())
    try:
        message, changes = tool(args, blocks)
    except Refused as refusal:
        read = _as_stored(args, blocks)
        if read == args:
            return EditResult("error", str(refusal), ())
        return apply(name, read, blocks)
    return EditResult("success", message, changes)


def _as_stored(args: JsonObject, blocks: Sequence[Block]) -> JsonObject:
    """The arguments in stored form: a model that copies from its system message copies escaped text."""
    labels = [block.label for block in blocks]
    return {name: prompt_tags.plain(value, labels) if isinstance(value, str) else value for name, value in args.items()}


def changed(blocks: Sequence[Block], changes: Sequence[BlockChange]) -> list[Block]:
    """A copy of the blocks with the changes applied, so that the calls of one step see each other's edits. A created block has no
    id yet.
    """
    copy = list(blocks)
    for change in changes:
        if isinstance(change, BlockCreated):
            copy.append(Block.model_construct(id="", label=change.label, value=change.value, description=change.description))
        elif isinstance(change, BlockDetached):
            copy = [block for block in copy if block.label != change.label]
        else:
            copy = [block.model_copy(update=_update(change)) if block.label == change.label else block for block in copy]
    return copy


def written_over(values: Mapping[str, str], blocks: Sequence[Block]) -> EditResult:
    """The changes by a custom tool's copy of core memory (label -> value): all, or none if one is refused. Unknown labels are
    ignored.
    """
    changes: tuple[BlockChange, ...] = ()
    by_label = {block.label: block for block in blocks}
    try:
        for label, value in values.items():
            text = storable(value).replace("\x00", "")
            if label in by_label and text != by_label[label].value:
                changes += _edit(_writable(blocks, label), text)[1]
    except Refused as refusal:
        return EditResult("error", str(refusal), ())
    return EditResult("success", None, changes)


def _update(change: BlockEdited | BlockRenamed | BlockDescribed) -> dict[str, str]:
    match change:
        case BlockEdited():
            return {"value": change.value}
        case BlockRenamed():
            return {"label": change.new_label}
        case BlockDescribed():
            return {"description": change.description}
    assert_never(change)


def _core_memory_append(args: JsonObject, blocks: Sequence[Block]) -> _Outcome:
    block, content = _writable(blocks, _text(args, "label")), _passage(args, "content")
    return _edit(block, f"{block.value}\n{content}")


def _core_memory_replace(args: JsonObject, blocks: Sequence[Block]) -> _Outcome:
    block, old, new = _writable(blocks, _text(args, "label")), _passage(args, "old_content"), _passage(args, "new_content")
    return _edit(block, replaced_everywhere(block.value, old, new, block.limit))


def _memory_replace(args: JsonObject, blocks: Sequence[Block]) -> _Outcome:
    return _replace(_text(args, "label"), args, blocks)


def _memory_insert(args: JsonObject, blocks: Sequence[Block]) -> _Outcome:
    return _insert(_text(args, "label"), "new_string", args, blocks)


def _memory_rethink(args: JsonObject, blocks: Sequence[Block]) -> _Outcome:
    return _edit(_writable(blocks, _text(args, "label")), _passage(args, "new_memory"))


def _memory_finish_edits(_args: JsonObject, _blocks: Sequence[Block]) -> _Outcome:
    return None, ()


def _memory_apply_patch(args: JsonObject, blocks: Sequence[Block]) -> _Outcome:
    patch = _passage(args, "patch")
    patch_sections = sections(patch)
    if not patch_sections:
        block = _writable(blocks, _text(args, "label"))
        return _edit(block, patched(block.value, patch))
    lines: list[str] = []
    changes: tuple[BlockChange, ...] = ()
    for section in patch_sections:
        section_changes = _patch_section(section, changed(blocks, changes))
        changes += section_changes
        lines += [f"- {_summary(change)}" for change in section_changes] or [f"- left `{section.label}` as it was"]
    return "Patched:\n" + "\n".join(lines), changes


def _patch_section(section: Section, blocks: Sequence[Block]) -> tuple[BlockChange, ...]:
    label = _unrooted(section.label)
    match section:
        case AddSection():
            return _create(label, section.value, section.description, blocks)
        case DeleteSection():
            return (BlockDetached(_named(_writable(blocks, label))),)
        case UpdateSection():
            block = _writable(blocks, label)
            if not section.patch and section.new_label is None:
                raise Refused(f"Not patched: the section of `{label}` holds no change.")
            edits = _edit(block, patched(block.value, section.patch))[1] if section.patch else ()
            return edits if section.new_label is None else (*edits, _rename(block, _unrooted(section.new_label), blocks))
    assert_never(section)


def _summary(change: BlockChange) -> str:
    match change:
        case BlockEdited():
            return f"edited `{change.label}`"
        case BlockCreated():
            return f"created `{change.label}`"
        case BlockDetached():
            return f"removed `{change.label}`"
        case BlockRenamed():
            return f"renamed `{change.label}` to `{change.new_label}`"
        case BlockDescribed():
            return f"described `{change.label}` anew"
    assert_never(change)


def _memory(args: JsonObject, blocks: Sequence[Block]) -> _Outcome:
    command = _COMMANDS.get(_text(args, "command"))
    if command is None:
        raise Refused(f"`command` must be one of {', '.join(_COMMANDS)}.")
    return command(args, blocks)


def _memory_create(args: JsonObject, blocks: Sequence[Block]) -> _Outcome:
    text = _passage(args, "file_text") if args.get("file_text") is not None else ""
    return _done(_create(_path(args, "path"), text, _text(args, "description"), blocks))


def _memory_str_replace(args: JsonObject, blocks: Sequence[Block]) -> _Outcome:
    return _replace(_path(args, "path"), args, blocks)


def _memory_insert_command(args: JsonObject, blocks: Sequence[Block]) -> _Outcome:
    return _insert(_path(args, "path"), "insert_text", args, blocks)


def _memory_delete(args: JsonObject, blocks: Sequence[Block]) -> _Outcome:
    return _done((BlockDetached(_named(_writable(blocks, _path(args, "path")))),))


def _memory_rename(args: JsonObject, blocks: Sequence[Block]) -> _Outcome:
    block = _writable(blocks, _path(args, "path" if args.get("old_path") is None else "old_path"))
    if args.get("new_path") is None:
        return _done((BlockDescribed(_named(block), _text(args, "description")),))
    return _done((_rename(block, _path(args, "new_path"), blocks),))


def _memory_view(args: JsonObject, blocks: Sequence[Block]) -> _Outcome:
    if args.get("path") is None or _text(args, "path").rstrip("/") in {"", _ROOT.rstrip("/")}:
        return "\n".join(_listed(block) for block in blocks if block.label) or "There are no memory blocks.", ()
    return _found(blocks, _path(args, "path")).value, ()


def _listed(block: Block) -> str:
    locked = ", read-only" if block.read_only else ""
    return f"- {block.label} ({len(block.value)} of {block.limit} characters{locked}): {block.description or 'no description'}"


def _done(changes: tuple[BlockChange, ...]) -> _Outcome:
    summaries_text = ", ".join(_summary(change) for change in changes)
    return f"Done: {summaries_text}. Your system prompt shows it from your next turn on.", changes


def _replace(label: str, args: JsonObject, blocks: Sequence[Block]) -> _Outcome:
    block, old, new = _writable(blocks, label), _passage(args, "old_string"), _passage(args, "new_string")
    return _edit(block, replaced_once(block.value, old, new))


def _insert(label: str, argument: str, args: JsonObject, blocks: Sequence[Block]) -> _Outcome:
    block, text = _writable(blocks, label), _passage(args, argument)
    return _edit(block, inserted(block.value, text, _whole_number(args, "insert_line", default=-1)))


def _edit(block: Block, value: str) -> _Outcome:
    """The new value, and the change if there is one. A value over the limit is refused unless it is shorter than the old
    value.
    """
    if len(value) > block.limit and len(value) >= len(block.value) and value != block.value:
        raise Refused(
            f"Not edited: block `{block.label}` would hold {len(value)} characters, and its limit is {block.limit}. "
            "Write less, or first shorten what the block already says."
        )
    return value, () if value == block.value else (BlockEdited(_named(block), value),)


def _create(label: str, value: str, description: str | None, blocks: Sequence[Block]) -> tuple[BlockChange, ...]:
    _free(label, blocks)
    if len(value) > DEFAULT_LIMIT:
        raise Refused(
            f"Not created: block `{label}` would hold {len(value)} characters, and its limit is {DEFAULT_LIMIT}. Write less."
        )
    return (BlockCreated(label, value, description),)


def _rename(block: Block, new_label: str, blocks: Sequence[Block]) -> BlockRenamed:
    _free(new_label, blocks)
    return BlockRenamed(_named(block), new_label)


def _free(label: str, blocks: Sequence[Block]) -> None:
    if not 0 < len(label) <= LONGEST_LABEL:
        raise Refused(f"A label has 1 to {LONGEST_LABEL} characters, not {len(label)}.")
    if fault := label_fault(label):
        raise Refused(f"{fault} Choose another label.")
    if any(block.label == label for block in blocks):
        raise Refused(f"There is a block `{label}` already. Edit that one, or choose another label.")


def _writable(blocks: Sequence[Block], label: str) -> Block:
    block = _found(blocks, label)
    if block.read_only:
        raise Refused(f"Not edited: block `{label}` is read-only. Keep what you want to remember in another block.")
    return block


def _found(blocks: Sequence[Block], label: str) -> Block:
    for block in blocks:
        if block.label == label:
            return block
    labels = ", ".join(f"`{block.label}`" for block in blocks if block.label)
    raise Refused(f"There is no block `{label}`. " + (f"Your blocks are: {labels}." if labels else "You have no blocks."))


def _named(block: Block) -> str:
    return block.label or ""


def _path(args: JsonObject, argument: str) -> str:
    return _unrooted(_text(args, argument))


def _unrooted(label: str) -> str:
    """The label without the path `/memories/`, which models like to write; any other slash belongs to the label."""
    return label.removeprefix(_ROOT)


def _passage(args: JsonObject, argument: str) -> str:
    return unnumbered(_text(args, argument), argument)


def _text(args: JsonObject, argument: str) -> str:
    value = args.get(argument)
    if value is None:
        raise Refused(f"`{argument}` is missing. Give it as a text.")
    if not isinstance(value, str):
        raise Refused(f"`{argument}` must be a text, not {kind_of(value)}.")
    return storable(value).replace("\x00", "")


def _whole_number(args: JsonObject, argument: str, *, default: int) -> int:
    value = args.get(argument)
    match value:
        case None:
            return default
        case bool():
            pass
        case int():
            return min(max(value, -_MANY), _MANY)
        case float() if value.is_integer():
            return min(max(int(value), -_MANY), _MANY)
        case str() if _DIGITS.fullmatch(value):
            return int(value)
    raise Refused(f"`{argument}` must be a whole number, not {kind_of(value)}.")


_TOOLS: Mapping[str, _Tool] = {
    "core_memory_append": _core_memory_append,
    "core_memory_replace": _core_memory_replace,
    "memory": _memory,
    "memory_replace": _memory_replace,
    "memory_insert": _memory_insert,
    "memory_apply_patch": _memory_apply_patch,
    "memory_rethink": _memory_rethink,
    "memory_finish_edits": _memory_finish_edits,
}
_COMMANDS: Mapping[str, _Tool] = {
    "create": _memory_create,
    "str_replace": _memory_str_replace,
    "insert": _memory_insert_command,
    "delete": _memory_delete,
    "rename": _memory_rename,
    "view": _memory_view,
}
MEMORY_TOOLS: frozenset[str] = frozenset(_TOOLS)
