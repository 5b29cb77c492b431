"""Limits of what a caller may put into one field of a record, and the annotated types that carry them.

Requests declare them, records do not: what is stored stays readable. A limit shows in the API's description: `maxLength` of a text,
`maxItems` of a list, `x-max-bytes` of anything else. Lists return whole records, and an agent's are loaded at every step, so no
free-form field of a stored record is without one. Knows no noun.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import to_json

from hibernaut.schemas.base import Json, JsonObject

LARGEST_OBJECT = 64 * 1024
"""Bytes of a free-form object, or of a part of a record that has fields of its own, written as JSON."""
LONGEST_NAME = 1_000
"""Characters of names, ids, handles, labels and tags."""
LONGEST_NOTE = 64 * 1024
"""Characters of descriptions and instructions."""
LONGEST_TEXT = 1_000_000
"""Characters of a system text, of a block's value and of a passage."""
T = TypeVar("T")


class MaxBytes:
    """A validator: the value, written as JSON, takes at most `most` bytes."""

    def __init__(self, most: int) -> None:
        self._most = most

    def __call__(self, value: Json) -> Json:
        if (size := len(to_json(value, inf_nan_mode="constants"))) > self._most:
            raise ValueError(f"it takes {size} bytes as JSON, and at most {self._most} are allowed")
        return value


Small = Annotated[T, AfterValidator(MaxBytes(LARGEST_OBJECT)), Field(json_schema_extra={"x-max-bytes": LARGEST_OBJECT})]
"""A part of a record, of at most LARGEST_OBJECT bytes."""
Metadata = Small[JsonObject]
"""What a caller notes about a record."""
Name = Annotated[str, StringConstraints(max_length=LONGEST_NAME)]
Note = Annotated[str, StringConstraints(max_length=LONGEST_NOTE)]
Text = Annotated[str, StringConstraints(max_length=LONGEST_TEXT)]
Names = Small[list[str]]
"""Ids, tags, or names of tools."""
