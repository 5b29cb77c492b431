"""Alarms in a scheduler outside: who has one, what becomes of a refusal and of a loss, and which are orphans."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from hibernaut.domain.schedules import MINUTE_MS
from hibernaut.ports.runs.schedules import Alarm, AlarmPage
from hibernaut.schemas.agents.schedule import CreateSchedule
from hibernaut.services.per_tenant import PerTenant
from hibernaut.services.schedules.firing_worker import FiringWorker
from hibernaut.services.schedules.reconciliation import MARGIN, AlarmReconciliation
from hibernaut.store.schedules import schedule_keys
from hibernaut.store.schedules.schedules import LOST_MS
from hibernaut.store.table import keys
from tests.support.scripted_model import in_turn, says
from tests.support.world import TENANT, World, data_in

EVERY_FIVE = {"type": "recurring", "cron_expression": "*/5 * * * *"}


@dataclass
class Outside:
    """A scheduler with room for `most` alarms of a tenant, which takes everything but rates; `refuses`: it has no room at all.
    Pages have two alarms.
    """

    most: int = 100
    refuses: bool = False
    alarms: dict[tuple[str, str], Alarm] = field(default_factory=dict)
    puts: int = 0

    def takes(self, alarm: Alarm) -> bool:
        return alarm.every_minutes is None

    def put(self, tenant: str, alarm: Alarm) -> bool:
        self.puts += 1
        if not self.refuses:
            self.alarms[tenant, alarm.schedule_id] = alarm
        return not self.refuses

    def delete(self, tenant: str, schedule_id: str) -> None:
        self.alarms.pop((tenant, schedule_id), None)

    def list(self, after: str | None = None) -> AlarmPage:
        names = sorted(name for name in self.alarms if after is None or name > tuple(after.split("#")))
        return AlarmPage(names[:2], "#".join(names[1]) if len(names) > 2 else None)


@dataclass
class Planned:
    world: World
    agent: str
    outside: Outside

    def make(self, schedule: object = EVERY_FIVE) -> str:
        body = {"messages": [{"role": "user", "content": "wake up"}], "schedule": schedule}
        return self.world.chain.schedules.create(self.agent, CreateSchedule.model_validate(body), None).id

    def due_after_ms(self, schedule_id: str) -> int:
        """How long after its next time the sweep takes the schedule up."""
        item = self.world.data.table.get(schedule_keys.schedule(TENANT, schedule_id))
        assert item is not None
        return int(str(item["due_sk"]).partition("#")[0]) - int(item["next"])


@pytest.fixture
def planned(tmp_path: Path) -> Planned:
    outside = Outside()
    world = World(data_in(tmp_path, in_turn(says("done"))), host={"scheduler": outside})
    return Planned(world, world.make_agent(), outside)


def test_the_sweep_leaves_a_schedule_with_an_alarm_two_minutes_to_it(planned: Planned) -> None:
    with_alarm, without = planned.make(), planned.make({"type": "rate", "rate_expression": "5 minutes"})
    assert (planned.due_after_ms(with_alarm), planned.due_after_ms(without)) == (LOST_MS, 0)
    assert set(planned.outside.alarms) == {(TENANT, with_alarm)}


def test_beyond_the_set_number_and_after_a_refusal_the_index_alone_serves(planned: Planned) -> None:
    planned.outside.most = 1
    first, second = planned.make(), planned.make()
    assert (planned.due_after_ms(first), planned.due_after_ms(second)) == (LOST_MS, 0)
    planned.outside.most, planned.outside.refuses = 10, True
    refused = planned.make()
    assert planned.due_after_ms(refused) == 0
    assert set(planned.outside.alarms) == {(TENANT, first)}


def test_an_alarm_that_was_lost_is_set_again(planned: Planned) -> None:
    made = planned.make()
    planned.outside.alarms.clear()
    planned.world.clock.sleep(60)
    assert planned.world.chain.firing.fire(made) == "fired"
    assert planned.outside.alarms == {}, "in time: the scheduler has called"
    planned.world.clock.sleep(5 * MINUTE_MS / 1000 + LOST_MS / 1000)
    assert planned.world.chain.firing.fire(made) == "fired"
    assert set(planned.outside.alarms) == {(TENANT, made)}


def test_orphans_are_removed_page_by_page_while_there_is_time(planned: Planned) -> None:
    kept = [planned.make() for _ in range(3)]
    paused = planned.make()
    planned.world.chain.schedules.pause(paused, planned.agent)
    for orphan in (paused, planned.world.ids.new("schedule"), planned.world.ids.new("schedule")):
        planned.outside.put(TENANT, Alarm(orphan, at_ms=1))
    reconciliation = AlarmReconciliation(planned.world.all_stores, planned.outside)
    assert reconciliation.run(time_left=lambda: MARGIN - 1) == 0
    assert reconciliation.run(time_left=lambda: 60) == 3
    assert set(planned.outside.alarms) == {(TENANT, schedule_id) for schedule_id in kept}


def test_a_worker_counts_what_it_fired_and_removes_the_alarm_of_what_is_gone(planned: Planned) -> None:
    made, gone = planned.make(), planned.world.ids.new("schedule")
    planned.outside.put(TENANT, Alarm(gone, at_ms=1))
    worker = FiringWorker(PerTenant(lambda tenant: planned.world.engines.of(tenant).firing), planned.outside)
    places = [schedule_keys.schedule(TENANT, each) for each in (made, gone)]
    planned.world.clock.sleep(timedelta(minutes=1).total_seconds())
    assert worker.run(places, time_left=lambda: 60) == (1, 0)
    assert worker.run(places, time_left=lambda: 1) == (0, 2)
    assert set(planned.outside.alarms) == {(TENANT, made)}
    assert keys.last_part(places[0].pk) == made
