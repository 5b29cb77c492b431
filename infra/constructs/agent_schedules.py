"""The schedules of agents: a group of EventBridge Scheduler, the role that invokes `fire_schedule`, and the permissions to create
schedules in the group.

Without schedules there are no costs: a group is free, and EventBridge bills invocations.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from infra.constructs.findings import ANYTHING, Grant, arn_pattern
from infra.constructs.functions import OurFunction
from infra.constructs.trust import service_for_this_account
from infra.settings import Settings


class AgentSchedules(Construct):
    """The group and its role. `api` and `fire_schedule` put schedules into the group and remove them; the sweep removes orphans,
    and hands over what is lost.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        settings: Settings,
        api: OurFunction,
        fire_schedule: OurFunction,
        sweep_runs: OurFunction,
    ) -> None:
        super().__init__(scope, id)
        self._group = f"{settings.stack_name}-agents"
        group = scheduler.CfnScheduleGroup(self, "Group", name=self._group)
        role = iam.Role(self, "Role", assumed_by=service_for_this_account("scheduler.amazonaws.com"))
        fire_schedule.allow_invoke_by(role)
        fire_schedule.allow_invoke_by(sweep_runs.role)
        for function in (api, fire_schedule):
            function.allow(self._schedules("CreateSchedule", "UpdateSchedule", "DeleteSchedule"), _passing(role))
        sweep_runs.allow(self._schedules("DeleteSchedule"), _listing())
        for function in (api, fire_schedule, sweep_runs):
            function.function.add_environment("HIBERNAUT_SCHEDULE_GROUP", group.ref)
            function.function.add_environment("HIBERNAUT_SCHEDULE_ROLE", role.role_arn)
        for function in (api, sweep_runs):
            function.function.add_environment("HIBERNAUT_FIRE_SCHEDULE", fire_schedule.function.function_arn)
        if settings.most_alarms is not None:
            for function in (api, fire_schedule):
                function.function.add_environment("HIBERNAUT_MOST_ALARMS", str(settings.most_alarms))

    def _schedules(self, *actions: str) -> Grant:
        arn = cdk.Stack.of(self).format_arn(service="scheduler", resource="schedule", resource_name=f"{self._group}/*")
        statement = iam.PolicyStatement(actions=[f"scheduler:{action}" for action in actions], resources=[arn])
        finding = arn_pattern(service="scheduler", resource=f"schedule/{self._group}/*")
        return Grant(statement, finding, "The group has a schedule for each schedule of an agent.")


def _passing(role: iam.Role) -> Grant:
    to_scheduler = {"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}}
    return Grant(iam.PolicyStatement(actions=["iam:PassRole"], resources=[role.role_arn], conditions=to_scheduler))


def _listing() -> Grant:
    statement = iam.PolicyStatement(actions=["scheduler:ListSchedules"], resources=["*"])
    return Grant(statement, ANYTHING, "ListSchedules takes no resource; the call names the group.")
