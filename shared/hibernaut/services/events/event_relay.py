"""Passes events on: an event in the outbox becomes a delivery for each webhook that subscribes to it, and is sent to the event
bus.

1. A worker reads an outbox item, calls the webhooks once, writes the outcome of each call as a delivery, sends the events to the
   bus, and removes the item. If it dies in between, the item stays, and the sweep hands it over again: an event is delivered at
   least once, under the same id. The second worker leaves out the deliveries that exist.
2. A failed delivery is due again after a pause. The worker that takes it postpones it first, so that no second one takes it too.
3. A webhook that fails several times in a row is given a rest. Its deliveries wait meanwhile, and a receiver that hangs costs one
   call in a while and not one for each event.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from hibernaut.domain.events import GIVEN_UP, OutboundEvent, matches, pause_after, rest_of
from hibernaut.ports.clock import Clock, Ids
from hibernaut.ports.events.event_bus import EventBus
from hibernaut.ports.storage.table import MAX_CHANGES, ConditionFailed, Key
from hibernaut.schemas.events.facts import WebhookDisabled
from hibernaut.schemas.events.webhook import Delivery, DisabledReason, StoredWebhook
from hibernaut.schemas.immutable import immutable
from hibernaut.services.events.subscribed_types import subscription_changes
from hibernaut.services.events.webhook_calls import WebhookCalls, WebhookOutcome
from hibernaut.services.parallel_map import in_parallel
from hibernaut.store.events import event_keys
from hibernaut.store.events.outbox import LEFT_MS
from hibernaut.store.events.webhooks import pending
from hibernaut.store.stores import TenantStores

AT_ONCE = 8
"""Webhooks that are called at the same time for one outbox item."""
DISABLED = "the webhook is disabled"
Jitter = Callable[[], float]
logger = logging.getLogger(__name__)


@immutable
class RelayParts:
    """What the relays of all tenants share. `jitter`: a random number from 0 to 1."""

    clock: Clock
    ids: Ids
    bus: EventBus
    jitter: Jitter


class EventRelay:
    """Passes on the events of one tenant."""

    def __init__(self, stores: TenantStores, calls: WebhookCalls, parts: RelayParts) -> None:
        self._tenant = stores.tenant
        self._stores = stores
        self._outbox = stores.events
        self._writer = stores.writer
        self._webhooks = stores.webhooks
        self._calls = calls
        self._clock, self._ids, self._bus, self._jitter = parts.clock, parts.ids, parts.bus, parts.jitter

    def take(self, place: Key) -> None:
        """Handle an outbox item or a delivery; nothing happens if somebody else has handled it. Raises: BusFailure,
        StoreUnavailable.
        """
        with suppress(ConditionFailed):  # another worker has taken the item
            if place.sk == event_keys.OUTBOX:
                self._pass_on(place)
            else:
                self._try_again(place)

    def _pass_on(self, place: Key) -> None:
        found, now = self._outbox.get(place), self._clock.now()
        if found is None:
            return
        events, due_ms, at = found
        is_repeated = due_ms <= now.timestamp() * 1000  # The first worker did not complete the item.
        if is_repeated:
            self._writer.write(self._outbox.claim(place, at, now))
        webhooks = [webhook for webhook in self._webhooks.all() if webhook.enabled]
        pairs = [(webhook, event) for event in events for webhook in self._hearing(webhooks, event)]
        if is_repeated:
            existing = self._webhooks.known([(webhook.id, event.id) for webhook, event in pairs])
            pairs = [(webhook, event) for webhook, event in pairs if (webhook.id, event.id) not in existing]
        deliveries = in_parallel(AT_ONCE, lambda pair: self._first_try(*pair), pairs)
        puts = [self._webhooks.put(delivery, self._clock.now()) for delivery in deliveries]
        for first in range(0, len(puts), MAX_CHANGES):
            self._writer.write(*puts[first : first + MAX_CHANGES])
        self._bus.put(events)
        self._writer.write(self._outbox.handled(place))

    def _hearing(self, webhooks: Sequence[StoredWebhook], event: OutboundEvent) -> list[StoredWebhook]:
        """The webhooks that receive an event. The tags of its agents are read only if a webhook filters by them."""
        agents, tags = event.agents, set[str]()
        if agents and any(webhook.agent_tags for webhook in webhooks):
            tags = {tag for agent in self._stores.agents.get_many(agents).values() for tag in agent.tags}
        return [
            webhook
            for webhook in webhooks
            if event.data.get("webhook_id") != webhook.id
            and matches(
                event,
                types=webhook.types,
                agent_ids=webhook.agent_ids,
                agent_tags=webhook.agent_tags,
                agents=agents,
                tags=tags,
            )
        ]

    def _first_try(self, webhook: StoredWebhook, event: OutboundEvent) -> Delivery:
        delivery, until = pending(event, webhook.id), _rests_until(webhook)
        if until is not None and until > self._clock.now():
            return delivery.model_copy(update={"next_try_at": until + self._spread()})
        return self._tried(webhook, delivery)

    def _try_again(self, place: Key) -> None:
        found, now = self._webhooks.due(place), self._clock.now()
        if found is None:
            return
        delivery, due_ms, at, prompt = found
        if due_ms > now.timestamp() * 1000 and not prompt:
            return
        webhook = self._webhooks.get(delivery.webhook_id)
        if webhook is None:
            self._writer.write(self._webhooks.drop(place))
            return
        if not webhook.enabled:
            self._writer.write(self._webhooks.put(self._dead(delivery, DISABLED), now))
            return
        until = _rests_until(webhook)
        if until is not None and until > now:
            self._writer.write(self._webhooks.claim(place, at, until + self._spread()))
            return
        self._writer.write(self._webhooks.claim(place, at, now + timedelta(milliseconds=LEFT_MS)))
        self._writer.write(self._webhooks.put(self._tried(webhook, delivery), self._clock.now()))

    def _tried(self, webhook: StoredWebhook, delivery: Delivery) -> Delivery:
        """The delivery after one more call of its webhook."""
        outcome = self._calls.send(webhook, OutboundEvent.read(delivery.event))
        now = self._clock.now()
        after = delivery.model_copy(
            update={
                "tries": delivery.tries + 1,
                "status": outcome.status,
                "error": outcome.error,
                "tried_at": now,
                "next_try_at": None,
            }
        )
        if outcome.error is None:
            after.state = "delivered"
            if webhook.failures:
                self._writer.write(self._webhooks.recovered(webhook))
        else:
            after = self._failed(webhook, after, outcome, now)
        fields = {"webhook_id": webhook.id, "event_type": delivery.type, "status": outcome.status, "call_ms": outcome.duration_ms}
        age = int((now - delivery.created_at).total_seconds() * 1000)
        logger.info("webhook called", extra={**fields, "outcome": after.state, "age_ms": max(0, age)})
        return after

    def _failed(self, webhook: StoredWebhook, delivery: Delivery, outcome: WebhookOutcome, now: datetime) -> Delivery:
        with suppress(ConditionFailed):  # the webhook is deleted
            self._writer.write(self._webhooks.failed(webhook, now))
        if outcome.final:
            self._disable(webhook.id, "gone")
        elif webhook.failing_since is not None and now - webhook.failing_since > GIVEN_UP:
            self._disable(webhook.id, "failing")
        pause = None if outcome.final else pause_after(delivery.tries, self._jitter())
        if pause is None:
            return self._dead(delivery, delivery.error or "")
        return delivery.model_copy(update={"next_try_at": now + pause})

    def _dead(self, delivery: Delivery, error: str) -> Delivery:
        logger.warning(
            "event is dead", extra={"webhook_id": delivery.webhook_id, "event_type": delivery.type, "tries": delivery.tries}
        )
        return delivery.model_copy(update={"state": "dead", "error": error, "next_try_at": None})

    def _disable(self, webhook_id: str, reason: DisabledReason) -> None:
        """Disable the webhook, unless it has changed meanwhile, and notify the other webhooks."""
        before, now = self._webhooks.get(webhook_id), self._clock.now()
        if before is None or not before.enabled:
            return
        after = before.model_copy(update={"enabled": False, "disabled_reason": reason, "disabled_at": now, "updated_at": now})
        token = self._ids.token()
        event = self._outbox.put([WebhookDisabled(webhook_id, before.name, reason)], self._outbox.types(), token, now)
        with suppress(ConditionFailed):
            subscriptions = subscription_changes(self._webhooks, self._outbox, {webhook_id: after})
            self._writer.write(self._webhooks.change(before, after, token), *subscriptions, *event, token=token)
            self._outbox.forget()
            logger.warning("webhook disabled", extra={"webhook_id": webhook_id, "reason": reason})

    def _spread(self) -> timedelta:
        return timedelta(seconds=60 * self._jitter())


def _rests_until(webhook: StoredWebhook) -> datetime | None:
    return webhook.failed_at + rest_of(webhook.failures) if webhook.failed_at is not None else None
