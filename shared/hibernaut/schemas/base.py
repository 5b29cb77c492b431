"""The base classes of all schemas: how they read and write JSON. Knows no record."""

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, GetCoreSchemaHandler, PlainSerializer, model_validator
from pydantic_core import CoreSchema

Json = Any
"""A JSON value of arbitrary shape (a tool's arguments, a caller's metadata). Any is allowed only here."""
JsonObject = dict[str, Any]


MOST_KEYS = 200
"""How many keys an object of fixed keys has at most: several times as many as the largest schema has fields."""


def kind_of(value: Json) -> str:
    """What a JSON value is, for a message about a wrong one, such as `a list` or `the number 5`; of a text its first 80
    characters.
    """
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return f"the number {value}" if abs(value) < 10**20 else "a number"
        case str():
            return f"the text {value[:80]!r}"
        case list():
            return "a list"
        case _:
            return "an object"


class Schema(BaseModel):
    """The base model: ignores unknown keys (Letta V1 API, API 1.7) and rejects NaN, which is not JSON.

    A list, and an object of any keys, is read up to its first invalid element: a request of 300 kB may have 100,000 of them,
    whose errors would take 225 MB and three seconds.

    Pydantic builds each model at its first use, so that a function pays only for the models that it uses. A module with models
    does not import `annotations` from `__future__`: pydantic would compile the text of each annotation, inherited ones too, at
    every cold start.
    """

    model_config = ConfigDict(
        extra="ignore", populate_by_name=True, protected_namespaces=(), defer_build=True, allow_inf_nan=False
    )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type[BaseModel], handler: GetCoreSchemaHandler, /) -> CoreSchema:
        schema = handler(source)
        _fail_fast(schema, cls)
        return schema


def _fail_fast(part: Json, model: type[Schema]) -> None:
    """Set pydantic's `fail_fast` in the lists and dicts of the model; `part` is its core schema or within it. A nested model has
    done so for its own.
    """
    if isinstance(part, list):
        for each in part:
            _fail_fast(each, model)
    elif isinstance(part, dict) and part.get("cls", model) is model:
        if part.get("type") in ("list", "dict"):
            part["fail_fast"] = True
        for each in part.values():
            _fail_fast(each, model)


class StrictSchema(Schema):
    """A schema that rejects unknown keys with 422 (API 1.7 lists the requests with this behaviour), in an object of more than
    `MOST_KEYS` keys as one error: each unknown key would be one, and 100,000 of them take 111 MB.
    """

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _few_keys(cls, value: Json) -> Json:
        if isinstance(value, dict) and len(value) > MOST_KEYS:
            raise ValueError(f"an object with at most {MOST_KEYS} keys was expected, and it has {len(value)}")
        return value


class Frozen(Schema):
    """An immutable value."""

    model_config = ConfigDict(frozen=True)


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("a time within the years 1 to 9999 of UTC was expected") from None


def wire_time(moment: datetime) -> str:
    """ISO 8601 with microseconds and `Z`, the format of Letta's database times (API 1.7)."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def message_date(moment: datetime) -> str:
    """ISO 8601 in seconds with `+00:00`, the format of `date` in a LettaMessage (API 1.7)."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")


Moment = Annotated[datetime, AfterValidator(_in_utc), PlainSerializer(wire_time, return_type=str, when_used="json")]
"""A point in time, always in UTC; a time without a zone is read as UTC."""


def _within_64_bits(number: int) -> int:
    if not -(2**63) < number < 2**63:
        raise ValueError("a whole number of at most 64 bits was expected")
    return number


Whole = Annotated[int, AfterValidator(_within_64_bits)]
"""An integer that every engine can store (64 bits). Request fields use this type or narrower bounds, because JSON numbers and
digit strings are unbounded.

It is a validator and not `Field(le=…)`, because the latter would replace the bounds of the field.
"""
