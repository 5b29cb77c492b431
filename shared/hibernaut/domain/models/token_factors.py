"""How many tokens a model's tokenizer makes of one token of `o200k_base`, before its provider has reported any usage.

The factors are measured: a provider's count divided by that of o200k, for one corpus of each kind of text (English prose, Python,
JSON, German prose, Hindi prose; November 2026). Languages that were not measured take the figure of the measured one that their
writing resembles. Models of other families are taken to count like o200k.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal

TextKind = Literal["prose", "code", "json", "accented", "foreign"]
"""English prose; program text; JSON; Latin writing with accents (measured: German); any other writing (measured: Hindi)."""

CLAUDE_TO_46: Final[Mapping[TextKind, float]] = MappingProxyType(
    {"prose": 1.10, "code": 1.21, "json": 1.05, "accented": 1.68, "foreign": 2.33}
)
CLAUDE_FROM_47: Final[Mapping[TextKind, float]] = MappingProxyType(
    {"prose": 1.41, "code": 1.54, "json": 1.29, "accented": 2.30, "foreign": 2.33}
)
LLAMA_3: Final[Mapping[TextKind, float]] = MappingProxyType(
    {"prose": 0.99, "code": 1.00, "json": 1.00, "accented": 1.25, "foreign": 1.63}
)
DEEPSEEK: Final[Mapping[TextKind, float]] = MappingProxyType(
    {"prose": 1.01, "code": 1.09, "json": 1.02, "accented": 1.23, "foreign": 1.90}
)
LIKE_O200K: Final[Mapping[TextKind, float]] = MappingProxyType(dict.fromkeys(CLAUDE_TO_46, 1.0))

_CLAUDE_VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:[-.](\d{1,2})(?!\d))?")
SAMPLE = 4_000
"""The characters of a text that decide its kind: its beginning."""
ACCENTED, FOREIGN = 0.005, 0.3
"""The shares of characters from which a text is taken for accented Latin (German has about 0.02, English below 0.001), and for
another writing.
"""
QUOTES, SIGNS = 0.05, 0.08
"""The shares of double quotes from which a text is taken for JSON (about 0.1; prose 0.01), and of signs for a program (about
0.12; prose 0.02).
"""
_LATIN_LETTERS = bytes(each for each in range(0xC0, 0x100) if each not in (0xD7, 0xF7))
_SIGNS = b"()[]{}<>=+-*/_:;\"'#@&|"


def factors_of(model: str) -> Mapping[TextKind, float]:
    """The factors of a model, by its name."""
    name = model.lower()
    if "claude" in name:
        version = _CLAUDE_VERSION.search(name)
        is_measured = version is not None and (int(version[1]), int(version[2] or 0)) <= (4, 6)
        return CLAUDE_TO_46 if is_measured else CLAUDE_FROM_47
    if re.search(r"llama-?v?3", name):
        return LLAMA_3
    return DEEPSEEK if "deepseek" in name and "qwen" not in name else LIKE_O200K


def kind_of(text: str) -> TextKind:
    """The kind of a text, by shares of characters in its beginning."""
    begin = text[:SAMPLE]
    if not begin:
        return "prose"
    if not begin.isascii():
        latin = begin.encode("latin-1", "ignore")
        if len(begin) - len(latin) > FOREIGN * len(begin):
            return "foreign"
        if _share(latin, _LATIN_LETTERS) > ACCENTED:
            return "accented"
    plain = begin.encode("ascii", "ignore")
    if _share(plain, b'"') > QUOTES:
        return "json"
    return "code" if _share(plain, _SIGNS) > SIGNS else "prose"


def _share(text: bytes, signs: bytes) -> float:
    return (len(text) - len(text.translate(None, signs))) / len(text) if text else 0.0
