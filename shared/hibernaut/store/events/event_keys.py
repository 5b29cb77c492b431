"""The keys of events.

pk                 sk           what                                                       read by
t#EVENTS           WANTED       the types that webhooks subscribe to                       acceptance, changes of blocks
t#OUTBOX#event     OUTBOX       the events of one transaction (index DUE)                  the delivery
t#WEBHOOKS         webhook      a webhook: its address, filters, secrets; its failures     the delivery; list, retrieve
t#WEBHOOK#webhook  EVENT#event  a delivery (ttl; DUE while it waits, LISTS if it is dead)  the delivery; list, replay

index LISTS  t#DEAD#webhook  event  the dead deliveries of a webhook

An outbox item has the id of its first event. Items with the attribute `prompt` are handled as soon as they are written; the sweep
handles those that are due.
"""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.ports.storage.table import Change, Key, Put
from hibernaut.store.table.keys import last_part
from hibernaut.store.table.tenants import checked

OUTBOX = "OUTBOX"
"""The sort key of an outbox item."""
EVENT = "EVENT#"
"""The prefix of the sort keys of deliveries."""
PROMPT = "prompt"
"""The attribute of an item that is to be handled at once."""


def subscribed(tenant: str) -> Key:
    return Key(f"{checked(tenant)}#EVENTS", "WANTED")


def outbox(tenant: str, event_id: str) -> Key:
    return Key(f"{checked(tenant)}#OUTBOX#{event_id}", OUTBOX)


def webhook(tenant: str, webhook_id: str) -> Key:
    return Key(f"{checked(tenant)}#WEBHOOKS", webhook_id)


def delivery(tenant: str, webhook_id: str, event_id: str) -> Key:
    return Key(f"{checked(tenant)}#WEBHOOK#{webhook_id}", f"{EVENT}{event_id}")


def dead_deliveries(tenant: str, webhook_id: str) -> str:
    """The partition of the dead deliveries of a webhook in the index LISTS."""
    return f"{checked(tenant)}#DEAD#{webhook_id}"


def is_event_work(place: Key) -> bool:
    """Whether an item is an outbox item or a delivery."""
    return place.sk == OUTBOX or place.sk.startswith(EVENT)


def ids_of(place: Key) -> tuple[str, str]:
    """The webhook and the event of a delivery's key."""
    return last_part(place.pk), last_part(place.sk)


def prompt_places(changes: Sequence[Change]) -> list[Key]:
    """The keys of the written items that are to be handled at once."""
    return [change.key for change in changes if isinstance(change, Put) and PROMPT in change.item]
