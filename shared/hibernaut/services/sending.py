"""Sending messages to an agent: validate, accept (one transaction: the run and its input), start the workflow.

Only after the transaction does anything answer "yes" (architecture 1, invariant 2). A request that was accepted before attaches to its run.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from hibernaut.domain.window import tokens_of
from hibernaut.ports.model import Models
from hibernaut.ports.table import ConditionFailed
from hibernaut.ports.workflow import RunRef
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.conversation import Head
from hibernaut.schemas.errors import Busy, Conflict, InvalidArgument, NotFound, Unprocessable
from hibernaut.schemas.message import Message
from hibernaut.schemas.run import RunOptions, StoredRun
from hibernaut.schemas.send import LettaRequest, MessageCreate, RequestConfig
from hibernaut.schemas.stop import RunStatus
from hibernaut.services.host import Host
from hibernaut.store.runs import RunState
from hibernaut.store.stores import Stores
from hibernaut.store.transactions import Print

TRIES = 50
MOST_MESSAGES = 40
"""Messages of one request: so many that they fit, with what else belongs into it, into the transaction that brings them into the log."""
MOST_WAITING = 100
"""Runs that may wait for one conversation."""
_NO_APPROVAL = (
    "Cannot process approval response: No tool call is currently awaiting approval. "
    "Please send a regular message to interact with the agent."
)
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Request:
    """One request to an agent, as a route hands it over.

    `run_type` is shown in the run's metadata (Letta V1 API, digest 5.1). `retry` is the client's count of re-sends and `digest` a hash
    of the body: together they recognise a request that was accepted before.
    """

    agent_id: str
    body: LettaRequest
    run_type: str
    digest: str
    retry: int = 0
    background: bool = False
    callback_url: str | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """`attached`: the run was there already. `waits`: it stands in the queue."""

    run_id: str
    attached: bool = False
    waits: bool = False


class Sending:
    def __init__(self, stores: Stores, host: Host, models: Models) -> None:
        self._stores = stores
        self._host = host
        self._models = models

    def accept(self, tenant: str, request: Request) -> Accepted:
        """The run of this request, committed with its input.

        Raises: Unprocessable, InvalidArgument, NotFound, Busy where the queue is full.
        """
        inputs = self._inputs(request.body)
        if request.body.override_model:
            self._models.config(request.body.override_model)
        for _ in range(TRIES):
            head = self._stores.conversations.head(tenant, request.agent_id)
            if head is None:
                raise NotFound(f"Agent with ID {request.agent_id} not found")
            known = self._stores.resends.look(tenant, head.id, request.digest, [one.otid for one in inputs], request.retry)
            try:
                if known.arrived is not None:
                    token = self._host.ids.token()
                    self._stores.writer.write(replace(known.arrived, set={**known.arrived.set, "wt": token}), token=token)
                if known.run_id is not None:
                    return Accepted(known.run_id, attached=True)
                return self._accepted(tenant, head, request, inputs, known.marks)
            except ConditionFailed:
                continue
        raise Conflict("The conversation is too busy to take the message; try again.")

    def start(self, tenant: str, run_id: str, *, inline: bool = False) -> None:
        """Start the run's workflow; the sweep takes up what this call does not reach."""
        self._host.workflow.start(RunRef(tenant, run_id), inline=inline)

    def _inputs(self, body: LettaRequest) -> list[MessageCreate]:
        if (body.messages is None) == (body.input is None):
            raise Unprocessable("Exactly one of 'input' or 'messages' must be given.")
        if body.input is not None:
            return [MessageCreate(role="user", content=body.input)]
        if not body.messages:
            raise Unprocessable("Messages must not be empty")
        if len(body.messages) > MOST_MESSAGES:
            raise Unprocessable(f"At most {MOST_MESSAGES} messages can be sent at once")
        plain = [one for one in body.messages if isinstance(one, MessageCreate)]
        if len(plain) < len(body.messages):
            raise InvalidArgument(_NO_APPROVAL)
        return plain

    def _accepted(
        self, tenant: str, head: Head, request: Request, inputs: Sequence[MessageCreate], marks: Sequence[Print]
    ) -> Accepted:
        now = self._host.clock.now()
        run = self._run(request, head, now)
        rows, last = [], head.last_message
        for one in inputs:
            last = self._host.ids.new("message", after=last)
            rows.append(_row(one, last, run, now))
        token = self._host.ids.token()
        transactions = self._stores.transactions
        if head.owner or head.pending:
            if head.waiting >= MOST_WAITING:
                raise Busy(
                    f"CONFLICT: Cannot send a new message: {head.waiting} messages wait for this agent already.", head.owner
                )
            run.input = rows
            state = RunState(run, token=token)
            self._stores.writer.write(*transactions.enqueue(tenant, head, state, marks, now), token=token)
            return Accepted(run.id, waits=True)
        run.status = RunStatus.RUNNING
        run.first_message, run.last_message = rows[0].id, rows[-1].id
        state = RunState(run, token=token)
        self._stores.writer.write(*transactions.accept(tenant, head, state, rows, marks, now), token=token)
        logger.info("run accepted", extra={"run_id": run.id, "agent_id": run.agent_id})
        return Accepted(run.id)

    def _run(self, request: Request, head: Head, now: datetime) -> StoredRun:
        body = request.body
        metadata: JsonObject = {"run_type": request.run_type}
        return StoredRun(
            id=self._host.ids.new("run"),
            agent_id=request.agent_id,
            conversation_id=None if head.id == request.agent_id else head.id,
            created_at=now,
            background=request.background,
            metadata=metadata,
            callback_url=request.callback_url,
            request_config=RequestConfig(**body.model_dump(include=set(RequestConfig.model_fields))),
            options=RunOptions(**body.model_dump(include=set(RunOptions.model_fields))),
        )


def body_digest(agent_id: str, body: bytes) -> str:
    """The fingerprint of a request's body."""
    return hashlib.sha256(agent_id.encode() + b"\n" + body).hexdigest()


def _row(one: MessageCreate, message_id: str, run: StoredRun, now: datetime) -> Message:
    """A caller's message as a row of the log. Its otid is the caller's, or made from the row's id."""
    content = [TextContent(text=one.content)] if isinstance(one.content, str) else list(one.content)
    row = Message(
        id=message_id,
        role=one.role,
        content=content,
        agent_id=run.agent_id,
        conversation_id=run.conversation_id,
        run_id=run.id,
        name=one.name,
        otid=one.otid or str(UUID(message_id[-36:])),
        sender_id=one.sender_id,
        group_id=one.group_id,
        batch_item_id=one.batch_item_id,
        created_at=now,
    )
    row.tokens = tokens_of(row)
    return row
