"""Schedules: what fires when, what becomes of it, and who may change it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from hibernaut.adapters.cipher.key_file import KeyFileCipher
from hibernaut.ports.storage.table import Key
from hibernaut.schemas.access.api_key import CreateApiKey, RotateApiKey
from hibernaut.schemas.access.budget import SetBudget
from hibernaut.schemas.agents.schedule import CreateSchedule, Schedule, UpdateSchedule
from hibernaut.schemas.errors import BudgetExceeded, Conflict, InvalidArgument, NotFound, Unprocessable
from hibernaut.schemas.messages.message import Message
from hibernaut.services.access.access import Access
from hibernaut.services.schedules import schedules as administration
from hibernaut.services.schedules.schedules import ScheduleQuery, Schedules
from hibernaut.services.sending.sending import MOST_WAITING
from hibernaut.store.table import keys
from hibernaut.wiring.api_services import services_over
from tests.support.inline_schedules import InlineSchedules
from tests.support.scripted_model import in_turn, says
from tests.support.sleepers import paired
from tests.support.world import TENANT, World, data_in

EVERY_FIVE = {"type": "recurring", "cron_expression": "*/5 * * * *"}
WAKE = [{"role": "user", "content": "wake up"}]


class WatchedSchedules(InlineSchedules):
    """Remembers what it was handed."""

    def __init__(self) -> None:
        super().__init__()
        self.handed: list[Key] = []

    def start(self, places: Sequence[Key]) -> None:
        self.handed += places
        super().start(places)


@dataclass
class Planned:
    """A process with one agent, and its schedules."""

    world: World
    agent: str
    workers: WatchedSchedules

    @property
    def use(self) -> Schedules:
        return self.world.chain.schedules

    def make(self, schedule: object = EVERY_FIVE, *, key_id: str | None = None, **fields: object) -> str:
        body = {"schedule": schedule, **({"messages": WAKE} if "action" not in fields else {}), **fields}
        return self.use.create(self.agent, CreateSchedule.model_validate(body), key_id).id

    def get(self, schedule_id: str) -> Schedule:
        return self.use.retrieve(schedule_id, self.agent)

    def fire(self, schedule_id: str) -> str:
        return self.world.chain.firing.fire(schedule_id)

    def later(self, **passed: float) -> None:
        self.world.clock.sleep(timedelta(**passed).total_seconds())

    def in_ms(self, **passed: float) -> float:
        return (self.world.clock.now() + timedelta(**passed)).timestamp() * 1000

    def heard(self) -> list[Message]:
        return [row for row in self.world.log(self.agent) if row.role == "user"]


@pytest.fixture
def planned(tmp_path: Path) -> Planned:
    workers = WatchedSchedules()
    world = World(data_in(tmp_path, in_turn(says("done"))), host={"schedule_workers": workers})
    workers.bind(world.engines.fire)
    return Planned(world, world.make_agent(), workers)


def test_a_recurring_schedule_fires_at_each_of_its_times_and_tells_of_it(planned: Planned) -> None:
    made = planned.make()
    assert planned.get(made).next_scheduled_time == "2026-01-02T03:05:00.000000Z"
    assert planned.fire(made) == "early"
    for _ in range(12):
        planned.later(minutes=5)
        assert [planned.fire(made), planned.fire(made)] == ["fired", "early"]
        planned.world.workflow.drive()
    assert len(planned.heard()) == 12
    shown = planned.get(made)
    assert shown.next_scheduled_time == "2026-01-02T04:05:00.000000Z"
    assert len(shown.outcomes) == 10
    assert [each.run_id for each in shown.outcomes] == [row.run_id for row in planned.heard()[:1:-1]]
    assert {(each.run_status, each.stop_reason) for each in shown.outcomes} == {("completed", "end_turn")}
    (listed,) = planned.use.page(ScheduleQuery(planned.agent)).scheduled_messages
    assert [each.run_status for each in listed.outcomes] == ["completed", *[None] * 9], "a list reads one run of each schedule"
    assert shown.outcomes[0].scheduled_at is not None
    assert planned.heard()[-1].otid == f"{made}:{int(shown.outcomes[0].scheduled_at.timestamp() * 1000)}"


def test_a_one_time_schedule_is_over_after_its_time_and_goes_after_a_month(planned: Planned) -> None:
    made = planned.make({"scheduled_at": planned.in_ms(minutes=1)})
    planned.later(minutes=1)
    assert [planned.fire(made), planned.fire(made)] == ["fired", "early"]
    shown = planned.get(made)
    assert (shown.next_scheduled_time, len(shown.outcomes), shown.schedule.type) == (None, 1, "one-time")
    planned.later(days=31)
    with pytest.raises(NotFound):
        planned.get(made)
    assert planned.use.page(ScheduleQuery(planned.agent)).scheduled_messages == []


def test_of_several_missed_times_the_newest_is_made_good_once(planned: Planned) -> None:
    made = planned.make()
    planned.later(hours=2)
    planned.world.engines.sweep.run()
    planned.world.engines.sweep.run()
    (outcome,) = planned.get(made).outcomes
    assert (str(outcome.scheduled_at)[:16], str(outcome.missed_since)[:16]) == ("2026-01-02 05:00", "2026-01-02 03:05")
    assert planned.get(made).next_scheduled_time == "2026-01-02T05:05:00.000000Z"
    planned.world.workflow.drive()
    assert len(planned.heard()) == 1


def test_the_sweep_hands_over_what_is_due_and_nothing_else(planned: Planned) -> None:
    made = planned.make()
    planned.world.engines.sweep.run(everything=True)
    assert planned.workers.handed == []
    planned.later(minutes=1)
    planned.world.engines.sweep.run()
    assert [keys.last_part(place.pk) for place in planned.workers.handed] == [made]


def test_a_message_to_a_busy_conversation_is_queued_as_any_message(planned: Planned) -> None:
    made = planned.make()
    planned.world.begin(planned.agent, "hello")
    planned.later(minutes=1)
    assert planned.fire(made) == "fired"
    assert planned.get(made).outcomes[0].status == "queued"
    planned.world.workflow.drive()
    assert [row.text() for row in planned.heard()] == ["hello", "wake up"]


def test_a_full_queue_and_a_used_up_budget_are_outcomes(planned: Planned) -> None:
    made = planned.make()
    for _ in range(MOST_WAITING + 1):
        planned.world.begin(planned.agent, "hello")
    planned.later(minutes=1)
    assert [planned.fire(made), planned.fire(made)] == ["failed", "early"]
    planned.world.workflow.drive()
    planned.world.budgets.set(planned.agent, SetBudget(steps_per_day=1))
    planned.later(minutes=5)
    planned.fire(made)
    planned.world.workflow.drive()
    planned.later(minutes=5)
    assert planned.fire(made) == "failed"
    codes = [each.error and each.error.code for each in planned.get(made).outcomes]
    assert codes == ["budget_exceeded", None, "conversation_busy"]
    with pytest.raises(BudgetExceeded):
        planned.use.run(made, planned.agent, None)


@pytest.mark.parametrize("field", ["name", "sender_id", "otid"])
def test_the_limits_of_a_message_are_those_of_a_scheduled_message(planned: Planned, field: str) -> None:
    with pytest.raises(ValidationError, match=field):
        planned.make(messages=[{**WAKE[0], field: "n" * 70_000}])
    assert planned.use.page(ScheduleQuery(None)).scheduled_messages == []


def test_a_message_that_was_stored_under_wider_limits_is_an_outcome_and_the_schedule_goes_on(planned: Planned) -> None:
    request = CreateSchedule.model_validate({"schedule": EVERY_FIVE, "messages": WAKE})
    request.messages[0].name = "n" * 1001
    made = planned.use.create(planned.agent, request, None).id
    planned.later(minutes=5)
    assert [planned.fire(made), planned.fire(made)] == ["failed", "early"]
    (outcome,) = planned.get(made).outcomes
    assert outcome.error is not None
    assert "change its name" in outcome.error.message
    assert planned.heard() == []


def test_a_schedule_acts_for_its_key_and_for_the_one_after_a_rotation(planned: Planned, tmp_path: Path) -> None:
    world = planned.world
    cipher = KeyFileCipher(tmp_path / "secrets.json")
    administered = Access(world.all_stores, cipher, world.clock, world.ids, required=True).keys_of(TENANT)
    key = administered.create(CreateApiKey.model_validate({"scope": "write"}))
    made = planned.make(key_id=key.id)
    planned.later(minutes=1)
    planned.fire(made)
    world.workflow.drive()
    assert world.run(planned.heard()[0].run_id or "").run.key_id == key.id
    rotated = administered.rotate(key.id, RotateApiKey(grace_seconds=0))
    planned.later(minutes=5)
    assert planned.fire(made) == "fired"
    world.workflow.drive()
    assert world.run(planned.heard()[1].run_id or "").run.key_id == rotated.id
    administered.revoke(rotated.id)
    planned.later(minutes=5)
    assert [planned.fire(made), planned.fire(made)] == ["failed", "early"]
    shown = planned.get(made)
    assert (shown.paused, shown.paused_reason, shown.next_scheduled_time) == (True, "key_unusable", None)
    assert shown.outcomes[0].error is not None
    assert planned.use.resume(made, planned.agent, None).next_scheduled_time is not None
    planned.later(minutes=5)
    assert planned.fire(made) == "fired"


def test_a_paused_schedule_stands_still_and_makes_nothing_good(planned: Planned) -> None:
    made = planned.make()
    assert planned.use.pause(made, planned.agent).paused
    planned.later(hours=1)
    planned.world.engines.sweep.run()
    assert planned.fire(made) == "early"
    assert planned.use.resume(made, planned.agent, None).next_scheduled_time == "2026-01-02T04:05:00.000000Z"
    assert planned.fire(made) == "early"
    once = planned.make({"scheduled_at": planned.in_ms(minutes=1)})
    planned.use.pause(once, planned.agent)
    planned.later(minutes=2)
    with pytest.raises(Unprocessable, match="has passed"):
        planned.use.resume(once, planned.agent, None)


def test_a_change_of_the_time_replaces_the_next_one_and_revives_what_is_over(planned: Planned) -> None:
    made = planned.make({"scheduled_at": planned.in_ms(minutes=1)})
    planned.later(minutes=1)
    planned.fire(made)
    rate = UpdateSchedule.model_validate({"schedule": {"type": "rate", "rate_expression": "2 hours"}, "max_steps": 3})
    shown = planned.use.update(made, planned.agent, rate, None)
    assert shown.next_scheduled_time == "2026-01-02T05:05:05.678000Z"
    assert (shown.message.max_steps, shown.message.messages[0].content) == (3, "wake up")
    planned.later(hours=2)
    assert planned.fire(made) == "fired"
    over = planned.make({"scheduled_at": planned.in_ms(minutes=1)})
    planned.later(minutes=1)
    planned.fire(over)
    with pytest.raises(Conflict, match="is over"):
        planned.use.pause(over, planned.agent)


def test_run_now_leaves_the_times_as_they_are_and_works_during_a_pause(planned: Planned) -> None:
    made = planned.make()
    planned.use.pause(made, planned.agent)
    first = planned.use.run(made, planned.agent, None)
    assert first.run_id is not None
    assert planned.use.run(made, planned.agent, None, retry=1).run_id == first.run_id
    assert planned.use.run(made, planned.agent, None).run_id != first.run_id
    assert [each.scheduled_at for each in planned.get(made).outcomes] == [None, None]
    assert planned.get(made).paused


def test_a_compaction_is_made_once_and_its_failure_is_an_outcome(planned: Planned) -> None:
    made = planned.make(action="compaction")
    planned.later(minutes=1)
    assert planned.fire(made) == "fired"
    (outcome,) = planned.get(made).outcomes
    assert (outcome.status, outcome.error and outcome.error.code) == ("failed", "invalid_argument")
    for number in range(6):
        planned.world.send(planned.agent, f"message {number}")
    planned.later(minutes=5)
    assert [planned.fire(made), planned.fire(made)] == ["fired", "early"]
    assert [each.status for each in planned.get(made).outcomes] == ["completed", "failed"]


def test_the_sleep_time_agent_works_at_the_time_and_is_told_everything_once(planned: Planned) -> None:
    pair = paired(planned.world, planned.agent, every=100)
    planned.world.send(planned.agent, "Hello.")  # the first turn counts as due
    made = planned.make(action="sleeptime", group_id=pair.group)
    planned.later(minutes=1)
    assert planned.fire(made) == "fired"
    assert planned.get(made).outcomes[0].status == "completed", "there is nothing to tell"
    planned.world.send(planned.agent, "I live in Oslo.")
    planned.later(minutes=5)
    assert [planned.fire(made), planned.fire(made)] == ["fired", "early"]
    planned.world.workflow.drive()
    told = [row for row in planned.world.log(pair.sleeper) if row.role == "user"]
    assert told[-1].run_id == planned.get(made).outcomes[0].run_id
    assert ["Oslo" in row.text() for row in told] == [False, True]


def test_the_schedules_of_a_deleted_agent_go_with_it(planned: Planned) -> None:
    made = planned.make()
    services = services_over(planned.world.stores, planned.world.host, planned.world.chain)
    services.agents.delete(planned.agent)
    assert planned.fire(made) == "gone"
    assert planned.use.page(ScheduleQuery(None)).scheduled_messages == []
    assert not [place for place in planned.world.all_stores.due.all() if place.sk == "SCHEDULE"]
    with pytest.raises(NotFound):
        planned.make()


def test_a_page_shows_the_oldest_first_and_says_whether_there_are_more(planned: Planned) -> None:
    made = [planned.make() for _ in range(3)]
    other = planned.world.make_agent()
    first = planned.use.page(ScheduleQuery(planned.agent, limit=2))
    assert ([each.id for each in first.scheduled_messages], first.has_next_page) == (made[:2], True)
    rest = planned.use.page(ScheduleQuery(planned.agent, after=made[1], limit=2))
    assert ([each.id for each in rest.scheduled_messages], rest.has_next_page) == (made[2:], False)
    assert planned.use.page(ScheduleQuery(other)).scheduled_messages == []
    with pytest.raises(NotFound):
        planned.use.retrieve(made[0], other)


def test_there_is_a_limit_for_an_agent_and_for_a_tenant(planned: Planned, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(administration, "MOST_OF_AGENT", 2)
    monkeypatch.setattr(administration, "MOST_OF_TENANT", 3)
    first, _ = planned.make({"scheduled_at": planned.in_ms(minutes=1)}), planned.make()
    with pytest.raises(InvalidArgument, match="2 schedules of an agent"):
        planned.make()
    planned.later(minutes=1)
    planned.fire(first)
    planned.make()  # what is over does not count
    planned.agent = planned.world.make_agent()
    planned.make()
    with pytest.raises(InvalidArgument, match="3 schedules of a tenant"):
        planned.make()


def test_what_cannot_work_is_refused_and_leaves_nothing(planned: Planned) -> None:
    with pytest.raises(Unprocessable, match="Messages must not be empty"):
        planned.make(messages=[])
    with pytest.raises(Unprocessable, match="past"):
        planned.make({"scheduled_at": 1})
    with pytest.raises(Unprocessable, match="group_id"):
        planned.make(action="sleeptime")
    with pytest.raises(NotFound, match="Sleep-time group"):
        planned.make(action="sleeptime", group_id="group-1")
    with pytest.raises(Unprocessable, match="sends no messages"):
        planned.make(action="compaction", messages=WAKE)
    assert planned.use.page(ScheduleQuery(None)).scheduled_messages == []
