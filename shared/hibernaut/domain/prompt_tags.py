"""The tags of the compiled system message: how text that somebody wrote is set between them without becoming one of them.

In inserted text the `<` that begins one of our own tags is written `&lt;`; every other character stays as it is. What is stored is
never changed, only how it is shown. `plain` is the way back: a model copies from what it was shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from hibernaut.schemas.names import is_plain

TAGS = (
    "available_skills",
    "base_instructions",
    "description",
    "directories",
    "directory",
    "file",
    "file_limits",
    "instructions",
    "memory_blocks",
    "memory_metadata",
    "metadata",
    "tool_rule",
    "tool_usage_rules",
    "value",
    "warning",
)
_ESCAPED = "&lt;"


def tag_of(label: str | None) -> str:
    """The tag that a block of this label stands in. A label that an earlier version took may hold what no label may hold now."""
    return "".join(each for each in label or "" if is_plain(each)) or "block"


def escaped(text: str, labels: Iterable[str | None] = ()) -> str:
    """The text, in which none of our tags begins or ends. `labels`: those of the blocks in the same prompt, which are tags too."""
    if "<" not in text:
        return text
    return re.sub(f"<{_rest(labels)}", _ESCAPED, text, flags=re.IGNORECASE)


def plain(text: str, labels: Iterable[str | None] = ()) -> str:
    """The text of which `escaped` made this one."""
    if _ESCAPED not in text:
        return text
    return re.sub(f"{_ESCAPED}{_rest(labels)}", "<", text, flags=re.IGNORECASE)


def attribute(text: str) -> str:
    """The text as the value of an attribute, between double quotes and in one line."""
    text = "".join(each if each.isprintable() else " " for each in text)
    return text.replace("<", _ESCAPED).replace(">", "&gt;").replace('"', "&quot;")


def _rest(labels: Iterable[str | None]) -> str:
    names = sorted({*TAGS, *map(tag_of, labels)}, key=len, reverse=True)
    return rf"(?=\s*/?\s*(?:{'|'.join(map(re.escape, names))})(?:[\s/>]|$))"
