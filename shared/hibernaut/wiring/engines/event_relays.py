"""Composes the use case that passes events on, in the same way for every profile. Must not import an engine."""

from __future__ import annotations

from random import Random

from hibernaut.ports.events.event_bus import NO_EVENT_BUS, EventBus
from hibernaut.services.events.event_relay import EventRelay, RelayParts
from hibernaut.services.events.webhook_calls import WebhookCalls, WebhookVault
from hibernaut.services.host import Host
from hibernaut.services.per_tenant import PerTenant
from hibernaut.store.stores import Stores
from hibernaut.store.table.tenant_seals import TenantSeals


def relays_of(stores: Stores, host: Host, bus: EventBus = NO_EVENT_BUS, random: Random | None = None) -> PerTenant[EventRelay]:
    """What passes on the events of each tenant. `random`: the source of the pauses' jitter."""
    parts = RelayParts(host.clock, host.ids, bus, (random or Random()).random)

    def relay(tenant: str) -> EventRelay:
        calls = WebhookCalls(WebhookVault(TenantSeals(tenant, host.cipher)), host.web, host.clock)
        return EventRelay(stores.of(tenant), calls, parts)

    return PerTenant(relay)
