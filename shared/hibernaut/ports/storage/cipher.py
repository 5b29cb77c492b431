"""Encryption of secrets at rest: providers' keys, the key of API keys, agents' variables. The deployment decides where the master
key lies (a key file of the data folder locally, KMS on AWS).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from hibernaut.schemas.errors import NotImplementedHere


class SealBroken(Exception):
    """A sealed value that cannot be opened: another master key, another context, or damaged bytes."""


class Cipher(Protocol):
    """Authenticated envelope encryption. Thread-safe.

    `context` binds a sealed value to its place, for example `{"tenant": "default", "purpose": "provider", "id": "provider-1"}`:
    the value can be opened with an equal context only. It is not secret and must not hold secrets, because KMS logs it.
    """

    def seal(self, plain: bytes, context: Mapping[str, str]) -> bytes:
        """The encrypted value, with all that `unseal` needs beside the master key. Two calls never return the same bytes.

        Raises: HibernautError (a service error that is worth a retry) if the master key cannot be reached.
        """

    def unseal(self, sealed: bytes, context: Mapping[str, str]) -> bytes:
        """The value that `seal` was called with. Raises: SealBroken; HibernautError if the master key cannot be reached."""


class NoCipher:
    """The cipher of a deployment that stores no secrets: every call raises NotImplementedHere."""

    def seal(self, plain: bytes, context: Mapping[str, str]) -> bytes:  # noqa: ARG002 - the port names them
        raise NotImplementedHere("This deployment stores no secrets.")

    def unseal(self, sealed: bytes, context: Mapping[str, str]) -> bytes:  # noqa: ARG002 - the port names them
        raise NotImplementedHere("This deployment stores no secrets.")


NO_CIPHER = NoCipher()
