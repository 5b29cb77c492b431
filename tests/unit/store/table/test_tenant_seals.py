"""Sealed values of a tenant: bound to their place, and stored as they always were."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hibernaut.adapters.cipher.key_file import KeyFileCipher
from hibernaut.ports.storage.cipher import NO_CIPHER, SealBroken
from hibernaut.schemas.errors import ModelAuthentication, NotImplementedHere
from hibernaut.schemas.events.webhook import SealedSecret
from hibernaut.schemas.faults.secret_errors import SecretUnreadable
from hibernaut.schemas.mcp.oauth import OAuthSecrets
from hibernaut.schemas.mcp.server import McpSecrets, McpServerType, StoredMcpServer
from hibernaut.schemas.models.provider import StoredProvider
from hibernaut.schemas.tools.sandbox import StoredVariable
from hibernaut.services.events.webhook_calls import WebhookVault
from hibernaut.services.mcp.mcp_targets import McpVault
from hibernaut.services.mcp.oauth_grants import OAuthVault
from hibernaut.services.models.own_provider_list import ProviderVault
from hibernaut.store.table.secret_vault import SecretVault
from hibernaut.store.table.tenant_seals import SealPurpose, TenantSeals

NOW = datetime(2026, 1, 2, tzinfo=UTC)


class OpenCipher:
    """A cipher whose sealed value shows its context, so that a test can read and write what is stored."""

    def seal(self, plain: bytes, context: Mapping[str, str]) -> bytes:
        return json.dumps([dict(context), plain.decode()]).encode()

    def unseal(self, sealed: bytes, context: Mapping[str, str]) -> bytes:
        place, plain = json.loads(sealed)
        if place != dict(context):
            raise SealBroken("another place")
        return str(plain).encode()


SEALS = TenantSeals("ada", OpenCipher())


def stored(plain: str, purpose: str, owner: str, **name: str) -> str:
    """A value as every release has stored it."""
    return base64.b64encode(json.dumps([{"tenant": "ada", "purpose": purpose, "id": owner, **name}, plain]).encode()).decode()


@pytest.mark.parametrize(
    ("tenant", "purpose", "owner", "name"),
    [
        ("eve", SealPurpose.VARIABLE, "agent-1", "KEY"),
        ("ada", SealPurpose.PROVIDER_KEY, "agent-1", "KEY"),
        ("ada", SealPurpose.VARIABLE, "agent-2", "KEY"),
        ("ada", SealPurpose.VARIABLE, "agent-1", "OTHER"),
        ("ada", SealPurpose.VARIABLE, "agent-1", None),
    ],
)
def test_a_value_opens_at_its_place_alone(
    tmp_path: Path, tenant: str, purpose: SealPurpose, owner: str, name: str | None
) -> None:
    cipher = KeyFileCipher(tmp_path / "secrets")
    seals = TenantSeals("ada", cipher)
    sealed = seals.seal(b"plain", SealPurpose.VARIABLE, "agent-1", "KEY")
    assert seals.open(sealed, SealPurpose.VARIABLE, "agent-1", "KEY") == b"plain"
    with pytest.raises(SealBroken):
        TenantSeals(tenant, cipher).open(sealed, purpose, owner, name)


@pytest.mark.parametrize("damaged", ["", "a", "é", "AAAA"])
def test_a_damaged_value_is_a_broken_seal(tmp_path: Path, damaged: str) -> None:
    with pytest.raises(SealBroken):
        TenantSeals("ada", KeyFileCipher(tmp_path / "secrets")).open(damaged, SealPurpose.WEBHOOK, "wh-1")


def test_a_process_without_a_cipher_says_so() -> None:
    with pytest.raises(NotImplementedHere):
        TenantSeals("ada", NO_CIPHER).seal(b"plain", SealPurpose.PROVIDER_KEY, "provider-1")
    with pytest.raises(NotImplementedHere):
        TenantSeals("ada", NO_CIPHER).open("AAAA", SealPurpose.PROVIDER_KEY, "provider-1")


def test_variables_are_stored_as_before() -> None:
    vault, variable = SecretVault(SEALS), StoredVariable(id="sandbox-env-1", key="KEY", value="é", created_at=NOW, updated_at=NOW)
    vault.seal("agent-1", [variable])
    assert (variable.value, variable.value_enc) == ("", stored("é", "variable", "agent-1", name="KEY"))
    assert vault.value("agent-1", variable) == "é"
    with pytest.raises(SecretUnreadable):
        vault.value("agent-2", variable)


def test_keys_of_providers_are_stored_as_before() -> None:
    vault = ProviderVault(SEALS)
    key = stored("sk-1", "provider-key", "provider-1")
    other = stored("AKIA", "provider-access-key", "provider-1")
    assert vault.seal("provider-1", SealPurpose.PROVIDER_KEY, "sk-1") == key
    assert vault.seal("provider-1", SealPurpose.PROVIDER_ACCESS_KEY, "AKIA") == other
    provider = StoredProvider(
        id="provider-1",
        name="own",
        provider_type="openai",
        sealed_key=key,
        sealed_access_key=other,
        created_at=NOW,
        updated_at=NOW,
    )
    opened = vault.open(provider)
    assert (opened.key, opened.access_key) == ("sk-1", "AKIA")
    with pytest.raises(ModelAuthentication, match="set it again"):
        vault.open(provider.model_copy(update={"sealed_key": "a"}))


def test_secrets_of_webhooks_are_stored_as_before() -> None:
    vault = WebhookVault(SEALS)
    sealed = stored("whsec", "webhook-secret", "webhook-1")
    assert vault.seal("webhook-1", b"whsec") == sealed
    secrets = [SealedSecret(sealed=sealed), SealedSecret(sealed=sealed, until=NOW - timedelta(seconds=1))]
    assert vault.open("webhook-1", secrets, NOW) == [b"whsec"]


def test_secrets_of_mcp_servers_are_stored_as_before() -> None:
    vault, secrets = McpVault(SEALS), McpSecrets(token="t")
    sealed = stored('{"token":"t"}', "mcp-server-secrets", "mcp_server-1")
    assert vault.seal("mcp_server-1", secrets) == sealed
    server = StoredMcpServer(
        id="mcp_server-1",
        server_name="s",
        mcp_server_type=McpServerType.STREAMABLE_HTTP,
        sealed=sealed,
        created_at=NOW,
        updated_at=NOW,
    )
    assert vault.open(server) == secrets


@pytest.mark.parametrize(
    ("purpose", "text"), [(SealPurpose.MCP_OAUTH_FLOW, "mcp-oauth-flow"), (SealPurpose.MCP_OAUTH_GRANT, "mcp-oauth-grant")]
)
def test_authorizations_are_stored_as_before(purpose: SealPurpose, text: str) -> None:
    vault, secrets = OAuthVault(SEALS), OAuthSecrets(access="a", refresh="r")
    sealed = stored('{"access":"a","refresh":"r"}', text, "digest")
    assert vault.seal(purpose, "digest", secrets) == sealed
    assert vault.open(purpose, "digest", sealed) == secrets
