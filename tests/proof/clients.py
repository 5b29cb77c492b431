"""The clients of a story. They repeat requests that were not answered, as the SDK does (`x-stainless-retry-count`).

Knows the use cases behind the routes. Must not know engines or faults.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Literal, Protocol

from hibernaut.domain.agents.group_turns import is_group
from hibernaut.ports.clock import Clock
from hibernaut.schemas.agents.agent_file import ImportOptions
from hibernaut.schemas.agents.schedule import CreateSchedule, OneTimeSchedule, ScheduledMessageCreate
from hibernaut.schemas.errors import ImportContinues
from hibernaut.schemas.messages.letta_message import ApprovalItem, ApprovalReturn, WireToolReturn
from hibernaut.schemas.runs.send import ApprovalCreate, ClientTool, LettaRequest, LettaStreamingRequest, MessageCreate
from hibernaut.schemas.stop import StopReason
from hibernaut.services.agent_documents.agent_documents import AgentDocuments
from hibernaut.services.resting.pack_writer import Allowance
from hibernaut.services.resting.resting import Resting
from hibernaut.services.schedules.schedules import ScheduleQuery, Schedules
from hibernaut.services.sending.sending import Sending, SendRequest
from hibernaut.services.turns.run_termination import RunTermination
from hibernaut.store.stores import TenantStores
from tests.proof.imported import file_for

TENANT = "default"


AHEAD = timedelta(hours=1)
"""What is added to the clock, so that a message of this moment is old."""
SOON_MS = 500
"""Milliseconds after which a schedule fires: so soon that it is due at once."""


class Desk(Protocol):
    """The server as its clients reach it."""

    stores: TenantStores
    sending: Sending
    termination: RunTermination
    schedules: Schedules
    documents: AgentDocuments
    clock: Clock

    def fire(self, schedule_id: str) -> None:
        """Fire a schedule, as what watches its time does."""

    def start(self, run_id: str) -> None:
        """Start the workflow of an accepted run."""

    def drive(self) -> None:
        """Continue until no run advances by itself."""

    def settle(self) -> None:
        """Continue until every run that can end has ended, including the runs of dead workers."""


@dataclass
class Notes:
    """The memory of a client, which outlives the server: the bodies that it sent, the run ids that it received, and the names of
    its current requests (`asking`).

    `file` stores the notes if the client runs in the process that dies.
    """

    bodies: dict[str, str] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    asking: set[str] = field(default_factory=set)
    file: Path | None = None

    @classmethod
    def of(cls, file: Path) -> Notes:
        kept = json.loads(file.read_text()) if file.exists() else {}
        return cls(kept.get("bodies", {}), kept.get("answers", {}), file=file)

    def said(self, acts: Sequence[Act]) -> list[str]:
        """The messages that were answered."""
        return [act.text for act in acts if act.text and self.answers.get(act.name)]

    def keep(self) -> None:
        """Store the notes atomically: the process may be killed at any moment."""
        if self.file is not None:
            whole = self.file.with_suffix(".new")
            whole.write_text(json.dumps({"bodies": self.bodies, "answers": self.answers}))
            whole.replace(self.file)


@dataclass
class Client:
    """All clients of one story, over one server after another."""

    agent_id: str
    notes: Notes
    desk: Desk

    def does(self, acts: Sequence[Act]) -> None:
        """Perform the acts that have not been answered."""
        for act in acts:
            if act.name not in self.notes.answers:
                act.done(self)
        self.desk.drive()

    def ask(self, name: str, body: Callable[[], LettaRequest]) -> None:
        """Send the request until it is accepted; a request without an answer is repeated. The body is created once."""
        if name in self.notes.answers or name in self.notes.asking:
            return
        self.notes.asking.add(name)
        try:
            self._asked(name, body)
        finally:
            self.notes.asking.remove(name)

    def _asked(self, name: str, body: Callable[[], LettaRequest]) -> None:
        retry = int(name in self.notes.bodies)
        if not retry:
            self.notes.bodies[name] = body().model_dump_json(exclude_unset=True)
            self.notes.keep()
        text = self.notes.bodies[name]
        digest = hashlib.sha256(text.encode()).hexdigest()
        said = LettaStreamingRequest.model_validate_json(text)
        request = SendRequest(
            self.agent_id, said, "send_message_streaming" if said.streaming else "send_message", digest, retry=retry
        )
        if is_group(self.agent_id):
            request = replace(request, links={"group_id": self.agent_id})
        accepted = self.desk.sending.accept(request)
        self.notes.answers[name] = accepted.run_id
        self.notes.keep()
        if not accepted.attached and not accepted.waits:
            self.desk.start(accepted.run_id)

    def run_of(self, name: str) -> str | None:
        """The run of the request with this name; None if it led to no run."""
        return self.notes.answers.get(name) or None

    def owner(self) -> str | None:
        head = self.desk.stores.conversations.head(self.agent_id)
        return head.owner if head else None


class Act(Protocol):
    """A request of a client, with a unique name."""

    @property
    def name(self) -> str: ...

    @property
    def text(self) -> str:
        """The text of its message; empty if it has none."""

    def done(self, client: Client) -> None: ...


@dataclass(frozen=True)
class Say:
    """A message. `waits`: it is sent after all earlier requests have ended. `tokens`: the reply streams tokens."""

    text: str
    waits: bool = True
    when_busy: Literal["queue", "reject", "interrupt"] | None = None
    client_tools: tuple[str, ...] = ()
    deadline: int | None = None
    tokens: bool = False

    @property
    def name(self) -> str:
        return self.text[:20]

    def done(self, client: Client) -> None:
        client.ask(self.name, self._body)
        if self.waits:
            client.desk.drive()

    def _body(self) -> LettaRequest:
        tools = [
            ClientTool(name=name, parameters={"type": "object", "properties": {"x": {"type": "string"}}})
            for name in self.client_tools
        ]
        body = LettaRequest(messages=[MessageCreate(role="user", content=self.text)])
        if self.tokens:
            body = LettaStreamingRequest(messages=body.messages, streaming=True, stream_tokens=True)
        if tools:
            body = body.model_copy(update={"client_tools": tools})
        if self.when_busy:
            body = body.model_copy(update={"when_busy": self.when_busy})
        if self.deadline:
            body = body.model_copy(update={"approval_deadline": self.deadline})
        return body


@dataclass(frozen=True)
class Answer:
    """The answer to a pending approval: all calls are approved, all are denied, or they alternate. Calls of client-side tools get
    results.

    `text`: a further message in the same request.
    """

    name: str
    how: Literal["yes", "no", "mixed"] = "yes"
    text: str = ""

    def done(self, client: Client) -> None:
        if self.name not in client.notes.bodies and not self._pending(client):
            client.desk.settle()
            if not self._pending(client):
                client.notes.answers[self.name] = ""  # the run was closed before it could ask
                client.notes.keep()
                return
        client.ask(self.name, lambda: self._body(client))
        client.desk.drive()

    def _pending(self, client: Client) -> str | None:
        head = client.desk.stores.conversations.head(client.agent_id)
        return head.pending if head else None

    def _body(self, client: Client) -> LettaRequest:
        pending = self._pending(client)
        assert pending is not None, "nothing waits for an answer"
        kept = client.desk.stores.approvals.get(pending)
        assert kept is not None
        items: list[ApprovalItem] = []
        for number, call in enumerate(kept.record.held):
            if call.client:
                items.append(WireToolReturn(type="tool", tool_return="the client did it", status="success", tool_call_id=call.id))
            else:
                approve = self.how == "yes" or (self.how == "mixed" and number % 2 == 0)
                reason = None if approve else "not now"
                items.append(ApprovalReturn(type="approval", tool_call_id=call.id, approve=approve, reason=reason))
        messages = [
            ApprovalCreate(type="approval", approvals=items),
            *([MessageCreate(role="user", content=self.text)] if self.text else []),
        ]
        return LettaRequest(messages=list(messages))


@dataclass(frozen=True)
class Scheduled:
    """A message that a schedule of one time sends. Whoever plays the act fires it; a sweep may have done so before."""

    text: str

    @property
    def name(self) -> str:
        return self.text[:20]

    def done(self, client: Client) -> None:
        schedules = client.desk.schedules
        made = schedules.page(ScheduleQuery(client.agent_id)).scheduled_messages
        schedule_id = made[0].id if made else self._made(client)
        client.desk.fire(schedule_id)
        (outcome,) = schedules.retrieve(schedule_id, client.agent_id).outcomes
        client.notes.answers[self.name] = outcome.run_id or ""
        client.notes.keep()
        client.desk.drive()

    def _made(self, client: Client) -> str:
        soon = client.desk.clock.now().timestamp() * 1000 + SOON_MS
        body = CreateSchedule(
            messages=[ScheduledMessageCreate(role="user", content=self.text)], schedule=OneTimeSchedule(scheduled_at=soon)
        )
        return client.desk.schedules.create(client.agent_id, body, None).id


@dataclass(frozen=True)
class Import:
    """The import of an agent file. A request without an answer is repeated, and finds the import of the first one."""

    name: str
    text: str = ""

    def done(self, client: Client) -> None:
        documents, digest = client.desk.documents, hashlib.sha256(f"{self.name} {client.agent_id}".encode()).hexdigest()
        result = documents.repeated(digest) if self.name in client.notes.bodies else None
        client.notes.bodies[self.name] = digest
        client.notes.keep()
        try:
            options = ImportOptions(append_copy_suffix=False)
            result = result or documents.import_(file_for(client.agent_id), options, digest=digest)
        except ImportContinues:
            client.desk.settle()
            result = documents.repeated(digest)
        client.notes.answers[self.name] = ""
        client.notes.keep()
        assert result is not None


@dataclass(frozen=True)
class Rest:
    """The agent is put to rest, as the sweep does with one that has been idle. The next message wakes it."""

    name: str
    text: str = ""

    def done(self, client: Client) -> None:
        client.desk.settle()
        stores, clock = client.desk.stores, client.desk.clock
        rests = Resting(stores, clock).rest(client.agent_id, idle_since=clock.now() + AHEAD, allowance=Allowance(1_000))
        assert rests
        client.notes.answers[self.name] = ""
        client.notes.keep()


@dataclass(frozen=True)
class Withdraw:
    """Cancels the run that waits for an answer."""

    name: str
    text: str = ""

    def done(self, client: Client) -> None:
        run_id = client.run_of("hello")
        assert run_id is not None
        client.desk.termination.end(run_id, StopReason.CANCELLED)
        client.notes.answers[self.name] = ""
        client.notes.keep()
        client.desk.drive()
