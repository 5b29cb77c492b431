"""The outbox of events: a transaction that makes something true writes the events that tell of it, as one item.

So no event is lost or invented by a crash. Somebody must want the events: a tenant without webhooks writes no item and reads
nothing but one key, once in `FRESH_SECONDS` per process, in a batch that is sent anyway.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from hibernaut.domain.events import OutboundEvent, events_of, subscribed
from hibernaut.ports.clock import Clock
from hibernaut.ports.storage.table import ABSENT, PRESENT, Change, Delete, Item, Key, Put, Update, Value, eq
from hibernaut.schemas.events.facts import EVENT_TYPES, Fact
from hibernaut.schemas.immutable import immutable
from hibernaut.store.events import event_keys
from hibernaut.store.table import keys
from hibernaut.store.table.lru_cache import LruCache, TenantCache
from hibernaut.store.table.tenant_table import TenantTable

FRESH_SECONDS = 5.0
"""Seconds for which the subscribed types are cached. A new webhook receives events of runs that are accepted after them."""
MOST_REMEMBERED = 4096
LEFT_MS = 90_000
"""Milliseconds after which the sweep takes up an outbox item that its first worker has not handled."""
_NAME = "wanted"


@immutable
class SubscribedTypes:
    """The event types that somebody wants, as they were read at a moment of the process's clock. `version` 0: nothing is
    stored.
    """

    types: tuple[str, ...]
    version: int
    at: float


def subscription_cache() -> LruCache[SubscribedTypes]:
    """A cache for the subscribed types of all tenants in a process."""
    return LruCache(MOST_REMEMBERED, lambda _: 1)


class EventSignal:
    """Passes the places of work that this process has written, of all tenants, to one `listener`, after each successful write."""

    def __init__(self) -> None:
        self.listener: Callable[[Sequence[Key]], None] = _nobody

    def written(self, changes: Sequence[Change]) -> None:
        """Pass the places of the work among the written changes to the listener."""
        if self.listener is not _nobody and (places := event_keys.prompt_places(changes)):
            self.listener(places)


class EventOutbox:
    """The outbox of one tenant. `everything`: an event bus wants all types. Reads raise StoreUnavailable
    (`store.table.retries`).
    """

    def __init__(self, table: TenantTable, clock: Clock, cache: TenantCache[SubscribedTypes], *, everything: bool) -> None:
        self._table = table
        self._tenant = table.tenant
        self._clock = clock
        self._known = cache
        self._everything = everything

    def reading(self) -> WantedReading:
        """A read of the subscribed types, as part of a batch that the caller sends anyway."""
        if self._everything:
            return WantedReading(self, (), EVENT_TYPES)
        cached = self._known.get(_NAME)
        if cached is not None and self._clock.monotonic() - cached.at < FRESH_SECONDS:
            return WantedReading(self, (), cached.types)
        return WantedReading(self, (self.key,), None)

    def types(self) -> list[str] | None:
        """The subscribed types; None: there are none. Reads them unless they are cached."""
        return self.reading().types()

    @property
    def key(self) -> Key:
        """The place of the subscribed types."""
        return event_keys.subscribed(self._tenant)

    def read(self) -> SubscribedTypes:
        """The subscribed types as they are stored."""
        return self.remember(self._table.get(self.key))

    def remember(self, item: Item | None) -> SubscribedTypes:
        """The subscribed types of an item that was just read. They are cached."""
        names = str(item["types"]) if item else ""
        found = SubscribedTypes(
            tuple(names.split(",")) if names else (), int(item["version"]) if item else 0, self._clock.monotonic()
        )
        self._known.keep(_NAME, found)
        return found

    def forget(self) -> None:
        """Drop the subscribed types from the cache, because this process has changed them."""
        self._known.forget(_NAME)

    def set_subscribed(self, types: Sequence[str], before: SubscribedTypes) -> Put:
        """The change that sets the subscribed types. Condition: they are still those that were read."""
        key = self.key
        item: dict[str, Value] = {"pk": key.pk, "sk": key.sk, "types": ",".join(types), "version": before.version + 1}
        return Put(item, eq(version=before.version) if before.version else ABSENT)

    def put(self, facts: Sequence[Fact], types: Sequence[str] | None, token: str, now: datetime) -> list[Change]:
        """The change that stores the events of the wanted facts; empty if there are none. `token`: the token of the transaction's
        writer.
        """
        events = events_of(subscribed(facts, types), tenant=self._tenant, token=token, now=now)
        if not events:
            return []
        key = event_keys.outbox(self._tenant, events[0].id)
        due = keys.due(events[0].id, int(now.timestamp() * 1000) + LEFT_MS)
        body = json.dumps([event.json() for event in events], separators=(",", ":"), ensure_ascii=False)
        return [Put({"pk": key.pk, "sk": key.sk, "body": body, event_keys.PROMPT: True, **due})]

    def get(self, place: Key) -> tuple[list[OutboundEvent], int, str] | None:
        """The events of an outbox item, when it is due in milliseconds since 1970, and its place in the index; None if it is
        handled.
        """
        item = self._table.get(place)
        if item is None:
            return None
        at = str(item["due_sk"])
        return [OutboundEvent.read(event) for event in json.loads(str(item["body"]))], int(at.partition("#")[0]), at

    def claim(self, place: Key, at: str, now: datetime) -> Update:
        """The change by which a worker takes an item that is due. Condition: no other worker has taken it since."""
        return Update(
            place,
            set=keys.due(keys.last_part(at), int(now.timestamp() * 1000) + LEFT_MS),
            remove=(event_keys.PROMPT,),
            when=eq(due_sk=at),
        )

    def handled(self, place: Key) -> Delete:
        """The change that removes an item whose events have been passed on."""
        return Delete(place, PRESENT)


class WantedReading:
    """One read of the subscribed types. The caller reads `keys` and passes the result to `take`."""

    def __init__(self, outbox: EventOutbox, subscribed_at: Sequence[Key], types: Sequence[str] | None) -> None:
        self._outbox = outbox
        self._types = types
        self.keys = tuple(subscribed_at)

    def take(self, found: Mapping[Key, Item]) -> None:
        """The items that exist among `keys`; others are ignored."""
        if self._types is None:
            self._types = self._outbox.remember(found.get(self._outbox.key)).types

    def types(self) -> list[str] | None:
        """The subscribed types; None: there are none. Reads them if `take` was not called."""
        if self._types is None:
            self._types = self._outbox.read().types
        return list(self._types) or None


def _nobody(places: Sequence[Key]) -> None:
    del places
