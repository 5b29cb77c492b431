"""Small images of each format, from the first byte to the last."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode


def png(width: int = 2, height: int = 3, *, noise: bytes = b"") -> bytes:
    """A white image. `noise`: bytes of a chunk that no reader knows, which make it as large as wanted."""
    rows = (b"\0" + b"\xff" * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = [(b"IHDR", header), *([(b"xxXx", noise)] if noise else []), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def jpeg(width: int = 2, height: int = 3) -> bytes:
    """The segments of a JPEG, with a scan of a few bytes."""
    segments = [
        (0xE0, b"JFIF\0\1\2\0\0\1\0\1\0\0"),
        (0xC4, b"\0" * 17),
        (0xC0, struct.pack(">BHHB", 8, height, width, 1) + b"\1\x11\0"),
    ]
    body = b"".join(struct.pack(">BBH", 0xFF, marker, len(data) + 2) + data for marker, data in segments)
    return b"\xff\xd8" + body + b"\xff\xda\0\x08\1\1\0\0\x3f\0" + b"\x2a" * 9 + b"\xff\xd9"


def gif(width: int = 2, height: int = 3) -> bytes:
    """One frame."""
    return (
        b"GIF89a"
        + struct.pack("<HHBBB", width, height, 0x80, 0, 0)
        + b"\0" * 3
        + b"\xff" * 3
        + b"!\xf9\4\0\0\0\0\0"
        + (b"," + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\2\2L\1\0;")
    )


def webp(kind: str = "VP8L", width: int = 2, height: int = 3) -> bytes:
    """The header of one of the three kinds, and a few bytes."""
    heads = {
        "VP8 ": b"\x10\0\0\x9d\1\x2a" + struct.pack("<HH", width, height),
        "VP8L": b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14),
        "VP8X": b"\0" * 4 + struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3],
    }
    chunk = heads[kind] + b"\0" * 8
    chunk += b"\0" * (len(chunk) % 2)
    body = b"WEBP" + kind.encode() + struct.pack("<I", len(chunk)) + chunk
    return b"RIFF" + struct.pack("<I", len(body)) + body


WHOLE = {"image/png": png(), "image/jpeg": jpeg(), "image/gif": gif(), "image/webp": webp()}
"""One image of each format, of 2 by 3 pixels."""


def encoded(image: bytes) -> str:
    """The image in base64."""
    return b64encode(image).decode()
