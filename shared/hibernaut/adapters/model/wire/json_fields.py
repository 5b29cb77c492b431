"""Members of a provider's JSON, none of which is trusted to have its documented type. Every wire reads its responses by these."""

from __future__ import annotations

from hibernaut.schemas.base import Json


def as_text(value: Json) -> str:
    """A value that should be a text; empty if it is not."""
    return value if isinstance(value, str) else ""


def as_list(value: Json) -> list[Json]:
    """A value that should be a list; empty if it is not."""
    return value if isinstance(value, list) else []


def text_of(fields: Json, name: str) -> str:
    """The text in a member of an object; empty if there is none."""
    return as_text(fields.get(name)) if isinstance(fields, dict) else ""


def count_of(fields: Json, name: str) -> int | None:
    """The number of things in a member of an object; None if there is none."""
    value = fields.get(name) if isinstance(fields, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
