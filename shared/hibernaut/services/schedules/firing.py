"""Fires a due schedule, for the clock of the process, a scheduler outside it, or the sweep.

A message of a schedule is an ordinary message. Its run, its input, its idempotency marks, and the move of the schedule to its
next time are one transaction, so an occurrence has exactly one run: of two workers one finds the schedule moved. The occurrence,
that is the schedule and its nominal time, is the otid of the message as well.

If several times of a schedule have been missed, the newest one is made good, once. A refused request (the queue is full, a budget
is used up) is an outcome; what may pass (the table is busy) is not: the schedule stays due, and the sweep hands it over again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal, assert_never

from pydantic import ValidationError

from hibernaut.domain import schedules as calendar
from hibernaut.ports.storage.table import Change, ConditionFailed
from hibernaut.schemas.agents.schedule import OutcomeError, OutcomeStatus, PauseReason, ScheduledMessage, ScheduleOutcome
from hibernaut.schemas.base import JsonObject, wire_time
from hibernaut.schemas.errors import Conflict, HibernautError, InvalidArgument, NotFound, Unavailable
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.schemas.runs.send import DEFAULT_MAX_STEPS, LettaAsyncRequest, MessageCreate
from hibernaut.schemas.stop import RunStatus
from hibernaut.services.host import Host
from hibernaut.services.schedules.alarms import alarm_of
from hibernaut.services.schedules.schedule_api_keys import ScheduleKeys
from hibernaut.services.sending.sending import AcceptedRequest, Sending, SendRequest, body_digest
from hibernaut.services.sending.sleeptime_triggers import SleeptimeTriggers
from hibernaut.services.turns.compaction import Compaction
from hibernaut.store.schedules.schedules import LOST_MS, ScheduleState
from hibernaut.store.stores import TenantStores
from hibernaut.store.table.optimistic_retry import until_settled

EARLY_MS = 1_000
"""Milliseconds by which the clock of a worker may be slow."""
TRIES = 20
RUN_TYPE = "schedule"
KEY_UNUSABLE: PauseReason = "key_unusable"
Fired = Literal["fired", "failed", "early", "gone"]
"""The result of an attempt to fire. "early": the schedule is not due, is paused or over, or another worker has fired it. "gone":
there is no such schedule.
"""
logger = logging.getLogger(__name__)


@immutable
class Occurrence:
    """One firing of a schedule. `at_ms`: the nominal time; None: it was requested. `name`: what its otids and its digest are made
    of.
    """

    name: str
    fired_at: datetime
    at_ms: int | None = None
    missed_since_ms: int | None = None

    def outcome(self, status: OutcomeStatus, run_id: str | None = None, error: HibernautError | None = None) -> ScheduleOutcome:
        """The result of this firing as the schedule's record keeps it. `error`: its code and detail are recorded."""
        return ScheduleOutcome(
            scheduled_at=_moment(self.at_ms),
            fired_at=self.fired_at,
            status=status,
            run_id=run_id,
            missed_since=_moment(self.missed_since_ms),
            error=OutcomeError(code=error.code, message=error.detail) if error else None,
        )


@immutable
class FiringParts:
    """The collaborators of `ScheduleFiring`. The first three are built at their first use."""

    sending: Callable[[], Sending]
    sleeptime: Callable[[], SleeptimeTriggers]
    compactions: Callable[[], Compaction]
    keys: ScheduleKeys


class ScheduleFiring:
    """Fires the schedules of one tenant."""

    def __init__(self, stores: TenantStores, host: Host, parts: FiringParts) -> None:
        self._stores = stores
        self._store = stores.schedules
        self._host = host
        self._parts = parts

    def fire(self, schedule_id: str) -> Fired:
        """Fire the schedule if it is due. Raises: Unavailable, Conflict if others keep changing it; it stays due then."""

        def attempt() -> Fired:
            now = self._host.clock.now()
            state, now_ms = self._store.get(schedule_id, now), int(now.timestamp() * 1000)
            if state is None:
                return "gone"
            if state.next_ms is None or state.next_ms > now_ms + EARLY_MS:
                return "early"
            return self._due(state, state.next_ms, now)

        return until_settled(attempt, f"CONFLICT: The schedule {schedule_id} keeps being changed.", tries=TRIES)

    def request(self, state: ScheduleState, name: str, key_id: str | None, *, retry: int = 0) -> ScheduleOutcome:
        """Perform a schedule's action now, outside its times. `name` identifies the request if it is sent again. Raises: as the
        action does; ConditionFailed if the schedule changed meanwhile.
        """
        occurrence = Occurrence(name, self._host.clock.now())
        return self._act(state, state, occurrence, key_id, retry).outcomes[0]

    def _due(self, state: ScheduleState, first_ms: int, now: datetime) -> Fired:
        until_ms = int(now.timestamp() * 1000) + EARLY_MS
        timing, anchor = state.record.schedule, int(state.record.anchored_at.timestamp() * 1000)
        at_ms = calendar.newest_until(timing, first_ms, until_ms, anchor)
        missed = first_ms if at_ms > first_ms else None
        occurrence = Occurrence(f"{state.record.id}:{at_ms}", now, at_ms, missed)
        key_id, usable = self._parts.keys.acting(state.key_id, state.record.agent_id, now)
        next_state = replace(state, next_ms=calendar.next_after(timing, max(at_ms, until_ms), anchor), key_id=key_id)
        if not usable:
            return self._paused(state, next_state, occurrence)
        try:
            after = self._act(state, next_state, occurrence, key_id)
        except HibernautError as error:
            return self._failed(state, next_state, occurrence, error)
        fields = {"schedule_id": state.record.id, "agent_id": state.record.agent_id, "run_id": after.outcomes[0].run_id}
        late_ms = max(0, int(now.timestamp() * 1000) - at_ms)
        logger.info("schedule fired", extra={**fields, "outcome": after.outcomes[0].status, "late_ms": late_ms})
        if after.outside and after.next_ms is not None and late_ms >= LOST_MS:  # The external scheduler has lost the alarm.
            self._host.scheduler.put(self._stores.tenant, alarm_of(after.record, after.next_ms))
        return "fired"

    def _act(
        self, before: ScheduleState, next_state: ScheduleState, occurrence: Occurrence, key_id: str | None, retry: int = 0
    ) -> ScheduleState:
        """Perform the action, and write the state `next_state` with its outcome; returns what was written."""
        match before.record.action:
            case "message":
                return self._send(before, next_state, occurrence, key_id, retry)
            case "compaction":
                return self._compact(before, next_state, occurrence, key_id)
            case "sleeptime":
                return self._sleep(before, next_state, occurrence, key_id)
            case never:
                assert_never(never)

    def _send(
        self, before: ScheduleState, next_state: ScheduleState, occurrence: Occurrence, key_id: str | None, retry: int
    ) -> ScheduleState:
        record, token = before.record, self._host.ids.token()
        written: list[ScheduleState] = []

        def schedule_change(run: StoredRun) -> Sequence[Change]:
            status: OutcomeStatus = "queued" if run.status is RunStatus.CREATED else "accepted"
            written[:] = [next_state.noted(occurrence.outcome(status, run.id))]
            return self._store.change(before, written[0], token, occurrence.fired_at)

        sending = self._parts.sending()
        accepted = sending.accept(
            SendRequest(
                agent_id=record.agent_id,
                body=_body(before, occurrence),
                run_type=RUN_TYPE,
                digest=body_digest(record.agent_id, occurrence.name.encode()),
                retry=retry,
                background=True,
                callback_url=record.message.callback_url,
                key_id=key_id,
                further_changes=schedule_change,
                links=_links(before, occurrence),
            )
        )
        if accepted.attached:
            written[:] = [next_state.noted(occurrence.outcome("accepted", accepted.run_id))]
            # The run is this occurrence's, though the schedule has not moved: its item was restored.
            if occurrence.at_ms is not None:
                self._write(before, written[0], occurrence.fired_at)
        self._start(accepted)
        return written[0]

    def _start(self, accepted: AcceptedRequest) -> None:
        if not accepted.attached and not accepted.waits:
            self._parts.sending().start(accepted.run_id)

    def _sleep(
        self, before: ScheduleState, next_state: ScheduleState, occurrence: Occurrence, key_id: str | None
    ) -> ScheduleState:
        """Start the sleep-time runs, then move on: the group recognises the occurrence if a worker dies in between."""
        name = occurrence.name if occurrence.at_ms is not None else f"{occurrence.name}:{self._host.ids.token()}"
        runs = self._parts.sleeptime().start(before.record.group_id or "", name, key_id=key_id)
        after = next_state.noted(occurrence.outcome("accepted", runs[0]) if runs else occurrence.outcome("completed"))
        self._write(before, after, occurrence.fired_at)
        return after

    def _compact(
        self, before: ScheduleState, next_state: ScheduleState, occurrence: Occurrence, key_id: str | None
    ) -> ScheduleState:
        """Claim the occurrence, then compact: a worker that dies meanwhile leaves the outcome "started", and no other worker
        compacts again.
        """
        self._write(before, next_state.noted(occurrence.outcome("started")), occurrence.fired_at)
        error: HibernautError | None = None
        try:
            self._parts.compactions().on_request(before.record.agent_id, key_id=key_id)
        except HibernautError as failure:
            error = failure
        outcome = occurrence.outcome("failed" if error else "completed", error=error)
        for _ in range(TRIES):
            state = self._store.get(before.record.id, occurrence.fired_at)
            if state is None:
                return next_state.noted(outcome)
            outcomes = tuple(outcome if _same(each, outcome) else each for each in state.outcomes)
            try:
                self._write(state, replace(state, outcomes=outcomes), occurrence.fired_at)
            except ConditionFailed:
                continue
            break
        return next_state.noted(outcome)

    def _paused(self, before: ScheduleState, next_state: ScheduleState, occurrence: Occurrence) -> Fired:
        """Pause a schedule whose key may no longer act."""
        failure = occurrence.outcome("failed").model_copy(
            update={
                "error": OutcomeError(
                    code=KEY_UNUSABLE, message=f"The API key {before.key_id} of the schedule is revoked, expired or too narrow."
                )
            }
        )
        self._write(
            before,
            replace(next_state, next_ms=None, paused=KEY_UNUSABLE, key_id=before.key_id).noted(failure),
            occurrence.fired_at,
        )
        self._host.scheduler.delete(self._stores.tenant, before.record.id)
        logger.warning("schedule paused", extra={"schedule_id": before.record.id, "reason": KEY_UNUSABLE})
        return "failed"

    def _failed(self, before: ScheduleState, next_state: ScheduleState, occurrence: Occurrence, error: HibernautError) -> Fired:
        """Note a refused occurrence, and move on. Raises: the error itself if it may pass by waiting."""
        if isinstance(error, Unavailable) or type(error) is Conflict:
            raise error
        if isinstance(error, NotFound) and self._stores.agents.get(before.record.agent_id) is None:
            self._stores.writer.write(*self._store.delete(before))
            self._host.scheduler.delete(self._stores.tenant, before.record.id)
            return "gone"
        self._write(before, next_state.noted(occurrence.outcome("failed", error=error)), occurrence.fired_at)
        logger.warning("schedule failed", extra={"schedule_id": before.record.id, "code": error.code})
        return "failed"

    def _write(self, before: ScheduleState, after: ScheduleState, now: datetime) -> None:
        token = self._host.ids.token()
        self._stores.writer.write(*self._store.change(before, after, token, now), token=token)


def _links(state: ScheduleState, occurrence: Occurrence) -> JsonObject:
    """The metadata of a run: which schedule started it, and for which time."""
    moment = _moment(occurrence.at_ms)
    return {"schedule_id": state.record.id, "scheduled_at": wire_time(moment) if moment else None}


def _body(state: ScheduleState, occurrence: Occurrence) -> LettaAsyncRequest:
    message = state.record.message
    identified = occurrence.at_ms is not None
    return LettaAsyncRequest(
        messages=[
            _message(one, _otid(occurrence.name, place) if identified else None) for place, one in enumerate(message.messages)
        ],
        max_steps=message.max_steps or DEFAULT_MAX_STEPS,
        include_return_message_types=message.include_return_message_types,
        when_busy="queue",
    )


def _message(one: ScheduledMessage, otid: str | None) -> MessageCreate:
    """Raises: InvalidArgument if the message was stored under wider limits than those of today."""
    try:
        return MessageCreate(role=one.role, content=one.content, name=one.name, sender_id=one.sender_id, otid=otid)
    except ValidationError as error:
        fields = ", ".join(sorted({".".join(map(str, each["loc"])) for each in error.errors(include_input=False)}))
        raise InvalidArgument(f"INVALID_ARGUMENT: A message of the schedule cannot be sent; change its {fields}.") from None


def _otid(name: str, place: int) -> str:
    """The otid of one of an occurrence's messages: the first has the name of the occurrence."""
    return f"{name}:{place}" if place else name


def _same(one: ScheduleOutcome, other: ScheduleOutcome) -> bool:
    return one.status == "started" and (one.scheduled_at, one.fired_at) == (other.scheduled_at, other.fired_at)


def _moment(at_ms: int | None) -> datetime | None:
    return datetime.fromtimestamp(at_ms / 1000, UTC) if at_ms is not None else None
