"""Limits on runs of combining marks.

Normalizing a text sorts the marks of each run, in a time that grows with the square of their number. The Stream-Safe Text Format
(Unicode Standard Annex 15) therefore allows 30 in a run, which is more than any language writes.
"""

from __future__ import annotations

import re
import unicodedata

MOST_MARKS = 30
_LIKELY = re.compile(rf"[\W\uff9e\uff9f]{{{MOST_MARKS + 1},}}")
"""Runs that may hold too many marks: no mark is a letter or a digit, but two halfwidth letters become marks."""


def without_long_runs(text: str) -> str:
    """The text without the marks of each run after the first 30."""
    return text if text.isascii() else _LIKELY.sub(lambda found: _shortened(found[0]), text)


def has_long_run(text: str) -> bool:
    """Whether a run of the text has more than 30 marks."""
    return not text.isascii() and any(_shortened(found[0]) != found[0] for found in _LIKELY.finditer(text))


def _shortened(run: str) -> str:
    if run.isascii():
        return run
    kept, marks = list[str](), 0
    for character in run:
        marks = marks + 1 if unicodedata.combining(unicodedata.normalize("NFKD", character)[0]) else 0
        if marks <= MOST_MARKS:
            kept.append(character)
    return "".join(kept)
