"""Webhooks, for administrators of a tenant. Hibernaut's own; V1 has none."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Response

from hibernaut.rest.dependencies import TheServices
from hibernaut.rest.http.json_responses import plain, replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.record_queries import DeliveryListQuery
from hibernaut.schemas.events.webhook import (
    CreatedWebhook,
    CreateWebhook,
    Delivery,
    EventId,
    ReplayDead,
    ReplayedDead,
    RotateSecret,
    TestedWebhook,
    UpdateWebhook,
    Webhook,
    WebhookId,
)

router = APIRouter(prefix="/v1/webhooks", tags=["webhooks"], route_class=LazyRoute)


@router.post("", response_model=CreatedWebhook)
def create_webhook(services: TheServices, request: CreateWebhook) -> Response:
    """Add a webhook. Only this response contains its secret."""
    return reply(services.webhooks.create(request))


@router.get("", response_model=list[Webhook])
def list_webhooks(services: TheServices) -> Response:
    """All webhooks of the tenant, oldest first."""
    return replies(services.webhooks.all())


@router.get("/{webhook_id}", response_model=Webhook)
def retrieve_webhook(services: TheServices, webhook_id: WebhookId) -> Response:
    """One webhook, without its secret."""
    return reply(services.webhooks.retrieve(webhook_id))


@router.patch("/{webhook_id}", response_model=Webhook)
def update_webhook(services: TheServices, webhook_id: WebhookId, request: UpdateWebhook) -> Response:
    """Change a webhook's name, address or filters; disable it, or enable it again."""
    return reply(services.webhooks.update(webhook_id, request))


@router.delete("/{webhook_id}")
def delete_webhook(services: TheServices, webhook_id: WebhookId) -> Response:
    """Delete a webhook. What waits for it is dropped."""
    services.webhooks.delete(webhook_id)
    return plain(None)


@router.post("/{webhook_id}/rotate", response_model=CreatedWebhook)
def rotate_webhook_secret(
    services: TheServices, webhook_id: WebhookId, request: Annotated[RotateSecret, Body(default_factory=RotateSecret)]
) -> Response:
    """Make a new secret, which only this response contains. Until the overlap ends, deliveries are signed with the earlier one
    too.
    """
    return reply(services.webhooks.rotate(webhook_id, request))


@router.post("/{webhook_id}/test", response_model=TestedWebhook)
def test_webhook(services: TheServices, webhook_id: WebhookId) -> Response:
    """Send an event of the type `ping` now, once."""
    return reply(services.webhooks.test(webhook_id))


@router.get("/{webhook_id}/deliveries", response_model=list[Delivery])
def list_deliveries(services: TheServices, webhook_id: WebhookId, query: DeliveryListQuery) -> Response:
    """A page of the webhook's deliveries, newest event first."""
    found = services.webhooks.deliveries(webhook_id, after=query.after, state=query.state, limit=query.limit)
    return replies(found)


@router.post("/{webhook_id}/deliveries/{event_id}/replay", response_model=Delivery)
def replay_delivery(services: TheServices, webhook_id: WebhookId, event_id: EventId) -> Response:
    """Deliver an event again, whatever became of it."""
    return reply(services.webhooks.replay(webhook_id, event_id))


@router.post("/{webhook_id}/replay", response_model=ReplayedDead)
def replay_dead_deliveries(
    services: TheServices, webhook_id: WebhookId, request: Annotated[ReplayDead, Body(default_factory=ReplayDead)]
) -> Response:
    """Deliver the dead events of a range of time again."""
    return reply(services.webhooks.replay_dead(webhook_id, request))
