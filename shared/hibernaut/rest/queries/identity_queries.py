"""The query strings of identities (Letta V1 API, API 3)."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query

from hibernaut.domain.wire.listing import Page
from hibernaut.rest.dependencies import Caller
from hibernaut.rest.queries.queries import Limit, Order
from hibernaut.schemas.agents.identity import IdentityType
from hibernaut.schemas.base import Schema
from hibernaut.services.agents.identities import EVERY, IdentityFilter, IdentityRelation


class IdentityRelations(Schema):
    """The relations of an identity that a reply shows: to a 1.0 client those of `include`, to other clients all (API 1.4)."""

    include: list[IdentityRelation] | None = None

    def relations(self, caller: Caller) -> frozenset[IdentityRelation]:
        """The relations that the reply to this caller shows."""
        return frozenset(self.include or ()) if caller.is_1_0_client else EVERY


class _IdentityPaging(Schema):
    before: str | None = None
    after: str | None = None
    limit: Limit = 50
    order: Order = "desc"
    order_by: Literal["created_at"] = "created_at"

    def page(self) -> Page:
        return Page(limit=self.limit, before=self.before, after=self.after, descending=self.order == "desc")


class IdentityList(_IdentityPaging, IdentityRelations):
    """A page of identities, newest first. `name`: a part of the name, in any case."""

    name: str | None = None
    project_id: str | None = None
    identifier_key: str | None = None
    identity_type: IdentityType | None = None

    def filter(self) -> IdentityFilter:
        return IdentityFilter(self.name, self.project_id, self.identifier_key, self.identity_type)


class IdentityBlockList(_IdentityPaging):
    """A page of the blocks of an identity, newest first."""


IdentityRelationsQuery = Annotated[IdentityRelations, Query()]
IdentityListQuery = Annotated[IdentityList, Query()]
IdentityBlockListQuery = Annotated[IdentityBlockList, Query()]
