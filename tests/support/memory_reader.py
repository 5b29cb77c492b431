"""Memory as a careful model reads it in a request: the system message first, then each update that a later message carries.

It knows the text only, in any provider's body, and none of the code that writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_BLOCK = re.compile(
    r"<([\w .-]+)>\n<description>\n.*?\n</description>\n<metadata>\n.*?\n</metadata>\n(<warning>\n.*?\n</warning>\n)?"
    r"<value>\n(.*?)\n</value>\n</\1>",
    re.DOTALL,
)
_NUMBER = re.compile(r"^\d+→ ", re.MULTILINE)
_UPDATE = re.compile(r"<memory_update>\n(.*?)\n</memory_update>", re.DOTALL)
_GONE = re.compile(r"<removed_blocks>\n(.*?)\n</removed_blocks>", re.DOTALL)
_SYSTEM, _SAID = ("instructions", "system", "systemInstruction"), ("input", "messages", "contents")


def texts_of(body: Mapping[str, Any]) -> list[str]:
    """All texts of a provider's request, in the order in which the model reads them."""
    return [text for name in (*_SYSTEM, *_SAID) for text in _strings(body.get(name))]


def read_blocks(texts: Sequence[str]) -> dict[str, str]:
    """The newest value of each block. The first text is the system message's; in others, only what stands in an update counts."""
    known: dict[str, str] = {}
    for place, text in enumerate(texts):
        for section in [text] if place == 0 else _UPDATE.findall(text):
            for label, numbered, value in _BLOCK.findall(section):
                known[label] = _NUMBER.sub("", value) if numbered else value
            for gone in _GONE.findall(section):
                for line in gone.split("\n"):
                    known.pop(line.removeprefix("- "), None)
    return known


def newest_update(body: Mapping[str, Any]) -> str:
    """What a provider's request tells of changed memory last; empty if it tells nothing."""
    found = [update for text in texts_of(body)[1:] for update in _UPDATE.findall(text)]
    return found[-1] if found else ""


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            if "<" in value:
                yield value
        case dict():
            for name, each in value.items():
                if name not in ("role", "type", "id"):
                    yield from _strings(each)
        case list():
            for each in value:
                yield from _strings(each)
