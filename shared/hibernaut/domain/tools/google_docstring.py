"""Google-style docstrings: what a function does and what its parameters mean. Knows text only, nothing of Python's syntax."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import cleandoc

_ARGUMENTS = frozenset({"args", "arguments", "parameters", "params"})
_EXAMPLES = frozenset({"example", "examples"})
_OTHERS = frozenset({
    "attributes", "keyword args", "keyword arguments", "note", "notes", "other parameters", "raises", "references", "return", "returns",
    "see also", "todo", "warning", "warnings", "warns", "yield", "yields",
})  # fmt: skip
_HEADING = re.compile(r"(?P<title>[A-Za-z][A-Za-z ]*):\s*")
# `name (type): what it means`; the type may hold brackets of its own.
_ENTRY = re.compile(r"\*{0,2}(?P<name>\w+)\s*(?:\([^:]*(?:\)|\(.*\).*\)))?\s*:\s*(?P<text>.*)")


@dataclass(frozen=True, slots=True)
class Docstring:
    """`description` is the text before the sections and the examples; `parameters` is each parameter's text by name."""

    description: str
    parameters: dict[str, str]


def read(docstring: str) -> Docstring:
    """Never fails: what is not in the style is part of the description."""
    intro: list[str] = []
    examples: list[str] = []
    arguments: list[str] = []
    current = intro
    for line in cleandoc(docstring).splitlines():
        heading = _HEADING.fullmatch(line)
        title = heading["title"].strip().lower() if heading else ""
        if title in _ARGUMENTS:
            current = arguments
        elif title in _EXAMPLES:
            current = examples
            current.append(line)
        elif title in _OTHERS:
            current = []
        else:
            current.append(line)
    parts = ("\n".join(part).strip() for part in (intro, examples))
    return Docstring("\n\n".join(part for part in parts if part), _entries(arguments))


def _entries(lines: Sequence[str]) -> dict[str, str]:
    """The parameters of an `Args:` section: each starts at the section's own indent, deeper lines belong to it."""
    written = [line for line in lines if line.strip()]
    indent = min((_indent(line) for line in written), default=0)
    texts: dict[str, list[str]] = {}
    text: list[str] = []
    for line in written:
        entry = _ENTRY.fullmatch(line.strip()) if _indent(line) == indent else None
        if entry:
            text = texts.setdefault(entry["name"], [])
            text.append(entry["text"].strip())
        else:
            text.append(line.strip())
    return {name: "\n".join(part for part in parts if part) for name, parts in texts.items()}


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
