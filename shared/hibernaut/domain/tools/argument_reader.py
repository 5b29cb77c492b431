"""An incremental parser for the arguments of a tool call: decodes the text of some members, passes on the rest unchanged.

Each character is read once and reported once. Knows JSON and no tools. Input that is not a JSON object is reported as rest, and
the caller handles it when the input is complete.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import NamedTuple

from hibernaut.domain.tools.tool_returns import all_storable, as_text, storable
from hibernaut.schemas.base import Json

REST = ""
_SPACE = re.compile(r"[ \t\r\n]*+")
_SPACE_OR_COLON = re.compile(r"[ \t\r\n:]*+")
_KEY_OR_END = re.compile(r'["}]')
_STRUCTURE = re.compile(r'["{}\[\],]')
_RAW_TEXT = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
"""The inside of a JSON string: whole escapes, no quote."""
_PLAIN = re.compile(r'[^"\\]++')
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class Piece(NamedTuple):
    """A piece of the text of one member, or of the `REST`."""

    member: str
    text: str


class ArgumentReader:
    """The parser. Input pieces may be cut anywhere. The values of `members` are reported as decoded text; the rest is a JSON
    object without them.
    """

    def __init__(self, members: frozenset[str]) -> None:
        self._members = members
        self._take: Callable[[str, int], int] = self._before
        self._out: list[tuple[str, list[str]]] = []
        self._raw: list[str] = []
        """The parsed part of a key, or of a member's value that is not a string."""
        self._member = ""
        self._scan = _Scan()
        self._code = ""
        self._high = 0
        self._kept = False

    def feed(self, text: str) -> list[Piece]:
        """The output for the next piece of input; adjacent pieces of one member are joined."""
        self._out = []
        text, at = storable(text), 0
        while at < len(text):
            at = self._take(text, at)
        return [Piece(member, "".join(parts)) for member, parts in self._out]

    def _tell(self, member: str, text: str) -> None:
        if self._out and self._out[-1][0] == member:
            self._out[-1][1].append(text)
        elif text:
            self._out.append((member, [text]))

    # one method for each state; each consumes a run from `at` and returns where the next one begins

    def _before(self, text: str, at: int) -> int:
        at = _past(_SPACE, text, at)
        if at == len(text):
            return at
        if text[at] == "{":
            self._take = self._between
            return at + 1
        self._take = self._lost
        return at

    def _lost(self, text: str, at: int) -> int:
        self._tell(REST, text[at:])
        return len(text)

    def _after(self, text: str, _at: int) -> int:
        """Text after the object is ignored."""
        return len(text)

    def _between(self, text: str, at: int) -> int:
        found = _KEY_OR_END.search(text, at)
        if found is None:
            return len(text)
        if found[0] == '"':
            self._raw, self._scan, self._take = ['"'], _Scan(in_text=True), self._in_key
        else:
            self._tell(REST, "}" if self._kept else "{}")
            self._take = self._after
        return found.end()

    def _in_key(self, text: str, at: int) -> int:
        end = self._scan.end_of_text(text, at)
        self._raw.append(text[at:end])
        if not self._scan.in_text:
            self._take = self._before_value
        return end

    def _before_value(self, text: str, at: int) -> int:
        at = _past(_SPACE_OR_COLON, text, at)
        if at == len(text):
            return at
        key = "".join(self._raw)
        self._member, self._scan = str(_decoded(key)), _Scan()
        if self._member not in self._members:
            self._tell(REST, f"{', ' if self._kept else '{'}{key}: ")
            self._kept, self._take = True, self._in_rest
        elif text[at] == '"':
            self._take = self._in_text
            return at + 1
        else:
            self._raw, self._take = [], self._in_other
        return at

    def _in_rest(self, text: str, at: int) -> int:
        end, is_complete = self._scan.end_of_value(text, at)
        self._tell(REST, text[at:end])
        if is_complete:
            self._take = self._between
        return end

    def _in_other(self, text: str, at: int) -> int:
        """A member whose value is not a string is reported when it is complete."""
        end, is_complete = self._scan.end_of_value(text, at)
        self._raw.append(text[at:end])
        if is_complete:
            self._take = self._between
            value = _decoded("".join(self._raw))
            if value is not None:
                self._tell(self._member, as_text(all_storable(value)))
        return end

    def _in_text(self, text: str, at: int) -> int:
        if plain := _PLAIN.match(text, at):
            self._say(plain[0])
            return plain.end()
        if text[at] == '"':
            self._say("")
            self._take = self._between
        else:
            self._take = self._in_escape
        return at + 1

    def _in_escape(self, text: str, at: int) -> int:
        if text[at] == "u":
            self._code, self._take = "", self._in_code
        else:
            self._say(_ESCAPES.get(text[at], text[at]))
            self._take = self._in_text
        return at + 1

    def _in_code(self, text: str, at: int) -> int:
        end = at + 4 - len(self._code)
        self._code += text[at:end]
        if len(self._code) < 4:
            return len(text)
        self._take = self._in_text
        try:
            code = int(self._code, 16)
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
        return end

    def _say(self, text: str) -> None:
        """Report a piece of the member's text, preceded by a pending surrogate whose other half did not follow."""
        if self._high:
            self._high = 0
            self._tell(self._member, "?")
        self._tell(self._member, text)


class _Scan:
    """Finds the end of a raw JSON value, or of a key; it may lie in a later piece."""

    def __init__(self, *, in_text: bool = False) -> None:
        self.in_text = in_text
        self._escaped = False
        self._depth = 0

    def end_of_text(self, text: str, at: int) -> int:
        """The position after the closing quote, or the end of the piece."""
        end = _past(_RAW_TEXT, text, at + self._escaped)
        self._escaped = end < len(text) and text[end] == "\\"  # the piece ends within an escape
        self.in_text = end >= len(text) or self._escaped
        return min(end + 1, len(text))

    def end_of_value(self, text: str, at: int) -> tuple[int, bool]:
        """(end of the value or of the piece, whether the value has ended)."""
        while at < len(text):
            if self.in_text:
                at = self.end_of_text(text, at)
                continue
            found = _STRUCTURE.search(text, at)
            if found is None:
                break
            char, at = found[0], found.end()
            if char in ",}" and self._depth <= 0:
                return found.start(), True
            self.in_text = char == '"'
            self._depth += (char in "{[") - (char in "}]")
        return len(text), False


def _past(pattern: re.Pattern[str], text: str, at: int) -> int:
    """The end of the pattern's match at `at`; the match may be empty."""
    found = pattern.match(text, at)
    return found.end() if found else at


def _decoded(raw: str) -> Json:
    try:
        return json.loads(raw, strict=False)
    except (ValueError, RecursionError):
        return None
