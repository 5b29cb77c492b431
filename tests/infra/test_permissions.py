"""Roles: one per function, and no more in it than it uses."""

from __future__ import annotations

from tests.infra.reading import Template, listed, texts

# X-Ray and log delivery have no resources to name; the rest is named at run time, below a name of ours.
BY_RUN_TIME = (
    {"s3:GetObject", "s3:PutObject", "s3:DeleteObject"},
    {"states:StopExecution"},
)
WITHOUT_RESOURCE = ("xray:", "logs:")


def test_every_function_has_a_role_of_its_own(dev: Template) -> None:
    roles = [dev.role_of(function) for function in dev.functions()]
    assert len(set(roles)) == len(roles)


def test_no_action_is_a_wildcard_but_the_one_that_denies(dev: Template) -> None:
    for role in dev.of_type("AWS::IAM::Role"):
        for statement in dev.statements(role):
            if statement["Effect"] == "Allow":
                assert [action for action in listed(statement["Action"]) if "*" in action] == []


def test_resources_are_exact(dev: Template) -> None:
    for role in dev.of_type("AWS::IAM::Role"):
        for statement in dev.statements(role):
            if statement["Effect"] == "Deny" or not any("*" in text for text in texts(statement["Resource"])):
                continue
            actions = set(listed(statement["Action"]))
            assert actions in BY_RUN_TIME or all(action.startswith(WITHOUT_RESOURCE) for action in actions)


def test_the_cage_may_do_nothing(dev: Template) -> None:
    statements = dev.statements(dev.role_of("run_tool"))
    assert statements == [{"Action": "*", "Effect": "Deny", "Resource": "*"}]


def test_no_role_has_a_policy_of_somebody_else_but_the_gateway_s_log_role(dev: Template) -> None:
    managed = {
        name: resource["Properties"]["ManagedPolicyArns"]
        for name, resource in dev.of_type("AWS::IAM::Role").items()
        if resource["Properties"].get("ManagedPolicyArns")
    }
    assert [name for name in managed if "CloudWatchRole" not in name] == []


def test_nobody_scans_the_table_or_touches_it_as_a_whole(dev: Template) -> None:
    actions = {
        action
        for role in dev.of_type("AWS::IAM::Role")
        for statement in dev.statements(role)
        for action in listed(statement["Action"])
        if action.startswith("dynamodb:")
    }
    items = {"GetItem", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem"}
    assert actions == {f"dynamodb:{name}" for name in (*items, "Query")}


def test_an_execution_is_stopped_from_outside_only(dev: Template) -> None:
    stoppers = {
        function
        for function in dev.functions()
        for statement in dev.statements(dev.role_of(function))
        if "states:StopExecution" in listed(statement["Action"])
    }
    assert stoppers == {"api", "sweep_runs"}


def test_the_cage_may_not_read_keys(dev: Template) -> None:
    readers = {
        function
        for function in dev.functions()
        for statement in dev.statements(dev.role_of(function))
        if "ssm:GetParameters" in listed(statement["Action"])
    }
    assert readers == set(dev.functions()) - {"run_tool"}
