"""A whole server over any table, with a scripted model, for tests in which runs advance, processes die and others continue.

`Data` survives a dead process: the table, the blobs, the outside world. A `World` is one process over it; `reborn` is the next
one.
"""

# ruff: noqa: ARG002  a double has the parameters of its port

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from hibernaut.adapters.cipher.key_file import KeyFileCipher
from hibernaut.adapters.clock import TimeOrderedIds
from hibernaut.adapters.signal import ProcessSignal
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.ports.clock import Clock
from hibernaut.ports.meter import NO_METER, Meter
from hibernaut.ports.runs.workflow import RunRef, is_passing
from hibernaut.ports.storage.cipher import NO_CIPHER, Cipher
from hibernaut.ports.storage.table import Table
from hibernaut.ports.tools.web import NO_WEB, Web
from hibernaut.ports.tracing import NO_TRACER, Tracer
from hibernaut.schemas.access.budget import SetBudget
from hibernaut.schemas.agents.agent import AgentType, StoredAgent
from hibernaut.schemas.agents.conversation import Head, Window
from hibernaut.schemas.memory.block import StoredBlock
from hibernaut.schemas.messages.frozen_prompt import PromptMode
from hibernaut.schemas.messages.letta_message import LettaResponse
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.send import LettaRequest, MessageCreate
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.tools.tool import StoredTool
from hibernaut.schemas.tools.tool_rule import ToolRule
from hibernaut.services.budgets.administration import Budgets
from hibernaut.services.host import Host, TraceMode
from hibernaut.services.logs.run_follower import RunFollower
from hibernaut.services.prompt.system_messages import system_row
from hibernaut.services.sending.sending import AcceptedRequest, SendRequest
from hibernaut.services.tool_calls.tool_limits import ToolLimits
from hibernaut.store.runs.runs import RunState
from hibernaut.store.stores import Stores
from hibernaut.wiring.run_engine import RunEngines
from tests.support.blobs import MemoryBlobs
from tests.support.clocks import ManualClock
from tests.support.scripted_model import Script, ScriptedModels, ScriptedRunner

TENANT = "default"
TRIES = 3
MOST_STEPS = 500
NEVER = 3600.0
"""Seconds: longer than any test."""


class Inline:
    """The port `Workflow` on the caller's thread: a started run waits until `drive`, which executes it to its end as `Threads`
    does.
    """

    def __init__(self) -> None:
        self.started: deque[RunRef] = deque()
        self.advance: Callable[[RunRef], str]
        self.compact: Callable[[RunRef], str]
        self.drop: Callable[[RunRef], str]
        self.close: Callable[[RunRef], None]

    def start(self, run: RunRef, *, name: str | None = None, inline: bool = False) -> None:
        self.started.append(run)

    def stop(self, run: RunRef) -> None: ...

    def end_wait(self, run: RunRef, token: str) -> None: ...

    def drive(self) -> None:
        while self.started:
            self._follow(self.started.popleft())

    def _follow(self, run: RunRef) -> None:
        failures, step = 0, self.advance
        for _ in range(MOST_STEPS):
            try:
                follows = step(run)
            except Exception as error:  # noqa: BLE001  as the engine that this double replaces
                failures += 1
                if failures == TRIES:
                    return None if is_passing(error) else self.close(run)
                step = self.drop if step is self.compact else step
                continue
            if follows not in ("advance", "compact"):
                return None
            failures = 0 if follows == "advance" else failures
            step = self.advance if follows == "advance" else self.compact
        raise AssertionError(f"{run.run_id} goes on for ever")


@dataclass
class Data:
    """The state that a dead process leaves: the table's file, the blobs, the clock, and the calls of model and tools.

    `close` closes the table; a table of somebody else is not closed.
    """

    table: Table
    clock: Clock
    models: ScriptedModels
    runner: ScriptedRunner = field(default_factory=ScriptedRunner)
    blobs: MemoryBlobs = field(default_factory=MemoryBlobs)
    sent: dict[str, list[str]] = field(default_factory=dict)
    cipher: Cipher = NO_CIPHER
    close: Callable[[], None] = lambda: None


def data_in(folder: Path, script: Script, **model: object) -> Data:
    clock = ManualClock()
    folder.mkdir(parents=True, exist_ok=True)
    table = SqliteTable(folder / "table.db", now=lambda: clock.now().timestamp())
    cipher = KeyFileCipher(folder / "secrets.key")
    models = ScriptedModels(script, **model)  # type: ignore[arg-type]
    return Data(table, clock, models, blobs=MemoryBlobs(clock), cipher=cipher, close=table.close)


BESIDE = "ring_beside"
"""The custom tool whose calls may be made at once."""


class World:
    """One process. `wrap` wraps its table. `alone`: every other holder of a lease counts as dead.

    `look`: seconds between the checks of a run whose model is called; events of the run are noticed at once. `indexed`: there is
    an index of memory, and messages get pointers. `lease`: seconds of a lease that its worker renews. `host`: further ports of
    its host. `limits`: those of its tools.
    """

    def __init__(
        self,
        data: Data,
        *,
        holder: str = "host:1",
        alone: bool = True,
        wrap: Callable[[Table], Table] = lambda t: t,
        workflow: Inline | None = None,
        look: float = NEVER,
        web: Web = NO_WEB,
        indexed: bool = False,
        traces: TraceMode = "off",
        system_prompt: PromptMode = "frozen",
        tenant_budget: SetBudget | None = None,
        tracer: Tracer = NO_TRACER,
        lease: float | None = None,
        meter: Meter = NO_METER,
        host: Mapping[str, object] = {},
        limits: ToolLimits | None = None,
    ) -> None:
        self.data, self.clock, self.models, self.runner = data, data.clock, data.models, data.runner
        self.ids = TimeOrderedIds(data.clock)
        self.workflow = workflow or Inline()
        self.host = Host(
            data.clock,
            self.ids,
            self.workflow,
            ProcessSignal(),
            holder,
            alone,
            lease,
            look=look,
            web=web,
            traces=traces,
            system_prompt=system_prompt,
            tenant_budget=tenant_budget,
            tracer=tracer,
            meter=meter,
            **host,  # type: ignore[arg-type]
        )
        self.all_stores = Stores(wrap(data.table), data.blobs, data.clock, indexed=indexed, cipher=data.cipher)
        self.engines = RunEngines(self.all_stores, self.host, data.models, data.runner, limits or ToolLimits())
        self.stores, self.chain = self.all_stores.of(TENANT), self.engines.of(TENANT)
        self.sending = self.chain.sending
        self.budgets = Budgets(self.all_stores, TENANT, data.clock, tenant_budget)
        self.run_follower = RunFollower(self.stores, self.host)
        self.workflow.advance = lambda run: self.engines.of(run.tenant).turns.advance(run.run_id).next
        self.workflow.compact = lambda run: self.engines.of(run.tenant).compactions.compact(run.run_id).next
        self.workflow.drop = lambda run: self.engines.of(run.tenant).turns.advance(run.run_id, drop=True).next
        self.workflow.close = lambda run: self.engines.of(run.tenant).termination.end(run.run_id, StopReason.ERROR)

    # making

    def make_agent(
        self,
        *,
        kind: AgentType = AgentType.LETTA_V1,
        blocks: Mapping[str, str] | Sequence[StoredBlock] = {},
        tools: Sequence[str] = (),
        rules: Sequence[ToolRule] = (),
        tags: Sequence[str] = (),
    ) -> str:
        """Create an agent; returns its id. Tools that do not exist are created as custom tools."""
        now, token = self.clock.now(), self.ids.token()
        made = [] if not isinstance(blocks, Mapping) else [self._block(label, value) for label, value in blocks.items()]
        attached = made if isinstance(blocks, Mapping) else list(blocks)
        known = self.stores.tools.by_name(tools)
        custom = [self._tool(name) for name in tools if name not in known]
        by_name = {tool.name: tool.id for tool in (*known.values(), *custom)}
        agent = StoredAgent(
            id=self.ids.new("agent"),
            name="Ada",
            system="You are a test.",
            agent_type=kind,
            created_at=now,
            updated_at=now,
            llm_config=self.models.config("test/scripted"),
            tool_rules=list(rules),
            tags=list(tags),
            block_ids=[block.id for block in attached],
            tool_ids=[by_name[name] for name in tools],
        )
        head, system = self._opened(agent, attached)
        stores = self.stores
        stores.writer.write(
            *stores.agents.create(agent, token),
            *(change for block in made for change in stores.blocks.create(block, token)),
            *(stores.blocks.attach(block.id, agent.id) for block in attached),
            *(change for tool in custom for change in stores.tools.create(tool, token)),
            stores.conversations.create_head(head, token),
            stores.conversations.put_message(agent.id, system),
            token=token,
        )
        return agent.id

    def _opened(self, agent: StoredAgent, blocks: Sequence[StoredBlock]) -> tuple[Head, Message]:
        system_id = self.ids.new("message")
        window = Window(pinned=[system_id], cut=system_id)
        head = Head(
            id=agent.id,
            agent_id=agent.id,
            window=window,
            version=1,
            last_message=system_id,
            messages=1,
            created_at=agent.created_at,
        )
        compiled = self.chain.prompts.compiled(agent, head, blocks=blocks)
        row = system_row(system_id, agent, compiled, compiled.at)
        return head.model_copy(update={"compiled": compiled.source}), row

    def _block(self, label: str, value: str) -> StoredBlock:
        now = self.clock.now()
        return StoredBlock(id=self.ids.new("block"), label=label, value=value, created_at=now, updated_at=now)

    def _tool(self, name: str) -> StoredTool:
        schema = {"name": name, "parameters": {"type": "object", "properties": {"x": {"type": "string"}}}}
        return StoredTool(
            id=self.ids.new("tool"),
            name=name,
            json_schema=schema,
            source_code=f"def {name}(x): ...",
            enable_parallel_execution=name == BESIDE,
            created_at=self.clock.now(),
        )

    # sending and driving

    def accept(
        self,
        agent_id: str,
        *texts: str,
        retry: int = 0,
        digest: str = "",
        otids: Sequence[str] = (),
        traceparent: str | None = None,
        role: Literal["user", "system"] = "user",
        **options: object,
    ) -> AcceptedRequest:
        """Accept a request. Its run is not started."""
        given = [*otids, *([None] * len(texts))]
        messages = [MessageCreate(role=role, content=text, otid=otid) for text, otid in zip(texts, given, strict=False)]
        body = LettaRequest(messages=messages, **options)  # type: ignore[arg-type]
        request = SendRequest(agent_id, body, "send_message", digest or self.ids.token(), retry=retry, traceparent=traceparent)
        accepted = self.sending.accept(request)
        if not accepted.attached:
            self.data.sent[accepted.run_id] = list(texts)
        return accepted

    def begin(self, agent_id: str, *texts: str, **options: object) -> str:
        """Accept and start a request; returns the run's id. No step is executed yet."""
        accepted = self.accept(agent_id, *texts, **options)  # type: ignore[arg-type]
        if not accepted.attached and not accepted.waits:
            self.sending.start(accepted.run_id)
        return accepted.run_id

    def send(self, agent_id: str, *texts: str, **options: object) -> str:
        """Begin a request and execute all runs to their end; returns the run's id."""
        run_id = self.begin(agent_id, *texts, **options)
        self.workflow.drive()
        return run_id

    def answer(
        self,
        agent_id: str,
        *items: Mapping[str, object],
        texts: Sequence[str] = (),
        otid: str | None = None,
        body: Mapping[str, object] | None = None,
        **options: object,
    ) -> AcceptedRequest:
        """Answer the pending approval, with further messages. No step is executed yet."""
        said = {"type": "approval", "approvals": list(items), "otid": otid, **(body or {})}
        messages = [said, *({"role": "user", "content": text} for text in texts)]
        asked = LettaRequest.model_validate({"messages": messages, **options})
        accepted = self.sending.accept(SendRequest(agent_id, asked, "send_message", self.ids.token()))
        if not accepted.attached:
            self.data.sent[accepted.run_id] = list(texts)
            self.sending.start(accepted.run_id)
        return accepted

    def advance(self, run_id: str) -> str:
        return self.chain.turns.advance(run_id).next

    def sweep(self) -> None:
        """Sweep as at the start of a server: resume all open runs."""
        self.engines.sweep.run(everything=True)
        self.workflow.drive()

    def reborn(self, *, holder: str = "host:2", alone: bool = True) -> World:
        """The next process over the same data."""
        return World(self.data, holder=holder, alone=alone)

    # looking

    def log(self, agent_id: str) -> list[Message]:
        return self.stores.conversations.page(agent_id)

    def head(self, agent_id: str) -> Head:
        head = self.stores.conversations.head(agent_id)
        assert head is not None
        return head

    def run(self, run_id: str) -> RunState:
        state = self.stores.runs.get(run_id)
        assert state is not None
        return state

    def block(self, agent_id: str, label: str) -> StoredBlock:
        agent = self.stores.agents.get(agent_id)
        assert agent is not None
        return next(block for block in self.chain.prompts.blocks_of(agent) if block.label == label)

    def response(self, run_id: str) -> LettaResponse:
        found = self.run_follower.response(run_id)
        assert found is not None, "the run has not ended"
        return found
