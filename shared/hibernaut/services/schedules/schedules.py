"""The administration of one tenant's schedules: create, list, change, pause, resume, delete, and "run now"."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from hibernaut.domain import schedules as calendar
from hibernaut.domain.wire.listing import Page
from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.schemas.agents.group import ManagerType
from hibernaut.schemas.agents.schedule import (
    MOST_OUTCOMES,
    CreatedSchedule,
    CreateSchedule,
    Schedule,
    ScheduleList,
    ScheduleMessages,
    ScheduleOutcome,
    ShownOutcome,
    StoredSchedule,
    UpdateSchedule,
)
from hibernaut.schemas.base import wire_time
from hibernaut.schemas.errors import Conflict, InvalidArgument, NotFound, Unprocessable
from hibernaut.schemas.immutable import immutable
from hibernaut.services.host import Host
from hibernaut.services.schedules.alarms import alarm_of
from hibernaut.services.schedules.firing import ScheduleFiring
from hibernaut.store.runs.runs import RunState
from hibernaut.store.schedules.schedules import ScheduleState
from hibernaut.store.stores import TenantStores
from hibernaut.store.table.lists.row_lists import RowList
from hibernaut.store.table.optimistic_retry import until_settled

MOST_OF_AGENT = 100
MOST_OF_TENANT = 10_000
"""The largest numbers of schedules of an agent and of a tenant that are not over."""
MOST_SHOWN = 200
"""Schedules of one page."""
_After = Callable[[ScheduleState, datetime, int], ScheduleState]
logger = logging.getLogger(__name__)


@immutable
class ScheduleQuery:
    """A page of schedules. `agent_id` None: those of the tenant. `after`: the id of the last schedule of the page before."""

    agent_id: str | None
    after: str | None = None
    limit: int = 50


class Schedules:
    """The use cases of one tenant's schedules."""

    def __init__(self, stores: TenantStores, host: Host, firing: ScheduleFiring) -> None:
        self._tenant = stores.tenant
        self._stores = stores
        self._store = stores.schedules
        self._clock, self._ids = host.clock, host.ids
        self._scheduler = host.scheduler
        self._firing = firing

    def create(self, agent_id: str, request: CreateSchedule, key_id: str | None) -> CreatedSchedule:
        """Add a schedule of an agent, which acts for the key. Raises: NotFound, Unprocessable, InvalidArgument."""
        now = self._clock.now()
        _check_action(request)
        next_ms = calendar.check(request.schedule, _ms(now))
        if self._stores.agents.get(agent_id) is None:
            raise NotFound(f"Agent with ID {agent_id} not found")
        if request.group_id is not None:
            self._check_group(request.group_id, agent_id)
        record = StoredSchedule(
            id=self._ids.new("schedule"),
            agent_id=agent_id,
            action=request.action,
            group_id=request.group_id,
            message=ScheduleMessages(**request.model_dump(include=set(ScheduleMessages.model_fields))),
            schedule=request.schedule,
            created_at=now,
            updated_at=now,
            anchored_at=now,
        )
        count = self._check_room(agent_id)
        outside = count < self._scheduler.most and self._scheduler.takes(alarm_of(record, next_ms))
        state, token = ScheduleState(record, next_ms=next_ms, outside=outside, key_id=key_id), self._ids.token()
        try:
            self._stores.writer.write(*self._store.create(state, token), token=token)
        except ConditionFailed:
            raise NotFound(f"Agent with ID {agent_id} not found") from None
        self._set_alarm(state)
        logger.info("schedule created", extra={"schedule_id": record.id, "agent_id": agent_id, "action": record.action})
        return CreatedSchedule(id=record.id, next_scheduled_at=_shown(next_ms))

    def retrieve(self, schedule_id: str, agent_id: str) -> Schedule:
        """The schedule. Raises: NotFound."""
        (one,) = self._shown([self._stored(schedule_id, agent_id)], MOST_OUTCOMES)
        return one

    def page(self, query: ScheduleQuery) -> ScheduleList:
        """A page of schedules, oldest first. Raises: NotFound for an unknown agent or cursor."""
        if query.agent_id is not None and self._stores.agents.get(query.agent_id) is None:
            raise NotFound(f"Agent with ID {query.agent_id} not found")
        rows: RowList = self._store.rows(query.agent_id)
        limit = min(query.limit, MOST_SHOWN)
        found = [rows.id_of(row) for row in rows.page(Page(limit=limit + 1, after=query.after))]
        states = self._store.get_many(found[:limit], self._clock.now())
        return ScheduleList(scheduled_messages=self._shown(states, 1), has_next_page=len(found) > limit)

    def _shown(self, states: Sequence[ScheduleState], newest: int) -> list[Schedule]:
        """The schedules, with the runs of so many of each one's newest outcomes."""
        run_ids = [one.run_id for state in states for one in state.outcomes[:newest] if one.run_id]
        runs = self._stores.runs.get_many(list(dict.fromkeys(run_ids))) if run_ids else {}
        return [shown(state, runs) for state in states]

    def update(self, schedule_id: str, agent_id: str, request: UpdateSchedule, key_id: str | None) -> Schedule:
        """Apply the fields that were sent. A new time also ends an earlier end. From now on the schedule acts for the key.
        Raises: NotFound, Unprocessable, Conflict.
        """
        message_fields = request.model_dump(include=request.model_fields_set & set(ScheduleMessages.model_fields))
        if request.messages is None:
            message_fields.pop("messages", None)

        def apply(before: ScheduleState, now: datetime, now_ms: int) -> ScheduleState:
            if before.record.action != "message" and message_fields.get("messages"):
                raise Unprocessable(f"A schedule with the action {before.record.action} sends no messages.")
            message = ScheduleMessages(**{**before.record.message.model_dump(), **message_fields})
            record = before.record.model_copy(update={"message": message, "updated_at": now})
            if request.schedule is None:
                return replace(before, record=record, key_id=key_id)
            first = calendar.check(request.schedule, now_ms)
            record = record.model_copy(update={"schedule": request.schedule, "anchored_at": now})
            outside = before.outside and self._scheduler.takes(alarm_of(record, first))
            return replace(before, record=record, key_id=key_id, outside=outside, next_ms=None if before.paused else first)

        (one,) = self._shown([self._changed(schedule_id, agent_id, apply)], MOST_OUTCOMES)
        return one

    def pause(self, schedule_id: str, agent_id: str) -> Schedule:
        """Pause a schedule: what falls into the pause is not made good. Raises: NotFound, Conflict if it is over."""

        def after(before: ScheduleState, _now: datetime, _now_ms: int) -> ScheduleState:
            if before.over:
                raise Conflict(f"CONFLICT: The schedule {schedule_id} is over; there is nothing to pause.")
            return before if before.paused else replace(before, next_ms=None, paused="request")

        (one,) = self._shown([self._changed(schedule_id, agent_id, after)], MOST_OUTCOMES)
        return one

    def resume(self, schedule_id: str, agent_id: str, key_id: str | None) -> Schedule:
        """Resume a paused schedule, which acts for the key from now on. Raises: NotFound; Unprocessable if its only time has
        passed; Conflict.
        """

        def after(before: ScheduleState, _now: datetime, now_ms: int) -> ScheduleState:
            if before.paused is None:
                return before
            anchor = _ms(before.record.anchored_at)
            next_ms = calendar.next_after(before.record.schedule, now_ms, anchor)
            if next_ms is None:
                raise Unprocessable(
                    f"The time of the schedule {schedule_id} has passed during the pause; send another `schedule` by PATCH first."
                )
            return replace(before, next_ms=next_ms, paused=None, key_id=key_id)

        (one,) = self._shown([self._changed(schedule_id, agent_id, after)], MOST_OUTCOMES)
        return one

    def run(self, schedule_id: str, agent_id: str, key_id: str | None, *, retry: int = 0) -> ScheduleOutcome:
        """Do now what the schedule does, for the caller's key; its times stay. Raises: NotFound, and what the action raises."""

        def attempt() -> ScheduleOutcome:
            state = self._stored(schedule_id, agent_id)
            return self._firing.request(state, f"{schedule_id}:run", key_id, retry=retry)

        return until_settled(attempt, _busy(schedule_id))

    def delete(self, schedule_id: str, agent_id: str) -> None:
        """Delete a schedule. The runs that it has started stay. Raises: NotFound, Conflict."""

        def attempt() -> None:
            self._stores.writer.write(*self._store.delete(self._stored(schedule_id, agent_id)))

        until_settled(attempt, _busy(schedule_id))
        self._scheduler.delete(self._tenant, schedule_id)
        logger.info("schedule deleted", extra={"schedule_id": schedule_id, "agent_id": agent_id})

    def _stored(self, schedule_id: str, agent_id: str) -> ScheduleState:
        found = self._store.get(schedule_id, self._clock.now())
        if found is None or found.record.agent_id != agent_id:
            raise NotFound(f"Schedule with ID {schedule_id} not found")
        return found

    def _changed(self, schedule_id: str, agent_id: str, after: _After) -> ScheduleState:
        def attempt() -> ScheduleState:
            before, now = self._stored(schedule_id, agent_id), self._clock.now()
            updated, token = after(before, now, _ms(now)), self._ids.token()
            if updated is before:
                return before
            if before.over and not updated.over:
                self._check_room(agent_id)
            self._stores.writer.write(*self._store.change(before, updated, token, now), token=token)
            self._set_alarm(updated, before=before.outside)
            return updated

        return until_settled(attempt, _busy(schedule_id))

    def _check_group(self, group_id: str, agent_id: str) -> None:
        """Raises: NotFound if the group is not the sleep-time group of the agent."""
        group = self._stores.groups.get(group_id)
        if group is None or group.manager_type is not ManagerType.SLEEPTIME or group.manager_agent_id != agent_id:
            raise NotFound(f"Sleep-time group with ID {group_id} of agent {agent_id} not found")

    def _check_room(self, agent_id: str) -> int:
        """The number of the tenant's schedules. Raises: InvalidArgument if there is no room for another one."""
        of_agent, of_tenant = self._store.active(agent_id), self._store.active()
        for number, most, owner in ((of_agent, MOST_OF_AGENT, "an agent"), (of_tenant, MOST_OF_TENANT, "a tenant")):
            if number >= most:
                raise InvalidArgument(
                    f"INVALID_ARGUMENT: The limit of {most} schedules of {owner} is reached. Delete one that is not used."
                )
        return of_tenant

    def _set_alarm(self, state: ScheduleState, *, before: bool = False) -> None:
        """Bring the alarm of a schedule up to date. `before`: it may have had one. A schedule whose alarm is refused is left to
        the sweep.
        """
        if not state.outside or state.next_ms is None:
            if before:
                self._scheduler.delete(self._tenant, state.record.id)
            return
        if self._scheduler.put(self._tenant, alarm_of(state.record, state.next_ms)):
            return
        now, token = self._clock.now(), self._ids.token()
        stored = self._store.get(state.record.id, now)
        if stored is not None and stored.next_ms == state.next_ms:
            with suppress(ConditionFailed):  # The other writer has set the alarm.
                change = self._store.change(stored, replace(stored, outside=False), token, now)
                self._stores.writer.write(*change, token=token)


def shown(state: ScheduleState, runs: Mapping[str, RunState]) -> Schedule:
    """A schedule as the API shows it. `runs`: those of its outcomes, as far as they were read."""
    record = state.record
    return Schedule(
        id=record.id,
        agent_id=record.agent_id,
        message=record.message,
        next_scheduled_time=_shown(state.next_ms),
        schedule=record.schedule,
        action=record.action,
        group_id=record.group_id,
        paused=state.paused is not None,
        paused_reason=state.paused,
        outcomes=[_ended(outcome, runs.get(outcome.run_id or "")) for outcome in state.outcomes],
        created_at=record.created_at,
        updated_at=record.updated_at,
    )


def _ended(outcome: ScheduleOutcome, state: RunState | None) -> ShownOutcome:
    """An outcome with the status of its run, and the stop reason if the run has ended."""
    run_fields = {"run_status": state.run.status, "stop_reason": state.run.stop_reason} if state else {}
    return ShownOutcome.model_validate({**dict(outcome), **run_fields})


def _check_action(request: CreateSchedule) -> None:
    """Raises: Unprocessable."""
    match request.action:
        case "message" if not request.messages:
            raise Unprocessable("Messages must not be empty")
        case "sleeptime" if request.group_id is None:
            raise Unprocessable("A schedule with the action sleeptime needs `group_id`, the sleep-time group of its agent.")
        case "sleeptime" | "compaction" if request.messages:
            raise Unprocessable(f"A schedule with the action {request.action} sends no messages; leave `messages` out.")
        case "message" | "compaction" if request.group_id is not None:
            raise Unprocessable("`group_id` belongs to the action sleeptime.")
        case _:
            return


def _shown(next_ms: int | None) -> str | None:
    return wire_time(datetime.fromtimestamp(next_ms / 1000, UTC)) if next_ms is not None else None


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def _busy(schedule_id: str) -> str:
    return f"CONFLICT: The schedule {schedule_id} keeps being changed by other requests; try again."
