"""Names that are shown inside the structure of a prompt: labels of blocks, tags of passages. They are one line, and no markup."""

from __future__ import annotations

import unicodedata
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

LONGEST_LABEL = 512
SECTIONS = frozenset(
    {"available_skills", "base_instructions", "directories", "memory_blocks", "memory_metadata", "tool_usage_rules"}
)
"""The sections of a system message: no block may be called so."""
NOT_PLAIN = "may not contain '<', '>' or control characters"
_CONTROLS = ("Cc", "Zl", "Zp")


def is_plain(text: str) -> bool:
    """Whether the text holds neither angle brackets nor control characters and line breaks."""
    return not any(each in "<>" or unicodedata.category(each) in _CONTROLS for each in text)


def label_fault(label: str) -> str | None:
    """What is wrong with the label of a block; None where nothing is. Length is not looked at."""
    if not is_plain(label):
        return f"A block's label {NOT_PLAIN}."
    if label.lower() in SECTIONS:
        return f"A block cannot be labelled '{label}': a section of the system message is called so."
    return None


def _label(label: str) -> str:
    fault = label_fault(label)
    if fault is not None:
        raise ValueError(fault)
    return label


def _tag(tag: str) -> str:
    if not is_plain(tag):
        raise ValueError(f"A passage's tag {NOT_PLAIN}.")
    return tag


BlockLabel = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_LABEL), AfterValidator(_label)]
PassageTag = Annotated[str, AfterValidator(_tag)]
