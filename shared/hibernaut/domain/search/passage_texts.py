"""What may be put away as a passage: its text and its tags. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.domain.models import tokens
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.names import NOT_PLAIN, is_plain

MOST_TOKENS = 8192
"""Of one passage, by our own count (Letta V1 API, API 2.8)."""
MOST_TAGS = 50
LONGEST_TAG = 200
_LOOKED_AT = 16 * MOST_TOKENS
"""Characters that are counted first: a text with too many tokens in its beginning need not be counted to its end."""


def checked(text: str, tags: Sequence[str] | None) -> tuple[str, list[str] | None]:
    """Text and tags as they are stored, each tag once. Raises: InvalidArgument."""
    text = text.replace("\x00", "")
    if not text.strip():
        raise InvalidArgument("INVALID_ARGUMENT: The text of a passage may not be empty.")
    size = tokens.count(text[:_LOOKED_AT])
    if size <= MOST_TOKENS and len(text) > _LOOKED_AT:
        size = tokens.count(text)
    if size > MOST_TOKENS:
        detail = f"A passage has at most {MOST_TOKENS} tokens; this text has more. Store it in parts, or as a file in a folder."
        raise InvalidArgument(f"INVALID_ARGUMENT: {detail}")
    if tags is None:
        return text, None
    once = list(dict.fromkeys(tags))
    if not all(map(is_plain, once)):
        raise InvalidArgument(f"INVALID_ARGUMENT: A passage's tag {NOT_PLAIN}.")
    if len(once) > MOST_TAGS or any(not tag.strip() or len(tag) > LONGEST_TAG for tag in once):
        detail = f"A passage has at most {MOST_TAGS} tags, of 1 to {LONGEST_TAG} characters."
        raise InvalidArgument(f"INVALID_ARGUMENT: {detail}")
    return text, once
