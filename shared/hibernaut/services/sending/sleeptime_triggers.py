"""Makes sleep-time agents work: accepts the runs of a trigger (RT 9.3).

Triggers are written after a turn (`services.turns.sleeptime_turns`), at the end of an idle time, or for an occurrence of a
schedule. Whoever has written one starts it at once; what a crash leaves, the sweep starts. Each run is an ordinary background run
of the sleep-time agent, whose message is the transcript.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Literal

from hibernaut.domain.agents import sleeptime
from hibernaut.domain.window.sleeptime_transcripts import limit_for, lines_of, report
from hibernaut.ports.storage.table import Change, ConditionFailed, Key, TableError
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.agents.group import ManagerType, SleeptimeTrigger, TranscriptProgress
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import AgentPaused, BudgetExceeded, HibernautError, NotFound
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.send import LettaRequest, MessageCreate
from hibernaut.services.host import Host
from hibernaut.services.sending.sending import FurtherConditionFailed, Sending, SendRequest
from hibernaut.services.turns.sleeptime_turns import trigger_of
from hibernaut.store.groups.group_keys import IDLE
from hibernaut.store.stores import TenantStores
from hibernaut.store.table import keys
from hibernaut.store.table.optimistic_retry import until_settled

RUN_TYPE = "sleeptime_agent_send_message_async"
"""The type of the runs, as in Letta V1."""
ROWS = 100
"""Messages of one read."""
TRIES = 20
logger = logging.getLogger(__name__)


@immutable
class Transcript:
    """The text of a message, and what did not fit into it, by conversation. `text` "": there is nothing to tell."""

    text: str
    rest: Mapping[str, TranscriptProgress]


class SleeptimeTriggers:
    """Starts the work of one tenant's sleep-time agents."""

    def __init__(self, stores: TenantStores, host: Host, sending: Sending) -> None:
        self._stores = stores
        self._triggers = stores.sleeptime_triggers
        self._clock = host.clock
        self._ids = host.ids
        self._sending = sending

    def fire(self, trigger: SleeptimeTrigger) -> Sequence[str]:
        """Accept and start the runs of a trigger; returns their ids. Runs that another worker has already started are skipped.

        A budget that is used up, or an agent that is paused, returns the messages to the group: the next trigger sends them.
        Raises: HibernautError, TableError, OSError; the trigger then remains for the sweep.
        """
        started: list[str] = []
        part: SleeptimeTrigger | None = trigger
        try:
            while part is not None:
                runs, has_more = self._fired(part)
                started += runs
                part = self._triggers.get(trigger.group_id, trigger.name) if has_more else None
        except FurtherConditionFailed:
            logger.info("sleep-time run started elsewhere", extra={"agent_id": trigger.manager_agent_id})
        except (AgentPaused, BudgetExceeded) as error:
            self._give_back(trigger)
            logger.warning("sleep-time run refused", extra={"agent_id": trigger.manager_agent_id, "reason": error.code})
        return started

    def fire_quietly(self, trigger: SleeptimeTrigger) -> None:
        """As `fire`, for the caller that has just written the trigger; the sweep retries after a failure."""
        try:
            self.fire(trigger)
        except (HibernautError, TableError, OSError) as error:
            fields = {"agent_id": trigger.manager_agent_id, "error": type(error).__qualname__}
            logger.warning("sleep-time run left to the sweep", extra=fields)

    def take_up(self, place: Key) -> Literal["started", "held", "left"]:
        """Start the due work at a key of the index: a trigger, or the end of an idle time."""
        group_id = keys.last_part(place.pk)
        if place.sk == IDLE:
            return self._idle_ended(group_id)
        trigger = self._triggers.at(place)
        if trigger is not None and self._stores.groups.get(group_id) is None:
            return self._dropped(trigger)
        return "left" if trigger is None or not self.fire(trigger) else "started"

    def _idle_ended(self, group_id: str) -> Literal["started", "held", "left"]:
        due, group = self._triggers.idle(group_id), self._stores.groups.get(group_id)
        if due is None:
            return "left"
        if int(due.partition("#")[0]) > int(self._clock.now().timestamp() * 1000):
            return "held"
        trigger = trigger_of(group, "idle", f"idle-{group.turns}", self._ids) if group else None
        with suppress(ConditionFailed):  # a turn has ended since
            if group is None or trigger is None:
                self._stores.writer.write(self._triggers.idle_ended(group_id, due))
                return "left"
            token, caught_up = self._ids.token(), sleeptime.caught_up(group)
            changes = self._stores.groups.change(group, caught_up, token)
            put = self._triggers.put(trigger, self._clock.now())
            self._stores.writer.write(*changes, put, self._triggers.idle_ended(group_id, due), token=token)
            self.fire(trigger)
            return "started"
        return "left"

    def start(self, group_id: str, occurrence: str, *, key_id: str | None = None) -> Sequence[str]:
        """Make the sleep-time agents of a group work for an occurrence of a schedule; returns the ids of their runs.

        An occurrence starts them once, however often it is reported (within the lifetime of an otid: 24 hours). Empty: there were
        no new messages.
        Raises: NotFound if the group does not exist, or is no sleep-time group; Conflict; BudgetExceeded is not raised.
        """
        name = f"at-{hashlib.sha256(occurrence.encode()).hexdigest()[:32]}"

        def attempt() -> Sequence[str]:
            pending = self._triggers.get(group_id, name)
            if pending is not None:
                return self.fire(pending)
            group = self._stores.groups.get(group_id)
            if group is None or group.manager_type is not ManagerType.SLEEPTIME:
                raise NotFound(f"Sleep-time group with ID {group_id} not found")
            earlier_runs = [self._stores.idempotency.run_of(agent_id, f"{group_id}.{name}") for agent_id in group.agent_ids]
            if any(earlier_runs):
                return [run_id for run_id in earlier_runs if run_id is not None]
            trigger = trigger_of(group, "schedule", name, self._ids)
            if trigger is None:
                return []
            trigger, token = trigger.model_copy(update={"key_id": key_id}), self._ids.token()
            changes = self._stores.groups.change(group, sleeptime.caught_up(group), token)
            self._stores.writer.write(*changes, self._triggers.put(trigger, self._clock.now()), token=token)
            return self.fire(trigger)

        return until_settled(attempt, f"The group {group_id} keeps being changed by others; try again.", tries=TRIES)

    # the runs of a trigger

    def _fired(self, trigger: SleeptimeTrigger) -> tuple[Sequence[str], bool]:
        """Accept the runs of one part of a trigger: their ids, and whether another part follows.

        Raises: FurtherConditionFailed if another worker does so as well.
        """
        agents = self._stores.agents.get_many(list(trigger.runs))
        windows = [agent.llm_config.context_window for agent in agents.values()]
        transcript = self._transcript(trigger, min(map(limit_for, windows))) if agents else Transcript("", {})
        if not transcript.text:
            self._dropped(trigger)
            return [], False
        following = {agent_id: self._ids.new("run") for agent_id in agents}
        started: list[str] = []
        for agent_id, run_id in trigger.runs.items():
            change = self._triggers.accepted(trigger, agent_id, transcript.rest, following)
            trigger = trigger.model_copy(update={"runs": {each: run for each, run in trigger.runs.items() if each != agent_id}})
            if agent_id not in agents:  # it was deleted: the others work without it
                with suppress(ConditionFailed):
                    self._stores.writer.write(change)
                continue
            request = self._request(trigger, agents[agent_id], transcript, change)
            accepted = self._sending.accept(replace(request, run_id=run_id))
            if not accepted.attached and not accepted.waits:
                self._sending.start(accepted.run_id)
            started.append(accepted.run_id)
        return started, bool(transcript.rest)

    def _request(self, trigger: SleeptimeTrigger, agent: StoredAgent, transcript: Transcript, change: Change) -> SendRequest:
        """The request with a transcript. `change`: that of the trigger."""
        message = MessageCreate(role="user", content=transcript.text, otid=trigger.otid, group_id=trigger.group_id)
        return SendRequest(
            agent.id,
            LettaRequest(messages=[message], when_busy="queue"),
            RUN_TYPE,
            hashlib.sha256(f"{agent.id} {trigger.otid}".encode()).hexdigest(),
            background=True,
            key_id=trigger.key_id,
            further_changes=lambda _run: (change,),
            links=_reason(trigger, agent, transcript),
        )

    def _transcript(self, trigger: SleeptimeTrigger, most: int) -> Transcript:
        """The lines of the trigger's messages, up to `most` characters but at least one message."""
        parts: list[tuple[str, Sequence[str]]] = []
        remaining: dict[str, TranscriptProgress] = {}
        room, is_full = most, False
        for conversation, span in trigger.spans.items():
            lines, last_included = list[str](), span.after
            for row in self._rows(conversation, span) if not is_full else ():
                message_lines = lines_of(row, most // 4)
                size = sum(map(len, message_lines)) + len(message_lines)
                if is_full := size > room and room < most:
                    break
                lines, last_included, room = [*lines, *message_lines], row.id, room - size
            if is_full:
                remaining[conversation] = TranscriptProgress(after=last_included, upto=span.upto)
            if lines:
                parts.append(("" if conversation == trigger.manager_agent_id else conversation, lines))
        return Transcript(report(parts) if parts else "", remaining)

    def _rows(self, conversation: str, span: TranscriptProgress) -> Iterator[Message]:
        after = span.after
        while rows := self._stores.conversations.page(conversation, after=after, before=f"{span.upto}~", limit=ROWS):
            yield from rows
            after = rows[-1].id

    def _dropped(self, trigger: SleeptimeTrigger) -> Literal["left"]:
        with suppress(ConditionFailed):
            self._stores.writer.write(self._triggers.drop(trigger))
        return "left"

    def _give_back(self, trigger: SleeptimeTrigger) -> None:
        for _ in range(TRIES):
            pending = self._triggers.get(trigger.group_id, trigger.name)
            group = self._stores.groups.get(trigger.group_id)
            if pending is None:
                return
            token = self._ids.token()
            changes = self._stores.groups.change(group, sleeptime.with_pending(group, pending.spans), token) if group else []
            with suppress(ConditionFailed):
                self._stores.writer.write(*changes, self._triggers.drop(pending), token=token)
                return


def _reason(trigger: SleeptimeTrigger, agent: StoredAgent, transcript: Transcript) -> JsonObject:
    """The metadata of a run: the reason for its start."""
    reasons = {
        "turns": f"turn {trigger.turn} of {trigger.manager_agent_id} has ended",
        "idle": f"{trigger.manager_agent_id} has been idle",
        "schedule": f"a schedule of {trigger.manager_agent_id} was due",
    }
    return {
        "agent_id": agent.id,
        "group_id": trigger.group_id,
        "trigger": trigger.reason,
        "reason": reasons[trigger.reason] + ("; the transcript continues in another run" if transcript.rest else ""),
        "conversations": sorted(trigger.spans),
    }
