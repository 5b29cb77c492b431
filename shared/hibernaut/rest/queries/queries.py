"""The query strings of messages, runs, jobs and steps: their parameters, and the pages that they request (Letta V1 API, digest
1.5 and 2).

Unknown keys are ignored, as everywhere in that API. The methods `page` and `query` return the arguments of the use cases.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from fastapi import Query
from pydantic import Field

from hibernaut.domain.wire.listing import Page
from hibernaut.schemas.base import Moment, Schema
from hibernaut.schemas.messages.letta_message import MessageType
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.services.logs.messages import MessageQuery
from hibernaut.services.runs.runs import RunQuery
from hibernaut.services.runs.steps import StepQuery, UsageQuery

Order = Literal["asc", "desc"]
Limit = Annotated[int, Field(ge=0, le=2**31 - 1)]
"""V1 hardly checks a limit. This range excludes numbers that an engine cannot represent."""


class _Paging(Schema):
    before: str | None = None
    after: str | None = None
    order_by: Literal["created_at"] = "created_at"


class MessageList(_Paging):
    """A page of messages; `limit` counts stored rows."""

    limit: Limit = 100
    order: Order = "desc"
    conversation_id: str | None = None
    include_return_message_types: list[MessageType] | None = None

    def query(self) -> MessageQuery:
        types = self.include_return_message_types
        return MessageQuery(
            limit=self.limit,
            before=self.before,
            after=self.after,
            descending=self.order == "desc",
            conversation_id=self.conversation_id,
            types=None if types is None else frozenset(types),
        )


class AgentMessageList(MessageList):
    """A page of one agent's messages, and the rendering of `send_message` of older agent types (API 5.5)."""

    group_id: str | None = None
    use_assistant_message: bool = True
    assistant_message_tool_name: str = "send_message"
    assistant_message_tool_kwarg: str = "message"
    include_err: bool | None = None

    def query(self) -> MessageQuery:
        return replace(
            super().query(),
            group_id=self.group_id,
            include_err=bool(self.include_err),
            use_assistant_message=self.use_assistant_message,
            assistant_tool=self.assistant_message_tool_name,
            assistant_kwarg=self.assistant_message_tool_kwarg,
        )


class PartList(_Paging):
    """A page of the messages of a run or a step, oldest first."""

    limit: Limit = 100
    order: Order = "asc"

    def query(self) -> MessageQuery:
        descending = self.order == "desc"
        return MessageQuery(limit=self.limit, before=self.before, after=self.after, descending=descending, include_err=True)


class RunList(_Paging):
    """A page of runs. `agent_ids` and `ascending` are deprecated forms of `agent_id` and `order`."""

    agent_id: str | None = None
    agent_ids: list[str] | None = None
    statuses: list[RunStatus] | None = None
    background: bool | None = None
    stop_reason: StopReason | None = None
    conversation_id: str | None = None
    active: bool = False
    limit: int = Field(default=100, ge=1, le=1000)
    order: Order = "desc"
    ascending: bool | None = None

    def query(self) -> RunQuery:
        descending = self.order == "desc" if self.ascending is None else not self.ascending
        return RunQuery(
            page=Page(limit=self.limit, before=self.before, after=self.after, descending=descending),
            agent_ids=[self.agent_id] if self.agent_id is not None else (self.agent_ids or ()),
            statuses=frozenset(self.statuses or ()),
            stop_reason=self.stop_reason,
            background=self.background,
            conversation_id=self.conversation_id,
            active=self.active,
        )


class ApprovalList(Schema):
    """A page of what waits for answers. The cursors are ids of runs."""

    agent_id: str | None = None
    before: str | None = None
    after: str | None = None
    limit: int = Field(default=100, ge=1, le=1000)
    order: Order = "desc"

    def page(self) -> Page:
        return Page(limit=self.limit, before=self.before, after=self.after, descending=self.order == "desc")


class JobList(_Paging):
    """A page of jobs. `ascending` is the deprecated form of `order`. With `source_id` the page is empty: no job belongs to a
    folder.
    """

    source_id: str | None = None
    active: bool = False
    limit: int = Field(default=50, ge=1, le=1000)
    order: Order = "desc"
    ascending: bool | None = None

    def page(self) -> Page:
        descending = self.order == "desc" if self.ascending is None else not self.ascending
        return Page(limit=self.limit, before=self.before, after=self.after, descending=descending)


class RunTrace(Schema):
    """The largest number of spans of a run's trace."""

    limit: int = Field(default=1000, ge=1, le=5000)


class RunStepList(_Paging):
    """A page of the steps of a run."""

    limit: Limit = 100
    order: Order = "desc"

    def page(self) -> Page:
        return Page(limit=self.limit, before=self.before, after=self.after, descending=self.order == "desc")


class StepList(_Paging):
    """A page of the steps of all runs."""

    limit: Limit = 50
    order: Order = "desc"
    start_date: Moment | None = None
    end_date: Moment | None = None
    model: str | None = None
    agent_id: str | None = None
    trace_ids: list[str] | None = None
    feedback: Literal["positive", "negative"] | None = None
    has_feedback: bool | None = None
    tags: list[str] | None = None
    project_id: str | None = None

    def query(self) -> StepQuery:
        return StepQuery(
            limit=self.limit,
            before=self.before,
            after=self.after,
            descending=self.order == "desc",
            start=self.start_date,
            end=self.end_date,
            agent_id=self.agent_id,
            model=self.model,
            trace_ids=self.trace_ids or (),
            feedback=self.feedback,
            has_feedback=self.has_feedback,
            tags=self.tags or (),
            project_id=self.project_id,
        )


class UsageSpan(Schema):
    """The steps of a usage report: a span of time, an agent, an API key, and a model by its handle or name. `before`: the cursor
    of a report.
    """

    start_date: Moment | None = None
    end_date: Moment | None = None
    agent_id: str | None = None
    key_id: str | None = None
    model: str | None = None
    before: str | None = None

    def query(self) -> UsageQuery:
        return UsageQuery(self.start_date, self.end_date, self.agent_id, self.model, self.before, self.key_id)


MessageListQuery = Annotated[MessageList, Query()]
AgentMessageListQuery = Annotated[AgentMessageList, Query()]
PartListQuery = Annotated[PartList, Query()]
RunListQuery = Annotated[RunList, Query()]
ApprovalListQuery = Annotated[ApprovalList, Query()]
RunTraceQuery = Annotated[RunTrace, Query()]
JobListQuery = Annotated[JobList, Query()]
RunStepListQuery = Annotated[RunStepList, Query()]
StepListQuery = Annotated[StepList, Query()]
UsageSpanQuery = Annotated[UsageSpan, Query()]
