"""The contents of results, read before the package validates them, because one part of an unknown type would invalidate the whole
result of a call.
"""

from __future__ import annotations

from typing import Any

import mcp_types as types
from pydantic import TypeAdapter, ValidationError

MOST_PARTS = 1_000
"""Parts of a result that are read."""
LONGEST_TYPE = 50
"""The number of characters of an unknown type in its replacement text."""
_CONTENT: TypeAdapter[types.ContentBlock] = TypeAdapter(types.ContentBlock)


def readable(content: list[Any]) -> list[Any]:
    """The parts of a result. A line of text replaces each part that the package does not accept, and the parts beyond the
    limit.
    """
    parts = [each if _is_valid(each) else _text(_replacement(each)) for each in content[:MOST_PARTS]]
    omitted = len(content) - len(parts)
    return [*parts, _text(f"[{omitted} further parts were left out]")] if omitted else parts


def _is_valid(raw: object) -> bool:
    try:
        _CONTENT.validate_python(raw)
    except ValidationError:
        return False
    return True


def _replacement(raw: object) -> str:
    """The text that replaces an invalid part: its own text, if it has one, else a note."""
    part = raw if isinstance(raw, dict) else {}
    kind, text = part.get("type"), part.get("text")
    if kind == "text" and isinstance(text, str):
        return text
    named = " ".join(kind.split())[:LONGEST_TYPE] if isinstance(kind, str) else ""
    return f"[content of the type {named or 'unknown'}, which cannot be read]"


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
