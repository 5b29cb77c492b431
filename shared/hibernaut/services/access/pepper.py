"""The pepper: 32 random bytes of the deployment, under which API keys are hashed (HMAC-SHA-256).

The table holds it sealed (port `Cipher`). A copy of the table without the master key therefore allows neither the verification of
a guessed key nor the addition of one. A process reads and unseals it once.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from base64 import b64decode, b64encode

from hibernaut.ports.storage.cipher import Cipher, SealBroken
from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.schemas.errors import StoreUnavailable
from hibernaut.store.stores import Stores

PEPPER_BYTES = 32
_CONTEXT = {"purpose": "api-keys"}
_RETRY_AFTER = 60.0


class Pepper:
    """The hash key of API keys. Thread-safe: two threads that read it at the same time read the same bytes."""

    def __init__(self, stores: Stores, cipher: Cipher) -> None:
        self._stores = stores
        self._cipher = cipher
        self._bytes: bytes | None = None

    @property
    def loaded(self) -> bool:
        """Whether this process has read the pepper."""
        return self._bytes is not None

    def exists(self) -> bool:
        """Whether the deployment has a pepper, which means that a key was created. Reads the table unless the answer is known to
        be yes.

        Raises: StoreUnavailable, and the errors of the cipher.
        """
        return self._read() is not None

    def digest(self, key: str) -> str | None:
        """The keyed hash of a key; None if the deployment has no pepper. Raises: as `exists`."""
        pepper = self._read()
        return _digest(pepper, key) if pepper is not None else None

    def made_digest(self, key: str) -> str:
        """The keyed hash of a new key. The first call of a deployment creates the pepper. Raises: as `exists`."""
        pepper = self._read() or self._created()
        return _digest(pepper, key)

    def _read(self) -> bytes | None:
        if self._bytes is None:
            sealed = self._stores.api_keys.pepper()
            self._bytes = self._unsealed(sealed) if sealed is not None else None
        return self._bytes

    def _created(self) -> bytes:
        pepper, token = secrets.token_bytes(PEPPER_BYTES), secrets.token_hex(16)
        sealed = b64encode(self._cipher.seal(pepper, _CONTEXT)).decode()
        try:
            self._stores.writer.write(self._stores.api_keys.create_pepper(sealed, token), token=token)
        except ConditionFailed:  # another process was first
            if (found := self._read()) is not None:
                return found
            raise
        self._bytes = pepper
        return pepper

    def _unsealed(self, sealed: str) -> bytes:
        try:
            return self._cipher.unseal(b64decode(sealed), _CONTEXT)
        except SealBroken as error:
            raise StoreUnavailable(
                "The key of the API keys cannot be decrypted: it was sealed with another master key. Put the deployment's own master key back.",
                _RETRY_AFTER,
            ) from error


def _digest(pepper: bytes, key: str) -> str:
    return hmac.new(pepper, key.encode(), hashlib.sha256).hexdigest()
