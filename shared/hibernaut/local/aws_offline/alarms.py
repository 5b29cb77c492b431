"""EventBridge Scheduler for the schedules that the functions put into the template's schedule groups: fires what is due, as the
service does.

Knows: expressions, time zones, the role of a schedule, and what becomes of a schedule after its last invocation. Must not know:
what the function does. moto keeps schedules and fires none.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Any
from zoneinfo import ZoneInfo

from hibernaut.local.aws_offline.lambdas import Lambdas
from hibernaut.local.aws_offline.resources import client
from hibernaut.local.aws_offline.rules import invoke_unawaited
from hibernaut.local.aws_offline.stack import Stack
from hibernaut.schemas.base import JsonObject

SERVICE = "scheduler.amazonaws.com"
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
logger = logging.getLogger(__name__)


class BadExpression(ValueError):
    """An expression that EventBridge Scheduler would refuse."""


class OfflineAlarms:
    """Fires the schedules of the groups. A schedule is due if an occurrence lies after its last change and after its last
    invocation.
    """

    def __init__(self, stack: Stack, lambdas: Lambdas) -> None:
        self._stack = stack
        self._lambdas = lambdas
        self._fired: dict[str, datetime] = {}

    def fire(self, now: datetime) -> list[str]:
        """Invoke the targets of the schedules that are due; returns the names of these schedules."""
        fired = []
        for schedule in list(self._schedules()):
            changed = schedule["LastModificationDate"]
            since = max(changed, self._fired.get(schedule["Arn"], changed))
            times = list(takewhile(lambda moment: moment <= now, occurrences(schedule, since)))
            if not times or schedule["State"] != "ENABLED":
                continue
            if not self._may_invoke(schedule["Target"]):
                logger.warning("schedule has no permission", extra={"schedule": schedule["Name"]})
                continue
            self._fired[schedule["Arn"]] = times[-1]
            for moment in times:
                self._invoke(schedule["Target"], moment)
            fired.append(str(schedule["Name"]))
            if schedule.get("ActionAfterCompletion") == "DELETE" and schedule["ScheduleExpression"].startswith("at("):
                client("scheduler").delete_schedule(GroupName=schedule["GroupName"], Name=schedule["Name"])
        return fired

    def _schedules(self) -> Iterator[JsonObject]:
        scheduler = client("scheduler")
        for group in self._stack.of_type("AWS::Scheduler::ScheduleGroup"):
            for page in scheduler.get_paginator("list_schedules").paginate(GroupName=group.ref):
                for one in page["Schedules"]:
                    yield scheduler.get_schedule(GroupName=group.ref, Name=one["Name"])

    def _may_invoke(self, target: JsonObject) -> bool:
        """Whether the schedule's role trusts the service, and may invoke the target, by the statements of the template."""
        roles = [one for one in self._stack.of_type("AWS::IAM::Role") if one.attributes["Arn"] == target["RoleArn"]]
        if not roles or SERVICE not in json.dumps(roles[0].properties["AssumeRolePolicyDocument"]):
            return False
        statements = [
            statement
            for policy in self._stack.of_type("AWS::IAM::Policy")
            if roles[0].ref in policy.properties["Roles"]
            for statement in policy.properties["PolicyDocument"]["Statement"]
        ]
        return any(
            statement["Effect"] == "Allow"
            and "lambda:InvokeFunction" in _listed(statement["Action"])
            and any(fnmatchcase(target["Arn"], resource) for resource in _listed(statement["Resource"]))
            for statement in statements
        )

    def _invoke(self, target: JsonObject, moment: datetime) -> None:
        at = moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        event = json.loads(target["Input"].replace("<aws.scheduler.scheduled-time>", at))
        invoke_unawaited(self._lambdas, self._lambdas.of(target["Arn"]).folder, event)


def occurrences(schedule: JsonObject, since: datetime) -> Iterator[datetime]:
    """The occurrences of a schedule after a time, without end for a recurring one. Raises: BadExpression."""
    kind, _, rest = str(schedule["ScheduleExpression"]).partition("(")
    body, zone = rest.removesuffix(")"), ZoneInfo(schedule.get("ScheduleExpressionTimezone") or "UTC")
    match kind:
        case "at":
            moment = datetime.strptime(body, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=zone)
            yield from [moment] if moment > since else []
        case "rate":
            yield from _rate(body, schedule.get("StartDate"), since)
        case "cron":
            yield from _cron(body, zone, since)
        case _:
            raise BadExpression(schedule["ScheduleExpression"])


def _rate(body: str, start: Any, since: datetime) -> Iterator[datetime]:
    number, unit = body.split()
    period = timedelta(**{unit if unit.endswith("s") else f"{unit}s": int(number)})
    moment: datetime = start if start is not None else since
    if moment <= since:
        moment += ((since - moment) // period + 1) * period
    while True:
        yield moment
        moment += period


def _cron(body: str, zone: ZoneInfo, since: datetime) -> Iterator[datetime]:
    from cronsim import CronSim

    fields = body.split()
    if len(fields) != 6 or (fields[2] == "?") is (fields[4] == "?") or fields[5] != "*":
        raise BadExpression(body)  # EventBridge wants a `?` for exactly one of day and weekday; other years are not needed here
    weekdays = fields[4].replace("?", "*")
    if "#" in weekdays:
        day, number = weekdays.split("#")
        weekdays = f"{_WEEKDAYS[int(day) - 1]}#{number}"
    expression = " ".join([*fields[:2], fields[2].replace("?", "*"), fields[3], weekdays])
    yield from (moment for moment in CronSim(expression, since.astimezone(zone)) if moment > since)


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
