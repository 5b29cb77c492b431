"""Limits of what a caller may put into one field of a record, and the annotated types that carry them.

A limit shows in the API's description: `maxLength` of a text, `maxItems` of a list, `x-max-bytes` of an object. Lists return whole
records, and an agent's records are loaded at every step, so no field is without one. Knows no noun.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import to_json

from hibernaut.schemas.base import Json, JsonObject

LARGEST_METADATA = 64 * 1024
"""Bytes of a free-form object, written as JSON."""


class MaxBytes:
    """A validator: the value, written as JSON, takes at most `most` bytes."""

    def __init__(self, most: int) -> None:
        self.most = most

    def __call__(self, value: Json) -> Json:
        if (size := len(to_json(value, inf_nan_mode="constants"))) > self.most:
            raise ValueError(f"it takes {size} bytes as JSON, and at most {self.most} are allowed")
        return value


Metadata = Annotated[
    JsonObject, AfterValidator(MaxBytes(LARGEST_METADATA)), Field(json_schema_extra={"x-max-bytes": LARGEST_METADATA})
]
"""What a caller notes about a record."""
