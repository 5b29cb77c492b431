"""Alarms in EventBridge Scheduler: one schedule each, in the schedule group of the stack, whose target is the function
`fire_schedule`.

A schedule's name is the tenant, a dot, and its id as 23 characters of base 32, so that a list of names identifies the schedules
with alarms. An invocation arrives within a minute of the time, is retried twice, and expires after two minutes; then the sweep
fires the schedule.
"""

from __future__ import annotations

import json
import logging
import threading
from datetime import UTC, datetime
from typing import Any, Protocol, cast

from hibernaut.adapters.aws_clients import aws_client
from hibernaut.adapters.schedules.expressions import expression_of
from hibernaut.ports.runs.schedules import Alarm, AlarmPage
from hibernaut.schemas.errors import Unavailable
from hibernaut.schemas.ids import compose, order_of

PAGE = 100
"""Names of one page, the most that ListSchedules gives."""
RETRY = {"MaximumRetryAttempts": 2, "MaximumEventAgeInSeconds": 120}
LONGEST_ZONE = 50
"""Characters of a time zone's name that EventBridge takes."""
_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_DIGITS = 23
_RANDOM = 55
_CONNECT_TIMEOUT, _READ_TIMEOUT = 2, 5
_PREFIX = "schedule"
logger = logging.getLogger(__name__)


class SchedulerClient(Protocol):
    """The used part of boto3's client of EventBridge Scheduler."""

    def create_schedule(self, **request: Any) -> Any: ...

    def update_schedule(self, **request: Any) -> Any: ...

    def delete_schedule(self, **request: Any) -> Any: ...

    def list_schedules(self, **request: Any) -> Any: ...


class EventBridgeScheduler:
    """The `Scheduler` on AWS. `group`: the schedule group; `target`: the ARN of `fire_schedule`; `role`: the ARN of the role that
    invokes it. Thread-safe.
    """

    def __init__(self, group: str, target: str, role: str, *, most: int, client: SchedulerClient | None = None) -> None:
        self._group = group
        self._target = target
        self._role = role
        self._most = most
        self._client = client
        self._lock = threading.Lock()

    @property
    def most(self) -> int:
        """The largest number of alarms of a tenant."""
        return self._most

    def takes(self, alarm: Alarm) -> bool:
        """Whether EventBridge can express the alarm."""
        return expression_of(alarm) is not None and len(alarm.timezone) <= LONGEST_ZONE

    def put(self, tenant: str, alarm: Alarm) -> bool:
        """Create the schedule, or update it if it exists. False: EventBridge has refused it or cannot be reached, which is
        logged.
        """
        from botocore.exceptions import BotoCoreError, ClientError

        request = self._request(tenant, alarm)
        try:
            try:
                self._connected().create_schedule(**request)
            except ClientError as error:
                if _code(error) != "ConflictException":
                    raise
                self._connected().update_schedule(**request)
        except (BotoCoreError, ClientError) as error:
            reason = _code(error) if isinstance(error, ClientError) else type(error).__name__
            logger.warning("alarm not set", extra={"schedule_id": alarm.schedule_id, "error": reason})
            return False
        return True

    def delete(self, tenant: str, schedule_id: str) -> None:
        """Delete the schedule, if it exists. A failure is logged."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            self._connected().delete_schedule(Name=name_of(tenant, schedule_id), GroupName=self._group)
        except (BotoCoreError, ClientError) as error:
            reason = _code(error) if isinstance(error, ClientError) else type(error).__name__
            if reason != "ResourceNotFoundException":
                logger.warning("alarm not removed", extra={"schedule_id": schedule_id, "error": reason})

    def list(self, after: str | None = None) -> AlarmPage:
        """A page of the group's schedules. Names of another form are omitted. Raises: Unavailable."""
        from botocore.exceptions import BotoCoreError, ClientError

        cursor = {"NextToken": after} if after else {}
        try:
            found = self._connected().list_schedules(GroupName=self._group, MaxResults=PAGE, **cursor)
        except (BotoCoreError, ClientError) as error:
            raise Unavailable("UNAVAILABLE: EventBridge Scheduler does not list its schedules.", 60) from error
        read = [schedule_in(one["Name"]) for one in found["Schedules"]]
        return AlarmPage([one for one in read if one is not None], found.get("NextToken"))

    def _request(self, tenant: str, alarm: Alarm) -> dict[str, Any]:
        once = alarm.at_ms is not None
        # EventBridge refuses a start that lies more than five minutes back, and a rate fires at its start first.
        start = {"StartDate": datetime.fromtimestamp(alarm.from_ms / 1000, UTC)} if alarm.every_minutes is not None else {}
        return {
            "Name": name_of(tenant, alarm.schedule_id),
            "GroupName": self._group,
            "ScheduleExpression": expression_of(alarm),
            "ScheduleExpressionTimezone": alarm.timezone,
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "State": "ENABLED",
            "ActionAfterCompletion": "DELETE" if once else "NONE",
            "Target": {
                "Arn": self._target,
                "RoleArn": self._role,
                "Input": json.dumps({"tenant": tenant, "schedule_id": alarm.schedule_id, "at": "<aws.scheduler.scheduled-time>"}),
                "RetryPolicy": RETRY,
            },
            **start,
        }

    def _connected(self) -> SchedulerClient:
        with self._lock:
            if self._client is None:
                from botocore.config import Config

                twice = Config(connect_timeout=_CONNECT_TIMEOUT, read_timeout=_READ_TIMEOUT, retries={"total_max_attempts": 2})
                self._client = cast("SchedulerClient", aws_client("scheduler", twice))
            return self._client


def name_of(tenant: str, schedule_id: str) -> str:
    """The name of a schedule in EventBridge: at most 64 characters, in lower case."""
    milliseconds, counter = order_of(schedule_id)
    low = int(schedule_id[-36:].replace("-", "")[16:], 16) & ((1 << 62) - 1)
    number = (((milliseconds << 12) | counter) << _RANDOM) | (low >> 7)
    digits = "".join(_ALPHABET[(number >> (5 * place)) & 31] for place in reversed(range(_DIGITS)))
    return f"{tenant}.{digits}"


def schedule_in(name: str) -> tuple[str, str] | None:
    """The tenant and the id of a schedule with this name; None: the name is not one of ours."""
    tenant, dot, digits = name.rpartition(".")
    if not dot or not tenant or len(digits) != _DIGITS or any(one not in _ALPHABET for one in digits):
        return None
    number = 0
    for one in digits:
        number = (number << 5) | _ALPHABET.index(one)
    random_bits, rest = number & ((1 << _RANDOM) - 1), number >> _RANDOM
    return tenant, compose(_PREFIX, rest >> 12, rest & 0xFFF, random_bits)


def _code(error: Any) -> str:
    return str(error.response["Error"]["Code"])
