"""An agent in a temporary data folder, with the model under test. Each check creates its own agent."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from uuid import uuid4

from hibernaut.rest.dependencies import Services
from hibernaut.schemas.agents.agent import CreateAgentRequest, UpdateAgent
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.ids import DEFAULT_TENANT
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.block import BlockUpdate, StoredBlock
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.events import DeltaEvent
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.schemas.runs.send import LettaStreamingRequest
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.tools.tool import ToolCreate
from hibernaut.services.sending.sending import SendRequest
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded

MAX_STEPS = 12
"""The largest number of model calls of one message."""
LONGEST_WAIT = 120.0
"""Seconds that a check waits for the first piece of a reply."""
LOOK = 0.01


class CheckFailed(Exception):
    """The model did not do what the check needs; the text says what it did."""


@immutable
class CheckedRun:
    """A run that has ended, with its rows of the log."""

    run: StoredRun
    rows: Sequence[Message]

    @property
    def text(self) -> str:
        """The text of the agent's replies, of all rows."""
        rows = [row for row in self.rows if row.role == "assistant"]
        return " ".join(part.text for row in rows for part in row.content if part.type == "text")

    @property
    def calls(self) -> list[list[str]]:
        """The names of the tools that were called, by reply."""
        return [[call.function.name for call in row.tool_calls] for row in self.rows if row.tool_calls]

    def ends(self, reason: StopReason = StopReason.END_TURN) -> CheckedRun:
        """The same run. Raises: CheckFailed if it ended otherwise."""
        if self.run.stop_reason is not reason:
            failure = (
                f"{self.run.error.code}: {self.run.error.message}" if self.run.error else f"it ended with {self.run.stop_reason}"
            )
            raise CheckFailed(failure)
        return self


class CheckedAgent:
    """Makes an agent of the model `handle` and sends to it. `used` are all runs so far."""

    def __init__(self, embedded: Embedded, handle: str) -> None:
        self._embedded = embedded
        self._stores = embedded.stores.of(DEFAULT_TENANT)
        self._services: Services = services_of(embedded.stores, embedded.host, embedded.engines).of(DEFAULT_TENANT)
        self.handle = handle
        self.id = ""
        self.used: list[StoredRun] = []
        self._stands_in = False

    def make(self, *, sources: Sequence[str] = (), **fields: object) -> None:
        """A new agent, with custom tools of these sources."""
        names = [self._services.tools.save(ToolCreate(source_code=source)).name for source in sources]
        blocks = [
            {"label": "human", "value": ""},
            {"label": "persona", "value": "You do exactly what the user asks, in few words."},
        ]
        body: JsonObject = {"model": self.handle, "tools": names, "memory_blocks": blocks, "parallel_tool_calls": True, **fields}
        self._stands_in = False
        self.id = self._services.agents.creation.create(CreateAgentRequest.model_validate(body)).id

    def begin(self, content: object, **options: object) -> str:
        """Accept a message, or the answer to a request, and start its run; the run's id."""
        messages = content if isinstance(content, list) else [{"role": "user", "content": content}]
        body = LettaStreamingRequest.model_validate({"messages": messages, "max_steps": MAX_STEPS, **options})
        run_id = self._services.sending.accept(SendRequest(self.id, body, "send_message", uuid4().hex)).run_id
        self._services.sending.start(run_id)
        return run_id

    def send(self, content: object, **options: object) -> CheckedRun:
        """Send, and wait for the end of the run."""
        return self.ended(self.begin(content, **options))

    def ended(self, run_id: str) -> CheckedRun:
        """The run once it has ended."""
        while True:
            state = self._stores.runs.get(run_id)
            if state is not None and state.ended:
                break
            time.sleep(LOOK)
        log = self._stores.conversations.page(self.id)
        if not self._stands_in:
            self.used.append(state.run)
        return CheckedRun(state.run, [row for row in log if row.run_id == run_id])

    def deltas(self, run_id: str) -> int:
        """The number of pieces of the reply that have been streamed so far."""
        events = self._stores.runs.events(run_id, 0, self._embedded.host.clock.now())
        return sum(isinstance(event, DeltaEvent) for _, event in events)

    def wait_for_delta(self, run_id: str) -> None:
        """Wait for the first piece of the reply, or the end of the run. Raises: CheckFailed after `LONGEST_WAIT` seconds."""
        until = time.monotonic() + LONGEST_WAIT
        while not self.deltas(run_id):
            state = self._stores.runs.get(run_id)
            if state is not None and state.ended:
                return
            if time.monotonic() > until:
                raise CheckFailed(f"no piece of a reply came in {LONGEST_WAIT:.0f} seconds")
            time.sleep(LOOK)

    def cancel(self) -> None:
        """Cancel the agent's run."""
        self._services.cancelling.agent(self.id)

    def summarize(self) -> None:
        """Compact the agent's window, as POST …/summarize does."""
        self._services.compactions.on_request(self.id)

    def edit(self, label: str, value: str) -> None:
        """Change a block of the agent, as a client does between two messages."""
        self._services.blocks.update(self._stored_block(label).id, BlockUpdate(value=value))

    def change_model(self, handle: str) -> None:
        """Give the agent another model. What another model than the one under test does is not among `used`."""
        self._services.agents.updates.update(self.id, UpdateAgent(model=handle))
        self._stands_in = handle != self.handle

    def block(self, label: str) -> str:
        """The value of a block of the agent."""
        return self._stored_block(label).value

    def _stored_block(self, label: str) -> StoredBlock:
        agent = self._stores.agents.get(self.id)
        found = self._stores.blocks.get_many(agent.block_ids if agent else [])
        return next(block for block in found.values() if block.label == label)

    def answers(self, run: CheckedRun, answer: Mapping[str, object]) -> CheckedRun:
        """Answer the only call that waits."""
        waiting = [call for row in run.rows if row.role == "approval" for call in row.tool_calls or ()]
        if len(waiting) != 1:
            raise CheckFailed(f"{len(waiting)} calls wait for an answer, not one")
        item = {"tool_call_id": waiting[0].id, **answer}
        return self.send([{"type": "approval", "approvals": [item]}])
