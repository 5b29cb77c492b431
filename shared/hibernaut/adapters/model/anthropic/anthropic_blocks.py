"""Content blocks of the Messages API: put together from a stream, and read. Pure."""

from __future__ import annotations

import json

from hibernaut.adapters.model.wire.json_fields import text_of
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.content import OmittedReasoningContent, ReasoningContent, ReasoningPart, RedactedReasoningContent

WRITTEN = "written"
"""The member of an unfinished call that holds the pieces of its arguments."""


def whole_block(block: JsonObject) -> JsonObject:
    """A content block as it is in a whole answer: the pieces of a call's arguments are its `input`, as far as they are JSON."""
    if WRITTEN not in block:
        return block
    written = text_of(block, WRITTEN)
    opened = {name: value for name, value in block.items() if name != WRITTEN}
    if not written:
        return opened
    try:
        values = json.loads(written)
    except (ValueError, RecursionError):
        values = written
    return opened | {"input": values}


def is_complete(block: JsonObject, *, cut: bool) -> bool:
    """Whether a block can be sent back. In a reply that was `cut` off, thinking may lack its signature, and a call some of its
    input.
    """
    match block.get("type"):
        case "thinking":
            return bool(text_of(block, "signature")) or not cut
        case "tool_use":
            return isinstance(block.get("input"), dict)
        case _:
            return True


def thought_of(block: JsonObject) -> ReasoningPart | None:
    """A block of thinking in our form; None for any other block."""
    match block.get("type"):
        case "thinking" if text_of(block, "thinking"):
            return ReasoningContent(reasoning=text_of(block, "thinking"), signature=text_of(block, "signature") or None)
        case "thinking":
            return OmittedReasoningContent(signature=text_of(block, "signature") or None)
        case "redacted_thinking":
            return RedactedReasoningContent(data=text_of(block, "data"))
        case _:
            return None
