"""Removes configured secrets from text that is shown, logged or stored. Knows the values, not where they are stored."""

from __future__ import annotations

import json
from collections.abc import Iterable
from urllib.parse import quote, unquote, urlsplit

from hibernaut.schemas.base import Json

MARK = "***"
_written = json.JSONEncoder(ensure_ascii=False).encode
SHORTEST = 6
"""In characters. A shorter value is not treated as a secret, because it would also occur inside ordinary words."""


class Redaction:
    """The secrets of one deployment: keys, and addresses that may contain a password. Absent secrets are None."""

    def __init__(self, keys: Iterable[str | None] = (), addresses: Iterable[str | None] = ()) -> None:
        found = [*(key for key in keys if key), *(word for address in addresses if address for word in _password(address))]
        forms = {form for value in found for form in (value, quote(value, safe=""))}
        self._values = sorted((form for form in forms if len(form) >= SHORTEST), key=len, reverse=True)
        self._escaped = [_written(form)[1:-1] for form in self._values]

    def text(self, text: str) -> str:
        """The text with every secret replaced."""
        for value in self._values:
            text = text.replace(value, MARK)
        return text

    def json(self, value: Json) -> Json:
        """A JSON value with every secret replaced, in strings and in the names of members. A value without secrets is returned
        as it is.
        """
        return self._walked(value) if self._may_occur(value) else value

    def _may_occur(self, value: Json) -> bool:
        """Whether the value may contain a secret: one search of its text per secret instead of one per string."""
        if not self._values:
            return False
        try:
            text = _written(value)
        except (TypeError, ValueError):  # no JSON, or one that contains itself
            return True
        return any(form in text for form in self._escaped)

    def _walked(self, value: Json) -> Json:
        match value:
            case str():
                return self.text(value)
            case list() | tuple():
                return [self._walked(each) for each in value]
            case dict():
                return {self.text(str(name)): self._walked(each) for name, each in value.items()}
            case _:
                return value


def bare_address(url: str) -> str:
    """An address without its user and password; an empty text for one that has no form of an address."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _password(address: str) -> list[str]:
    password = urlsplit(address).password
    return [password, unquote(password)] if password else []
