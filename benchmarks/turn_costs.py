"""What a turn costs on AWS, and how long it takes beside its model: counted calls of the deployed handlers, times the list of
prices that the product uses.

The handlers, the gateway and the state machine are those of the template, in this process (`aws-offline`), over a scripted model.
Counted are table units, waits for the table, invocations, state transitions and log lines of one warm turn. Assumed are the time
of a model call, of a table operation, and of the CPU.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

from hibernaut.domain import aws_prices
from hibernaut.local.aws_offline.api_gateway.gateway_events import GatewayRequest
from hibernaut.local.aws_offline.lambdas import current_function
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.local.aws_offline.resources import client
from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.schemas.access.api_key import CreateApiKey
from hibernaut.schemas.base import JsonObject
from hibernaut.services.host import Host
from hibernaut.wiring import aws as wiring
from hibernaut.wiring.aws_parts.app import app_of
from hibernaut.wiring.settings import AwsSettings
from tests.support.clocks import ManualClock
from tests.support.metered_table import Charge, MeteredTable
from tests.support.scripted_model import ScriptedModels, ScriptedRunner, calls, says

MODEL_SECONDS = 2.0
"""Seconds of one model call."""
WAIT_MS = 5.0
"""Milliseconds of one table operation, as its caller waits for it."""
CPU_MS = 25.0
"""Milliseconds of CPU for each request of the API and for each step, on the part of a CPU that 1 GB has. Assumed: on a laptop it
is a third.
"""
LINE_BYTES = 1000
"""Bytes of a log line, and of the record of a state."""
NO_INDEX = {"HIBERNAUT_OPENSEARCH": ""}
"""The default of the stack. The pointers of an index are counted in docs/costs.md, "Memory search"."""
WARM_UP = 3
"""Turns before the one that is counted."""


@dataclass
class Turn:
    """The counts of one turn. `places`: the points at which its workers waited for the table or called the model, in their order.
    `told`: what the run itself tells of its usage (GET /v1/runs/{id}/usage).
    """

    charges: list[Charge] = field(default_factory=list)
    places: list[tuple[str, str]] = field(default_factory=list)
    invocations: Counter[str] = field(default_factory=Counter)
    gigabytes: dict[str, float] = field(default_factory=dict)
    models: Counter[str] = field(default_factory=Counter)
    lines: int = 0
    transitions: int = 0
    told: JsonObject = field(default_factory=dict)

    @property
    def before_the_model(self) -> int:
        """The table operations before the first model call, one after the other."""
        return next(place for place, (_, kind) in enumerate(self.places) if kind == "model")

    @property
    def written(self) -> float:
        """Write units."""
        return sum(charge.written for charge in self.charges)

    @property
    def read(self) -> float:
        """Read units, without those of `looks`."""
        return sum(charge.read for charge in self.charges)

    @property
    def over_the_model_ms(self) -> float:
        """Milliseconds from the request to its end beside the model's own time."""
        waits = sum(kind != "model" for _, kind in self.places)
        return waits * WAIT_MS + (self.models.total() + 1) * CPU_MS

    @property
    def looks(self) -> float:
        """Reads of a worker that waits for its model and checks whether its run goes on: they take no time of the turn."""
        return self.models.total() * (MODEL_SECONDS // Host.__dataclass_fields__["look"].default)

    def seconds_of(self, function: str) -> float:
        """Seconds for which the function is charged."""
        waits = sum(worker == function for worker, kind in self.places if kind != "model")
        work = CPU_MS * (self.models[function] + (function in ("api", "stream")))
        return self.models[function] * MODEL_SECONDS + (waits * WAIT_MS + work) / 1000

    def dollars(self) -> dict[str, float]:
        """The price of 1,000 such turns, by what is paid for."""
        memory = sum(self.seconds_of(name) * self.gigabytes[name] for name in self.invocations)
        requests = float(aws_prices.GATEWAY_REQUEST) + self.invocations.total() * float(aws_prices.INVOCATION)
        one = {
            "Lambda time": memory * float(aws_prices.GIGABYTE_SECOND),
            "state transitions": self.transitions * float(aws_prices.TRANSITION),
            "table writes": self.written * float(aws_prices.WRITE_UNIT),
            "table reads": (self.read + self.looks) * float(aws_prices.READ_UNIT),
            "gateway and Lambda requests": requests,
            "logs": (self.lines + 3 * self.transitions) * LINE_BYTES / 1e9 * float(aws_prices.LOG_GIGABYTE),
        }
        return {what: 1000 * dollars for what, dollars in one.items()}


class Deployed:
    """The deployed functions, whose calls are counted into `turn`."""

    def __init__(self, aws: OfflineAws) -> None:
        self.aws, self.turn, self.clock = aws, Turn(), ManualClock()
        outside, stream = self._composed(), self._composed(waits=True)
        inside = self._composed(in_execution=True).engines
        aws.lambdas.deps |= {"api": app_of(outside), "stream": app_of(stream), "advance_turn": inside}
        self._key = self._made_key(outside)

    def _composed(self, **how: bool) -> wiring.Composition:
        models = ScriptedModels(_inserts_once, at=self._asks)
        overrides = wiring.AwsOverrides(
            table=lambda table: MeteredTable(table, self._charged, _worker),
            clock=self.clock,
            models=models,
            runner=ScriptedRunner(),
        )
        return wiring.compose(AwsSettings.from_environment(), overrides, **how)

    def _made_key(self, composition: wiring.Composition) -> str:
        from hibernaut.services.access.access import Access

        host = composition.host
        access = Access(composition.stores, composition.cipher, host.clock, host.ids, required=False)
        return access.keys_of("default").create(CreateApiKey(scope="admin")).key

    def _charged(self, charge: Charge) -> None:
        self.turn.charges.append(charge)
        self.turn.places.append((charge.worker, charge.kind))

    def _asks(self, place: str) -> None:
        if place == "before model":
            self.turn.models[_worker()] += 1
            self.turn.places.append((_worker(), "model"))
            self.clock.sleep(MODEL_SECONDS)

    def ask(self, method: str, route: str, body: Any = None) -> Any:
        headers = [("Content-Type", "application/json"), ("Host", "localhost"), ("Authorization", f"Bearer {self._key}")]
        answer = self.aws.gateway.answer(GatewayRequest(method, f"/v1/{route}", "", headers, json.dumps(body).encode()))
        if answer.status != 200:
            raise SystemExit(f"{method} {route}: {answer.status} {answer.body!r}")
        return json.loads(answer.body)

    def counted(self, *, background: bool) -> Turn:
        """The counts of a warm turn with two model calls, of which the first edits memory."""
        agent = self.ask("POST", "agents/", {"memory_blocks": [{"label": "human", "value": "Ann."}]})
        route = f"agents/{agent['id']}/messages{'/async' if background else ''}"
        for number in range(WARM_UP + 1):
            self.turn, body = Turn(), {"messages": [{"role": "user", "content": f"I moved to Oslo, {number}."}]}
            known = set(self.aws.executions())
            with _lines_of(self.turn), _invocations_of(self.aws, self.turn):
                answer = self.ask("POST", route, body)
                self.aws.wait_for_all()
            self.turn.invocations["api" if background else "stream"] += not background
            self.turn.transitions = sum(map(self._transitions, set(self.aws.executions()) - known))
        functions = (*self.turn.invocations, "stream")
        self.turn.gigabytes = {name: self.aws.lambdas.of(name).memory / 1024 for name in functions}
        counted, self.turn = self.turn, Turn()  # What follows is not part of this turn.
        run_id = answer["id"] if background else answer["messages"][0]["run_id"]
        counted.told = self.ask("GET", f"runs/{run_id}/usage")
        return counted

    def _transitions(self, execution: str) -> int:
        arn = f"{self.aws.state_machine.replace(':stateMachine:', ':execution:')}:{execution}"
        history = client("stepfunctions").get_execution_history(executionArn=arn)["events"]
        return sum("stateEnteredEventDetails" in event for event in history)


def both() -> dict[str, Turn]:
    """The counts of a blocking and of a background turn."""
    with OfflineAws(time_scale=0.001, variables=NO_INDEX) as aws:
        deployed = Deployed(aws)
        return {"blocking": deployed.counted(background=False), "background": deployed.counted(background=True)}


def table() -> list[str]:
    """The lines of the report."""
    with redirect_stdout(StringIO()):  # The functions log to it.
        turns = both()
    prices = {name: turn.dollars() for name, turn in turns.items()}
    head = f"1,000 turns on AWS with two model calls of {MODEL_SECONDS:.0f} s each, in dollars ({aws_prices.PRICES_REGION}, {aws_prices.PRICES_DATE:%Y-%m})"
    rows = [(what, *(f"{dollars[what]:.3f}" for dollars in prices.values())) for what in prices["blocking"]]
    rows.append(("together", *(f"{sum(dollars.values()):.3f}" for dollars in prices.values())))
    rows.append(("told by the run itself (aws_cost)", *(f"{1000 * turn.told['aws_cost']:.3f}" for turn in turns.values())))
    rows.append(("table operations before the model", *(str(turn.before_the_model) for turn in turns.values())))
    rows.append(("milliseconds beside the model", *(f"{turn.over_the_model_ms:.0f}" for turn in turns.values())))
    rows.append(("write units", *(f"{turn.written:.0f}" for turn in turns.values())))
    rows.append(("read units", *(f"{turn.read + turn.looks:.0f}" for turn in turns.values())))
    return [
        head,
        f"  {'':40} {'blocking':>10} {'background':>10}",
        *(f"  {what:40} {one:>10} {two:>10}" for what, one, two in rows),
    ]


def _inserts_once(request: ModelRequest, _number: int) -> ModelReply:
    if request.messages[-1].role == "user":
        return calls(("memory_insert", {"label": "human", "new_string": "Lives in Oslo."}))
    return says("How is it there?")


def _worker() -> str:
    return current_function() or "nobody"


@contextmanager
def _invocations_of(aws: OfflineAws, turn: Turn) -> Iterator[None]:
    """Count the invocations of functions by folder."""
    invoke = aws.lambdas.invoke

    def counting(name: str, *args: Any, **named: Any) -> Any:
        turn.invocations[aws.lambdas.of(name).folder] += 1
        return invoke(name, *args, **named)

    aws.lambdas.invoke = counting  # type: ignore[method-assign]
    try:
        yield
    finally:
        del aws.lambdas.invoke


@contextmanager
def _lines_of(turn: Turn) -> Iterator[None]:
    """Count the lines that the product logs."""

    class Counting(logging.Handler):
        """Counts records."""

        def emit(self, record: logging.LogRecord) -> None:  # noqa: ARG002 - the base class names it
            turn.lines += 1

    handler, logger = Counting(), logging.getLogger("hibernaut")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


if __name__ == "__main__":
    print("\n".join(table()))
