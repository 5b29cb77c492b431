"""Batches of messages (Letta V1 API, API 3; RT 13.6)."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field

from hibernaut.domain.wire.listing import Page
from hibernaut.rest.dependencies import TheCaller, TheServices
from hibernaut.rest.http.json_responses import plain, replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.queries import Order
from hibernaut.rest.send_requests import callable_address
from hibernaut.schemas.base import Schema, Whole
from hibernaut.schemas.messages.message import INTERNAL
from hibernaut.schemas.runs.batch import BatchMessages, CreateBatch
from hibernaut.schemas.runs.job import Job

router = APIRouter(prefix="/v1/messages/batches", tags=["messages"], route_class=LazyRoute)
MESSAGE_LIMIT = 1_000
"""The largest number of rows of one page of messages."""


class BatchList(Schema):
    """A page of batches, newest first."""

    before: str | None = None
    after: str | None = None
    limit: Whole = Field(default=100, ge=0)
    order: Order = "desc"
    order_by: Literal["created_at"] = "created_at"

    def page(self) -> Page:
        return Page(limit=self.limit, before=self.before, after=self.after, descending=self.order == "desc")


class BatchMessageList(BatchList):
    """A page of the messages of a batch, newest first."""

    limit: Whole = Field(default=100, ge=0, le=MESSAGE_LIMIT)
    agent_id: str | None = None


@router.post("", response_model=Job)
def create_batch(services: TheServices, caller: TheCaller, request: CreateBatch) -> Response:
    """Send messages to many agents. Each request is a run in the background; the reply is the batch."""
    callable_address(request.callback_url)
    return reply(services.batches.create(request, key_id=caller.key_id))


@router.get("", response_model=list[Job])
def list_batches(services: TheServices, query: Annotated[BatchList, Query()]) -> Response:
    """A page of batches."""
    return replies(services.batches.list(query.page()))


@router.get("/{batch_id}", response_model=Job)
def retrieve_batch(services: TheServices, batch_id: str) -> Response:
    """One batch. `metadata` has the runs of its requests, and why requests were refused."""
    return reply(services.batches.get(batch_id))


@router.get("/{batch_id}/messages", response_model=BatchMessages)
def list_batch_messages(services: TheServices, batch_id: str, query: Annotated[BatchMessageList, Query()]) -> Response:
    """A page of the rows that the runs of a batch have written."""
    rows = services.batches.messages(batch_id, query.agent_id, query.page())
    return plain({"messages": [row.model_dump(mode="json", exclude=set(INTERNAL)) for row in rows]})


@router.patch("/{batch_id}/cancel")
def cancel_batch(services: TheServices, batch_id: str) -> Response:
    """Cancel the runs of a batch that have not ended, and accept no more of its requests."""
    services.batches.cancel(batch_id)
    return plain(None)
