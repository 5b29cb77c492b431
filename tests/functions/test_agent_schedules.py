"""Schedules of agents on AWS, from end to end in this process: through the template's schedule group and role, and by the sweep
if EventBridge has lost one.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.client import BaseClient

from hibernaut.adapters.clock import SystemClock, TimeOrderedIds
from hibernaut.adapters.schedules.event_bridge import name_of
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.local.aws_offline.resources import client
from hibernaut.schemas.base import JsonObject
from hibernaut.store.schedules.schedule_keys import is_schedule
from hibernaut.store.stores import Stores
from tests.functions.test_memory_pipeline import Memory
from tests.functions.test_permissions_used import Watch, allowed
from tests.support.blobs import MemoryBlobs
from tests.support.waiting import eventually

SOON = timedelta(milliseconds=900)
"""Within the time by which a worker's clock may be slow, so that the schedule is due at once."""
WAKE = [{"role": "user", "content": "wake up"}]
FULL_HOUR = {"at": "2026-11-23T09:00:00Z"}


@pytest.fixture(scope="module")
def aws() -> Iterator[OfflineAws]:
    with OfflineAws(time_scale=0.001) as running:
        yield running


class Planned(Memory):
    """What a client asks about one agent's schedules."""

    def __init__(self, aws: OfflineAws) -> None:
        super().__init__(aws)
        self.aws = aws
        self.agent_id = self.agent()
        self.path = f"/v1/agents/{self.agent_id}/schedule"

    def make(self, schedule: object = None) -> str:
        once = {"scheduled_at": (datetime.now(UTC) + SOON).timestamp() * 1000}
        return str(self.ask("POST", self.path, {"messages": WAKE, "schedule": schedule or once}, status=201)["id"])

    def outcomes(self, schedule_id: str) -> list[JsonObject]:
        found: list[JsonObject] = self.ask("GET", f"{self.path}/{schedule_id}")["outcomes"]
        return found

    def alarms(self) -> list[str]:
        (group,) = self.aws.stack.of_type("AWS::Scheduler::ScheduleGroup")
        return [one["Name"] for one in client("scheduler").list_schedules(GroupName=group.ref)["Schedules"]]

    def event(self, schedule_id: str) -> JsonObject:
        return {"tenant": "default", "schedule_id": schedule_id, "at": "2026-11-23T08:00:00Z"}


@pytest.fixture
def planned(aws: OfflineAws) -> Iterator[Planned]:
    made = Planned(aws)
    yield made
    aws.wait_for_all()
    for one in made.ask("GET", made.path)["scheduled_messages"]:
        made.ask("DELETE", f"{made.path}/{one['id']}")


def test_a_schedule_fires_through_the_group_and_its_role(planned: Planned) -> None:
    made = planned.make()
    name = name_of("default", made)
    assert planned.alarms() == [name]
    assert planned.aws.alarms.fire(datetime.now(UTC) + timedelta(seconds=3)) == [name]
    assert planned.alarms() == [], "a schedule of one time is gone after it"
    planned.aws.wait_for_all()
    (outcome,) = planned.outcomes(made)
    run = planned.ask("GET", f"/v1/runs/{outcome['run_id']}")
    assert (outcome["status"], run["status"], run["background"]) == ("accepted", "completed", True)
    assert planned.aws.invoke("fire_schedule", planned.event(made)) == {"fired": 0, "left": 0}


def test_an_early_invocation_does_nothing(planned: Planned) -> None:
    made = planned.make({"type": "rate", "rate_expression": "1 minute"})
    assert planned.aws.alarms.fire(datetime.now(UTC) + timedelta(seconds=65)) == [name_of("default", made)]
    assert planned.outcomes(made) == []


def test_what_eventbridge_has_lost_is_fired_by_the_sweep_once(planned: Planned) -> None:
    made = planned.make()
    (group,) = planned.aws.stack.of_type("AWS::Scheduler::ScheduleGroup")
    client("scheduler").delete_schedule(GroupName=group.ref, Name=name_of("default", made))
    due = Stores(planned.aws.table, MemoryBlobs(), SystemClock()).due
    for item in [item for page in due.pages(None, 100) for items in page for item in items]:
        if is_schedule(item.key):
            due.postpone(item, 0)
    assert not planned.aws.fire_schedule().failed
    eventually(lambda: planned.outcomes(made))
    assert planned.aws.invoke("fire_schedule", planned.event(made)) == {"fired": 0, "left": 0}, "the late invocation"
    assert [one["status"] for one in planned.outcomes(made)] == ["accepted"]


def test_two_invocations_at_the_same_moment_make_one_run(planned: Planned) -> None:
    made = planned.make()
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: planned.aws.invoke("fire_schedule", planned.event(made)), range(4)))
    assert sum(one["fired"] for one in done) == 1
    assert len(planned.outcomes(made)) == 1


def test_the_alarm_follows_pauses_and_changes(planned: Planned) -> None:
    made = planned.make({"type": "recurring", "cron_expression": "0 3 * * *", "timezone": "Europe/Oslo"})
    path = f"{planned.path}/{made}"
    planned.ask("POST", f"{path}/pause")
    assert planned.alarms() == []
    planned.ask("POST", f"{path}/resume")
    (group,) = planned.aws.stack.of_type("AWS::Scheduler::ScheduleGroup")
    shown = client("scheduler").get_schedule(GroupName=group.ref, Name=name_of("default", made))
    assert (shown["ScheduleExpression"], shown["ScheduleExpressionTimezone"]) == ("cron(0 3 * * ? *)", "Europe/Oslo")
    planned.ask("PATCH", path, {"schedule": {"type": "rate", "rate_expression": "2 hours"}})
    shown = client("scheduler").get_schedule(GroupName=group.ref, Name=name_of("default", made))
    assert shown["ScheduleExpression"] == "rate(120 minutes)"
    planned.ask("PATCH", path, {"schedule": {"type": "recurring", "cron_expression": "0 3 1 * 1"}})
    assert planned.alarms() == [], "EventBridge cannot say this; the sweep fires it"


def test_orphaned_alarms_are_removed_by_the_sweep_of_a_full_hour_and_by_their_own_invocation(planned: Planned) -> None:
    made = planned.make({"type": "rate", "rate_expression": "1 hour"})
    ids, scheduler = TimeOrderedIds(SystemClock()), client("scheduler")
    (group,) = planned.aws.stack.of_type("AWS::Scheduler::ScheduleGroup")
    like = scheduler.get_schedule(GroupName=group.ref, Name=name_of("default", made))
    wanted = {key: like[key] for key in ("FlexibleTimeWindow", "ScheduleExpression", "Target", "GroupName")}
    orphans = [ids.new("schedule") for _ in range(2)]
    for orphan in orphans:
        scheduler.create_schedule(Name=name_of("default", orphan), **wanted)
    planned.aws.invoke("fire_schedule", planned.event(orphans[0]))
    assert set(planned.alarms()) == {name_of("default", made), name_of("default", orphans[1])}
    planned.aws.invoke("sweep_runs", {"at": "2026-11-23T09:01:00Z"})
    assert len(planned.alarms()) == 2
    planned.aws.invoke("sweep_runs", FULL_HOUR)
    assert planned.alarms() == [name_of("default", made)]


def test_the_roles_allow_what_the_functions_ask(planned: Planned, monkeypatch: pytest.MonkeyPatch) -> None:
    watch, original = Watch(), BaseClient._make_api_call

    def noted(made: Any, operation: str, asked: JsonObject) -> Any:
        watch.note(made.meta.service_model.service_id.hyphenize(), operation, asked)
        return original(made, operation, asked)

    monkeypatch.setattr(BaseClient, "_make_api_call", noted)
    planned.make()
    planned.aws.alarms.fire(datetime.now(UTC) + timedelta(seconds=3))
    planned.make({"type": "rate", "rate_expression": "1 hour"})
    planned.aws.invoke("sweep_runs", FULL_HOUR)
    planned.aws.wait_for_all()
    functions = {"api", "fire_schedule", "sweep_runs"}
    made = {call for call in watch.calls if call.function in functions}
    assert {"scheduler:CreateSchedule", "iam:PassRole", "scheduler:ListSchedules", "states:StartExecution"} <= {
        call.action for call in made
    }
    assert {call for call in made if not allowed(planned.aws, call)} == set()
