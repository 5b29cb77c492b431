"""Escaping for the compiled system message: text of users and agents is set between tags without becoming a tag itself.

In inserted text, the `<` of our own tags is written `&lt;`; every other character stays. Only the rendered text changes, never
the stored one. `plain` is the inverse, because a model copies what it reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from hibernaut.schemas.names import is_plain, reads_as_section

UPDATE = "memory_update"
"""The tag of an update of memory. Only the server writes it: what others say is sent without it (`without_update_tags`)."""
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
    UPDATE,
    "removed_blocks",
    "metadata",
    "tool_rule",
    "tool_usage_rules",
    "value",
    "warning",
)
_ESCAPED = "&lt;"
_BEFORE_NAME = r"\s*+(?:/\s*+)?"
"""What may stand between the bracket of a tag and its name. Possessive: the time grows with the length of a text alone."""
_AFTER_NAME = r"(?:[\s/>]|$)"
_UPDATE_TAG = re.compile(rf"<(?={_BEFORE_NAME}{UPDATE})", re.IGNORECASE)


def tag_of(label: str | None) -> str:
    """The tag that encloses the block with this label. Labels of earlier versions may contain characters that are no longer
    allowed, or read as the tag of a section. A label that begins with a slash would be a closing tag.
    """
    name = "".join(each for each in label or "" if is_plain(each)).lstrip("/ ")
    return name if name and not reads_as_section(name) else "block"


def escaped(text: str, labels: Iterable[str | None] = ()) -> str:
    """The text with our own tags escaped. `labels` are the labels of the blocks in the same prompt, because these are tags
    too.
    """
    if "<" not in text:
        return text
    return re.sub(f"<{_rest(labels)}", _ESCAPED, text, flags=re.IGNORECASE)


def plain(text: str, labels: Iterable[str | None] = ()) -> str:
    """The inverse of `escaped`."""
    if _ESCAPED not in text:
        return text
    return re.sub(f"{_ESCAPED}{_rest(labels)}", "<", text, flags=re.IGNORECASE)


def names_update(text: str) -> bool:
    """Whether a text may contain the tag of memory updates. Much cheaper than `without_update_tags`: each step looks at all
    rows.
    """
    return "<" in text and UPDATE in text.lower()


def without_update_tags(text: str) -> str:
    """The text with the tag of memory updates escaped, so that nobody but the server can write such an update."""
    return _UPDATE_TAG.sub(_ESCAPED, text) if names_update(text) else text


def attribute(text: str) -> str:
    """The text as the value of a double-quoted attribute, on one line."""
    text = "".join(each if each.isprintable() else " " for each in text)
    return text.replace("<", _ESCAPED).replace(">", "&gt;").replace('"', "&quot;")


def _rest(labels: Iterable[str | None]) -> str:
    names = sorted({*TAGS, *map(tag_of, labels)}, key=len, reverse=True)
    rest = rf"(?={_BEFORE_NAME}(?:{'|'.join(_behind_space(name) for name in names if name.strip())}){_AFTER_NAME})"
    for blank in (name for name in names if not name.strip()):
        rest = rf"(?:{rest}|(?=(?:\s*+/)?\s*?{re.escape(blank)}{_AFTER_NAME}))"
    return rest


def _behind_space(name: str) -> str:
    """A name behind _BEFORE_NAME, which has taken the white space that the name may begin with."""
    bare = name.lstrip()
    space = name[: len(name) - len(bare)]
    return f"(?<={re.escape(space)}){re.escape(bare)}" if space else re.escape(name)
