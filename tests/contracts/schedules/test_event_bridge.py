"""EventBridge Scheduler behind the port `Scheduler`: names, expressions, and what becomes of a refusal. The double enforces the
documented rules.
"""

from __future__ import annotations

import json
import logging
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.adapters.schedules.event_bridge import EventBridgeScheduler, name_of, schedule_in
from hibernaut.adapters.schedules.expressions import expression_of
from hibernaut.domain import schedules as calendar
from hibernaut.local.aws_offline.alarms import occurrences
from hibernaut.ports.runs.schedules import NO_SCHEDULER, Alarm
from hibernaut.schemas.agents.schedule import RecurringSchedule
from hibernaut.schemas.errors import Unavailable
from hibernaut.schemas.ids import compose

GROUP, TARGET, ROLE = (
    "hibernaut-dev-agents",
    "arn:aws:lambda:eu-central-1:123456789012:function:fire",
    "arn:aws:iam::123456789012:role/r",
)
ONE = compose("schedule", 1_790_000_000_000, 7, 12345)
NOW = datetime(2026, 11, 23, 8, tzinfo=UTC)
NAME = re.compile(r"[0-9a-zA-Z-_.]{1,64}")
FORMS = re.compile(
    r"at\(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\)|rate\([1-9]\d* (minute|hour|day)s?\)|cron\((\S+) (\S+) (\S+) (\S+) (\S+) (\S+)\)"
)


def refused(code: str, operation: str = "CreateSchedule") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, operation)


@dataclass
class Amazon:
    """The used part of EventBridge Scheduler, with the rules of its API reference (CreateSchedule, UpdateSchedule,
    DeleteSchedule, ListSchedules) and of its user guide ("Schedule types").
    """

    groups: dict[str, dict[str, Any]] = field(default_factory=lambda: {GROUP: {}})
    quota: int = 1_000
    fails: Exception | None = None
    page: int = 100

    def create_schedule(self, **request: Any) -> Any:
        group = self._checked(request)
        if request["Name"] in group:
            raise refused("ConflictException")
        if len(group) >= self.quota:
            raise refused("ServiceQuotaExceededException")
        group[request["Name"]] = request

    def update_schedule(self, **request: Any) -> Any:
        group = self._checked(request)
        if request["Name"] not in group:
            raise refused("ResourceNotFoundException")
        group[request["Name"]] = request

    def delete_schedule(self, **request: Any) -> Any:
        self._fail()
        if self.groups[request["GroupName"]].pop(request["Name"], None) is None:
            raise refused("ResourceNotFoundException", "DeleteSchedule")

    def list_schedules(self, **request: Any) -> Any:
        self._fail()
        assert 1 <= request["MaxResults"] <= 100
        names = sorted(self.groups[request["GroupName"]])
        first = int(request.get("NextToken", 0))
        more = {"NextToken": str(first + self.page)} if first + self.page < len(names) else {}
        return {"Schedules": [{"Name": name} for name in names[first : first + self.page]], **more}

    def _fail(self) -> None:
        if self.fails is not None:
            raise self.fails

    def _checked(self, request: dict[str, Any]) -> dict[str, Any]:
        self._fail()
        if request["GroupName"] not in self.groups:
            raise refused("ResourceNotFoundException")
        expression, target = request["ScheduleExpression"], request["Target"]
        said = FORMS.fullmatch(expression)
        bad = not NAME.fullmatch(request["Name"]) or said is None or not 1 <= len(expression) <= 256
        if said is not None and expression.startswith("cron("):
            _, hour, day, _, weekday, year = expression[5:-1].split()
            bad |= [day, weekday].count("?") != 1 or year != "*" or "0" in weekday.split(",") or "?" in hour
        if said is not None and expression.startswith("rate("):
            bad |= expression.startswith("rate(1 ") is expression.endswith("s)")
        start = request.get("StartDate")
        bad |= start is not None and start < NOW - timedelta(minutes=5)
        bad |= len(request["ScheduleExpressionTimezone"]) > 50
        bad |= request["FlexibleTimeWindow"] != {"Mode": "OFF"} or request["ActionAfterCompletion"] not in ("NONE", "DELETE")
        bad |= not 60 <= target["RetryPolicy"]["MaximumEventAgeInSeconds"] <= 86_400
        bad |= not 0 <= target["RetryPolicy"]["MaximumRetryAttempts"] <= 185
        try:
            ZoneInfo(request["ScheduleExpressionTimezone"])
        except (KeyError, ValueError):
            bad = True
        if bad or not target["RoleArn"].startswith("arn:aws:iam::"):
            raise refused("ValidationException")
        return self.groups[request["GroupName"]]


def engine(amazon: Amazon, group: str = GROUP) -> EventBridgeScheduler:
    return EventBridgeScheduler(group, TARGET, ROLE, most=10, client=amazon)


ALARMS = (
    Alarm(ONE, at_ms=int(NOW.timestamp() * 1000) + 90_500),
    Alarm(ONE, cron="*/5 9-17 * * 1-5", timezone="Europe/Oslo"),
    Alarm(ONE, cron="0 0 L * *"),
    Alarm(ONE, cron="0 0 * * 1#2"),
    Alarm(ONE, cron="0 0 1,15 2-3 *"),
    Alarm(ONE, every_minutes=1, from_ms=int(NOW.timestamp() * 1000) + 60_000),
    Alarm(ONE, every_minutes=90, from_ms=int(NOW.timestamp() * 1000) + 60_000),
)


@pytest.mark.parametrize("alarm", ALARMS)
def test_an_alarm_is_one_schedule_of_the_group_that_names_who_is_to_be_fired(alarm: Alarm) -> None:
    amazon = Amazon()
    scheduler = engine(amazon)
    assert scheduler.takes(alarm)
    assert [scheduler.put("acme", alarm), scheduler.put("acme", alarm)] == [True, True]
    ((name, made),) = amazon.groups[GROUP].items()
    assert schedule_in(name) == ("acme", ONE)
    assert made["ActionAfterCompletion"] == ("DELETE" if alarm.at_ms else "NONE")
    event = json.loads(made["Target"]["Input"])
    assert (event["tenant"], event["schedule_id"]) == ("acme", ONE)
    scheduler.delete("acme", ONE)
    scheduler.delete("acme", ONE)
    assert amazon.groups[GROUP] == {}


@pytest.mark.parametrize("cron", ["0 0 1 * 1", "0 0 LW * *", "0 0 * * 5L", "0 0 * * 1#1,2", "1-59 1-22 2-30 * *", "junk"])
def test_what_eventbridge_cannot_say_is_not_taken(cron: str) -> None:
    assert not engine(Amazon()).takes(Alarm(ONE, cron=cron))


@given(
    tenant=st.from_regex(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?", fullmatch=True),
    milliseconds=st.integers(0, (1 << 48) - 1),
    counter=st.integers(0, (1 << 12) - 1),
    bits=st.integers(0, (1 << 55) - 1),
)
def test_a_name_says_which_schedule_of_which_tenant_it_is(tenant: str, milliseconds: int, counter: int, bits: int) -> None:
    schedule_id = compose("schedule", milliseconds, counter, bits)
    name = name_of(tenant, schedule_id)
    assert NAME.fullmatch(name)
    assert name == name.lower()
    assert schedule_in(name) == (tenant, schedule_id)


@given(
    minute=st.sampled_from(("*", "*/7", "3", "0,30", "10-20")),
    hour=st.sampled_from(("*", "*/5", "4", "9-17")),
    days=st.sampled_from(
        (("*", "*"), ("L", "*"), ("1,15", "*"), ("*", "1-5"), ("*", "0,6"), ("*", "7"), ("*", "2#3"), ("*/10", "*"))
    ),
    month=st.sampled_from(("*", "2", "1-6")),
    start=st.integers(0, 10**8),
)
def test_an_expression_of_eventbridge_has_the_same_times(
    minute: str, hour: str, days: tuple[str, str], month: str, start: int
) -> None:
    cron = f"{minute} {hour} {days[0]} {month} {days[1]}"
    said = expression_of(Alarm(ONE, cron=cron))
    if said is None:
        return
    since = NOW + timedelta(seconds=start)
    theirs = occurrences({"ScheduleExpression": said}, since)
    ours = int(since.timestamp() * 1000)
    for _ in range(5):
        following = calendar.next_after(RecurringSchedule(cron_expression=cron), ours, 0)
        assert following == int(next(theirs).timestamp() * 1000)
        ours = following


@pytest.mark.parametrize(
    "failure",
    [
        refused("ThrottlingException"),
        refused("InternalServerException"),
        refused("AccessDeniedException"),
        EndpointConnectionError(endpoint_url="https://scheduler.invalid"),
    ],
)
def test_a_refusal_is_told_and_does_no_harm(failure: Exception, caplog: pytest.LogCaptureFixture) -> None:
    amazon = Amazon(fails=failure)
    with caplog.at_level(logging.WARNING):
        assert engine(amazon).put("acme", ALARMS[0]) is False
        engine(amazon).delete("acme", ONE)
    assert [record.message for record in caplog.records] == ["alarm not set", "alarm not removed"]
    with pytest.raises(Unavailable):
        engine(amazon).list()


def test_a_full_quota_and_a_missing_group_leave_the_schedule_to_the_sweep() -> None:
    assert engine(Amazon(quota=0)).put("acme", ALARMS[0]) is False
    assert engine(Amazon(), "another").put("acme", ALARMS[0]) is False


def test_the_list_goes_in_pages_and_leaves_out_what_is_not_ours() -> None:
    amazon = Amazon(page=2)
    scheduler = engine(amazon)
    ids = [compose("schedule", 1, number, 0) for number in range(5)]
    for schedule_id in ids:
        scheduler.put("acme", Alarm(schedule_id, every_minutes=5, from_ms=int(NOW.timestamp() * 1000)))
    amazon.groups[GROUP]["somebody-elses"] = {}
    found, after = [], None
    for _ in range(10):
        page = scheduler.list(after)
        found += page.schedules
        after = page.after
        if after is None:
            break
    assert sorted(found) == [("acme", schedule_id) for schedule_id in ids]


def test_a_deployment_without_eventbridge_takes_no_alarm() -> None:
    assert NO_SCHEDULER.most == 0
    assert not NO_SCHEDULER.takes(ALARMS[0])
    assert NO_SCHEDULER.put("acme", ALARMS[0]) is False
    assert NO_SCHEDULER.list().schedules == ()
