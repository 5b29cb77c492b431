"""Runs in the table: the run, its journal, its claims, its events and its list row.

This module has reads and single changes. `store.runs.transactions` combines changes into transactions.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from pydantic import TypeAdapter

from hibernaut.ports.storage.table import ABSENT, Check, Condition, Item, Key, Op, Put, Term, Update, Value
from hibernaut.schemas.errors import Conflict
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.runs.events import EventBatch, RunEvent
from hibernaut.schemas.runs.run import StoredRun, TakeUp
from hibernaut.schemas.runs.turn import Claim, Journal
from hibernaut.schemas.stop import ENDED, RunStatus
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec, expired, freed
from hibernaut.store.table.bodies.formats import ATTRIBUTE, SECOND
from hibernaut.store.table.lists import lists
from hibernaut.store.table.lists.logs import IdRange
from hibernaut.store.table.lost_records import readable
from hibernaut.store.table.tenant_table import TenantTable

OPEN = "OPENRUNS"
"""The list of the runs that have not ended. A run's item is in it until the transaction that ends the run."""
ALL = IdRange()
CHUNK = 200
"""List rows of one read."""
OPEN_FOR_MS = 60_000
"""Milliseconds after which the sweep takes up a run without a lease."""
LOG_LIFE = timedelta(hours=24)
"""The retention of a run's event log after the end of the run."""
EVENT_LIFE = 2 * LOG_LIFE
"""The time to live of an event: longer than LOG_LIFE, since a run may continue for a day after its first event."""
WORK_LIFE = timedelta(days=7)
"""The time to live of a run's journal and claims."""
AWAITING = "replies"
"""The holder of a run that waits for replies of other agents."""
_TAKE_UPS = TypeAdapter(tuple[TakeUp, ...])
MAX_READS = 20
"""Reads of a journal before `journal_of` raises Conflict because the run and the journal disagree."""


@immutable
class RunState:
    """A run with the attributes that its transactions have conditions on.

    attempt   number of the newest attempt; each taking of a step and each renewal of the lease increments it
    lease     end of the newest attempt's lease, in milliseconds since 1970; 0: released
    holder    name of the worker that holds the lease; AWAITING: nobody does, because the run waits for replies of other agents
    journal   mark of the journaled reply; "": none
    next_seq  first free number of the event log
    last_seq  last number of the event log; 0 until the run has ended
    sweeps    number of times that the sweep took the run up
    restarts  number of times that it did since a worker last took a step or committed one
    woken     number of times that a reply of another agent woke the run
    sent      number of messages between agents that the run's request has led to
    token     token of the newest write
    taken     number of messages of the stored input that are in the log; the run's `input` holds the others
    take_ups  the newest takings of a step after the death of the worker that held it, oldest first
    """

    run: StoredRun
    attempt: int = 0
    lease: int = 0
    holder: str = ""
    journal: str = ""
    next_seq: int = 1
    last_seq: int = 0
    sweeps: int = 0
    restarts: int = 0
    token: str = ""
    woken: int = 0
    sent: int = 0
    take_ups: tuple[TakeUp, ...] = ()
    taken: int = 0

    @property
    def ended(self) -> bool:
        """Whether the run has a final status."""
        return self.run.status in ENDED


class RunStore:
    """Runs, journals, claims and events of one tenant. Reads raise StoreUnavailable (`store.table.retries`)."""

    def __init__(self, table: TenantTable, codec: Codec) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec

    def get(self, run_id: str) -> RunState | None:
        """The run, or None."""
        item = self._table.get(keys.run(self._tenant, run_id))
        return self.read(item) if item else None

    def get_many(self, run_ids: Sequence[str]) -> dict[str, RunState]:
        """The runs that exist among these, by id."""
        found = self._table.get_many([keys.run(self._tenant, run_id) for run_id in run_ids])
        states = readable(self.read, found.values())
        return {state.run.id: state for state in states}

    def read(self, item: Item) -> RunState:
        """The run of an item."""
        run = self._codec.record(StoredRun, item)
        run.status = RunStatus(str(item["status"]))
        if taken := int(item.get("taken", 0)):
            run.input, run.last_message = run.input[taken:], str(item["input_last"])
        return RunState(
            run=run,
            attempt=int(item["attempt"]),
            lease=int(item["lease"]),
            holder=str(item["holder"]),
            journal=str(item["journal"]),
            next_seq=int(item["next_seq"]),
            last_seq=int(item["last_seq"]),
            sweeps=int(item["sweeps"]),
            restarts=int(item.get("restarts", 0)),
            token=str(item.get("wt", "")),
            woken=int(item.get("woken", 0)),
            sent=int(item.get("sent", 0)),
            take_ups=_TAKE_UPS.validate_json(str(item["take_ups"])) if "take_ups" in item else (),
            taken=taken,
        )

    def create(self, state: RunState, due_ms: int | None) -> list[Put]:
        """The changes that create a run and its list row. `due_ms` None: the run is not in the index DUE."""
        key = keys.run(self._tenant, state.run.id)
        due = keys.due(state.run.id, due_ms) if due_ms is not None else {}
        open_place = {} if state.ended else keys.listed(self._tenant, OPEN, state.run.id)
        return [Put(self._codec.item(key, state.run, **_attributes(state), **due, **open_place), ABSENT), self.end_row(state.run)]

    def change(self, state: RunState, condition: Condition, due_ms: int | None) -> Update:
        """The change of a run to `state`. `due_ms` None: the run leaves the index DUE."""
        key = keys.run(self._tenant, state.run.id)
        attributes: dict[str, Value] = {**_attributes(replace(state, restarts=0)), **self._codec.body(key, state.run)}
        cleared: tuple[str, ...] = ("taken", "input_last")
        if state.ended:
            cleared += ("list_pk", "list_sk")
        else:
            attributes |= keys.listed(self._tenant, OPEN, state.run.id)
        if due_ms is None:
            cleared += ("due_pk", "due_sk")
        else:
            attributes |= keys.due(state.run.id, due_ms)
        return Update(key, set=attributes, remove=cleared, when=condition, frees=freed(key, state.run))

    def take_input(self, state: RunState, page: int, condition: Condition, due_ms: int) -> Update:
        """The change of a run of whose input `page` more messages are in the log. The stored input is not written again: it stays
        until all of it is there. Further condition: no other page was taken meanwhile.
        """
        if not state.run.input:
            return self.change(state, condition, due_ms)
        attributes: dict[str, Value] = {"taken": state.taken, "input_last": state.run.last_message or "", ATTRIBUTE: SECOND}
        attributes |= {**_attributes(replace(state, restarts=0)), **keys.due(state.run.id, due_ms)}
        unmoved = Term("taken", Op.EQ, state.taken - page) if state.taken > page else Term("taken", Op.MISSING)
        return Update(keys.run(self._tenant, state.run.id), set=attributes, when=(*condition, unmoved))

    def take(self, before: RunState, state: RunState) -> Update:
        """The change that takes a step. Condition: no attempt has taken, journaled or committed since `before`.

        A commit releases the lease, so an unchanged lease means that no commit happened. The run stays where it is in the index
        DUE, which saves two writes of the index: a sweep that finds it due before its worker is done postpones it.
        """
        unchanged_terms = (Term("journal", Op.EQ, before.journal), Term("lease", Op.EQ, before.lease))
        has_died = state.take_ups != before.take_ups
        extra = {"take_ups": _TAKE_UPS.dump_json(state.take_ups, exclude_defaults=True).decode()} if has_died else {}
        return self._lease(state, (*running(before.attempt), *unchanged_terms), **extra)

    def keep(self, state: RunState, due_ms: int) -> Update:
        """The change by which the lease's holder extends the lease for a later attempt, as an attempt of its own. A lease of 0
        releases the step.
        """
        return self._lease(state, running(state.attempt - 1), **keys.due(state.run.id, due_ms))

    def renew(self, before: RunState, state: RunState) -> Update:
        """The change by which the lease's holder renews the lease for itself. Condition: no attempt has taken the step since
        `before`, and the holder has not committed, which releases the lease. The run stays where it is in the index DUE, as when
        it is taken.
        """
        return self._lease(state, (*running(before.attempt), Term("lease", Op.EQ, before.lease)))

    def _lease(self, state: RunState, condition: Condition, **more: str) -> Update:
        attributes: dict[str, Value] = {
            "attempt": state.attempt,
            "lease": state.lease,
            "holder": state.holder,
            "wt": state.token,
            "restarts": 0,
            **more,
            **keys.listed(self._tenant, OPEN, state.run.id),
        }
        return Update(keys.run(self._tenant, state.run.id), set=attributes, when=condition)

    def postpone(self, state: RunState, due_ms: int) -> Update:
        """The change by which a sweep postpones a run that a worker holds. Condition: that worker still holds it."""
        condition = (*running(state.attempt), Term("lease", Op.EQ, state.lease))
        return Update(keys.run(self._tenant, state.run.id), set=keys.due(state.run.id, due_ms), when=condition)

    def sweep(self, state: RunState, due_ms: int) -> Update:
        """The change by which a sweep takes a run up. Of two concurrent sweeps one fails its condition."""
        attributes: dict[str, Value] = {"sweeps": state.sweeps, "restarts": state.restarts, "wt": state.token}
        attributes |= keys.due(state.run.id, due_ms)
        condition = (*running(state.attempt), Term("sweeps", Op.EQ, state.sweeps - 1))
        return Update(keys.run(self._tenant, state.run.id), set=attributes, when=condition)

    def end_row(self, run: StoredRun) -> Put:
        """The change that writes the list row of a run that has ended or started."""
        return Put(self._row(run))

    def _row(self, run: StoredRun) -> dict[str, Value]:
        key = keys.run_row(self._tenant, run.agent_id, run.id)
        row: dict[str, Value] = {
            "pk": key.pk,
            "sk": key.sk,
            "status": run.status.value,
            "stop_reason": run.stop_reason.value if run.stop_reason else "",
            "background": bool(run.background),
            "conversation": run.conversation_id or "",
            **keys.listed(self._tenant, "RUNS", run.id),
        }
        return row

    def walk_open(self, span: IdRange, *, first: int, descending: bool = False) -> Iterator[RunState]:
        """The runs that have not ended, in the order of their ids, read lazily through the index LISTS, which may lag.

        A run that an older version of the server has written is listed from its next step on.
        """
        found = map(self.read, lists.walked(self._table, OPEN, span, first=first, descending=descending))
        return (state for state in found if not state.ended)

    def walk(
        self, agent_ids: Sequence[str], span: IdRange = ALL, *, first: int = CHUNK, descending: bool = False
    ) -> Iterator[Item]:
        """The list rows of these agents' runs in the order of their ids, read lazily: `first` of them at once, then more and
        more.

        Without agents: the list rows of all runs, through the index LISTS, which may lag.
        """
        if not agent_ids:
            return lists.walked(self._table, "RUNS", span, first=first, descending=descending)
        walks = [
            self._walk(keys.agent(self._tenant, agent_id).pk, span, first, descending) for agent_id in dict.fromkeys(agent_ids)
        ]
        return heapq.merge(*walks, key=lambda row: str(row["sk"]), reverse=descending)

    def _walk(self, pk: str, span: IdRange, first: int, descending: bool) -> Iterator[Item]:
        after, before = (None if edge is None else f"RUN#{edge}" for edge in span)
        chunk = min(max(first, 1), lists.MOST_AT_ONCE)
        while True:
            rows = self._table.query(pk, prefix="RUN#", after=after, before=before, limit=chunk, descending=descending)
            yield from rows
            if len(rows) < chunk:
                return
            last = str(rows[-1]["sk"])
            after, before = (after, last) if descending else (last, before)
            chunk = min(2 * chunk, lists.MOST_AT_ONCE)

    # the journal and the claims

    def put_journal(self, run_id: str, journal: Journal, now: datetime) -> Put:
        """The change that writes the journal. It replaces the run's previous journal."""
        key = keys.journal(self._tenant, run_id)
        return Put(self._codec.item(key, journal, ttl=_ttl(now, WORK_LIFE)))

    def journal(self, run_id: str) -> Journal | None:
        """The run's journal, or None."""
        item = self._table.get(keys.journal(self._tenant, run_id))
        return self._codec.record(Journal, item) if item else None

    def journal_of(self, state: RunState) -> Journal | None:
        """The journaled reply that the run's mark names; None without a mark. Reads again until journal and mark agree.

        Raises: Conflict after MAX_READS reads.
        """
        if not state.journal:
            return None
        for _ in range(MAX_READS):
            journal = self.journal(state.run.id)
            if journal is not None and journal.mark == state.journal:
                return journal
        raise Conflict(f"CONFLICT: The journal of run {state.run.id} does not settle; try again.")

    def put_claim(self, state: RunState, claim: Claim, token: str, now: datetime) -> Put:
        """The change that claims a call of the run's current step. Condition: the call has no claim."""
        key = claim_key(self._tenant, state, claim.call_id)
        return Put(self._codec.item(key, claim, wt=token, ttl=_ttl(now, WORK_LIFE)), ABSENT)

    def finish_claim(self, state: RunState, claim: Claim, token: str) -> Update:
        """The change that writes a call's result to its claim. Only the claim's writer may, also after the end of its attempt."""
        key = claim_key(self._tenant, state, claim.call_id)
        return Update(key, set=self._codec.body(key, claim, ephemeral=True), when=(Term("wt", Op.EQ, token),))

    def claim(self, state: RunState, call_id: str) -> Claim | None:
        """The claim of a call of the run's current step."""
        item = self._table.get(claim_key(self._tenant, state, call_id))
        return self._codec.record(Claim, item) if item else None

    def unclaimed(self, state: RunState, call_id: str) -> Check:
        """The condition that the call has no claim."""
        return Check(claim_key(self._tenant, state, call_id), ABSENT)

    # events

    def put_events(self, run_id: str, first_seq: int, events: Sequence[RunEvent], now: datetime, *, token: str = "") -> Put:
        """The change that writes a batch of events at consecutive numbers. Put-if-absent: no number names two events.

        `token`: the writer's token, where the batch is a transaction of its own.
        """
        key = keys.events(self._tenant, run_id, first_seq)
        batch = EventBatch(first_seq=first_seq, events=list(events))
        return Put(self._codec.item(key, batch, wt=token, ttl=_ttl(now, EVENT_LIFE)), ABSENT)

    def events(
        self, run_id: str, after: int, now: datetime, *, batches: int | None = None, aligned: bool = False
    ) -> list[tuple[int, RunEvent]]:
        """The contiguous events after the number `after`, with their numbers. Events behind a gap are left out.

        `batches`: the maximum of batches to read. `aligned`: `after` is the last number of its batch, which saves a read.
        """
        start = keys.events(self._tenant, run_id, after).sk if aligned else self._batch_before(run_id, after)
        items = self._table.query(keys.run(self._tenant, run_id).pk, prefix="EV#", after=start, limit=batches)
        found: list[tuple[int, RunEvent]] = []
        next_number = after + 1
        for item in items:
            if expired(item, now):
                continue
            batch = self._codec.record(EventBatch, item)
            if batch.first_seq > next_number:
                break
            for number, event in enumerate(batch.events, batch.first_seq):
                if number == next_number:
                    found.append((number, event))
                    next_number += 1
        return found

    def has_lost_events(self, state: RunState, now: datetime) -> bool:
        """Whether the first events of the run's log have expired, so that the others have no known numbers."""
        if state.run.created_at + EVENT_LIFE > now:
            return False
        items = self._table.query(keys.run(self._tenant, state.run.id).pk, prefix="EV#", limit=1, names=("sk", "ttl"))
        first = keys.events(self._tenant, state.run.id, 1).sk
        return str(items[0]["sk"]) != first or expired(items[0], now) if items else state.next_seq > 1

    def _batch_before(self, run_id: str, after: int) -> str | None:
        """The exclusive lower bound of the sort key of the batch that holds number after+1. A batch's key is its first number."""
        if after <= 0:
            return None
        upper = keys.events(self._tenant, run_id, after + 2).sk
        items = self._table.query(
            keys.run(self._tenant, run_id).pk, prefix="EV#", before=upper, limit=2, descending=True, names=("sk",)
        )
        return str(items[1]["sk"]) if len(items) > 1 else None


def running(attempt: int) -> Condition:
    """The condition of each write of a step: the run is running and the attempt is the newest."""
    return (Term("status", Op.EQ, RunStatus.RUNNING.value), Term("attempt", Op.EQ, attempt))


def unchanged(state: RunState) -> Condition:
    """The condition for ending a run from outside: status, journal and write token are as they were read."""
    return (Term("status", Op.EQ, state.run.status.value), Term("journal", Op.EQ, state.journal), Term("wt", Op.EQ, state.token))


def claim_key(tenant: str, state: RunState, call_id: str) -> Key:
    """The key of a claim of the run's current step. A provider may repeat a call id in another step, so the step is part of
    it.
    """
    return keys.claim(tenant, state.run.id, claimed_step(state), call_id)


def claimed_step(state: RunState) -> int:
    """The number of the current step in the keys of its claims. Calls of an earlier run have step -1."""
    return -1 if state.run.resolve else state.run.steps


def _attributes(state: RunState) -> dict[str, Value]:
    return {
        "status": state.run.status.value,
        "attempt": state.attempt,
        "lease": state.lease,
        "holder": state.holder,
        "journal": state.journal,
        "next_seq": state.next_seq,
        "last_seq": state.last_seq,
        "sweeps": state.sweeps,
        "restarts": state.restarts,
        "wt": state.token,
    }


def _ttl(now: datetime, life: timedelta) -> int:
    return int((now + life).timestamp())
