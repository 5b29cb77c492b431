"""Providers with keys of a tenant's own: create, list, change, delete, check and refresh them (Letta V1 API, API 3).

A key is encrypted before it is stored and never returned. To set an address, the key must be sent with it, so that a stored key
is never sent to an address that its owner did not choose.
"""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.domain.wire.listing import Page
from hibernaut.ports.model import Models, ProviderAccess
from hibernaut.ports.storage.table import ConditionFailed, Item
from hibernaut.schemas.errors import Conflict, InvalidArgument, NotFound
from hibernaut.schemas.models.provider import (
    DOCUMENT_KEYS,
    PROVIDER_NAME,
    SENDABLE_KEY,
    CheckProvider,
    CreateProvider,
    ProviderKeys,
    ProviderMessage,
    StoredProvider,
)
from hibernaut.services.models.own_provider_list import OwnProviderList
from hibernaut.services.records import Records
from hibernaut.store.access.providers import ProviderStore
from hibernaut.store.table.tenant_seals import SealPurpose

MOST_PROVIDERS = 50
"""The largest number of providers of a tenant. Requests that arrive at the same time may exceed it by their number."""
RESERVED = frozenset({"hibernaut", "letta", "voyage"})
"""Names of the deployment alone. Voyage has embedding models only, so that it is not among the providers of models."""


class Providers:
    """The use cases of one tenant's providers. `base`: the models of the deployment, whose providers' names are taken."""

    def __init__(self, records: Records, store: ProviderStore, own: OwnProviderList, base: Models) -> None:
        self._records = records
        self._store = store
        self._own = own
        self._base = base

    def create(self, request: CreateProvider) -> StoredProvider:
        """Add a provider. Opens no connection to it. Raises: InvalidArgument, Conflict (the name is taken),
        MasterKeyUnavailable.
        """
        access = _access(request.name, request.provider_type, request)
        self._check_name(request.name)
        self._own.connections.connect(access)
        if self._store.listed().count() >= MOST_PROVIDERS:
            raise InvalidArgument(f"INVALID_ARGUMENT: There are at most {MOST_PROVIDERS} providers. Delete one that is not used.")
        now, token = self._records.clock.now(), self._records.ids.token()
        blank = StoredProvider(
            id=self._records.ids.new("provider"),
            name=request.name,
            provider_type=request.provider_type,
            created_at=now,
            updated_at=now,
        )
        provider = blank.model_copy(update=self._key_fields(blank.id, access, request))
        try:
            self._records.writer.write(*self._store.create(provider, token), token=token)
        except ConditionFailed:
            raise Conflict(f"CONFLICT: There is a provider with the name {request.name!r} already.") from None
        return provider

    def retrieve(self, provider_id: str) -> StoredProvider:
        """The provider. Raises: NotFound."""
        provider = self._store.get(provider_id)
        if provider is None:
            raise NotFound(f"Provider not found with id='{provider_id}'")
        return provider

    def list(self, page: Page, *, name: str | None = None, provider_type: str | None = None) -> Sequence[StoredProvider]:
        """A page of the providers by their creation; only those with this name or type. Raises: NotFound for a cursor."""

        def selected(rows: Sequence[Item]) -> Sequence[Item]:
            return [row for row in rows if name in (None, row["name"]) and provider_type in (None, row["provider_type"])]

        return self._store.read(self._store.listed().page(page, selected))

    def update(self, provider_id: str, request: ProviderKeys) -> StoredProvider:
        """Replace the key, and what else the request sets. Raises: NotFound, InvalidArgument, Conflict, MasterKeyUnavailable."""

        def attempt() -> StoredProvider:
            before = self.retrieve(provider_id)
            complete = request.model_copy(
                update={name: getattr(before, name) for name in ("base_url", "region") if getattr(request, name) is None}
            )
            access = _access(before.name, before.provider_type, complete)
            self._own.connections.connect(access)
            changes = {**self._key_fields(provider_id, access, complete), "updated_at": self._records.clock.now()}
            if request.access_key is None:
                changes["sealed_access_key"] = before.sealed_access_key
            if request.api_version is None:
                changes["api_version"] = before.api_version
            return self._write(before, before.model_copy(update=changes))

        return self._records.until_settled(attempt)

    def delete(self, provider_id: str) -> ProviderMessage:
        """Delete a provider with its key. Agents keep its handle; their next message fails with the reason. Raises: NotFound,
        Conflict.
        """

        def attempt() -> None:
            self._records.writer.write(*self._store.delete(self.retrieve(provider_id)))

        self._records.until_settled(attempt)
        self._own.forget(provider_id)
        return ProviderMessage(message=f"Provider id={provider_id} successfully deleted")

    def check(self, request: CheckProvider) -> ProviderMessage:
        """Try a key that is not stored. Raises: InvalidArgument, ModelError, NotImplementedHere."""
        self._own.connections.check(_access(request.provider_type, request.provider_type, request))
        return _valid(request.provider_type)

    def check_stored(self, provider_id: str) -> ProviderMessage:
        """Try the stored key. Raises: NotFound, InvalidArgument, ModelError, NotImplementedHere."""
        provider = self.retrieve(provider_id)
        self._own.connections.check(self._own.vault.open(provider))
        return _valid(provider.provider_type)

    def refresh(self, provider_id: str) -> StoredProvider:
        """Try the stored key, and have the models listed anew at their next use. Raises: NotFound, Conflict, and as
        `check_stored`.
        """

        def attempt() -> StoredProvider:
            before = self.retrieve(provider_id)
            self._own.connections.check(self._own.vault.open(before))
            return self._write(before, before.model_copy(update={"last_synced": self._records.clock.now()}))

        return self._records.until_settled(attempt)

    def _write(self, before: StoredProvider, after: StoredProvider) -> StoredProvider:
        token = self._records.ids.token()
        self._records.writer.write(self._store.change(before, after, token), token=token)
        self._own.forget(before.id)
        return after

    def _key_fields(self, provider_id: str, access: ProviderAccess, request: ProviderKeys) -> dict[str, str | None]:
        """The fields of the record that come from the request. The keys are encrypted."""
        return {
            "base_url": access.url,
            "region": access.region,
            "api_version": request.api_version,
            "sealed_key": self._own.vault.seal(provider_id, SealPurpose.PROVIDER_KEY, access.key),
            "sealed_access_key": self._own.vault.seal(provider_id, SealPurpose.PROVIDER_ACCESS_KEY, access.access_key),
        }

    def _check_name(self, name: str) -> None:
        if not PROVIDER_NAME.fullmatch(name) or not name.isprintable():
            raise InvalidArgument(
                "INVALID_ARGUMENT: The name of a provider is the first part of its handles: printable characters, no slash, and no space at an end."
            )
        if name in RESERVED or name in self._base.providers():
            raise InvalidArgument(
                f"INVALID_ARGUMENT: Provider name '{name}' conflicts with an existing base provider. Choose a different name."
            )


def _access(name: str, provider_type: str, request: ProviderKeys) -> ProviderAccess:
    """Raises: InvalidArgument for a key that no header can hold."""
    for field, key in (("api_key", request.api_key), ("access_key", request.access_key)):
        if key and provider_type not in DOCUMENT_KEYS and not SENDABLE_KEY.fullmatch(key):
            raise InvalidArgument(
                f"INVALID_ARGUMENT: {field} contains a line break, a space or another character that cannot be sent; paste it again without it."
            )
    return ProviderAccess(name, provider_type, request.api_key or None, request.base_url, request.region, request.access_key)


def _valid(provider_type: str) -> ProviderMessage:
    return ProviderMessage(message=f"Valid api key for provider_type={provider_type}")
