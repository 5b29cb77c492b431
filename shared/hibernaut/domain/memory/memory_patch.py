"""Patches for memory blocks: how `memory_apply_patch` reads them (RT 5.3). Knows texts and labels, no blocks.

A patch of one block is a row of hunks. Each begins at a line `@@` (which the first may leave out); its lines begin with a space
(context), `-` (removed) or `+` (added), and an empty line is an empty line of context. A hunk that only adds is added at the end.
A patch of several blocks has sections that begin with `*** Add Block: label`, `*** Update Block: label` or
`*** Delete Block: label`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hibernaut.domain.memory.memory_texts import Refused, quoted
from hibernaut.schemas.immutable import immutable

_SECTION = re.compile(r"^\*\*\* (Add|Update|Delete) Block:[ \t]*+(\S.*)$")
_MOVE = re.compile(r"^\*\*\* Move to:[ \t]*+(\S.*)$")
_DESCRIPTION = "Description:"
_BLANKS = " \t"
_FRAME = frozenset({"*** Begin Patch", "*** End Patch", "*** End of File", "\\ No newline at end of file"})
_BARE = ""
"""The mark of an empty line, which has no space for a mark."""


@immutable
class AddSection:
    """The section that adds a block."""

    label: str
    value: str
    description: str | None


@immutable
class UpdateSection:
    """The section that edits a block. `patch` applies to this block only; it is empty if the section only renames the block."""

    label: str
    patch: str
    new_label: str | None


@immutable
class DeleteSection:
    """The section that deletes a block."""

    label: str


Section = AddSection | UpdateSection | DeleteSection


class _Line(NamedTuple):
    """A line of a hunk: its mark and its text."""

    mark: str
    text: str


def sections(patch: str) -> list[Section]:
    """The sections of a patch for several blocks; empty for a patch of one block. Raises: Refused if text precedes the first
    section.
    """
    lines = [line for line in patch.split("\n") if line not in _FRAME]
    heads = [(number, match) for number, line in enumerate(lines) if (match := _SECTION.match(line))]
    if not heads:
        return []
    if any(lines[: heads[0][0]]):
        raise Refused("Not patched: there is text before the first `*** Add Block:`, `*** Update Block:` or `*** Delete Block:`.")
    ends = [number for number, _ in heads[1:]] + [len(lines)]
    return [
        _section(match[1], match[2].rstrip(_BLANKS), lines[number + 1 : end])
        for (number, match), end in zip(heads, ends, strict=True)
    ]


def _section(kind: str, label: str, body: Sequence[str]) -> Section:
    match kind:
        case "Add":
            return _added(label, body)
        case "Update":
            moves = [match[1].rstrip(_BLANKS) for line in body if (match := _MOVE.match(line))]
            patch = "\n".join(line for line in body if not _MOVE.match(line)).strip("\n")
            return UpdateSection(label, patch, moves[0] if moves else None)
        case _:
            return DeleteSection(label)


def _added(label: str, body: Sequence[str]) -> AddSection:
    """The section of a new block; either all of its lines have a `+` or none."""
    lines = "\n".join(body).rstrip().split("\n")
    description = None
    if lines[0].startswith(_DESCRIPTION):
        description = lines[0].removeprefix(_DESCRIPTION).strip(_BLANKS)
        lines = lines[1:]
    if all(line.startswith("+") for line in lines if line):
        lines = [line[1:] for line in lines]
    return AddSection(label, "\n".join(lines), description)


def patched(value: str, patch: str) -> str:
    """The text with all hunks applied in order. Raises: Refused if a hunk does not match at exactly one place."""
    hunks = list(_hunks(patch))
    if not hunks:
        raise Refused("Not patched: the patch holds no lines that begin with - or +.")
    for number, hunk in enumerate(hunks, start=1):
        value = _applied(value, hunk, number)
    return value


def _hunks(patch: str) -> Iterator[list[_Line]]:
    lines = patch.strip("\n").split("\n")
    if len(lines) > 1 and lines[0].startswith("--- ") and lines[1].startswith("+++ "):
        lines = lines[2:]  # the file names of a unified diff
    hunk: list[_Line] = []
    for line in [*lines, "@@"]:
        if line.startswith("@@"):
            if any(mark != _BARE for mark, _ in hunk):
                yield hunk
            hunk = []
        elif line not in _FRAME:
            hunk.append(_line(line))


def _line(line: str) -> _Line:
    if not line:
        return _Line(_BARE, "")
    if line[0] not in " -+":
        raise Refused(
            f"Not patched: the line {line[:80]!r} has no mark. Each line begins with a space (context), - (removed) or + (added)."
        )
    return _Line(line[0], line[1:])


def _applied(value: str, hunk: Sequence[_Line], number: int) -> str:
    trimmed = _trimmed(hunk)
    marks = {mark for mark, _ in trimmed}
    if not marks & {"-", "+"}:
        raise Refused(f"Not patched: hunk {number} neither removes nor adds a line.")
    if not marks & {"-", " "}:
        gap = "" if not value or value.endswith("\n") else "\n"
        return value + gap + "\n".join(text for _, text in trimmed)
    lines = value.split("\n") if value else []
    for candidate in (hunk, trimmed):
        old = [text for mark, text in candidate if mark != "+"]
        places = [at for at in range(len(lines) - len(old) + 1) if lines[at : at + len(old)] == old]
        if len(places) > 1:
            line_numbers = ", ".join(str(at + 1) for at in places)
            raise Refused(
                f"Not patched: hunk {number} fits at each of the lines {line_numbers}. Add context lines until it fits only once."
            )
        if places:
            new = [text for mark, text in candidate if mark != "-"]
            return "\n".join([*lines[: places[0]], *new, *lines[places[0] + len(old) :]])
    raise Refused(
        f"Not patched: the context and removed lines of hunk {number} do not stand in the block one after another, "
        f"exactly as written. {quoted(value)}"
    )


def _trimmed(hunk: Sequence[_Line]) -> Sequence[_Line]:
    """The hunk without empty lines at its ends, which often only separate hunks."""
    marked = [number for number, line in enumerate(hunk) if line.mark != _BARE]
    return hunk[marked[0] : marked[-1] + 1] if marked else []
