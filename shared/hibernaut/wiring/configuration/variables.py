"""Values of single variables: what each kind of value looks like, and the refusal of any other."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TypeVar

Default = TypeVar("Default", timedelta, None)
LARGEST_DIMENSION = 16_000
"""OpenSearch's limit of a vector's dimension."""


class BadSetting(ValueError):
    """A variable has an invalid value. The message names the variable and the expected value."""


def seconds_in(variables: Mapping[str, str], name: str, default: float, *, most: int = 900) -> float:
    """A number of seconds up to `most`. Raises: BadSetting."""
    text = variables.get(name)
    if not text:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= most:
        raise BadSetting(f"{name} must be a number of seconds from 0 to {most}, not {text!r}")
    return seconds


def days_in(variables: Mapping[str, str], name: str, default: Default) -> timedelta | Default:
    """A whole number of days from 1 to 3650. Raises: BadSetting."""
    text = variables.get(name)
    if not text:
        return default
    if not text.isdecimal() or len(text) > 4 or not 1 <= int(text) <= 3650:
        raise BadSetting(f"{name} must be a whole number of days from 1 to 3650, not {text!r}")
    return timedelta(days=int(text))


def address_in(variables: Mapping[str, str], name: str) -> str:
    """An address of HTTP, or an empty text. Raises: BadSetting."""
    text = variables.get(name, "")
    if text and not text.startswith(("https://", "http://")):
        raise BadSetting(f"{name} must be an address that begins with https:// or http://, not {text!r}")
    return text


def copies_in(variables: Mapping[str, str], name: str) -> int:
    """A whole number. Raises: BadSetting."""
    text = variables.get(name) or "0"
    if not text.isdecimal():
        raise BadSetting(f"{name} must be a whole number, not {text!r}")
    return int(text)


def megabytes_in(variables: Mapping[str, str], name: str, default: int) -> int:
    """A number of megabytes, in bytes. Raises: BadSetting."""
    text = variables.get(name)
    if not text:
        return default
    if not text.isdecimal() or not 0 < int(text) <= 1024:
        raise BadSetting(f"{name} must be a number of megabytes from 1 to 1024, not {text!r}")
    return int(text) * 1024 * 1024


def list_in(variables: Mapping[str, str], name: str) -> tuple[str, ...]:
    """The parts between commas, in lower case."""
    return tuple(part.strip().lower() for part in variables.get(name, "").split(",") if part.strip())


def dimension_in(variables: Mapping[str, str]) -> int | None:
    """The number of dimensions of the default embedding; None: that of its model. Raises: BadSetting."""
    text = variables.get("HIBERNAUT_EMBEDDING_DIMENSION")
    if not text:
        return None
    if not text.isdecimal() or not 0 < int(text) <= LARGEST_DIMENSION:
        raise BadSetting(f"HIBERNAUT_EMBEDDING_DIMENSION must be a number from 1 to {LARGEST_DIMENSION}, not {text!r}")
    return int(text)
