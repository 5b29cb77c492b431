"""The format of sealed values: AES-256-GCM under a data key of the value's own, beside the wrapped data key.

    magic (4) | length of the wrapped key (2) | wrapped key | nonce (12) | ciphertext and tag

The data key encrypts one value only, so nonces cannot repeat. The authenticated data are the context and all bytes before the
nonce, so a value opens neither in another place nor with another wrapped key. Knows the bytes. Must not know the master key.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Self

from pydantic_core import to_json

from hibernaut.ports.storage.cipher import SealBroken
from hibernaut.schemas.immutable import immutable

KEY_BYTES = 32
"""A key of AES-256."""
MAGIC = b"HSV1"
_NONCE, _TAG, _LENGTH = 12, 16, 2
_HEAD = len(MAGIC) + _LENGTH


@immutable
class Envelope:
    """A sealed value in its parts. `head`: all bytes before the nonce."""

    head: bytes
    wrapped_key: bytes
    nonce: bytes
    ciphertext: bytes

    @classmethod
    def sealed(cls, plain: bytes, *, data_key: bytes, wrapped_key: bytes, context: Mapping[str, str]) -> Self:
        """Encrypt a value. The caller never uses the data key for another value."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        head = MAGIC + len(wrapped_key).to_bytes(_LENGTH) + wrapped_key
        nonce = os.urandom(_NONCE)
        return cls(head, wrapped_key, nonce, AESGCM(data_key).encrypt(nonce, plain, _bound(head, context)))

    @classmethod
    def parsed(cls, sealed: bytes) -> Self:
        """The parts of a sealed value, none of them verified. Raises: SealBroken if the bytes are no sealed value."""
        end = _HEAD + int.from_bytes(sealed[len(MAGIC) : _HEAD])
        if not sealed.startswith(MAGIC) or end == _HEAD or len(sealed) < end + _NONCE + _TAG:
            raise SealBroken("the bytes are not a sealed value, or they are cut off")
        return cls(sealed[:end], sealed[_HEAD:end], sealed[end : end + _NONCE], sealed[end + _NONCE :])

    def __bytes__(self) -> bytes:
        return self.head + self.nonce + self.ciphertext

    def opened(self, data_key: bytes, context: Mapping[str, str]) -> bytes:
        """The encrypted value. Raises: SealBroken."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        try:
            return AESGCM(data_key).decrypt(self.nonce, self.ciphertext, _bound(self.head, context))
        except InvalidTag:
            raise SealBroken("the sealed value is damaged, or it belongs to another place") from None


def context_bytes(context: Mapping[str, str]) -> bytes:
    """A context in its one form: JSON with sorted names."""
    return to_json(dict(sorted(context.items())))


def _bound(head: bytes, context: Mapping[str, str]) -> bytes:
    return len(head).to_bytes(4) + head + context_bytes(context)
