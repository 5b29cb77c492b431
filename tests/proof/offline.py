"""The stories on the profile `aws-offline`: the deployed template in this process.

Handlers are abandoned at an outside call, as if their machine had died. The state machine, the gateway and the sweep are those of
the template, over moto. Clients send their messages to run in the background (the state machine drives the runs), or wait for the
reply (the function `stream` drives them).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from threading import Event, Thread
from typing import Any, NamedTuple

from hibernaut.adapters.blobs.s3 import S3Blobs
from hibernaut.adapters.table.dynamodb import DynamoDbTable
from hibernaut.domain.agents.group_turns import is_group
from hibernaut.local.aws_offline.api_gateway.gateway_events import GatewayRequest as HttpRequest
from hibernaut.local.aws_offline.lambdas import Reply, abandon, current_function
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.ports.runs.schedules import NO_SCHEDULER
from hibernaut.ports.storage.table import Table
from hibernaut.ports.tools.tool_runner import ToolJob, ToolOutcome
from hibernaut.schemas.stop import RunStatus
from hibernaut.services.per_tenant import PerTenant
from hibernaut.services.schedules.firing_worker import FiringWorker
from hibernaut.services.sending.sending import AcceptedRequest, SendRequest
from hibernaut.store.table import keys
from hibernaut.wiring import aws as wiring
from hibernaut.wiring.aws_parts.app import app_of
from hibernaut.wiring.settings import AwsSettings
from tests.proof.agents import made_for
from tests.proof.at_rest import CopiedTable
from tests.proof.clients import Act, Client, Notes, Say
from tests.proof.engines import Engine, Tally
from tests.proof.faults import Died, Points
from tests.proof.stories import STILL_THERE, Story
from tests.proof.verdict import answered, runs, shown, verdict
from tests.support.clocks import LaterClock
from tests.support.frozen import freeze_if_dead
from tests.support.moto_tables import forget_all, items_of
from tests.support.scripted_model import ScriptedModels, ScriptedRunner, nothing
from tests.support.tables import CountingTable
from tests.support.world import TENANT, Data, World

SWEEPS = 5
SWEEP_COMES = 2.0
"""Seconds after which a sweep comes to a client that still waits. A run without a fault takes less."""


class Unanswered(Died):
    """The function gave the gateway no answer. A client would repeat the request."""


class Gateway:
    """Replaces the use case `Sending`: sends a request over HTTP, as the SDK does.

    `may_wait`: whether a client may wait for the end of its run now. Otherwise it asks only for the acceptance of its request, as
    it does for a request to a busy conversation, and for one that it sends while a handler works. `sweep`: fires the schedule of
    the sweep.
    """

    def __init__(self, aws: OfflineAws, may_wait: Callable[[], bool], sweep: Callable[[], object]) -> None:
        self._aws = aws
        self._may_wait = may_wait
        self._sweep = sweep

    def accept(self, request: SendRequest) -> AcceptedRequest:
        if self._may_wait() and request.body.when_busy != "queue" and current_function() is None:
            return self._waited(request)
        told = json.loads(self._answer(request, "messages/async"))
        return AcceptedRequest(str(told["id"]), attached=True)

    def _waited(self, request: SendRequest) -> AcceptedRequest:
        """The run of a request whose whole stream of events was received. A run that has lost what should wake it waits for a
        sweep.
        """
        over = Event()

        def sweeps() -> None:
            while not over.wait(SWEEP_COMES):
                self._sweep()

        sweeper = Thread(target=sweeps, daemon=True)
        sweeper.start()
        try:
            events = self._answer(request, "messages/stream").decode().splitlines()
        finally:
            over.set()
            sweeper.join()
        ping = next(json.loads(line.removeprefix("data: ")) for line in events if line.startswith("data: {"))
        return AcceptedRequest(str(ping["run_id"]), attached=True)

    def _answer(self, request: SendRequest, route: str) -> bytes:
        headers = [
            ("Content-Type", "application/json"),
            ("Host", "localhost"),
            ("x-stainless-retry-count", str(request.retry)),
        ]
        body = request.body.model_dump_json(exclude_unset=True).encode()
        path = f"/v1/{'groups' if is_group(request.agent_id) else 'agents'}/{request.agent_id}/{route}"
        answer = self._aws.gateway.answer(HttpRequest("POST", path, "", headers, body))
        if answer.status >= 500:
            raise Unanswered(str(answer.status))
        assert answer.status == 200, answer.body
        return answer.body


CLAIMS_PASS = timedelta(minutes=2)
"""The step of the clock after a death: the claim of the dead worker has expired, so that the next worker need not wait for it."""


class Deployment:
    """The functions over scripted models and tools. It plays one story after another, each with one handler that dies. `waiting`:
    clients wait for the end of their runs where they can.
    """

    waiting = False

    def __init__(self, aws: OfflineAws) -> None:
        self.aws, self.clock = aws, LaterClock()
        self.points = Points(0, self._dies)
        self.models = ScriptedModels(self._says, at=self._point)
        self.runner = ScriptedRunner(self._does, at=self._point)
        self.outside = self.composition()
        self.stores, self.sending = self.outside.stores.of(TENANT), Gateway(aws, self._may_wait, self._sweeps)
        engine = self.outside.engines.of(TENANT)
        self.termination, self.schedules, self.documents = engine.termination, engine.schedules, engine.agent_documents
        self.api_is_dead = True
        self.environments = itertools.cycle([self.composition(in_execution=True), self.composition(in_execution=True)])
        settings = AwsSettings.from_environment()
        self.table, self.blobs = DynamoDbTable(settings.table), S3Blobs(settings.bucket)

    def begins(self, story: Story, at: int) -> None:
        """Create an agent for a story with a fault at point `at`."""
        self.story, self.notes, self.before = story, Notes(), dict[str, Any]()
        self.runner.effects.clear()
        self._forgets_earlier_points()
        self.models.context_window = story.model.get("context_window", 100_000)
        self.replaces_environments()
        self.agent_id = made_for(story, lambda: self.over(self.table))
        self.points = Points(at, self._dies)

    def _forgets_earlier_points(self) -> None:
        """Delete all items, because moto scans the whole table for each query of an index, and the executions that have ended."""
        from moto.stepfunctions.parser.models import stepfunctions_parser_backends

        forget_all()
        for machines in stepfunctions_parser_backends.values():
            for backend in machines.values():
                for machine in backend.state_machines:
                    machine.executions = [one for one in machine.executions if one.status == "RUNNING"]

    def _may_wait(self) -> bool:
        """Whether a run that a client waits for needs no later act to end."""
        return self.waiting and not self.points.struck and all(getattr(act, "waits", True) for act in self.story.acts)

    def _point(self, place: str) -> None:
        freeze_if_dead()
        self.points.point(place)

    def _says(self, request: ModelRequest, number: int) -> ModelReply:
        self._others(self.story.thinking)
        return self.story.script(request, number)

    def _dies(self) -> None:
        self.before = shown(self.looking(), self.agent_id)
        self.api_is_dead |= current_function() == "api"
        if current_function() is None:
            raise Died("the cancel's own request")
        self.clock.ahead += CLAIMS_PASS
        abandon()

    def _others(self, happens: Callable[[Client], None] | None) -> None:
        """Perform the requests of other clients while this handler works. They repeat a request whose handler dies."""
        if happens is None:
            return
        try:
            happens(self.client())
        except Unanswered:
            happens(self.client())

    def _does(self, job: ToolJob) -> ToolOutcome:
        self._others(self.story.meanwhile)
        return ToolOutcome("success", f"did {job.name}")

    def composition(self, *, in_execution: bool = False, of_stream: bool = False) -> wiring.Composition:
        overrides = wiring.AwsOverrides(
            table=lambda table: CountingTable(table, lambda _, place: self._point(place)),
            clock=self.clock,
            models=self.models,
            runner=self.runner,
        )
        return wiring.compose(AwsSettings.from_environment(), overrides, in_execution=in_execution, waits=of_stream)

    def replaces_environments(self) -> None:
        """Replace the environment of a dead handler by another one, which has no caches of the step."""
        engines = next(self.environments).engines
        if self.api_is_dead:  # Its dead handlers hold threads of its pools, and a pool without a thread answers nothing.
            self.aws.lambdas.deps["api"], self.api_is_dead = app_of(self.composition()), False
        if self.waiting:
            self.aws.lambdas.deps["stream"] = app_of(self.composition(of_stream=True))
        self.aws.lambdas.deps |= {
            "advance_turn": engines,
            "summarize": engines,
            "request_approval": PerTenant(lambda tenant: engines.of(tenant).approvals),
            "close_run": engines,
            "sweep_runs": self.outside.engines.sweep,
            "fire_schedule": FiringWorker(PerTenant(lambda tenant: engines.of(tenant).firing), NO_SCHEDULER),
        }

    def over(self, table: Table) -> World:
        models = ScriptedModels(self.story.script, at=nothing, **self.story.model)
        blobs: Any = self.blobs
        return World(Data(table, self.clock, models, ScriptedRunner(effects=self.runner.effects), blobs))

    def looking(self) -> World:
        """A `World` over a copy of the table as it is now, for reading the result."""
        return self.over(CopiedTable(items_of(AwsSettings.from_environment().table)))

    def client(self) -> Client:
        return Client(self.agent_id, self.notes, self)

    def lives(self, acts: Sequence[Act]) -> None:
        """Perform the acts. A request that a dead handler did not answer is repeated."""
        try:
            self.client().does(acts)
        except Died:
            self.replaces_environments()
            self.client().does(acts)
        self.settle()

    def fire(self, schedule_id: str) -> None:
        """Act as EventBridge Scheduler, which repeats an invocation that failed."""
        event = {"tenant": TENANT, "schedule_id": schedule_id, "at": "2026-11-23T08:00:00Z"}
        if self.aws.lambdas.invoke("fire_schedule", event).failed:
            self.replaces_environments()
            self.aws.invoke("fire_schedule", event)

    def start(self, run_id: str) -> None:
        """Nothing: the function that accepted the request has started the run."""

    def drive(self) -> None:
        self.aws.wait_for_all()

    def _sweeps(self) -> Reply:
        """A sweep after the claims of dead workers have expired."""
        self.clock.ahead += CLAIMS_PASS
        return self.aws.fire_schedule()

    def settle(self) -> None:
        """Replace dead environments, and advance the clock by twenty minutes: all leases have expired, and all open runs are
        due.
        """
        self.aws.wait_for_all()
        for _ in range(SWEEPS):
            self.replaces_environments()
            self.clock.ahead += timedelta(minutes=20)
            swept = self.aws.fire_schedule()
            assert not swept.failed or self.points.struck, "a sweep failed that nobody struck"
            self.aws.wait_for_all()
            states = runs(self.looking(), self.agent_id)
            runs_on = any(state.run.status is RunStatus.RUNNING for state in states)
            if not (swept.failed or runs_on or self._deadline_comes()):
                return

    def _deadline_comes(self) -> bool:
        """Whether an approval waits for the deadline that the story tells of: it may have been requested after a sweep."""
        return self.story.later and any(key.sk == keys.PENDING for key in self.outside.stores.due.all())

    def judged(self) -> Tally:
        """Send one more message without a fault, and judge the result."""
        struck, self.points = self.points, Points(0, self._dies)
        found = verdict(self.looking(), self.agent_id, self.notes.said(self.story.acts), self.before)
        self.lives([Say(STILL_THERE)])
        world = self.looking()
        found += answered(world, self.notes.answers.get(STILL_THERE))
        found += verdict(world, self.agent_id, self.notes.said([*self.story.acts, Say(STILL_THERE)]), self.before)
        where = f"{self.story.name}, point {struck.at}, {struck.struck}"
        return Tally(int(bool(struck.struck)), len(runs(world, self.agent_id)), [(where, one) for one in found])


class OfflineEngines(NamedTuple):
    """The engines that abandon handlers at an outside call, over moto: clients let runs proceed in the `background`, or are
    `waiting`.
    """

    background: Engine
    waiting: Engine


@contextmanager
def on_aws_offline() -> Iterator[OfflineEngines]:
    """Both engines over one deployment, of which a process can have only one."""
    with OfflineAws(time_scale=0.001, variables={"HIBERNAUT_AGENT_REPLY": "43200"}) as aws:
        here = Deployment(aws)

        def engine(waiting: bool, story: Story, first: int, every: int) -> Tally:
            total, here.waiting = Tally(), waiting
            for at in itertools.count(first, every):
                here.begins(story, at)
                here.lives(story.acts)
                tally = here.judged()
                total.add(tally)
                if not tally.points:
                    return total
            raise AssertionError("unreachable")

        yield OfflineEngines(partial(engine, False), partial(engine, True))
