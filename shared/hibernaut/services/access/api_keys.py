"""The administration of one tenant's API keys: create, list, change, rotate and revoke them."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from datetime import datetime, timedelta

from hibernaut.domain.api_keys import HINT_LENGTH, SECRET_BYTES, format_key
from hibernaut.ports.clock import Clock, Ids
from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.schemas.access.access_token import PageAccess
from hibernaut.schemas.access.api_key import (
    DAY_SECONDS,
    LONGEST_CLIENT_TOKEN,
    NO_AGENT,
    CreateApiKey,
    CreatedApiKey,
    RotateApiKey,
    StoredApiKey,
    UpdateApiKey,
)
from hibernaut.schemas.access.scope import Scope
from hibernaut.schemas.errors import Conflict, InvalidArgument, NotFound
from hibernaut.schemas.immutable import immutable
from hibernaut.services.access.authentication import Authentication
from hibernaut.services.access.pepper import Pepper
from hibernaut.store.stores import Stores
from hibernaut.store.table.optimistic_retry import until_settled
from hibernaut.store.table.tenants import checked

TRIES = 5
PAGE = 100
logger = logging.getLogger(__name__)


@immutable
class AccessParts:
    """What the administration of all tenants' keys shares."""

    stores: Stores
    pepper: Pepper
    authentication: Authentication
    clock: Clock
    ids: Ids


class ApiKeys:
    """The API keys of one tenant."""

    def __init__(self, parts: AccessParts, tenant: str) -> None:
        """Raises: InvalidArgument if the name is not a valid tenant name."""
        self._tenant = checked(tenant)
        self._stores = parts.stores
        self._store = parts.stores.api_keys
        self._pepper = parts.pepper
        self._authentication = parts.authentication
        self._clock = parts.clock
        self._ids = parts.ids

    def now(self) -> datetime:
        """The time by which keys expire."""
        return self._clock.now()

    def create(self, request: CreateApiKey) -> CreatedApiKey:
        """Create a key. Only the return value contains the key itself. Raises: InvalidArgument for an expiry that cannot be
        used.
        """
        record, key = self._created(request)
        return _shown_once(record, key)

    def create_for_pages(self, access: PageAccess, expires_at: datetime) -> tuple[StoredApiKey, str]:
        """Create a client-side access token; the record, and the token itself. Raises: as `create`."""
        scope = Scope.WRITE if any(right.startswith("write") for each in access.data for right in each.access) else Scope.READ
        settings = CreateApiKey(scope=scope, kind="client", agent_ids=[NO_AGENT], expires_at=expires_at)
        return self._created(settings, access)

    def _created(self, request: CreateApiKey, access: PageAccess | None = None) -> tuple[StoredApiKey, str]:
        now = self._clock.now()
        self._check_expiry(request.expires_at, client=request.kind == "client", now=now)
        record, key = self._new(request, now, access)
        token = self._ids.token()
        self._stores.writer.write(*self._store.create(record, token), token=token)
        logger.info("api key created", extra={"tenant": self._tenant, "key": record.id, "scope": record.scope})
        return record, key

    def list(self, *, after: str | None = None, limit: int = PAGE) -> list[StoredApiKey]:
        """A page of the keys, oldest first, revoked and expired ones too for `KEPT_DAYS`."""
        return self._store.page(self._tenant, after=after, limit=limit)

    def get(self, key_id: str) -> StoredApiKey:
        """Raises: NotFound."""
        key = self.find(key_id)
        if key is None:
            raise NotFound(f"API key with ID {key_id} not found")
        return key

    def find(self, key_id: str) -> StoredApiKey | None:
        """The key with this id, or None."""
        return self._store.get(self._tenant, key_id)

    def of_secret(self, presented: str) -> StoredApiKey | None:
        """The record of a key itself, or None."""
        digest = self._pepper.digest(presented)
        key = self._store.by_digest(digest) if digest is not None else None
        return key if key is not None and key.tenant == self._tenant else None

    def update(self, key_id: str, request: UpdateApiKey) -> StoredApiKey:
        """Change the name or the expiry. Raises: NotFound, Conflict (a revoked key), InvalidArgument."""
        fields = {name: getattr(request, name) for name in request.model_fields_set}
        if fields.get("name", "") is None:
            del fields["name"]

        def changed(key: StoredApiKey) -> StoredApiKey:
            if key.revoked_at is not None:
                raise _is_revoked(key)
            if "expires_at" in fields:
                self._check_expiry(fields["expires_at"], client=key.kind == "client", now=self._clock.now())
            return key.model_copy(update=fields)

        return self._change(key_id, changed)

    def rotate(self, key_id: str, request: RotateApiKey) -> CreatedApiKey:
        """Create a key with the same settings; the old one expires after the grace period. Raises: NotFound, Conflict (an
        unusable key).
        """
        before, now = self.get(key_id), self._clock.now()
        if not before.usable(now):
            raise (
                _is_revoked(before)
                if before.revoked_at
                else Conflict(f"CONFLICT: The API key {key_id} has expired; create another one.")
            )
        if before.replaced_by is not None:
            raise Conflict(f"CONFLICT: The API key {key_id} was rotated already, to {before.replaced_by}.")
        successor, key = self._new(before, now, before.page_access)
        ends = now + timedelta(seconds=request.grace_seconds)
        expires = min(ends, before.expires_at) if before.expires_at else ends
        after, token = before.model_copy(update={"expires_at": expires, "replaced_by": successor.id}), self._ids.token()
        changes = [*self._store.create(successor, token), *self._store.change(before, after, token)]
        try:
            self._stores.writer.write(*changes, token=token)
        except ConditionFailed as error:
            raise Conflict(f"CONFLICT: The API key {key_id} was changed at the same time; look at it and try again.") from error
        self._authentication.forget(before.digest)
        logger.info("api key rotated", extra={"tenant": self._tenant, "key": before.id, "successor": successor.id})
        return _shown_once(successor, key)

    def revoke(self, key_id: str) -> StoredApiKey:
        """Make a key unusable for ever. A revoked key stays as it is. Raises: NotFound."""
        now = self._clock.now()
        return self._change(key_id, lambda key: key if key.revoked_at else key.model_copy(update={"revoked_at": now}))

    def revoke_all(self) -> int:
        """Revoke every key of the tenant; returns how many were usable before."""
        now, count, after = self._clock.now(), 0, None
        while page := self.list(after=after):
            for key in page:
                count += key.usable(now)
                self.revoke(key.id)
            after = page[-1].id
        return count

    def delete_all(self) -> None:
        """Delete every key of the tenant, with its list rows."""
        while page := self.list():
            for key in page:
                self._stores.writer.write(*self._store.delete(key))
                self._authentication.forget(key.digest)

    def _new(self, settings: CreateApiKey | StoredApiKey, now: datetime, access: PageAccess | None) -> tuple[StoredApiKey, str]:
        key = format_key(secrets.token_bytes(SECRET_BYTES))
        record = StoredApiKey(
            id=self._ids.new("key"),
            tenant=self._tenant,
            name=settings.name,
            scope=settings.scope,
            kind=settings.kind,
            agent_ids=settings.agent_ids,
            agent_tags=settings.agent_tags,
            hint=key[:HINT_LENGTH],
            created_at=now,
            expires_at=settings.expires_at,
            digest=self._pepper.made_digest(key),
            page_access=access,
        )
        return record, key

    def _change(self, key_id: str, decide: Callable[[StoredApiKey], StoredApiKey]) -> StoredApiKey:
        def attempt() -> StoredApiKey:
            before = self.get(key_id)
            after, token = decide(before), self._ids.token()
            if after == before:
                return before
            self._stores.writer.write(*self._store.change(before, after, token), token=token)
            self._authentication.forget(before.digest)
            logger.info("api key changed", extra={"tenant": self._tenant, "key": key_id, "revoked": bool(after.revoked_at)})
            return after

        busy = f"CONFLICT: The API key {key_id} keeps being changed by other requests; try again."
        return until_settled(attempt, busy, tries=TRIES)

    def _check_expiry(self, expires_at: datetime | None, *, client: bool, now: datetime) -> None:
        if expires_at is not None and expires_at <= now:
            raise InvalidArgument(f"INVALID_ARGUMENT: expires_at must be in the future, not {expires_at.isoformat()}.")
        if client and (expires_at is None or expires_at > now + timedelta(seconds=LONGEST_CLIENT_TOKEN)):
            days = LONGEST_CLIENT_TOKEN // DAY_SECONDS
            raise InvalidArgument(f"INVALID_ARGUMENT: A client token must have an expires_at at most {days} days from now.")


def _shown_once(record: StoredApiKey, key: str) -> CreatedApiKey:
    return CreatedApiKey(**record.public().model_dump(), key=key)


def _is_revoked(key: StoredApiKey) -> Conflict:
    return Conflict(f"CONFLICT: The API key {key.id} was revoked and cannot be changed; create another one.")
