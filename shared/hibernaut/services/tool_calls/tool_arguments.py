"""Arguments of built-in tools, which a model wrote."""

from __future__ import annotations

from hibernaut.schemas.base import JsonObject


class BadToolArguments(ValueError):
    """Invalid arguments of a call. The text tells the model what is expected."""


def text_argument(args: JsonObject, name: str) -> str:
    """An optional text; empty if the call does not have it. Raises: BadToolArguments."""
    value = args.get(name)
    if value is not None and not isinstance(value, str):
        raise BadToolArguments(f"`{name}` must be a text.")
    return value or ""
