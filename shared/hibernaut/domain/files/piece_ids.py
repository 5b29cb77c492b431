"""The ids of the pieces of a file. They are derived from the file's id and the piece's index, so that a repeated attempt writes
the same id.

They sort by index within a file, and the pieces of files by the files' creation: the ids of a file's pieces begin at its
millisecond, with PIECES_OF_A_MILLISECOND in each.
"""

from __future__ import annotations

import hashlib

from hibernaut.schemas.ids import compose, order_of

PIECES_OF_A_MILLISECOND = 4096
MOST_MILLISECONDS = 256
"""Milliseconds that the ids of one file's pieces span at most: a million pieces, or about a gigabyte of text."""
_HIGHEST = (1 << 55) - 1


def piece_id(file_id: str, index: int) -> str:
    """The id of a file's piece."""
    milliseconds, _ = order_of(file_id)
    hashed = int.from_bytes(hashlib.sha256(f"{file_id}#{index}".encode()).digest()[:8]) >> 9
    return compose("passage", milliseconds + index // PIECES_OF_A_MILLISECOND, index % PIECES_OF_A_MILLISECOND, hashed)


def bounds_of_pieces(file_id: str, characters: int | None = None) -> tuple[str, str]:
    """The least and the greatest id that a piece of the file may have. `characters`: of its text; a piece has one at least."""
    first, _ = order_of(file_id)
    span = MOST_MILLISECONDS if characters is None else min(characters // PIECES_OF_A_MILLISECOND, MOST_MILLISECONDS)
    return compose("passage", first, 0, 0), compose("passage", first + span, PIECES_OF_A_MILLISECOND - 1, _HIGHEST)


def bounds_of_files(piece: str) -> tuple[str, str]:
    """The least and the greatest id that the file of a piece may have."""
    last, _ = order_of(piece)
    first = max(0, last - MOST_MILLISECONDS)
    return compose("file", first, 0, 0), compose("file", last, PIECES_OF_A_MILLISECOND - 1, _HIGHEST)
