"""The textual form of API keys: `hib_<43 characters of base 62>_<6 characters of checksum>`.

The prefix lets secret scanners find a key. The checksum (CRC-32 of everything before it) lets a typo be refused without a read of
the table; it proves nothing about the origin of a key. Knows the form. Must not know how a key is stored.
"""

from __future__ import annotations

import re
from zlib import crc32

SECRET_BYTES = 32
"""Random bytes in a key."""
PREFIX = "hib_"
HINT_LENGTH = len(PREFIX) + 4
"""Characters at the beginning of a key that lists show, so that a person recognises the key."""
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SECRET_LENGTH, _CHECKSUM_LENGTH = 43, 6
KEY_PATTERN = re.compile(rf"{PREFIX}[0-9A-Za-z]{{{_SECRET_LENGTH}}}_[0-9A-Za-z]{{{_CHECKSUM_LENGTH}}}")
"""The form of a key, for searching in other texts. It does not verify the checksum."""


def format_key(secret: bytes) -> str:
    """The key for `SECRET_BYTES` random bytes. Raises: ValueError for another number of bytes."""
    if len(secret) != SECRET_BYTES:
        raise ValueError(f"an API key has {SECRET_BYTES} random bytes, not {len(secret)}")
    body = PREFIX + _base62(int.from_bytes(secret, "big"), _SECRET_LENGTH)
    return f"{body}_{_checksum(body)}"


def is_well_formed(text: str) -> bool:
    """Whether the text has the form of a key and a valid checksum."""
    body, _, checksum = text.rpartition("_")
    return KEY_PATTERN.fullmatch(text) is not None and _checksum(body) == checksum


def _checksum(body: str) -> str:
    return _base62(crc32(body.encode()), _CHECKSUM_LENGTH)


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, remainder = divmod(number, len(_ALPHABET))
        digits.append(_ALPHABET[remainder])
    return "".join(reversed(digits))
