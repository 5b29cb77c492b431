"""Webhooks and their deliveries in the table.

A delivery is an item under its webhook and its event, so that repeating the work that makes it cannot make two. The figures about
failures are attributes of their own, so that they change without the record.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from hibernaut.domain.events import OutboundEvent
from hibernaut.ports.storage.table import ABSENT, PRESENT, Delete, Index, Item, Key, Put, Update, Value, eq
from hibernaut.schemas.base import JsonObject, wire_time
from hibernaut.schemas.events.webhook import Delivery, DeliveryState, StoredWebhook
from hibernaut.schemas.ids import creation_time
from hibernaut.store.events import event_keys
from hibernaut.store.events.outbox import LEFT_MS
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec, expired, freed
from hibernaut.store.table.tenant_table import TenantTable

KEPT_DELIVERED = timedelta(days=7)
KEPT_DEAD = timedelta(days=30)
"""The time for which a delivery is retained after its newest try. A dead one can be replayed until then."""
PAGE = 200
"""Deliveries of one read."""


class WebhookStore:
    """The webhooks of one tenant. Reads raise StoreUnavailable (`store.table.retries`)."""

    def __init__(self, table: TenantTable, codec: Codec) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec

    def all(self) -> list[StoredWebhook]:
        """All webhooks, oldest first."""
        rows = self._table.query(event_keys.webhook(self._tenant, "").pk)
        return [self._read(row) for row in rows if "version" in row]

    def get(self, webhook_id: str) -> StoredWebhook | None:
        """The webhook, or None."""
        item = self._table.get(event_keys.webhook(self._tenant, webhook_id))
        return self._read(item) if item is not None and "version" in item else None

    def create(self, webhook: StoredWebhook, token: str) -> Put:
        """The change that creates a webhook."""
        key = event_keys.webhook(self._tenant, webhook.id)
        return Put(self._codec.item(key, webhook, version=webhook.version, wt=token), ABSENT)

    def change(self, before: StoredWebhook, after: StoredWebhook, token: str, *, recovered: bool = False) -> Update:
        """The change from `before` to `after`. Condition: the version is that of `before`. `recovered`: its failures are
        reset.
        """
        key = event_keys.webhook(self._tenant, after.id)
        record = after.model_copy(update={"version": before.version + 1})
        attributes: dict[str, Value] = {**self._codec.body(key, record), "version": record.version, "wt": token}
        health: dict[str, Value] = {"failures": 0, "since": "", "failed": ""} if recovered else {}
        return Update(key, set={**attributes, **health}, when=eq(version=before.version), frees=freed(key, before))

    def delete(self, webhook: StoredWebhook) -> Delete:
        """The change that deletes a webhook with its secrets. Condition: the version is that of `webhook`."""
        key = event_keys.webhook(self._tenant, webhook.id)
        return Delete(key, eq(version=webhook.version), freed(key, webhook))

    def failed(self, webhook: StoredWebhook, now: datetime) -> Update:
        """The change that counts a failed try."""
        first_failure = {} if webhook.failing_since else {"since": wire_time(now)}
        key = event_keys.webhook(self._tenant, webhook.id)
        return Update(key, add={"failures": 1}, set={"failed": wire_time(now), **first_failure}, when=PRESENT)

    def recovered(self, webhook: StoredWebhook) -> Update:
        """The change that forgets failed tries."""
        key = event_keys.webhook(self._tenant, webhook.id)
        return Update(key, set={"failures": 0, "since": "", "failed": ""}, when=PRESENT)

    def _read(self, item: Item) -> StoredWebhook:
        webhook = self._codec.record(StoredWebhook, item)
        webhook.version = int(item["version"])
        webhook.failures = int(item.get("failures", 0))
        webhook.failing_since, webhook.failed_at = _moment(item, "since"), _moment(item, "failed")
        return webhook

    # deliveries

    def delivery(self, webhook_id: str, event_id: str, now: datetime) -> Delivery | None:
        """The delivery, or None."""
        item = self._table.get(event_keys.delivery(self._tenant, webhook_id, event_id))
        return _delivery(item) if item is not None and not expired(item, now) else None

    def known(self, pairs: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
        """The pairs of a webhook and an event for which there is a delivery."""
        found = self._table.get_many([event_keys.delivery(self._tenant, *pair) for pair in pairs])
        return {event_keys.ids_of(place) for place in found}

    def due(self, place: Key) -> tuple[Delivery, int, str, bool] | None:
        """A delivery that waits, when it is due in milliseconds since 1970, its place in the index, and whether it is to be tried
        at once; None if it does not wait.
        """
        item = self._table.get(place)
        if item is None or "due_sk" not in item:
            return None
        at = str(item["due_sk"])
        return _delivery(item), int(at.partition("#")[0]), at, event_keys.PROMPT in item

    def put(self, delivery: Delivery, now: datetime, *, prompt: bool = False) -> Put:
        """The change that writes a delivery. A pending one is in the index DUE, a dead one in the list of its webhook. `prompt`:
        it is to be tried at once; the sweep tries it if no worker does.
        """
        key = event_keys.delivery(self._tenant, delivery.webhook_id, delivery.event_id)
        item: dict[str, Value] = {
            "pk": key.pk,
            "sk": key.sk,
            "state": delivery.state,
            "tries": delivery.tries,
            "status": delivery.status or 0,
            "error": delivery.error or "",
            "made": wire_time(delivery.created_at),
            "tried": wire_time(delivery.tried_at) if delivery.tried_at else "",
            "event": json.dumps(delivery.event, separators=(",", ":"), ensure_ascii=False),
        }
        match delivery.state:
            case "delivered":
                item["ttl"] = int((now + KEPT_DELIVERED).timestamp())
            case "dead":
                item["ttl"] = int((now + KEPT_DEAD).timestamp())
                item["list_pk"] = event_keys.dead_deliveries(self._tenant, delivery.webhook_id)
                item["list_sk"] = delivery.event_id
            case "pending":
                due = int(now.timestamp() * 1000) + LEFT_MS if prompt else _ms(delivery.next_try_at or now)
                item |= keys.due(f"{delivery.event_id}.{delivery.webhook_id}", due)
                item |= {event_keys.PROMPT: True} if prompt else {}
        return Put(item)

    def claim(self, place: Key, due_place: str, due: datetime) -> Update:
        """The change that makes a delivery due at another time: a worker takes it, or postpones it. Condition: no other worker
        has done so since.
        """
        return Update(
            place, set=keys.due(keys.last_part(due_place), _ms(due)), remove=(event_keys.PROMPT,), when=eq(due_sk=due_place)
        )

    def drop(self, place: Key) -> Delete:
        """The change that removes a delivery whose webhook is deleted."""
        return Delete(place)

    def deliveries(self, webhook_id: str, now: datetime, after: str | None, state: DeliveryState | None) -> Iterator[Delivery]:
        """The deliveries of a webhook from the newest event to the oldest, lazily. `after`: the event of the last one of the page
        before.
        """
        pk = event_keys.delivery(self._tenant, webhook_id, "").pk
        before = f"{event_keys.EVENT}{after}" if after else None
        while True:
            items = self._table.query(pk, before=before, prefix=event_keys.EVENT, limit=PAGE, descending=True)
            deliveries = (_delivery(item) for item in items if not expired(item, now))
            yield from (each for each in deliveries if state in (None, each.state))
            if len(items) < PAGE:
                return
            before = str(items[-1]["sk"])

    def page(self, webhook_id: str, after: str, limit: int) -> list[tuple[Key, JsonObject]]:
        """The places and events of the deliveries of a webhook after one event, oldest first."""
        pk, lower = event_keys.delivery(self._tenant, webhook_id, "").pk, f"{event_keys.EVENT}{after}" if after else None
        items = self._table.query(pk, prefix=event_keys.EVENT, after=lower, limit=limit, names=("event",))
        return [(Key(str(item["pk"]), str(item["sk"])), json.loads(str(item["event"]))) for item in items]

    def dead(self, webhook_id: str, since: str | None, until: str | None, limit: int) -> list[Key]:
        """The places of the dead deliveries of events whose ids are between two, oldest first."""
        pk = event_keys.dead_deliveries(self._tenant, webhook_id)
        found = self._table.query(pk, index=Index.LISTS, after=since, before=until, limit=limit)
        return [Key(str(item["pk"]), str(item["sk"])) for item in found]

    def at(self, places: Sequence[Key], now: datetime) -> list[Delivery]:
        """The deliveries that exist at these places."""
        found = self._table.get_many(places)
        return [_delivery(found[place]) for place in places if place in found and not expired(found[place], now)]


def pending(event: OutboundEvent, webhook_id: str) -> Delivery:
    """The delivery of an event before its first try."""
    return Delivery(
        event_id=event.id,
        webhook_id=webhook_id,
        type=event.type,
        state="pending",
        created_at=creation_time(event.id),
        event=event.json(),
    )


def _delivery(item: Item) -> Delivery:
    webhook_id, event_id = event_keys.ids_of(Key(str(item["pk"]), str(item["sk"])))
    event = json.loads(str(item["event"]))
    at = str(item.get("due_sk", "")).partition("#")[0]
    return Delivery(
        event_id=event_id,
        webhook_id=webhook_id,
        type=event["type"],
        state=item["state"],
        tries=int(item["tries"]),
        status=int(item["status"]) or None,
        error=str(item["error"]) or None,
        created_at=datetime.fromisoformat(str(item["made"])),
        tried_at=_moment(item, "tried"),
        next_try_at=datetime.fromtimestamp(int(at) / 1000, UTC) if at else None,
        event=event,
    )


def _moment(item: Item, name: str) -> datetime | None:
    text = str(item.get(name, ""))
    return datetime.fromisoformat(text) if text else None


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
