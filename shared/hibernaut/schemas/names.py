"""Names that appear inside the structure of a prompt: labels of blocks, tags of passages. They are single-line and contain no
markup.
"""

import unicodedata
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

LONGEST_LABEL = 512
SECTIONS = frozenset(
    {"available_skills", "base_instructions", "directories", "memory_blocks", "memory_metadata", "tool_usage_rules"}
)
"""The section tags of a system message, which are not allowed as block labels."""
NOT_PLAIN = "may not contain '<', '>' or control characters"
_CONTROLS = ("Cc", "Zl", "Zp")


def is_plain(text: str) -> bool:
    """Whether the text contains no angle brackets, control characters or line breaks."""
    return not any(each in "<>" or unicodedata.category(each) in _CONTROLS for each in text)


def label_fault(label: str) -> str | None:
    """What is wrong with a block's label; None if it is valid. The length is not checked."""
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
