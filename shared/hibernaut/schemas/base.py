"""What all schemas share: how they read and write JSON. Knows no noun."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, PlainSerializer

Json = Any
"""A JSON value whose shape is not ours to say (a tool's arguments, a caller's metadata): the only place where Any is fine."""
JsonObject = dict[str, Any]


class Schema(BaseModel):
    """Unknown keys are ignored (Letta V1 API, digest 1.7), and NaN, which JSON has not, is refused.

    Models are built at first use: a function pays only for what it uses.
    """

    model_config = ConfigDict(
        extra="ignore", populate_by_name=True, protected_namespaces=(), defer_build=True, allow_inf_nan=False
    )


class StrictSchema(Schema):
    """Unknown keys are refused with 422 (digest 1.7 names the requests that do so)."""

    model_config = ConfigDict(extra="forbid")


class Frozen(Schema):
    """A value: never changed after it is made."""

    model_config = ConfigDict(frozen=True)


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("a time within the years 1 to 9999 of UTC was expected") from None


def wire_time(moment: datetime) -> str:
    """ISO 8601 with microseconds and `Z`, as Letta's database times are shown (digest 1.7)."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def message_date(moment: datetime) -> str:
    """ISO 8601 in seconds with `+00:00`, as a LettaMessage's `date` is shown (digest 1.7)."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")


Moment = Annotated[datetime, AfterValidator(_in_utc), PlainSerializer(wire_time, return_type=str, when_used="json")]
"""A point in time, always in UTC; a time without a zone is taken for UTC."""


def _held(number: int) -> int:
    if not -(2**63) < number < 2**63:
        raise ValueError("a whole number of at most 64 bits was expected")
    return number


Whole = Annotated[int, AfterValidator(_held)]
"""A whole number that every engine holds. Requests give theirs by it or have closer bounds: JSON, and a text of digits, know none.

A validator and no `Field(le=…)`: that would take the place of the bounds that a field gives.
"""
