"""Names that appear inside the structure of a prompt: labels of blocks, tags of passages. They are single-line and contain no
markup.
"""

import unicodedata
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

LONGEST_LABEL = 512
SECTIONS = frozenset(
    {
        "available_skills",
        "base_instructions",
        "directories",
        "memory_blocks",
        "memory_metadata",
        "memory_update",
        "removed_blocks",
        "tool_usage_rules",
    }
)
"""The section tags of a system message. No label of a block may be read as one of them."""
NOT_PLAIN = "may not contain '<', '>' or control characters"
_CONTROLS = ("Cc", "Zl", "Zp")


def is_plain(text: str) -> bool:
    """Whether the text contains no angle brackets, control characters or line breaks."""
    return not any(each in "<>" or unicodedata.category(each) in _CONTROLS for each in text)


def label_fault(label: str) -> str | None:
    """What is wrong with a block's label; None if it is valid. The length is not checked."""
    if not is_plain(label):
        return f"A block's label {NOT_PLAIN}."
    if reads_as_section(label):
        return f"A block cannot be labelled '{label}': a section of the system message is called so."
    return None


def reads_as_section(label: str) -> bool:
    """Whether a tag `<label>` may be taken for the tag of a section: also with a slash or spaces before its name, with attributes
    behind it, or in other characters of the same look.
    """
    text = "".join(each for each in unicodedata.normalize("NFKC", label) if unicodedata.category(each) != "Cf")
    words = text.replace("/", " ").split(maxsplit=1)
    return bool(words) and words[0].lower() in SECTIONS


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
