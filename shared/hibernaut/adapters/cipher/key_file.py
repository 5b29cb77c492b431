"""The `Cipher` port on a key file: the master key of a data folder, 32 random bytes that the first encryption creates. The file
may have several keys, one per line: the first one encrypts, and each of them decrypts its own values.

A random data key encrypts each value; the master key wraps the data key by AES-256-GCM. The data folder contains the key file, so
that the encryption protects copies of the database and of the blobs, not the folder itself.
Knows the file and its format. Must not know the purpose of the values.
"""

from __future__ import annotations

import errno
import logging
import os
import secrets
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from hibernaut.adapters.cipher.envelope import KEY_BYTES, Envelope, context_bytes
from hibernaut.ports.storage.cipher import SealBroken
from hibernaut.schemas.errors import MasterKeyUnavailable

_NONCE = 12
MOST_KEYS = 16
"""The largest number of keys in a file."""
RETRY_AFTER = 60.0
"""Seconds: a person must put the key file right."""
logger = logging.getLogger(__name__)


class KeyFileCipher:
    """Encryption under the key in `path`. The file is read at the first use and cached in memory; `seal` creates it if it is
    missing.

    Several processes may create the file at the same time: all of them use the first one.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._keys: tuple[bytes, ...] = ()

    def seal(self, plain: bytes, context: Mapping[str, str]) -> bytes:
        """The encrypted value. Raises: MasterKeyUnavailable if the key file can be neither read nor created."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        master = self._masters(make=True)[0]
        data_key, nonce = os.urandom(KEY_BYTES), os.urandom(_NONCE)
        wrapped = nonce + AESGCM(master).encrypt(nonce, data_key, context_bytes(context))
        return bytes(Envelope.sealed(plain, data_key=data_key, wrapped_key=wrapped, context=context))

    def unseal(self, sealed: bytes, context: Mapping[str, str]) -> bytes:
        """The decrypted value. Raises: SealBroken; MasterKeyUnavailable if the key file is missing or cannot be read."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        envelope = Envelope.parsed(sealed)
        wrapped = envelope.wrapped_key
        for master in self._masters(make=False):
            with suppress(InvalidTag, ValueError):  # ValueError: the wrapped key is too short to hold a nonce
                data_key = AESGCM(master).decrypt(wrapped[:_NONCE], wrapped[_NONCE:], context_bytes(context))
                return envelope.opened(data_key, context)
        raise SealBroken(
            f"no key in {self._path} opens the value: it was sealed with another key or for another place, or it is damaged"
        )

    def _masters(self, *, make: bool) -> tuple[bytes, ...]:
        """The keys of the file, at least one; the first one seals."""
        with self._lock:
            self._keys = self._keys or self._read() or (self._create() if make else ())
            if not self._keys:
                raise MasterKeyUnavailable(
                    f"The key file {self._path} is missing, so stored secrets cannot be read. Put it back from a backup of the data"
                    " folder, or enter the secrets again.",
                    RETRY_AFTER,
                )
            return self._keys

    def _read(self) -> tuple[bytes, ...]:
        try:
            with os.fdopen(os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as opened:
                text = opened.read(MOST_KEYS * (2 * KEY_BYTES + 2) + 1)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise self._unusable(error) from error
        with suppress(ValueError):
            keys = tuple(bytes.fromhex(line) for line in text.decode("ascii").split())
            if 0 < len(keys) <= MOST_KEYS and all(len(key) == KEY_BYTES for key in keys):
                return keys
        raise MasterKeyUnavailable(
            f"The key file {self._path} does not hold a key of {2 * KEY_BYTES} hexadecimal digits, or up to {MOST_KEYS} of them, one a line. Put it back from a backup.",
            RETRY_AFTER,
        )

    def _create(self) -> tuple[bytes, ...]:
        """The key of the first process that creates the file. The file appears atomically and is durable before its key encrypts
        a value.
        """
        beside = self._path.with_name(f"{self._path.name}.{secrets.token_hex(8)}")
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(beside, flags, 0o600), "wb") as opened:
                opened.write(secrets.token_hex(KEY_BYTES).encode() + b"\n")
                opened.flush()
                os.fsync(opened.fileno())
            try:
                os.link(beside, self._path)
                logger.info("key file made", extra={"file": self._path.name})
            except FileExistsError:
                pass
            finally:
                beside.unlink()
            _sync(self._path.parent)
        except OSError as error:
            raise self._unusable(error) from error
        return self._read()

    def _unusable(self, error: OSError) -> MasterKeyUnavailable:
        why = "it is a symbolic link" if error.errno == errno.ELOOP else error.strerror
        return MasterKeyUnavailable(f"The key file {self._path} cannot be used: {why}.", RETRY_AFTER)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
