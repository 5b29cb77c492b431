"""What an image of a stranger is, by its bytes alone: its format and size, and whether it is there from its first byte to its
last. Pure.

The pixels are not decoded: a provider may still refuse what passes here (`adapters/model/image_refusals.py`).
"""

from __future__ import annotations

import zlib
from typing import Literal

from hibernaut.schemas.immutable import immutable

Format = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
"""The formats that all providers with images take."""
LONGEST_SIDE = 8_000
"""Pixels; what Anthropic and Bedrock take (platform.claude.com/docs/en/build-with-claude/vision)."""
_PNG = b"\x89PNG\r\n\x1a\n"
_NO_FRAMES = frozenset({0xC4, 0xC8, 0xCC})
"""The markers of JPEG between C0 and CF that begin no frame (ITU-T T.81, table B.1)."""
_ALONE = frozenset({0x01, *range(0xD0, 0xD8)})
"""The markers of JPEG without a length."""


@immutable
class ImageFacts:
    """The format of an image, and its sides in pixels."""

    media_type: Format
    width: int
    height: int


def image_facts(data: bytes) -> ImageFacts | None:
    """What the bytes are; None if they are no whole image of a known format, or one with a side of none or of more than
    `LONGEST_SIDE` pixels.
    """
    try:
        facts = _facts(data)
    except IndexError:  # a member that ends behind the last byte
        return None
    sides = (facts.width, facts.height) if facts else (0,)
    return facts if all(0 < side <= LONGEST_SIDE for side in sides) else None


def _facts(data: bytes) -> ImageFacts | None:
    if data.startswith(_PNG):
        return _png(data)
    if data.startswith(b"\xff\xd8\xff"):
        return _jpeg(data)
    if data.startswith((b"GIF87a", b"GIF89a")):
        ends = data.rstrip(b"\0").endswith(b";")
        return ImageFacts("image/gif", _little(data, 6, 2), _little(data, 8, 2)) if ends else None
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return _webp(data)
    return None


def _png(data: bytes) -> ImageFacts | None:
    """A header, data and an end, with sound checksums. That of a chunk which a reader may pass over does not count, as for
    readers (RFC 2083, 3.3 and 10.1).
    """
    at, kinds = len(_PNG), set[bytes]()
    while b"IEND" not in kinds:
        length, kind = _big(data, at, 4), data[at + 4 : at + 8]
        end = at + 8 + length
        sound = _big(data, end, 4) == zlib.crc32(data[at + 4 : end]) or kind[:1].islower()
        if not sound or (not kinds and (kind, length) != (b"IHDR", 13)):
            return None
        kinds.add(kind)
        at = end + 4
    return ImageFacts("image/png", _big(data, 16, 4), _big(data, 20, 4)) if b"IDAT" in kinds else None


def _jpeg(data: bytes) -> ImageFacts | None:
    """Segments with a frame among them, then a scan, then an end (ITU-T T.81, B.1)."""
    at, facts = 2, None
    while True:
        if data[at] != 0xFF:
            return None
        while data[at] == 0xFF:
            at += 1
        marker = data[at]
        at += 1
        if marker == 0xDA:
            return facts if data.rfind(b"\xff\xd9") > at else None
        if marker in _ALONE:
            continue
        if 0xC0 <= marker <= 0xCF and marker not in _NO_FRAMES:
            facts = ImageFacts("image/jpeg", _big(data, at + 5, 2), _big(data, at + 3, 2))
        at += max(2, _big(data, at, 2))


def _webp(data: bytes) -> ImageFacts | None:
    """One of the three kinds of a first chunk (RFC 9649, 2.5 to 2.7)."""
    if _little(data, 4, 4) + 8 > len(data):
        return None
    match data[12:16]:
        case b"VP8X":
            width, height = _little(data, 24, 3) + 1, _little(data, 27, 3) + 1
        case b"VP8L" if data[20] == 0x2F:
            sides = _little(data, 21, 4)
            width, height = (sides & 0x3FFF) + 1, (sides >> 14 & 0x3FFF) + 1
        case b"VP8 " if data[23:26] == b"\x9d\x01\x2a":
            width, height = _little(data, 26, 2) & 0x3FFF, _little(data, 28, 2) & 0x3FFF
        case _:
            return None
    return ImageFacts("image/webp", width, height)


def _big(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(_member(data, at, size), "big")


def _little(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(_member(data, at, size), "little")


def _member(data: bytes, at: int, size: int) -> bytes:
    """Raises: IndexError where the bytes end before."""
    if at + size > len(data):
        raise IndexError
    return data[at : at + size]
