"""Client-side access tokens, for administrators of a tenant (Letta V1 API, API 2.17)."""

from __future__ import annotations

from fastapi import APIRouter, Response

from hibernaut.rest.dependencies import TheApiKeys, TheServices
from hibernaut.rest.http.json_responses import created, nothing, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.record_queries import AccessTokenListQuery
from hibernaut.schemas.access.access_token import AccessToken, AccessTokenPage, CreateAccessToken
from hibernaut.services.access.access_tokens import AccessTokens

router = APIRouter(prefix="/v1/client-side-access-tokens", tags=["client-side access tokens"], route_class=LazyRoute)


@router.post("", response_model=AccessToken, status_code=201)
def create_access_token(services: TheServices, keys: TheApiKeys, request: CreateAccessToken) -> Response:
    """Create a token with which web pages of one origin may talk to agents. Only this response contains the token itself."""
    for policy in request.policy:
        services.agents.check(policy.id)
    return created(AccessTokens(keys).create(request))


@router.get("", response_model=AccessTokenPage)
def list_access_tokens(keys: TheApiKeys, query: AccessTokenListQuery) -> Response:
    """A page of the tokens that can be used, oldest first. `token` is the id of a token."""
    return reply(AccessTokens(keys).list(query.agent_id, offset=query.offset, limit=query.limit))


@router.delete("/{token}", status_code=204)
def delete_access_token(keys: TheApiKeys, token: str) -> Response:
    """Delete a token, by its id or by itself. It stops working within 5 seconds in every process, and in this one at once."""
    AccessTokens(keys).delete(token)
    return nothing()
