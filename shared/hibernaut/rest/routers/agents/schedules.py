"""Schedules of agents (Letta V1 API, API 2.4). Changes, pauses, "run now" and the list of a tenant are extensions of
Hibernaut.
"""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi import Request as HttpRequest

from hibernaut.rest.dependencies import TheCaller, TheServices
from hibernaut.rest.http.json_responses import reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.send_requests import callable_address
from hibernaut.schemas.agents.schedule import (
    CreatedSchedule,
    CreateSchedule,
    DeletedSchedule,
    Schedule,
    ScheduleId,
    ScheduleList,
    ScheduleRun,
    UpdateSchedule,
)
from hibernaut.schemas.base import Schema, Whole
from hibernaut.schemas.ids import AgentId
from hibernaut.services.schedules.schedules import ScheduleQuery

router = APIRouter(prefix="/v1", tags=["schedules"], route_class=LazyRoute)
ONE = "/agents/{agent_id}/schedule/{scheduled_message_id}"
_COUNT = re.compile(r"[0-9]{1,9}")


class ScheduleListQueryString(Schema):
    """A page of schedules, oldest first. `after`: the id of the last schedule of the page before."""

    after: str | None = None
    limit: Annotated[Whole, Query(ge=1)] = 50

    def of(self, agent_id: str | None) -> ScheduleQuery:
        """The query of the use case. `agent_id` None: the schedules of all agents."""
        return ScheduleQuery(agent_id, self.after, self.limit)


ScheduleListQuery = Annotated[ScheduleListQueryString, Query()]


@router.post("/agents/{agent_id}/schedule", response_model=CreatedSchedule, status_code=201)
def create_schedule(services: TheServices, caller: TheCaller, agent_id: AgentId, request: CreateSchedule) -> Response:
    """Schedule messages to an agent, or a compaction of its conversation: once, by a cron expression, or at a rate."""
    callable_address(request.callback_url)
    created = reply(services.schedules.create(agent_id, request, caller.key_id))
    created.status_code = 201
    return created


@router.get("/agents/{agent_id}/schedule", response_model=ScheduleList)
def list_agent_schedules(services: TheServices, agent_id: AgentId, query: ScheduleListQuery) -> Response:
    """The schedules of an agent, each with its next time and its last ten outcomes."""
    return reply(services.schedules.page(query.of(agent_id)))


@router.get("/schedules", response_model=ScheduleList)
def list_schedules(services: TheServices, query: ScheduleListQuery) -> Response:
    """The schedules of all agents."""
    return reply(services.schedules.page(query.of(None)))


@router.get(ONE, response_model=Schedule)
def retrieve_schedule(services: TheServices, agent_id: AgentId, scheduled_message_id: ScheduleId) -> Response:
    """One schedule, with its next time and its last ten outcomes."""
    return reply(services.schedules.retrieve(scheduled_message_id, agent_id))


@router.patch(ONE, response_model=Schedule)
def update_schedule(
    services: TheServices, caller: TheCaller, agent_id: AgentId, scheduled_message_id: ScheduleId, request: UpdateSchedule
) -> Response:
    """Change what a schedule sends, or when."""
    callable_address(request.callback_url)
    return reply(services.schedules.update(scheduled_message_id, agent_id, request, caller.key_id))


@router.delete(ONE, response_model=DeletedSchedule)
def delete_schedule(services: TheServices, agent_id: AgentId, scheduled_message_id: ScheduleId) -> Response:
    """Delete a schedule. The runs that it has started stay."""
    services.schedules.delete(scheduled_message_id, agent_id)
    return reply(DeletedSchedule())


@router.post(f"{ONE}/pause", response_model=Schedule)
def pause_schedule(services: TheServices, agent_id: AgentId, scheduled_message_id: ScheduleId) -> Response:
    """Pause a schedule. Times that fall into the pause are skipped."""
    return reply(services.schedules.pause(scheduled_message_id, agent_id))


@router.post(f"{ONE}/resume", response_model=Schedule)
def resume_schedule(services: TheServices, caller: TheCaller, agent_id: AgentId, scheduled_message_id: ScheduleId) -> Response:
    """Resume a paused schedule."""
    return reply(services.schedules.resume(scheduled_message_id, agent_id, caller.key_id))


@router.post(f"{ONE}/run", response_model=ScheduleRun)
def run_schedule(
    services: TheServices, caller: TheCaller, agent_id: AgentId, scheduled_message_id: ScheduleId, request: HttpRequest
) -> Response:
    """Do now what a schedule does. Its times stay."""
    count = request.headers.get("x-stainless-retry-count", "0")
    retry = int(count) if _COUNT.fullmatch(count) else 0
    outcome = services.schedules.run(scheduled_message_id, agent_id, caller.key_id, retry=retry)
    return reply(ScheduleRun(schedule_id=scheduled_message_id, status=outcome.status, run_id=outcome.run_id))
