"""The event types that a tenant's webhooks subscribe to, as one item that every acceptance of a message reads."""

from __future__ import annotations

from collections.abc import Mapping

from hibernaut.ports.storage.table import Change
from hibernaut.schemas.events.facts import EVENT_TYPES
from hibernaut.schemas.events.webhook import StoredWebhook
from hibernaut.store.events.outbox import EventOutbox
from hibernaut.store.events.webhooks import WebhookStore


def subscription_changes(
    webhooks: WebhookStore, outbox: EventOutbox, changed_webhooks: Mapping[str, StoredWebhook | None]
) -> list[Change]:
    """The change of the subscribed types for a transaction that changes webhooks; empty if they stay. `changed_webhooks`: the
    webhooks as they will be, by id; None: it is deleted. Condition: no other transaction has changed the subscribed types since
    they were read.
    """
    before = outbox.read()
    after = {webhook.id: webhook for webhook in webhooks.all()} | dict(changed_webhooks)
    enabled = [webhook for webhook in after.values() if webhook is not None and webhook.enabled]
    types = {each for webhook in enabled for each in webhook.types or EVENT_TYPES}
    return [outbox.set_subscribed([each for each in EVENT_TYPES if each in types], before)]
