"""How a value is sealed for one tenant: encrypted, in base64, and bound to the place where it is stored.

A place is the tenant, a purpose, the id of the record and, where a record has several values of a purpose, a name. A sealed value
opens at its place alone: copied into another record, another field or another tenant it is a broken seal (decision 26). Knows the
form of a sealed value and of its place; must not know the plain value, nor the place of the master key.
"""

from __future__ import annotations

import base64
from enum import StrEnum

from hibernaut.ports.storage.cipher import Cipher, SealBroken


class SealPurpose(StrEnum):
    """What a sealed value is for. The texts are part of every stored seal and never change."""

    VARIABLE = "variable"
    PROVIDER_KEY = "provider-key"
    PROVIDER_ACCESS_KEY = "provider-access-key"
    WEBHOOK = "webhook-secret"
    MCP_SERVER = "mcp-server-secrets"
    MCP_OAUTH_FLOW = "mcp-oauth-flow"
    MCP_OAUTH_GRANT = "mcp-oauth-grant"


class TenantSeals:
    """Seals and opens values of one tenant. Thread-safe."""

    def __init__(self, tenant: str, cipher: Cipher) -> None:
        self._tenant = tenant
        self._cipher = cipher

    def seal(self, plain: bytes, purpose: SealPurpose, owner: str, name: str | None = None) -> str:
        """The sealed value in base64. `owner`: the id of its record; `name`: the value among those of the record. Two calls never
        return the same text.

        Raises: MasterKeyUnavailable; NotImplementedHere in a process without a cipher.
        """
        return base64.b64encode(self._cipher.seal(plain, self._place(purpose, owner, name))).decode()

    def open(self, sealed: str, purpose: SealPurpose, owner: str, name: str | None = None) -> bytes:
        """The plain value. Raises: SealBroken for a value of another place or master key and for a damaged one;
        MasterKeyUnavailable; NotImplementedHere.
        """
        try:
            encrypted = base64.b64decode(sealed)
        except ValueError as error:
            raise SealBroken("the sealed value is not base64") from error
        return self._cipher.unseal(encrypted, self._place(purpose, owner, name))

    def _place(self, purpose: SealPurpose, owner: str, name: str | None) -> dict[str, str]:
        place = {"tenant": self._tenant, "purpose": purpose.value, "id": owner}
        return place if name is None else {**place, "name": name}
