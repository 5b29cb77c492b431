"""How values of secrets are stored: sealed, each for its tenant, its owner and its name, so that a sealed value opens nowhere
else.

Older records have plain values. They are read as they are, and sealed when their record is written again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from hibernaut.ports.storage.cipher import SealBroken
from hibernaut.schemas.errors import MasterKeyUnavailable, NotImplementedHere
from hibernaut.schemas.faults.secret_errors import SecretUnreadable
from hibernaut.store.table.tenant_seals import SealPurpose, TenantSeals


class SealedVariable(Protocol):
    """A variable with a secret value: plain in `value`, or sealed in `value_enc`, and then `value` is empty."""

    key: str
    value: str
    value_enc: str | None


class SecretVault:
    """Seals and opens the secrets of one tenant."""

    def __init__(self, seals: TenantSeals) -> None:
        self._seals = seals

    def seal(self, owner: str, variables: Iterable[SealedVariable]) -> None:
        """Seal the plain values of an owner's variables, in place. Raises: MasterKeyUnavailable, NotImplementedHere."""
        for each in variables:
            if each.value:
                plain = each.value.encode("utf-8", "surrogatepass")
                each.value, each.value_enc = "", self._seals.seal(plain, SealPurpose.VARIABLE, owner, each.key)

    def seal_where_possible(self, owner: str, variables: Iterable[SealedVariable]) -> None:
        """As `seal`, but values stay plain that were stored so before, in a process that has no key or does not reach it."""
        try:
            self.seal(owner, variables)
        except (MasterKeyUnavailable, NotImplementedHere):
            return

    def value(self, owner: str, variable: SealedVariable) -> str:
        """The value. Raises: SecretUnreadable, MasterKeyUnavailable, NotImplementedHere."""
        if variable.value or not variable.value_enc:
            return variable.value
        try:
            plain = self._seals.open(variable.value_enc, SealPurpose.VARIABLE, owner, variable.key)
        except SealBroken as error:
            raise SecretUnreadable(variable.key, owner) from error
        return plain.decode("utf-8", "surrogatepass")

    def values(self, owner: str, variables: Sequence[SealedVariable]) -> dict[str, str]:
        """The values by their names. Raises: SecretUnreadable, MasterKeyUnavailable, NotImplementedHere."""
        return {each.key: self.value(owner, each) for each in variables}
