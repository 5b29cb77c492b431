"""The users and the organisation of the caller's tenant, in V1's form (Letta V1 API, API 3): a tenant is one organisation with
one user.

Tenants are created by API keys (`hibernaut keys create --tenant`), so that neither can be created or changed here.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from hibernaut.domain.tools.builtin.builtin_tools import CREATED_AT
from hibernaut.domain.wire.listing import Page, page
from hibernaut.rest.dependencies import TheCaller
from hibernaut.rest.http.json_responses import replies
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.schemas.base import Moment, Schema, Whole
from hibernaut.schemas.ids import DEFAULT_ORGANIZATION, DEFAULT_USER

router = APIRouter(prefix="/v1/admin", tags=["admin"], route_class=LazyRoute)


class User(Schema):
    """A user as V1 shows it."""

    id: str = DEFAULT_USER
    organization_id: str = DEFAULT_ORGANIZATION
    name: str = "default_user"
    created_at: Moment = CREATED_AT
    updated_at: Moment = CREATED_AT
    is_deleted: bool = False


class Organization(Schema):
    """An organisation as V1 shows it. `name`: the tenant's."""

    id: str = DEFAULT_ORGANIZATION
    name: str
    created_at: Moment = CREATED_AT
    privileged_tools: bool = False


class AdminList(Schema):
    """A page of a list with one entry."""

    limit: Whole = Field(default=50, ge=0)
    after: str | None = None

    def page(self) -> Page:
        return Page(limit=self.limit, after=self.after, descending=False)


AdminListQuery = Annotated[AdminList, Query()]


@router.get("/users", response_model=list[User])
async def list_users(_caller: TheCaller, query: AdminListQuery) -> Response:
    """The user of the tenant. All keys of the tenant act as this user."""
    users = page([User()], query.page(), id_of=lambda one: one.id, place=lambda one: one.id)
    return replies(users)


@router.get("/orgs", response_model=list[Organization])
async def list_organizations(caller: TheCaller, query: AdminListQuery) -> Response:
    """The organisation of the caller: its tenant."""
    found = [Organization(name=caller.tenant)]
    organizations = page(found, query.page(), id_of=lambda one: one.id, place=lambda one: one.id)
    return replies(organizations)
