"""Erasures of persons, for administrators of a tenant. All of it is ours: V1 has none."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from hibernaut.domain.wire.listing import Page
from hibernaut.rest.dependencies import TheCaller, TheServices
from hibernaut.rest.http.json_responses import accepted, replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.queries import Order
from hibernaut.schemas.agents.erasure import Erasure, ErasureSummary
from hibernaut.schemas.base import Schema, Whole

router = APIRouter(prefix="/v1", tags=["erasures"], route_class=LazyRoute)


class ErasureList(Schema):
    """A page of erasures, newest identity first."""

    before: str | None = None
    after: str | None = None
    limit: Whole = Field(default=50, ge=0, le=500)
    order: Order = "desc"

    def page(self) -> Page:
        return Page(limit=self.limit, before=self.before, after=self.after, descending=self.order == "desc")


@router.post("/identities/{identity_id}/erase", status_code=202, response_model=Erasure)
def erase_identity(services: TheServices, caller: TheCaller, identity_id: str) -> Response:
    """Erase a person, named by an identity, everywhere, in the background. A second request returns the running erasure."""
    return accepted(services.erasures.begin(identity_id, key_id=caller.key_id))


@router.get("/erasures", response_model=list[ErasureSummary])
def list_erasures(services: TheServices, query: Annotated[ErasureList, Query()]) -> Response:
    """A page of the erasures, without their receipts."""
    return replies(services.erasures.list(query.page()))


@router.get("/erasures/{erasure_id}", response_model=Erasure)
def retrieve_erasure(services: TheServices, erasure_id: str) -> Response:
    """An erasure: how far it is, its receipt, and its newest check."""
    return reply(services.erasures.get(erasure_id))


@router.post("/erasures/{erasure_id}/check", status_code=202, response_model=Erasure)
def check_erasure(services: TheServices, erasure_id: str) -> Response:
    """Search for remains after a completed erasure. The field `check` of the erasure has the result within about a minute."""
    return accepted(services.erasures.check(erasure_id))
