"""API keys, for administrators of a tenant. Hibernaut's own; V1 has one server password."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Response

from hibernaut.rest.dependencies import TheApiKeys
from hibernaut.rest.http.json_responses import replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.record_queries import ApiKeyListQuery
from hibernaut.schemas.access.api_key import ApiKey, CreateApiKey, CreatedApiKey, KeyId, RotateApiKey, UpdateApiKey

router = APIRouter(prefix="/v1/api-keys", tags=["api keys"], route_class=LazyRoute)


@router.post("", response_model=CreatedApiKey)
def create_api_key(keys: TheApiKeys, request: CreateApiKey) -> Response:
    """Create a key for the caller's tenant. Only this response contains the key itself."""
    return reply(keys.create(request))


@router.get("", response_model=list[ApiKey])
def list_api_keys(keys: TheApiKeys, query: ApiKeyListQuery) -> Response:
    """A page of the tenant's keys, oldest first. Revoked and expired keys are listed for 30 days."""
    return replies([key.public() for key in keys.list(after=query.after, limit=query.limit)])


@router.get("/{key_id}", response_model=ApiKey)
def retrieve_api_key(keys: TheApiKeys, key_id: KeyId) -> Response:
    """One key, without the key itself."""
    return reply(keys.get(key_id).public())


@router.patch("/{key_id}", response_model=ApiKey)
def update_api_key(keys: TheApiKeys, key_id: KeyId, request: UpdateApiKey) -> Response:
    """Change the name or the expiry of a key."""
    return reply(keys.update(key_id, request).public())


@router.post("/{key_id}/rotate", response_model=CreatedApiKey)
def rotate_api_key(
    keys: TheApiKeys, key_id: KeyId, request: Annotated[RotateApiKey, Body(default_factory=RotateApiKey)]
) -> Response:
    """Create a key with the same settings. The old key expires after the grace period."""
    return reply(keys.rotate(key_id, request))


@router.delete("/{key_id}", response_model=ApiKey)
def revoke_api_key(keys: TheApiKeys, key_id: KeyId) -> Response:
    """Revoke a key. It stops working within 5 seconds in every process of the deployment, and in this one at once."""
    return reply(keys.revoke(key_id).public())
