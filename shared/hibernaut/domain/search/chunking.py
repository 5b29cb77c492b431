"""A text in pieces that an embedder can read whole, cut where the text itself pauses.

Pure: the same text gives the same pieces. A counter of tokens measures a piece; it is called once or twice for each piece, on
that piece only, so that megabytes take as long as counting them. Knows no embedder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from hibernaut.schemas.immutable import immutable

PAUSES = ("\n\n", "\n", ". ", "! ", "? ", "。", "; ", ", ", " ", "\t")
"""Where to cut, the better places first: the last of its kind in the second half of what fits."""
FIRST_RATE, LEAST_RATE, LARGEST_RATE = 3.0, 0.25, 16.0
"""Characters to a token: before anything was counted, and what a count is never taken to mean. A piece so has a largest length,
also in a text of which the counter sees little (a megabyte without a space is one unknown word to some)."""
ROOM = 0.95
"""The share of what should fit by the rate so far that is tried: most pieces then fit at the first count."""
_INK = re.compile(r"\S")


@immutable
class Chunk:
    """`text` is the whole text from `start` to before `end`, in characters, without white space at its ends."""

    text: str
    start: int
    end: int


def chunks(
    text: str, limit: int, count: Callable[[str], int], overlap: int = 0, *, after: Chunk | None = None
) -> Iterator[Chunk]:
    """The pieces in order, cut lazily, each of at most `limit` tokens; every character that is not white space is in one.

    `overlap`: about how many tokens of a piece the next one repeats, at most half of the limit. `after`: the last piece that was
    cut before, by whatever limit and counter; these go on behind it. A single character that is more than `limit` tokens is a
    piece nevertheless. Raises: ValueError for a limit below one.
    """
    if limit < 1:
        raise ValueError("a piece must have room for one token")
    position, covered, rate = 0, 0, FIRST_RATE
    if after is not None:
        position, covered = _again(text, after, int(min(overlap, limit // 2) * rate)), after.end
    while (ink := _INK.search(text, position)) is not None:
        piece, tokens = _next(text, ink.start(), limit, count, rate)
        if piece.end <= covered:
            position = covered  # The repeated text filled the piece: the next one begins without it.
            continue
        yield piece
        covered = piece.end
        rate = _rate(len(piece.text), tokens)
        position = _again(text, piece, int(min(overlap, limit // 2) * rate))


def _next(text: str, start: int, limit: int, count: Callable[[str], int], rate: float) -> tuple[Chunk, int]:
    """The piece that begins at `start`, and its tokens; tried again, shorter, until it fits."""
    size = max(1, int(limit * rate * ROOM))
    while True:
        piece = text[start : _cut(text, start, start + size)].rstrip()
        tokens = count(piece)
        if tokens <= limit or len(piece) == 1:
            return Chunk(piece, start, start + len(piece)), tokens
        size = max(1, min(len(piece) - 1, int(len(piece) * limit / tokens * ROOM)))


def _cut(text: str, start: int, end: int) -> int:
    """The best place to cut, not behind `end`."""
    if end >= len(text):
        return len(text)
    middle = start + (end - start) // 2
    for pause in PAUSES:
        if (found := text.rfind(pause, middle, end)) >= 0:
            return found + len(pause)
    return end


def _rate(characters: int, tokens: int) -> float:
    return min(LARGEST_RATE, max(LEAST_RATE, characters / max(1, tokens)))


def _again(text: str, piece: Chunk, characters: int) -> int:
    """Where the next piece begins: as many characters before the end of this one, at the beginning of a word."""
    if characters < 1:
        return piece.end
    back = max(piece.start + 1, piece.end - characters)
    return text.find(" ", back, piece.end) + 1 or back
