"""Client-side access tokens of one tenant: create, list and delete them (Letta V1 API, API 2.17).

A token is an API key with a policy (`services.access.api_keys`). Must not know what a policy permits.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import islice

from hibernaut.domain.api_keys import is_well_formed
from hibernaut.schemas.access.access_token import (
    DEFAULT_LIFE_SECONDS,
    AccessToken,
    AccessTokenPage,
    AgentPolicy,
    CreateAccessToken,
    PageAccess,
    TokenPolicy,
)
from hibernaut.schemas.access.api_key import StoredApiKey
from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.ids import is_id
from hibernaut.services.access.api_keys import ApiKeys


class AccessTokens:
    """The tokens among the API keys of one tenant."""

    def __init__(self, keys: ApiKeys) -> None:
        self._keys = keys

    def create(self, request: CreateAccessToken) -> AccessToken:
        """Create a token. Only the return value contains it. Raises: InvalidArgument for an expiry that cannot be used."""
        rights: dict[str, list[str]] = {}
        for policy in request.policy:
            rights.setdefault(policy.id, []).extend(policy.access)
        policies = [
            AgentPolicy.model_validate({"id": one, "access": list(dict.fromkeys(access_rights))})
            for one, access_rights in rights.items()
        ]
        expires_at = request.expires_at or self._keys.now() + timedelta(seconds=DEFAULT_LIFE_SECONDS)
        access = PageAccess(hostname=request.hostname, data=policies)
        record, token = self._keys.create_for_pages(access, expires_at)
        return _shown(record, access, token)

    def list(self, agent_id: str | None, *, offset: int, limit: int) -> AccessTokenPage:
        """A page of the tokens that can be used, oldest first. `agent_id`: only those of this agent. A page reads the keys before
        it.
        """
        found = list(islice(self._usable(agent_id), offset, offset + limit + 1))
        return AccessTokenPage(
            tokens=[_shown(key, access, key.id) for key, access in found[:limit]], has_next_page=len(found) > limit
        )

    def _usable(self, agent_id: str | None) -> Iterator[tuple[StoredApiKey, PageAccess]]:
        now, after = self._keys.now(), None
        while page := self._keys.list(after=after):
            for key in page:
                access = key.page_access
                if access is None or not key.usable(now):
                    continue
                if agent_id is None or any(policy.id == agent_id for policy in access.data):
                    yield key, access
            after = page[-1].id

    def delete(self, token: str) -> None:
        """Revoke a token, named by its id or by itself. Raises: NotFound."""
        found = None
        if is_id(token, "key"):
            found = self._keys.find(token)
        elif is_well_formed(token):
            found = self._keys.of_secret(token)
        if found is None or found.page_access is None:
            raise NotFound(
                "There is no such client-side access token. Name it by its id, as a list shows it, or by the token itself."
            )
        self._keys.revoke(found.id)


def _shown(key: StoredApiKey, access: PageAccess, token: str) -> AccessToken:
    ends = key.expires_at or key.created_at  # every client token has an expiry
    return AccessToken(token=token, policy=TokenPolicy(data=access.data), hostname=access.hostname, expires_at=ends)
