"""Reading the arguments of a call while the model still writes them: some members' texts decoded, and the rest as it is written.

Knows JSON and nothing of tools. What is no JSON object is all rest: what becomes of it is decided when the whole is there.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

from hibernaut.domain.tools.tool_returns import all_storable, as_text, storable
from hibernaut.schemas.base import Json

REST = ""
_SPACE = " \t\r\n"
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class Piece(NamedTuple):
    """A piece of a member's text, or of the `REST`."""

    member: str
    text: str


class ArgumentReader:
    """Fed with pieces cut anywhere. `members` are told decoded, as texts; the rest is a JSON object without them."""

    def __init__(self, members: frozenset[str]) -> None:
        self._members = members
        self._take: Callable[[str], None] = self._before
        self._out: list[Piece] = []
        self._key = ""
        self._held = ""
        self._value = _Value()
        self._high = 0
        self._kept = False

    def feed(self, text: str) -> list[Piece]:
        """What the next piece of the arguments tells; neighbours of one member are one piece."""
        self._out = []
        for char in storable(text):
            self._take(char)
        return self._out

    def _tell(self, member: str, text: str) -> None:
        if self._out and self._out[-1].member == member:
            self._out[-1] = Piece(member, self._out[-1].text + text)
        else:
            self._out.append(Piece(member, text))

    # one method for each place in the text; each takes one character

    def _before(self, char: str) -> None:
        if char == "{":
            self._take = self._between
        elif char not in _SPACE:
            self._take = self._lost
            self._lost(char)

    def _lost(self, char: str) -> None:
        self._tell(REST, char)

    def _after(self, _char: str) -> None:
        """What follows the object does not count."""

    def _between(self, char: str) -> None:
        if char == '"':
            self._key, self._value, self._take = "", _Value(), self._in_key
            self._in_key(char)
        elif char == "}":
            self._close()

    def _close(self) -> None:
        self._tell(REST, "}" if self._kept else "{}")
        self._take = self._after

    def _in_key(self, char: str) -> None:
        self._key += char
        self._value.take(char)
        if not self._value.in_text:
            self._take = self._before_value

    def _before_value(self, char: str) -> None:
        if char in _SPACE or char == ":":
            return
        self._value = _Value()
        if _decoded(self._key) not in self._members:
            self._tell(REST, f"{', ' if self._kept else '{'}{self._key}: ")
            self._kept, self._take = True, self._in_rest
            self._in_rest(char)
        elif char == '"':
            self._take = self._in_text
        else:
            self._held, self._take = "", self._in_other
            self._in_other(char)

    def _in_rest(self, char: str) -> None:
        if self._ends(char):
            return
        self._tell(REST, char)

    def _in_other(self, char: str) -> None:
        """A member whose value is no text: told when it is whole."""
        if not self._ends(char):
            self._held += char
            return
        value = _decoded(self._held)
        if value is not None:
            self._tell(str(_decoded(self._key)), as_text(all_storable(value)))

    def _ends(self, char: str) -> bool:
        """Whether the value has ended before this character."""
        if not self._value.open and char in ",}":
            self._take = self._between
            self._between(char)
            return True
        self._value.take(char)
        return False

    def _in_text(self, char: str) -> None:
        if char == '"':
            self._say("")
            self._take = self._between
        elif char == "\\":
            self._take = self._in_escape
        else:
            self._say(char)

    def _in_escape(self, char: str) -> None:
        if char == "u":
            self._held, self._take = "", self._in_code
            return
        self._say(_ESCAPES.get(char, char))
        self._take = self._in_text

    def _in_code(self, char: str) -> None:
        self._held += char
        if len(self._held) < 4:
            return
        self._take = self._in_text
        try:
            code = int(self._held, 16)
        except ValueError:
            code = ord("?")
        if self._high and 0xDC00 <= code < 0xE000:
            pair = 0x10000 + ((self._high - 0xD800) << 10) + code - 0xDC00
            self._high = 0
            self._say(chr(pair))
        elif 0xD800 <= code < 0xDC00:
            self._say("")
            self._high = code
        else:
            self._say(storable(chr(code)))

    def _say(self, text: str) -> None:
        """Tell a piece of the member's text, after the half of a pair whose other half did not come."""
        said = f"{'?' if self._high else ''}{text}"
        self._high = 0
        if said:
            self._tell(str(_decoded(self._key)), said)


class _Value:
    """Whether a raw JSON value is still open: inside a text, an object or a list."""

    def __init__(self) -> None:
        self.in_text = False
        self._escaped = False
        self._depth = 0

    @property
    def open(self) -> bool:
        return self.in_text or self._depth > 0

    def take(self, char: str) -> None:
        if self._escaped:
            self._escaped = False
        elif self.in_text:
            self._escaped = char == "\\"
            self.in_text = char != '"'
        elif char == '"':
            self.in_text = True
        elif char in "{[":
            self._depth += 1
        elif char in "}]":
            self._depth -= 1


def _decoded(raw: str) -> Json:
    try:
        return json.loads(raw, strict=False)
    except (ValueError, RecursionError):
        return None
