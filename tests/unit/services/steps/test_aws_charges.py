"""What a run used of AWS: charged in its own transactions, once, whichever invocations it took."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

from hibernaut.adapters.aws_meter import AwsMeter, count_use, function_called
from hibernaut.domain.aws_prices import PRICES_DATE, cost_of
from hibernaut.ports.storage.table import Change, ConditionFailed, Table
from hibernaut.schemas.aws_use import AwsUse
from hibernaut.schemas.runs.run import StoredRun
from tests.support.scripted_model import calls, in_turn, says
from tests.support.tables import PassesOn
from tests.support.world import World, data_in

SECONDS = 2.0
UNITS = 50.0
"""Write units of each write of the table below."""
RING = calls(("ring", {"x": "twice"}))


class Charged(PassesOn):
    """A table each of whose writes is charged UNITS. The first write with `refused` in a key fails its condition, and is not
    charged.
    """

    refused = ""

    def write(self, *changes: Change) -> None:
        if self.refused and any(change.key.sk.startswith(self.refused) for change in changes):
            self.refused = ""
            raise ConditionFailed({0: None})
        super().write(*changes)
        count_use(write_units=UNITS)


@contextmanager
def deployed(folder: Path, *replies: Any) -> Iterator[tuple[World, Charged]]:
    """A world on a function of 1 GB whose model takes SECONDS for a reply."""
    data = data_in(folder, in_turn(*replies), at=lambda place: data.clock.sleep(SECONDS * (place == "before model")))
    tables: list[Charged] = []

    def wrap(table: Table) -> Charged:
        tables.append(Charged(table))
        return tables[-1]

    meter = AwsMeter(data.clock, 1.0)
    world = World(data, wrap=wrap, meter=meter)
    with meter.invocation(of_gateway=True):
        yield world, tables[0]


def ran(world: World, agent_id: str) -> StoredRun:
    return world.run(world.send(agent_id, "hi")).run


def test_a_run_tells_what_it_used_and_its_reply_the_price(tmp_path: Path) -> None:
    with deployed(tmp_path, says("hello")) as (world, _):
        run = ran(world, world.make_agent())
    assert run.aws is not None
    assert (run.aws.invocations, run.aws.gateway_requests, run.aws.transitions) == (1, 1, 0)
    assert run.aws.gigabyte_seconds == SECONDS
    usage = world.response(run.id).usage
    assert (usage.aws_cost, usage.aws_price_list_date) == (cost_of(run.aws), PRICES_DATE)


def test_the_steps_of_a_run_share_its_price(tmp_path: Path) -> None:
    with deployed(tmp_path, RING, RING, says("done")) as (world, _):
        run = ran(world, world.make_agent(tools=("ring",)))
        steps = world.stores.steps.of_run(run.id)
    assert run.aws is not None
    shares = [step.aws_cost or Decimal(0) for step in steps]
    assert len(shares) == 3
    assert abs(sum(shares, Decimal(0)) - cost_of(run.aws)) <= len(shares) * Decimal("1e-9")


def test_the_estimate_of_a_transaction_gives_way_to_its_true_units(tmp_path: Path) -> None:
    """Two runs of one invocation: the second is charged for what the first one's last transaction took beyond its estimate."""
    with deployed(tmp_path, says("hello"), says("again")) as (world, _):
        agent_id = world.make_agent()
        world.host.meter.charge(world.host.meter.used() or AwsUse())
        first, second = ran(world, agent_id), ran(world, agent_id)
        left = world.host.meter.used() or AwsUse()
    assert first.aws is not None
    assert second.aws is not None
    writes_of_a_run = 3  # It is accepted, its step is taken, and it ends.
    told = first.aws.write_units + second.aws.write_units + left.write_units
    assert told == 2 * writes_of_a_run * UNITS


def test_what_a_failed_attempt_used_is_charged_with_the_next_one(tmp_path: Path) -> None:
    with deployed(tmp_path, says("hello"), says("hello")) as (world, table):
        agent_id = world.make_agent()
        plain = ran(world, agent_id).aws
        table.refused = "STEP#"
        after_a_conflict = ran(world, agent_id).aws
    assert plain is not None
    assert after_a_conflict is not None
    assert after_a_conflict.invocations == 0  # The first run was charged for the invocation.
    assert after_a_conflict.gigabyte_seconds == 2 * SECONDS  # The model was asked twice.


def test_at_home_nothing_is_charged(tmp_path: Path) -> None:
    world = World(data_in(tmp_path, in_turn(says("hello"))))
    run = ran(world, world.make_agent())
    assert run.aws is None
    assert world.response(run.id).usage.aws_cost is None
    assert [step.aws_cost for step in world.stores.steps.of_run(run.id)] == [None]


def test_a_custom_tool_is_an_invocation_of_its_own_function(tmp_path: Path) -> None:
    with deployed(tmp_path, says("hello")) as (world, _):
        world.host.meter.charge(world.host.meter.used() or AwsUse())
        with function_called(2.0):
            world.clock.sleep(3)
        used = world.host.meter.used()
    assert used is not None
    assert (used.invocations, used.gigabyte_seconds) == (1, 3 * 2.0 + 3 * 1.0)


def test_outside_of_an_invocation_nothing_is_counted(tmp_path: Path) -> None:
    meter = AwsMeter(data_in(tmp_path, in_turn()).clock, 1.0)
    count_use(write_units=1)
    meter.charge(AwsUse())
    assert (meter.used(), meter.in_execution) == (None, False)
