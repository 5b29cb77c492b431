"""Size limits for the fields of requests, and the annotated types that apply them.

Requests declare limits and records do not, so that stored data remains readable. The API description shows a limit as `maxLength`
of a string, `maxItems` of a list, or `x-max-bytes` of other values. Every free-form field of a stored record has a limit, because
lists return whole records and every step loads the agent. Knows no record.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import to_json

from hibernaut.schemas.base import Json, JsonObject

LARGEST_OBJECT = 64 * 1024
"""The largest free-form object, or nested part of a record, in bytes of JSON."""
LARGEST_LIST = 1024 * 1024
"""The largest list of tools or skills that a client offers for one request, in bytes of JSON."""
LONGEST_NAME = 1_000
"""The longest name, id, handle, label or tag in characters."""
LONGEST_NOTE = 64 * 1024
"""The longest description or instruction in characters."""
LONGEST_URL = 2_048
"""The longest address in characters."""
LONGEST_TEXT = 1_000_000
"""The longest system text, block value or passage in characters."""
T = TypeVar("T")


class MaxBytes:
    """A validator: the value has at most `most` bytes as JSON."""

    def __init__(self, most: int) -> None:
        self._most = most

    def __call__(self, value: Json) -> Json:
        if (size := len(to_json(value, inf_nan_mode="constants"))) > self._most:
            raise ValueError(f"it takes {size} bytes as JSON, and at most {self._most} are allowed")
        return value


Small = Annotated[T, AfterValidator(MaxBytes(LARGEST_OBJECT)), Field(json_schema_extra={"x-max-bytes": LARGEST_OBJECT})]
"""A nested part of a record, at most LARGEST_OBJECT bytes."""
Offered = Annotated[T, AfterValidator(MaxBytes(LARGEST_LIST)), Field(json_schema_extra={"x-max-bytes": LARGEST_LIST})]
"""What a client offers for one request, at most LARGEST_LIST bytes."""
Metadata = Small[JsonObject]
"""A caller's free-form metadata for a record."""
Name = Annotated[str, StringConstraints(max_length=LONGEST_NAME)]
Note = Annotated[str, StringConstraints(max_length=LONGEST_NOTE)]
Text = Annotated[str, StringConstraints(max_length=LONGEST_TEXT)]
Url = Annotated[str, StringConstraints(max_length=LONGEST_URL)]
Names = Small[list[str]]
"""A list of ids, tags or tool names."""
