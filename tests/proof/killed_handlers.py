"""The handlers of the profile aws over DynamoDB Local, in processes that a signal kills."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from functions.advance_turn import handler as advance_turn
from functions.summarize import handler as summarize
from hibernaut.adapters.clock import SystemClock
from hibernaut.adapters.table.dynamodb import DynamoDbTable
from hibernaut.ports.clock import Clock
from hibernaut.ports.runs.workflow import RunRef
from hibernaut.ports.storage.table import Table
from hibernaut.schemas.base import JsonObject
from hibernaut.wiring import aws
from hibernaut.wiring.settings import AwsSettings
from tests.proof.agents import triggers_of
from tests.proof.at_rest import copied
from tests.proof.clients import TENANT
from tests.proof.place import Place
from tests.support.clocks import LaterClock
from tests.support.created_tables import create_table
from tests.support.hashing_embedder import OneEmbedder
from tests.support.world import World

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

LEASE_MS = 60_000
"""The remaining time that the Lambda context reports."""
LATER = timedelta(minutes=5)
"""How long after the death the next process begins: all its leases and claims have expired, and repeated requests are still
recognised."""


class Context:
    aws_request_id = "request"

    def get_remaining_time_in_millis(self) -> int:
        return LEASE_MS


class NoExecutions:
    """The port `Workflow` of handlers whose state machine is the desk."""

    def start(self, run: RunRef, *, name: str | None = None, inline: bool = False) -> None: ...

    def stop(self, run: RunRef) -> None: ...

    def end_wait(self, run: RunRef, token: str) -> None: ...


class LambdaDesk:
    """The port `Desk` over the handlers. It acts as the state machine, for every open run."""

    def __init__(self, server: aws.Composition, place: Place) -> None:
        self.server, self.place = server, place
        engine = server.engines.of(TENANT)
        self.stores, self.termination, self.sending = server.stores.of(TENANT), engine.termination, engine.sending
        self.schedules, self.clock, self.fire = engine.schedules, server.host.clock, engine.firing.fire
        self.documents = engine.agent_documents

    def looking(self) -> World:
        return self.place.over(copied(CLIENT[0], table_name(self.place)))

    def start(self, run_id: str) -> None:
        """Start the execution of the run."""

    def drive(self) -> None:
        self.settle()

    def settle(self) -> None:
        while running := self.place.running(world := self.looking()):
            for place in triggers_of(world, self.place.agent_id):
                self.server.engines.of(TENANT).sleeptime.take_up(place)  # as the sweep does
            for run_id in sorted(running):
                heartbeats(self.server, run_id)
        for place in self.server.stores.due.all():  # A worker that was killed may have told no one of the end of its run.
            self.server.engines.of(TENANT).sweep.clear_up(place)


def heartbeats(server: aws.Composition, run_id: str) -> None:
    """Advance the run until nothing is left to do. No other worker lives, so no step may be taken."""
    event = {"tenant": TENANT, "run_id": run_id}
    while (follows := beat(server, event)) == "advance":
        pass
    assert follows != "busy", f"run {run_id} is taken by a worker that has died"


def beat(server: aws.Composition, event: JsonObject) -> str:
    follows = advance_turn.handler(event, Context(), server.engines)["next"]
    if follows == "compact":
        return summarize.handler(event, Context(), server.engines)["next"]
    return follows


def dynamodb(place: Place) -> Table:
    return DynamoDbTable(table_name(place), client=CLIENT[0])


def table_name(place: Place) -> str:
    """The name of the attempt's own table. A server answers more slowly with all that it stores."""
    return f"{place.folder.parent.name}-{place.folder.name}"


CLIENT: list[DynamoDBClient] = []
"""The client, created once before the forks. It connects at its first request."""


def aws_composition(place: Place, clock: Clock) -> aws.Composition:
    settings = AwsSettings(env="dev", table=table_name(place), bucket="none", state_machine="none", tool_timeout=1.0)
    overrides = aws.AwsOverrides(
        table=lambda _: place.wrap(dynamodb(place)),
        models=place.models,
        runner=place.runner,
        embedders=OneEmbedder(),
        clock=clock,
        workflow=NoExecutions(),
    )
    return aws.compose(settings, overrides, in_execution=True)


def live_aws(place: Place) -> None:
    # Nothing reads the stream here, and at each write the server looks through the records of all tables it ever had.
    create_table(CLIENT[0], table_name(place), stream=False)
    place.makes_agent(dynamodb(place))
    place.lives(LambdaDesk(aws_composition(place, SystemClock()), place))


def settle_aws(place: Place) -> None:
    """A later process: takes up what the dead one has left, then serves one more message."""
    desk = LambdaDesk(aws_composition(place, LaterClock(LATER)), place)
    try:
        place.judged(desk, desk.looking)
    finally:
        CLIENT[0].delete_table(TableName=table_name(place))
