"""The administration of one tenant's webhooks: create, change, delete, test, new secrets; their deliveries, and replays."""

from __future__ import annotations

import ipaddress
import logging
import secrets
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import islice
from urllib.parse import urlsplit

from hibernaut.domain.events import ping, secret_text
from hibernaut.schemas.errors import Conflict, InvalidArgument, NotFound
from hibernaut.schemas.events.webhook import (
    CreatedWebhook,
    CreateWebhook,
    Delivery,
    DeliveryState,
    ReplayDead,
    ReplayedDead,
    RotateSecret,
    SealedSecret,
    StoredWebhook,
    TestedWebhook,
    UpdateWebhook,
    Webhook,
)
from hibernaut.schemas.ids import as_of
from hibernaut.services.events.subscribed_types import subscription_changes
from hibernaut.services.events.webhook_calls import WebhookCalls, WebhookVault
from hibernaut.services.host import Host
from hibernaut.store.stores import TenantStores
from hibernaut.store.table.optimistic_retry import until_settled
from hibernaut.store.table.tenant_seals import TenantSeals

MOST_WEBHOOKS = 20
"""The largest number of webhooks of a tenant."""
SECRET_BYTES = 32
HINT = 12
"""The number of a secret's first characters that lists show."""
BUSY = "CONFLICT: The webhooks keep being changed by other requests; try again."
REPLAYED_TOGETHER = 50
"""Dead deliveries that one transaction replays."""
_LOWEST_ID = "evt-00000000-0000-4000-8000-000000000000"
_Decide = Callable[[StoredWebhook], StoredWebhook]
logger = logging.getLogger(__name__)


class Webhooks:
    """The use cases of one tenant's webhooks."""

    def __init__(self, stores: TenantStores, host: Host) -> None:
        self._tenant = stores.tenant
        self._writer = stores.writer
        self._outbox = stores.events
        self._store = stores.webhooks
        self._clock, self._ids = host.clock, host.ids
        self._public_only = host.public_only
        self._vault = WebhookVault(TenantSeals(stores.tenant, host.cipher))
        self._calls = WebhookCalls(self._vault, host.web, host.clock)

    def create(self, request: CreateWebhook) -> CreatedWebhook:
        """Add a webhook. Raises: InvalidArgument, Conflict, MasterKeyUnavailable."""
        check_url(request.url, public_only=self._public_only)
        now, secret = self._clock.now(), secrets.token_bytes(SECRET_BYTES)
        webhook_id = self._ids.new("webhook")
        webhook = StoredWebhook(
            id=webhook_id,
            **request.model_dump(),
            hint=secret_text(secret)[:HINT],
            secrets=[SealedSecret(sealed=self._vault.seal(webhook_id, secret))],
            created_at=now,
            updated_at=now,
        )
        until_settled(lambda: self._write(None, webhook), BUSY)
        logger.info("webhook created", extra={"webhook_id": webhook_id})
        return CreatedWebhook(**webhook.wire().model_dump(), secret=secret_text(secret))

    def all(self) -> Sequence[Webhook]:
        """All webhooks, oldest first."""
        return [webhook.wire() for webhook in self._store.all()]

    def retrieve(self, webhook_id: str) -> Webhook:
        """The webhook. Raises: NotFound."""
        return self._stored(webhook_id).wire()

    def update(self, webhook_id: str, request: UpdateWebhook) -> Webhook:
        """Apply the fields that are not null. Raises: NotFound, InvalidArgument, Conflict."""
        fields = request.model_dump(exclude_none=True)
        if request.url is not None:
            check_url(request.url, public_only=self._public_only)

        def after(before: StoredWebhook) -> StoredWebhook:
            now = self._clock.now()
            changes = {**fields, "updated_at": now}
            if request.enabled is True:
                changes |= {"disabled_reason": None, "disabled_at": None, "failures": 0, "failing_since": None}
            elif request.enabled is False and before.enabled:
                changes |= {"disabled_reason": "request", "disabled_at": now}
            return before.model_copy(update=changes)

        return self._changed(webhook_id, after, recovered=request.enabled is True).wire()

    def rotate(self, webhook_id: str, request: RotateSecret) -> CreatedWebhook:
        """Make a new secret; the current one stays valid for the overlap, and an older one no longer. Raises: NotFound, Conflict,
        MasterKeyUnavailable.
        """
        secret = secrets.token_bytes(SECRET_BYTES)
        sealed = SealedSecret(sealed=self._vault.seal(webhook_id, secret))

        def after(before: StoredWebhook) -> StoredWebhook:
            now = self._clock.now()
            until = now + timedelta(seconds=request.overlap_seconds)
            current = [each.model_copy(update={"until": until}) for each in before.secrets if each.until is None]
            previous = current if request.overlap_seconds else []
            return before.model_copy(
                update={"secrets": [sealed, *previous], "hint": secret_text(secret)[:HINT], "updated_at": now}
            )

        updated = self._changed(webhook_id, after)
        logger.info("secret of a webhook rotated", extra={"webhook_id": webhook_id})
        return CreatedWebhook(**updated.wire().model_dump(), secret=secret_text(secret))

    def delete(self, webhook_id: str) -> None:
        """Delete a webhook with its secrets. What waits for it is dropped. Raises: NotFound, Conflict."""

        def attempt() -> None:
            webhook = self._stored(webhook_id)
            self._writer.write(self._store.delete(webhook), *subscription_changes(self._store, self._outbox, {webhook_id: None}))

        until_settled(attempt, BUSY)
        self._outbox.forget()
        logger.info("webhook deleted", extra={"webhook_id": webhook_id})

    def test(self, webhook_id: str) -> TestedWebhook:
        """Send an event of the type `ping` once, also to a disabled webhook. It is neither repeated nor counted. Raises:
        NotFound.
        """
        webhook = self._stored(webhook_id)
        event = ping(webhook_id, self._ids.new("evt"), tenant=self._tenant, now=self._clock.now())
        outcome = self._calls.send(webhook, event)
        return TestedWebhook(
            delivered=outcome.error is None, status=outcome.status, error=outcome.error, duration_ms=outcome.duration_ms
        )

    def deliveries(self, webhook_id: str, *, after: str | None, state: DeliveryState | None, limit: int) -> Sequence[Delivery]:
        """A page of the deliveries, newest event first. Raises: NotFound."""
        self._stored(webhook_id)
        return list(islice(self._store.deliveries(webhook_id, self._clock.now(), after, state), limit))

    def replay(self, webhook_id: str, event_id: str) -> Delivery:
        """Deliver an event again, with the schedule of a new one, whatever its state. Raises: NotFound, Conflict if the webhook
        is disabled.
        """
        self._enabled(webhook_id)
        now = self._clock.now()
        delivery = self._store.delivery(webhook_id, event_id, now)
        if delivery is None:
            raise NotFound(f"Delivery of event {event_id} to webhook {webhook_id} not found")
        replayed = _again(delivery)
        self._writer.write(self._store.put(replayed, now, prompt=True))
        return replayed.model_copy(update={"next_try_at": now})

    def replay_dead(self, webhook_id: str, request: ReplayDead) -> ReplayedDead:
        """Deliver the dead events of a range of time again, oldest first. Raises: NotFound, InvalidArgument, Conflict if the
        webhook is disabled.
        """
        self._enabled(webhook_id)
        if request.since and request.until and request.since >= request.until:
            raise InvalidArgument("INVALID_ARGUMENT: `since` must be before `until`.")
        now = self._clock.now()
        since, until = (_bound(moment) for moment in (request.since, request.until))
        places = self._store.dead(webhook_id, since, until, request.limit + 1)
        more, places, replayed = len(places) > request.limit, places[: request.limit], 0
        for first in range(0, len(places), REPLAYED_TOGETHER):
            dead = [each for each in self._store.at(places[first : first + REPLAYED_TOGETHER], now) if each.state == "dead"]
            if dead:
                self._writer.write(*(self._store.put(_again(each), now, prompt=True) for each in dead))
            replayed += len(dead)
        logger.info("dead events replayed", extra={"webhook_id": webhook_id, "events": replayed})
        return ReplayedDead(replayed=replayed, more=more)

    def _stored(self, webhook_id: str) -> StoredWebhook:
        found = self._store.get(webhook_id)
        if found is None:
            raise NotFound(f"Webhook with ID {webhook_id} not found")
        return found

    def _enabled(self, webhook_id: str) -> None:
        if not self._stored(webhook_id).enabled:
            raise Conflict(f"CONFLICT: Webhook {webhook_id} is disabled; enable it first (PATCH with `enabled` true).")

    def _changed(self, webhook_id: str, after: _Decide, *, recovered: bool = False) -> StoredWebhook:
        def attempt() -> StoredWebhook:
            before = self._stored(webhook_id)
            return self._write(before, after(before), recovered=recovered)

        return until_settled(attempt, BUSY)

    def _write(self, before: StoredWebhook | None, after: StoredWebhook, *, recovered: bool = False) -> StoredWebhook:
        """Write a new or changed webhook together with the subscribed types. Raises: ConditionFailed, InvalidArgument."""
        token = self._ids.token()
        subscriptions = subscription_changes(self._store, self._outbox, {after.id: after})
        if before is None and len(self._store.all()) >= MOST_WEBHOOKS:
            raise InvalidArgument(f"INVALID_ARGUMENT: There are at most {MOST_WEBHOOKS} webhooks. Delete one that is not used.")
        change = (
            self._store.create(after, token) if before is None else self._store.change(before, after, token, recovered=recovered)
        )
        self._writer.write(change, *subscriptions, token=token)
        self._outbox.forget()
        return after


def check_url(url: str, *, public_only: bool) -> None:
    """Raises: InvalidArgument for an address that no event is sent to."""
    fault = _fault(url, public_only=public_only)
    if fault is not None:
        raise InvalidArgument(f"INVALID_ARGUMENT: `url` {fault}.")


def _fault(url: str, *, public_only: bool) -> str | None:
    if not url.isascii() or not url.isprintable() or " " in url:
        return "has a space, a line break or a character that is not ASCII; encode it"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "is not an address like https://example.com/hook"
    if parts.scheme not in (("https",) if public_only else ("https", "http")) or not host:
        return "must begin with https://" if public_only else "must begin with https:// or http://"
    if parts.username is not None or parts.password is not None:
        return "may not contain a user name or a password: lists show it"
    if public_only and (host == "localhost" or host.endswith(".localhost") or _is_private(host)):
        return f"names a private address ({host}); events are sent to the public internet only"
    return None


def _is_private(host: str) -> bool:
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return False  # a name: its addresses are checked when it is called


def _again(delivery: Delivery) -> Delivery:
    return delivery.model_copy(update={"state": "pending", "tries": 0, "next_try_at": None})


def _bound(moment: datetime | None) -> str | None:
    """The event id at which a range begins or ends."""
    return as_of(_LOWEST_ID, moment) if moment is not None else None
