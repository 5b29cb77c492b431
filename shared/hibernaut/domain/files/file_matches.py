"""The results of file searches in the form that the model reads (RT 5.5): matching lines with context, passages with
their file.
"""

from __future__ import annotations

import fnmatch
import json
from collections import Counter
from collections.abc import Sequence

from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.passage import Passage

PAGE = 20
"""The number of matches in one answer."""
CONTEXT = 1
"""The default number of context lines around a match."""
RULE = "=" * 80
PIECE_LINES = 20
LONGEST_SHOWN = 500
"""The number of characters shown of a line in a match."""


@immutable
class Match:
    """A line that matches the pattern; lines count from 1."""

    file_id: str
    name: str
    line: int


@immutable
class GrepResult:
    """All matches in order. `skipped`: the files that were not searched. `cut`: there are more matches."""

    matches: tuple[Match, ...]
    skipped: tuple[str, ...] = ()
    cut: bool = False


def include_pattern(glob: str) -> str:
    """The regular expression for names that match a glob (`*.py` matches in every folder); a regular expression is unchanged."""
    if any(mark in glob for mark in "*?["):
        return rf"^(?:.*/)?{fnmatch.translate(glob)}"
    return glob


def grep_text(
    result: GrepResult,
    excerpts: Sequence[tuple[Match, Sequence[str], int]],
    *,
    pattern: str,
    include: str = "",
    context: int = CONTEXT,
    offset: int = 0,
) -> str:
    """The answer of `grep_files`: each match with the lines around it and the number of the first of these lines."""
    total = len(result.matches)
    notes = [f"Not searched, because of its size or because there are enough matches: {name}" for name in result.skipped]
    if not total:
        return "\n".join([f"No matches found for pattern: '{pattern}'", *notes])
    counts = Counter(match.name for match in result.matches)
    last = min(offset + PAGE, total)
    many = f"{total}+" if result.cut else str(total)
    head = f"Found {many} total matches across {len(counts)} files (showing matches {min(offset + 1, total)}-{last} of {many})"
    parts = [head, RULE, *(f"{name}: {count} matches" for name, count in counts.items()), *notes, ""]
    for match, lines, first in excerpts:
        parts.append(f"=== {match.name}:{match.line} ===")
        parts += [
            f"{'>' if number == match.line else ' '} {number}: {line[:LONGEST_SHOWN]}" for number, line in enumerate(lines, first)
        ]
        parts.append("")
    if last < total:
        arguments = {"pattern": pattern, **({"include": include} if include else {}), "context_lines": context, "offset": last}
        parts.append(f"For the next matches call grep_files with {json.dumps(arguments, ensure_ascii=False)}")
    return "\n".join(parts).rstrip()


def searched_text(query: str, hits: Sequence[tuple[str, Passage, float]], notes: Sequence[str]) -> str:
    """The answer of `semantic_search_files`; `hits` are (file name, passage, score), best first."""
    note_lines = [f"Note: {note}" for note in notes]
    if not hits:
        return "\n".join([f"No semantic matches found for query: '{query}'", *note_lines])
    files = len({name for name, _, _ in hits})
    parts = [
        f"Found {len(hits)} semantic matches in {files} file{'' if files == 1 else 's'} for query: '{query}'",
        *note_lines,
        RULE,
    ]
    for name, piece, score in hits:
        index = (piece.metadata or {}).get("index", 0)
        lines = piece.text.split("\n")
        more = f"\n... ({len(lines) - PIECE_LINES} more lines)" if len(lines) > PIECE_LINES else ""
        parts += ["", f"=== {name} (passage #{int(index) + 1}) (score: {score:.3f}) ===", "\n".join(lines[:PIECE_LINES]) + more]
    return "\n".join(parts)
