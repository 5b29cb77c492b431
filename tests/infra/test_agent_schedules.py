"""The schedules of agents in the template: a group, a role that may invoke one function, and who may put schedules into the
group.
"""

from __future__ import annotations

from typing import Any

from tests.infra.reading import Template, listed
from tests.infra.test_permissions import who_may


def statement_of(template: Template, function: str, action: str) -> Any:
    (found,) = (one for one in template.statements(template.role_of(function)) if action in listed(one["Action"]))
    return found


def test_the_role_of_the_group_invokes_the_function_that_fires_and_nothing_else(dev: Template) -> None:
    (role,) = (name for name in dev.of_type("AWS::IAM::Role") if name.startswith("SchedulesRole"))
    (statement,) = dev.statements(role)
    (fire,) = (
        name for name, made in dev.of_type("AWS::Lambda::Function").items() if "fire_schedule" in made["Properties"]["Handler"]
    )
    assert (statement["Action"], statement["Resource"]) == ("lambda:InvokeFunction", {"Fn::GetAtt": [fire, "Arn"]})
    trust = dev.of_type("AWS::IAM::Role")[role]["Properties"]["AssumeRolePolicyDocument"]["Statement"][0]
    assert trust["Principal"] == {"Service": "scheduler.amazonaws.com"}


def test_schedules_are_put_into_the_group_by_two_functions_which_pass_its_role_to_the_scheduler_alone(dev: Template) -> None:
    assert dev.only("AWS::Scheduler::ScheduleGroup")["Properties"]["Name"] == "hibernaut-dev-agents"
    (role,) = (name for name in dev.of_type("AWS::IAM::Role") if name.startswith("SchedulesRole"))
    for action in ("scheduler:CreateSchedule", "scheduler:UpdateSchedule", "iam:PassRole"):
        assert who_may(dev, action) == {"api", "fire_schedule"}
    assert who_may(dev, "scheduler:DeleteSchedule") == {"api", "fire_schedule", "sweep_runs"}
    assert who_may(dev, "scheduler:ListSchedules") == {"sweep_runs"}
    for function in ("api", "fire_schedule"):
        passing = statement_of(dev, function, "iam:PassRole")
        assert passing["Resource"] == {"Fn::GetAtt": [role, "Arn"]}
        assert passing["Condition"] == {"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}}
        ends = statement_of(dev, function, "scheduler:CreateSchedule")["Resource"]["Fn::Join"][1][-1]
        assert ends == ":schedule/hibernaut-dev-agents/*"


def test_a_function_that_fires_does_not_name_itself(dev: Template) -> None:
    """A variable with its own ARN would be a circle in the template."""
    assert "HIBERNAUT_FIRE_SCHEDULE" not in dev.functions()["fire_schedule"]["Environment"]["Variables"]
    assert {"HIBERNAUT_SCHEDULE_GROUP", "HIBERNAUT_SCHEDULE_ROLE"} <= set(
        dev.functions()["fire_schedule"]["Environment"]["Variables"]
    )
