"""Providers of models with keys of the caller's own (Letta V1 API, API 3, RT 11.1)."""

from __future__ import annotations

from fastapi import APIRouter, Response

from hibernaut.rest.dependencies import TheServices
from hibernaut.rest.http.json_responses import replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.record_queries import ProviderListQuery
from hibernaut.schemas.ids import ProviderId
from hibernaut.schemas.models.provider import CheckProvider, CreateProvider, Provider, ProviderKeys, ProviderMessage

router = APIRouter(prefix="/v1/providers", tags=["providers"], route_class=LazyRoute)


@router.post("", response_model=Provider)
def create_provider(services: TheServices, request: CreateProvider) -> Response:
    """Add a provider with a key of your own. Its models have the handles `<name>/<model>`. The key is encrypted and never shown
    again.
    """
    return reply(services.providers.create(request).wire())


@router.get("", response_model=list[Provider])
def list_providers(services: TheServices, query: ProviderListQuery) -> Response:
    """A page of the providers with keys of your own."""
    found = services.providers.list(query.page(), name=query.name, provider_type=query.provider_type)
    return replies(provider.wire() for provider in found)


@router.post("/check", response_model=ProviderMessage)
def check_provider(services: TheServices, request: CheckProvider) -> Response:
    """Test a key without storing it, by a request for the provider's models."""
    return reply(services.providers.check(request))


@router.get("/{provider_id}", response_model=Provider)
def retrieve_provider(services: TheServices, provider_id: ProviderId) -> Response:
    """One provider."""
    return reply(services.providers.retrieve(provider_id).wire())


@router.patch("/{provider_id}", response_model=Provider)
def update_provider(services: TheServices, provider_id: ProviderId, request: ProviderKeys) -> Response:
    """Replace the key, and with it the address. The name and the type stay. The next model call uses them."""
    return reply(services.providers.update(provider_id, request).wire())


@router.delete("/{provider_id}", response_model=ProviderMessage)
def delete_provider(services: TheServices, provider_id: ProviderId) -> Response:
    """Delete a provider with its key. Agents that use its models keep their messages, but need another model."""
    return reply(services.providers.delete(provider_id))


@router.post("/{provider_id}/check", response_model=ProviderMessage)
def check_stored_provider(services: TheServices, provider_id: ProviderId) -> Response:
    """Test the stored key, by a request for the provider's models."""
    return reply(services.providers.check_stored(provider_id))


@router.patch("/{provider_id}/refresh", response_model=Provider)
def refresh_provider(services: TheServices, provider_id: ProviderId) -> Response:
    """List the models of a provider anew."""
    return reply(services.providers.refresh(provider_id).wire())
