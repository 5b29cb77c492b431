"""Batches of messages: each request is an ordinary background run that `Sending` accepts (RT 13.6).

The requests are stored before the first of them is accepted. A message without an otid gets one that is derived from the batch,
so a worker that takes over after a crash attaches to the runs that exist and accepts the others: no request is lost or accepted
twice. The status of a batch is that of its runs; the sweep notes when all of them have ended, and makes the callback. Must not
know how a run is executed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from heapq import merge
from itertools import islice
from uuid import UUID, uuid5

from hibernaut.domain.wire.listing import Page
from hibernaut.ports.model import Models
from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.ports.tools.web import WebFailure
from hibernaut.schemas.base import JsonObject, wire_time
from hibernaut.schemas.errors import Conflict, HibernautError, NotFound, StoreUnavailable
from hibernaut.schemas.ids import is_id
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.batch import OPEN, BatchItem, BatchRequest, CreateBatch, StoredBatch
from hibernaut.schemas.runs.job import Job, JobStatus
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.schemas.runs.send import MessageCreate
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.services.host import Host
from hibernaut.services.sending.sending import Sending, SendRequest
from hibernaut.services.turns.inputs import inputs_of
from hibernaut.services.turns.run_termination import RunTermination
from hibernaut.store.stores import TenantStores
from hibernaut.store.table.lists.logs import IdRange

TRIES = 10
AT_ONCE = 10
"""The number of requests that are accepted before their runs are noted."""
AGAIN_MS = 60_000
"""Milliseconds after which the sweep looks at a batch again."""
CALLBACK_SECONDS = 5.0
"""The time limit of a callback in seconds."""
_SPACE = UUID("5f0c1a52-6a0e-4b1e-9c39-0d6f0c6b7a11")
"""The name space of the otids of a batch's messages (RFC 9562, version 5)."""
logger = logging.getLogger(__name__)


class Batches:
    """The use cases of batches of messages."""

    def __init__(
        self, stores: TenantStores, host: Host, models: Models, *, sending: Sending, termination: RunTermination
    ) -> None:
        self._stores = stores
        self._models = models
        self._batches = stores.batches
        self._host = host
        self._sending = sending
        self._termination = termination

    def create(self, request: CreateBatch, *, key_id: str | None = None) -> Job:
        """Store the requests and accept them. A request that is refused later, such as that of a busy agent, does not stop the
        others.

        Raises: NotFound (an agent, a model), Unprocessable, InvalidArgument.
        """
        now = self._host.clock.now()
        for one in request.requests:
            inputs_of(one, now)
            if one.override_model:
                self._models.config(one.override_model)
        agents = list(dict.fromkeys(one.agent_id for one in request.requests))
        rows = self._stores.agents.rows_of(agents)
        for agent_id in agents:
            if "name" not in rows.get(agent_id, {}):
                raise NotFound(f"Agent with ID {agent_id} not found")
        batch_id = self._host.ids.new("job")
        items = [
            BatchItem(agent_id=one.agent_id, body=_body_with_otids(one, f"{batch_id} {place}"))
            for place, one in enumerate(request.requests)
        ]
        batch = StoredBatch(
            id=batch_id, items=items, key_id=key_id, created_at=now, updated_at=now, callback_url=request.callback_url
        )
        token = self._host.ids.token()
        self._stores.writer.write(*self._batches.create(batch, self._again(), token), token=token)
        logger.info("batch created", extra={"batch": batch.id, "requests": len(items)})
        return self._accept(batch).job(JobStatus.RUNNING)

    def get(self, batch_id: str) -> Job:
        """One batch, with its status of this moment. Raises: NotFound."""
        batch = self._stored(batch_id)
        return batch.job(self._status(batch))

    def list(self, page_query: Page) -> Sequence[Job]:
        """A page of the batches by creation time, with the statuses that the sweep has noted. Raises: NotFound for a cursor."""
        ids = [str(row["sk"]) for row in self._batches.listed().page(page_query)]
        batches = self._batches.get_many(ids)
        return [batches[batch_id].job(batches[batch_id].status) for batch_id in ids if batch_id in batches]

    def messages(self, batch_id: str, agent_id: str | None, page_query: Page) -> Sequence[Message]:
        """A page of the rows that the runs of a batch have written, by time. `agent_id`: only those of this agent. Raises:
        NotFound.
        """
        batch = self._stored(batch_id)
        states = self._stores.runs.get_many(batch.run_ids) if batch.run_ids else {}
        low, high = (page_query.before, page_query.after) if page_query.descending else (page_query.after, page_query.before)

        def own(run: StoredRun) -> tuple[str, IdRange]:
            """The log of a run, which is its agent's default one, and the range of the run's own rows that the page may hold."""
            first, last = run.first_message or "", run.last_message or run.first_message or ""
            span = IdRange(after=max(first[:-1], low or ""), before=min(f"{last}~", high or "~"))
            return run.agent_id, span

        runs = [states[run_id].run for run_id in batch.run_ids if run_id in states]
        selected = [run for run in runs if run.first_message and agent_id in (None, run.agent_id)]
        spans = [own(run) for run in selected]
        pages = self._stores.conversations.logs.own_pages(spans, limit=page_query.limit, descending=page_query.descending)
        merged = merge(*pages, key=lambda row: row.id, reverse=page_query.descending)
        return list(islice(merged, page_query.limit))

    def cancel(self, batch_id: str) -> None:
        """Cancel the runs of a batch that have not ended, and accept no more of its requests. Raises: NotFound, Conflict."""
        batch = self._change(batch_id, lambda found: found.model_copy(update={"cancelled": True}))
        self._end_runs(batch)

    def go_on(self, batch_id: str) -> None:
        """Accept what a dead worker has left, note the end of a batch, and make its callback. Called by the sweep."""
        batch = self._batches.get(batch_id)
        if batch is None:
            return
        if batch.status in OPEN:
            batch = self._accept(batch)
            if batch.cancelled:
                self._end_runs(batch)
            status = self._status(batch)
            now = self._host.clock.now()
            over = {"status": status, "completed_at": now} if status not in OPEN else {}
            batch = self._change(batch_id, lambda found: found.model_copy(update=over) if found.status in OPEN else found)
        if batch.status not in OPEN and batch.callback_url is not None and batch.callback_sent_at is None:
            self._call_back(batch)

    def _accept(self, batch: StoredBatch) -> StoredBatch:
        """Accept the requests that wait, and note their runs."""
        while places := [index for index, item in enumerate(batch.items) if item.waits and not batch.cancelled][:AT_ONCE]:
            accepted = {index: self._accepted(batch, index) for index in places}
            if all(item.waits for item in accepted.values()):
                return batch  # The table cannot be reached: the sweep resumes the batch.

            def with_runs(stored: StoredBatch, accepted: dict[int, BatchItem] = accepted) -> StoredBatch:
                items = [accepted.get(index, item) if item.waits else item for index, item in enumerate(stored.items)]
                return stored.model_copy(update={"items": items})

            batch = self._change(batch.id, with_runs)
        return batch

    def _accepted(self, batch: StoredBatch, place: int) -> BatchItem:
        item = batch.items[place]
        body = BatchRequest.model_validate(item.body)
        digest = f"{batch.id} {place}"
        links: JsonObject = {"batch_id": batch.id}
        # The sweep may take over where no provider is known, so the model is checked at the creation alone.
        request = SendRequest(
            item.agent_id, body, "batch_messages", digest, background=True, key_id=batch.key_id, model_checked=True, links=links
        )
        try:
            accepted = self._sending.accept(request)
        except StoreUnavailable:
            return item
        except HibernautError as error:
            return BatchItem(agent_id=item.agent_id, refusal=f"{error.code}: {error.detail}")
        if not accepted.attached and not accepted.waits:
            self._sending.start(accepted.run_id)
        return BatchItem(agent_id=item.agent_id, run_id=accepted.run_id)

    def _status(self, batch: StoredBatch) -> JobStatus:
        """The status by the runs: over when no request waits and all runs have ended; `failed` if none of them has completed."""
        if batch.status not in OPEN:
            return batch.status
        if any(item.waits for item in batch.items) and not batch.cancelled:
            return JobStatus.RUNNING
        states = self._stores.runs.get_many(batch.run_ids) if batch.run_ids else {}
        if not all(state.ended for state in states.values()):
            return JobStatus.RUNNING
        if batch.cancelled:
            return JobStatus.CANCELLED
        completed = any(state.run.status is RunStatus.COMPLETED for state in states.values())
        return JobStatus.COMPLETED if completed else JobStatus.FAILED

    def _end_runs(self, batch: StoredBatch) -> None:
        states = self._stores.runs.get_many(batch.run_ids) if batch.run_ids else {}
        for run_id in reversed(batch.run_ids):  # Queued runs end before the run that would hand over to them.
            if run_id in states and not states[run_id].ended:
                self._termination.end(run_id, StopReason.CANCELLED)

    def _call_back(self, batch: StoredBatch) -> None:
        """Send the callback, unless another worker sends it. It is sent again only if its worker dies before the outcome is
        stored.
        """
        claimed = self._write_if_unchanged(batch, batch)
        if claimed is None:
            return
        outcome: JsonObject = {"callback_sent_at": self._host.clock.now()}
        completed_at = wire_time(batch.completed_at) if batch.completed_at else None
        body = {"job_id": batch.id, "status": batch.status.value, "completed_at": completed_at}
        try:
            outcome["callback_status_code"] = self._host.web.post(batch.callback_url or "", body, seconds=CALLBACK_SECONDS)
        except WebFailure as failure:
            outcome["callback_error"] = str(failure)
        logger.info("batch callback sent", extra={"batch": batch.id, "status": outcome.get("callback_status_code")})
        self._write_if_unchanged(claimed, claimed.model_copy(update=outcome))

    def _stored(self, batch_id: str) -> StoredBatch:
        batch = self._batches.get(batch_id) if is_id(batch_id, "job") else None
        if batch is None:
            raise NotFound(f"Batch with id {batch_id} not found.")
        return batch

    def _change(self, batch_id: str, decide: Callable[[StoredBatch], StoredBatch]) -> StoredBatch:
        """Change a batch. Raises: NotFound, Conflict."""
        for _ in range(TRIES):
            before = self._stored(batch_id)
            after = self._write_if_unchanged(before, decide(before))
            if after is not None:
                return after
        raise Conflict("CONFLICT: The batch keeps being changed by other requests; try again.")

    def _write_if_unchanged(self, before: StoredBatch, after: StoredBatch) -> StoredBatch | None:
        """Write a batch, which stays in the index DUE until it is over and called back. None: it has changed since `before`."""
        after = after.model_copy(update={"updated_at": self._host.clock.now()})
        callback_done = after.callback_url is None or after.callback_sent_at is not None
        due_ms = None if after.status not in OPEN and callback_done else self._again()
        token = self._host.ids.token()
        try:
            self._stores.writer.write(self._batches.change(before, after, due_ms, token), token=token)
        except ConditionFailed:
            return None
        return after.model_copy(update={"version": before.version + 1})

    def _again(self) -> int:
        return int(self._host.clock.now().timestamp() * 1000) + AGAIN_MS


def _body_with_otids(request: BatchRequest, place: str) -> JsonObject:
    """The body of a request in which every message has an otid."""
    messages = request.messages
    if messages is None and request.input is not None:
        messages = [MessageCreate(role="user", content=request.input)]
    with_otids = [
        one if one.otid else one.model_copy(update={"otid": str(uuid5(_SPACE, f"{place} {number}"))})
        for number, one in enumerate(messages or ())
    ]
    body: JsonObject = request.model_dump(mode="json", exclude_unset=True, exclude={"input", "messages"})
    return body | {
        "agent_id": request.agent_id,
        "messages": [one.model_dump(mode="json", exclude_none=True) for one in with_otids],
    }
