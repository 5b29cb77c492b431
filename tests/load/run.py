"""Plays a load, settles what it left open, audits the table and adds the bill up."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from hibernaut.adapters.blobs.s3 import S3Blobs
from hibernaut.adapters.table.dynamodb import DynamoDbTable
from hibernaut.domain.aws_prices import cost_of
from hibernaut.local.aws_offline.api_gateway.gateway_events import GatewayRequest
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.local.aws_offline.resources import client
from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.schemas.aws_use import AwsUse
from hibernaut.services.per_tenant import PerTenant
from hibernaut.wiring import aws as wiring
from hibernaut.wiring.aws_parts.app import app_of
from hibernaut.wiring.settings import AwsSettings
from tests.load.faults import Injector
from tests.proof.at_rest import TableAtRest
from tests.proof.verdict import runs, verdict
from tests.support.clocks import LaterClock
from tests.support.scripted_model import ScriptedModels, ScriptedRunner, calls, says
from tests.support.world import Data, World

TRIES = 12
"""How often a client sends a request until it is answered."""
LOST_ANSWERS = 0.03
"""The share of the gateway's answers that do not reach their client."""
LARGE = "x" * 70_000
"""What makes a message's row a blob: every eighth message has it."""
IDLE = 1.0
"""Seconds without a write after which nobody works."""
BETWEEN_SWEEPS = timedelta(minutes=3)
SWEEPS = 40
CREATED = 200


@dataclass(frozen=True)
class LoadPlan:
    """How many callers wait for replies, how many runs proceed in the background, and when callers stop: after `seconds`, or
    after `messages` each (0: no such limit). Two callers share an agent.
    """

    callers: int = 64
    background: int = 32
    seconds: float = 60.0
    messages: int = 0
    model_seconds: float = 0.5
    seed: int = 1


@dataclass
class LoadReport:
    """What happened. `findings`: what was lost, doubled or stuck. `told`: what the runs themselves say that they used."""

    sent: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)
    runs: int = 0
    sweeps_within: int = 0
    sweeps: int = 0
    executions: int = 0
    bill: AwsUse = field(default_factory=AwsUse)
    told: AwsUse = field(default_factory=AwsUse)

    def lines(self) -> Iterator[str]:
        """The report."""
        yield f"{self.sent['all']} messages, {self.sent['accepted']} accepted, {self.runs} runs, {self.executions} executions"
        yield f"answers of the gateway: {dict(sorted(self.statuses.items()))}"
        yield f"faults injected: {self.faults.total()}"
        yield from (f"  {name:55} {count:6}" for name, count in sorted(self.faults.items()))
        yield f"{self.sweeps_within} sweeps while callers waited, settled after {self.sweeps} more, {len(self.findings)} findings"
        yield from (f"  {finding}" for finding in self.findings)
        for name, use in (("bill", self.bill), ("told by the runs", self.told)):
            yield f"{name}: {float(cost_of(use)) * 1000 / max(1, self.runs):.3f} dollars per 1,000 runs, {use.model_dump()}"


class Load:
    """One load on a deployment."""

    def __init__(self, aws: OfflineAws, plan: LoadPlan) -> None:
        self.aws, self.plan, self.clock = aws, plan, LaterClock()
        self.injector = Injector(aws, plan.seed)
        self.report = LoadReport()
        self.models = ScriptedModels(_inserts_once, at=self._thinks)
        self._accepted: dict[str, list[str]] = {}
        self._lock = threading.Lock()
        self._deploys()

    def played(self) -> LoadReport:
        """Play the load, settle it and audit it."""
        with self.injector.installed():
            agents = [self._agent() for _ in range(max(1, self.plan.callers // 2))]
            self._accepted = {agent_id: [] for agent_id in agents}
            self.injector.injecting = True
            self._calls(agents)
            self.aws.wait_for_all()
            self.injector.injecting = False
            self._settle(agents)
        self._audit(agents)
        return self.report

    def _deploys(self) -> None:
        outside, stream, inside = (self._composed(**how) for how in ({}, {"waits": True}, {"in_execution": True}))
        self.aws.lambdas.deps |= {
            "api": app_of(outside),
            "stream": app_of(stream),
            "sweep_runs": outside.engines.sweep,
            "request_approval": PerTenant(lambda tenant: inside.engines.of(tenant).approvals),
            **dict.fromkeys(("advance_turn", "summarize", "close_run"), inside.engines),
        }

    def _composed(self, **how: bool) -> wiring.Composition:
        overrides = wiring.AwsOverrides(clock=self.clock, models=self.models, runner=ScriptedRunner())
        return wiring.compose(AwsSettings.from_environment(), overrides, **how)

    def _thinks(self, place: str) -> None:
        if place == "before model" and self.injector.injecting:
            time.sleep(self.plan.model_seconds)

    def _agent(self) -> str:
        status, body = self._ask("POST", "agents/", {"memory_blocks": [{"label": "human", "value": "Ann."}]})
        assert status == CREATED, body
        return str(json.loads(body)["id"])

    def _calls(self, agents: list[str]) -> None:
        began = time.monotonic()

        def caller(number: int, route: str) -> None:
            for sent in range(self.plan.messages or 10**6):
                if not self.plan.messages and time.monotonic() - began > self.plan.seconds:
                    return
                self._say(agents[number % len(agents)], f"{route} {number}.{sent}", route, large=(number + sent) % 8 == 0)

        threads = [threading.Thread(target=caller, args=(number, "messages")) for number in range(self.plan.callers)]
        threads += [threading.Thread(target=caller, args=(number, "messages/async")) for number in range(self.plan.background)]
        over = threading.Event()
        sweeper = threading.Thread(target=self._sweeps, args=(over,))
        for thread in (*threads, sweeper):
            thread.start()
        for thread in threads:
            thread.join()
        over.set()
        sweeper.join()

    def _sweeps(self, over: threading.Event) -> None:
        """Sweep when nothing is written any more: the callers that are left wait for runs whose workers are gone."""
        while not over.wait(0.1):
            if time.monotonic() - self.injector.last_write > IDLE + 2 * self.plan.model_seconds:
                self.injector.last_write = time.monotonic()
                self.clock.ahead += BETWEEN_SWEEPS
                self.aws.fire_schedule()
                self.report.sweeps_within += 1

    def _say(self, agent_id: str, text: str, route: str, *, large: bool) -> None:
        """Send a message until it is answered, as an SDK repeats a request: the same body, with the number of the try."""
        text = f"{text} {LARGE}" if large else text
        body = {"messages": [{"role": "user", "content": text, "otid": f"{agent_id}-{text[:40]}"}]}
        self._count("all")
        for retry in range(TRIES):
            status, _ = self._ask("POST", f"agents/{agent_id}/{route}", body, retry)
            if status == CREATED:
                with self._lock:
                    self._accepted[agent_id].append(text)
                return self._count("accepted")
            assert status in (0, 429, 500, 502, 503, 504), f"{status} for {text[:40]!r}"
            time.sleep(0.05 * 2 ** min(retry, 5) * self.plan.model_seconds)
        return None

    def _ask(self, method: str, route: str, body: Any, retry: int = 0) -> tuple[int, bytes]:
        """The status and the body of the answer; status 0: it was lost."""
        headers = [("Content-Type", "application/json"), ("Host", "localhost"), ("x-stainless-retry-count", str(retry))]
        self.injector.used(gateway_requests=1)
        answer = self.aws.gateway.answer(GatewayRequest(method, f"/v1/{route}", "", headers, json.dumps(body).encode()))
        lost = self.injector.loses(LOST_ANSWERS)
        with self._lock:
            self.report.statuses[0 if lost else answer.status] += 1
        return (0, b"") if lost else (answer.status, answer.body)

    def _count(self, what: str) -> None:
        with self._lock:
            self.report.sent[what] += 1

    def _settle(self, agents: list[str]) -> None:
        """Sweep until no run is open, twenty minutes apart: the faults are over, and all leases have expired."""
        world = self._world()
        while self.report.sweeps < SWEEPS:
            self.clock.ahead += timedelta(minutes=20)
            assert not self.aws.fire_schedule().failed
            self.aws.wait_for_all()
            self.report.sweeps += 1
            if all(state.ended for agent_id in agents for state in runs(world, agent_id)):
                return

    def _audit(self, agents: list[str]) -> None:
        world = self._world()
        for agent_id in agents:
            found = [f"{one.kind}: {one.words}" for one in verdict(world, agent_id, self._accepted[agent_id], {})]
            found += _twice(world, agent_id)
            self.report.findings += [f"{agent_id}: {one}" for one in found]
            for state in runs(world, agent_id):
                self.report.runs += 1
                self.report.told = self.report.told.plus(state.run.aws or AwsUse())
        names = self.aws.executions()
        self.report.executions = len(names)
        self.report.faults = self.injector.counts
        self.report.bill = self.injector.bill.plus(AwsUse(transitions=sum(map(self._transitions, names))))

    def _transitions(self, execution: str) -> int:
        arn = f"{self.aws.state_machine.replace(':stateMachine:', ':execution:')}:{execution}"
        pages = client("stepfunctions").get_paginator("get_execution_history").paginate(executionArn=arn)
        events = [event for page in pages for event in page["events"]]
        retried = sum(event["type"] == "LambdaFunctionScheduled" for event in events)
        entered = sum("stateEnteredEventDetails" in event for event in events)
        tasks = sum(event["type"] == "TaskStateEntered" for event in events)
        return entered + max(0, retried - tasks)

    def _world(self) -> World:
        settings, blobs = AwsSettings.from_environment(), S3Blobs(AwsSettings.from_environment().bucket)
        models = ScriptedModels(_inserts_once)
        return World(Data(TableAtRest(DynamoDbTable(settings.table)), self.clock, models, ScriptedRunner(), blobs))  # type: ignore[arg-type]


def _twice(world: World, agent_id: str) -> list[str]:
    """Messages that made more than one run."""
    said = Counter(row.text() for row in world.log(agent_id) if row.role == "user" and row.step_id is None)
    owners = Counter(row.run_id for row in world.log(agent_id) if row.role == "user" and row.step_id is None)
    made = len(runs(world, agent_id))
    found = [] if made == len(owners) else [f"doubled: {made} runs for {len(owners)} messages"]
    return found + [f"doubled: {text[:40]!r} {times} times" for text, times in said.items() if times > 1]


def _inserts_once(request: ModelRequest, _number: int) -> ModelReply:
    if request.messages[-1].role == "user":
        return calls(("memory_insert", {"label": "human", "new_string": "Lives in Oslo."}))
    return says("How is it there?")


@contextmanager
def deployed() -> Iterator[OfflineAws]:
    """The deployment of a load. The waits of the state machine take a hundredth of their time."""
    with OfflineAws(time_scale=0.01, variables={"HIBERNAUT_OPENSEARCH": ""}) as aws:
        yield aws
